package detect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// maxEnviron bounds what is read of a process's environment in bytes; the kernel allows a quarter of the
// stack, 2 MiB as a rule.
const maxEnviron = 4 << 20

// maxAncestors bounds the walk from this process up to the first one.
const maxAncestors = 64

// session finds the interface that the login session of this process comes in over: the one with the local
// address of SSH_CONNECTION. sudo takes that variable away, so the processes above this one are asked as well,
// each for this one variable and no other. Absent is a session that is not of ssh: a console, a unit, a job.
func (p probe) session(a *facts.Access, netdevs facts.Field[[]facts.Netdev], container facts.Field[bool]) {
	at := p.sessionAddress(container)
	name := interfaceOf(at, netdevs)
	a.SessionNetdev = name
	a.SessionDriver = facts.Field[string]{State: name.State, Source: name.Source, Error: name.Error}
	a.SessionHardware = facts.Field[[]string]{State: name.State, Source: name.Source, Error: name.Error}
	if dev, ok := name.Get(); ok {
		a.SessionDriver = p.driversBelow(dev, netdevs, 0)
		a.SessionHardware = p.hardwareBelow(dev, netdevs)
	}
}

// sessionAddress is the local end of the ssh connection, with the interface as its zone where it is link-local.
func (p probe) sessionAddress(container facts.Field[bool]) facts.Field[netip.Addr] {
	const self = "/proc/self/stat"
	if p.told.IsImage() {
		return facts.Field[netip.Addr]{Source: "an image has no sessions"}
	}
	if text, from := p.firstTold("printenv SSH_CONNECTION", "echo $SSH_CONNECTION"); text != "" {
		return parsed(facts.Is(text, from), localEnd)
	}
	if text, from := p.firstTold("env", "printenv"); text != "" {
		if value := variable(text, "SSH_CONNECTION"); value != "" {
			return parsed(facts.Is(value, from), localEnd)
		}
	}
	pid, file := "self", self
	doubt := "" // why a walk that found nothing proves nothing
	for range maxAncestors {
		stat := parsed(p.attr(file), parseStat)
		process, ok := stat.Get()
		if !ok {
			if file == self || stat.Error == "" {
				return facts.Field[netip.Addr]{Source: file, Error: stat.Error}
			}
			return unknown[netip.Addr](file, "nothing tells of a process above this one: %s", stat.Error)
		}
		environ := "/proc/" + pid + "/environ"
		text, err := p.environment(environ, "^SSH_CONNECTION=", sshConnection)
		switch {
		case err == nil && text != "":
			return parsed(facts.Is(strings.TrimPrefix(text, "SSH_CONNECTION="), environ), localEnd)
		case err != nil && file == self:
			return field(netip.Addr{}, environ, silence(err))
		}
		switch name := process.name; {
		case strings.HasPrefix(name, "sshd"): // and sshd-session, sshd-auth of OpenSSH 9.8
			doubt = name + " is above this process, and no environment tells its connection"
		case doubt == "" && slices.Contains(multiplexers(), strings.ToLower(name)):
			doubt = name + " is above this process, and whoever is attached to it is not"
		}
		if process.parent == 0 {
			switch {
			case doubt != "":
			case container.Or(false):
				doubt = "whoever entered the container is not among its processes"
			case process.pid != 1:
				doubt = "the first process above this one came in from outside"
			}
			if doubt != "" {
				return unknown[netip.Addr](file, "%s", doubt)
			}
			return facts.None[netip.Addr]("the processes above this one")
		}
		pid = strconv.Itoa(process.parent)
		file = "/proc/" + pid + "/stat"
	}
	return unknown[netip.Addr](file, "more than %d processes are above this one", maxAncestors)
}

// silence turns what is not there into what is not told: without its environment a process tells nothing.
func silence(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return host.ErrUnknown
	}
	return err
}

// multiplexers keep shells for whoever attaches to them later.
func multiplexers() []string {
	return []string{"tmux", "tmux: server", "screen", "zellij", "dtach", "abduco", "mosh-server"}
}

// process is what /proc/PID/stat tells of one.
type process struct {
	pid, parent int
	name        string
}

// parseStat reads "PID (NAME) STATE PARENT ..."; the name may have blanks and brackets in it.
func parseStat(text string) (process, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return process{}, errors.New("it is not the state of a process")
	}
	words := strings.Fields(text[end+1:])
	pid, err := strconv.Atoi(strings.TrimSpace(text[:open]))
	if err != nil || len(words) < 2 {
		return process{}, errors.New("it is not the state of a process")
	}
	parent, err := strconv.Atoi(words[1])
	if err != nil || parent < 0 {
		return process{}, errors.New("it is not the state of a process")
	}
	return process{pid, parent, text[open+1 : end]}, nil
}

// environment reads some variables of a process's environment, one a line. The rest of it, which may hold
// secrets, does not leave this function. pattern is how grep would be asked for the same.
func (p probe) environment(file, pattern string, keep func(string) (string, bool)) (string, error) {
	flags := "-az"
	if !strings.HasPrefix(pattern, "^") {
		flags = "-aiz"
	}
	res, err := p.r.Derive(p.ctx, file, []string{"grep", flags, pattern, file}, func(r io.ReaderAt, _ int64) (string, error) {
		data, err := io.ReadAll(io.NewSectionReader(r, 0, maxEnviron)) // procfs tells no size
		if err != nil {
			return "", fmt.Errorf("cannot read the environment: %w", err)
		}
		var b strings.Builder
		for one := range strings.SplitSeq(string(data), "\x00") {
			if text, ok := keep(one); ok {
				b.WriteString(text + "\n")
			}
		}
		return b.String(), nil
	})
	return strings.TrimSpace(res.Stdout), err
}

func sshConnection(one string) (string, bool) {
	return strings.ReplaceAll(one, "\n", " "), strings.HasPrefix(one, "SSH_CONNECTION=")
}

// variable finds one variable in the text of env(1).
func variable(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// localEnd reads "CLIENT PORT SERVER PORT".
func localEnd(text string) (netip.Addr, error) {
	words := strings.Fields(text)
	if len(words) != 4 {
		return netip.Addr{}, errors.New("SSH_CONNECTION is not two addresses with ports")
	}
	client, errClient := netip.ParseAddr(words[0])
	local, err := netip.ParseAddr(words[2])
	if err != nil || errClient != nil {
		return netip.Addr{}, errors.New("SSH_CONNECTION is not two addresses with ports")
	}
	if local.Unmap().IsLoopback() || client == local {
		return netip.Addr{}, errors.New("the ssh session comes from this host itself; over what its user came is not told")
	}
	return local.Unmap(), nil
}

// interfaceOf finds the interface that has an address. Loopback may have it too, where a balancer sends
// packets to it: then the other one is meant.
func interfaceOf(at facts.Field[netip.Addr], netdevs facts.Field[[]facts.Netdev]) facts.Field[string] {
	local, ok := at.Get()
	if !ok {
		return facts.Field[string]{State: at.State, Source: at.Source, Error: at.Error}
	}
	if zone := local.Zone(); zone != "" {
		if slices.ContainsFunc(netdevs.Or(nil), func(d facts.Netdev) bool { return d.Name == zone }) {
			return facts.Is(zone, at.Source)
		}
		return unknown[string](at.Source, "the ssh session is on an interface that is not listed")
	}
	found, silent := "", !netdevs.IsKnown()
	for _, d := range netdevs.Or(nil) {
		addresses, ok := d.Addresses.Get()
		silent = silent || !ok && !d.Addresses.IsAbsent()
		for _, text := range addresses {
			if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Addr() == local && d.Name != "lo" {
				if found != "" && found != d.Name {
					return unknown[string](at.Source, "%s and %s both have the local address of the ssh session", found, d.Name)
				}
				found = d.Name
			}
		}
	}
	switch {
	case found != "":
		return facts.Is(found, at.Source)
	case silent:
		return unknown[string](at.Source, "nothing tells which interface has the local address of the ssh session")
	}
	return unknown[string](at.Source, "no interface has the local address of the ssh session")
}
