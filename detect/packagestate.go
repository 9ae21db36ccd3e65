package detect

import (
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// The states of a package database.
const (
	databaseOK          = "ok"
	databaseInterrupted = "interrupted"
	databaseBroken      = "broken"
)

// database tells whether the database of packages can be worked with.
func (p probe) database(all facts.Field[[]facts.Package]) facts.Field[string] {
	for _, res := range p.answers("apt", "dpkg ", "rpm", "dnf", "yum", "zypper") {
		text := res.Stderr + res.Stdout
		switch {
		case strings.Contains(text, "dpkg was interrupted"):
			return facts.Is(databaseInterrupted, res.Argv[0])
		case rpmTrouble.MatchString(res.Stderr):
			return facts.Is(databaseBroken, res.Argv[0])
		}
	}
	if rpmTrouble.MatchString(all.Error) {
		return facts.Is(databaseBroken, all.Source)
	}
	switch {
	case strings.HasPrefix(all.Source, "dpkg-query") || all.Source == "/var/lib/dpkg/status":
		// dpkg keeps what it did not write into the status yet in numbered files.
		const updates = "/var/lib/dpkg/updates"
		names, err := p.r.ReadDir(updates)
		switch {
		case err == nil && slices.ContainsFunc(names, func(n string) bool { _, err := strconv.Atoi(n); return err == nil }):
			return facts.Is(databaseInterrupted, updates)
		case err == nil && all.IsUnknown():
			return facts.Failed[string](all.Source, errors.New(all.Error))
		case err == nil, errors.Is(err, fs.ErrNotExist) && !all.IsUnknown():
			return facts.Is(databaseOK, updates)
		}
		return field("", updates, err)
	case all.Source == "rpm -q" && !all.IsUnknown():
		return facts.Is(databaseOK, all.Source)
	}
	return facts.Field[string]{Source: all.Source}
}

// heldBy are the words of package managers that wait for another one.
var heldBy = regexp.MustCompile(`(?i)held by process ([0-9]+(?: \([^)]*\))?)|running as pid ([0-9]+)|locked by the application with pid ([0-9]+(?: \([^)]*\))?)|Waiting for process with pid ([0-9]+)`)

// busy names the process that changes packages now. yum, dnf and zypper write its id into a file, which
// zypper leaves behind; dpkg's lock is one that only a program can see that tries to take it.
func (p probe) busy(family string) facts.Field[string] {
	for _, res := range p.answers("apt", "dpkg ", "dnf", "yum", "zypper") {
		if text := res.Stderr + res.Stdout; !strings.Contains(text, "process") && !strings.Contains(text, "pid") {
			continue
		}
		if m := heldBy.FindStringSubmatch(res.Stderr + res.Stdout); m != nil {
			return facts.Is("process "+strings.Join(m[1:], ""), res.Argv[0])
		}
	}
	const source = "/run/zypp.pid, /var/lib/dnf/rpmdb_lock.pid, /run/yum.pid"
	if family != "rhel" && family != "suse" || p.told.IsImage() {
		return facts.Field[string]{Source: "the lock of dpkg"}
	}
	absent := true
	for _, file := range []string{"/run/zypp.pid", "/var/lib/dnf/rpmdb_lock.pid", "/run/yum.pid"} {
		pid := p.attr(file)
		n, err := strconv.Atoi(pid.Or(""))
		if err != nil || n <= 0 {
			absent = absent && !pid.IsUnknown()
			continue
		}
		if name := p.attr("/proc/" + strconv.Itoa(n) + "/comm"); name.IsKnown() && managerProcess(name.Value) {
			return facts.Is("process "+strconv.Itoa(n)+" ("+name.Value+")", file)
		}
	}
	if !absent {
		return facts.Field[string]{Source: source}
	}
	return facts.None[string](source)
}

// managerProcess says that a process name is one of a package manager: the id of one that ended may be
// another's by now.
func managerProcess(name string) bool {
	return slices.ContainsFunc([]string{"zypper", "y2base", "dnf", "yum", "packagekitd", "zypp", "transactional", "Zypp-main", "python"}, func(n string) bool { return strings.HasPrefix(name, n) })
}

var registrationLine = regexp.MustCompile(`(?m)^(?:system identity: \S+|Overall Status: (?:Current|Disabled|Registered))`)

// registered tells whether the host may use the repositories of its maker: by the certificate of
// subscription-manager, or the credentials of SUSE's customer center. Cloud images of RHEL have another
// way (RHUI), whose repositories are listed all the same.
func (p probe) registered(d facts.Distro) facts.Field[bool] {
	file := ""
	switch d.ID.Or("") {
	case "rhel":
		file = "/etc/pki/consumer/cert.pem"
	case "sles", "sled", "sle_hpc", "sle-micro", "sles_sap":
		file = "/etc/zypp/credentials.d/SCCcredentials"
	case "":
		return facts.Field[bool]{Source: d.ID.Source}
	default:
		return facts.None[bool](d.ID.Source)
	}
	for _, res := range p.answers("subscription-manager identity", "subscription-manager status", "SUSEConnect") {
		text := res.Stdout + res.Stderr
		switch {
		case registrationLine.MatchString(text), strings.Contains(text, `"status":"Registered"`):
			return facts.Is(true, res.Argv[0])
		case strings.Contains(text, "not yet registered"), strings.Contains(text, "Overall Status: Not registered"), strings.Contains(text, `"status":"Not Registered"`):
			return facts.Is(false, res.Argv[0])
		}
	}
	_, err := p.r.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return facts.Is(false, file)
	}
	return field(err == nil, file, err)
}

// groups reads the groups that dnf counts as installed, where evidence tells them.
func (p probe) groups() facts.Field[[]string] {
	for _, res := range p.answers("dnf group list", "dnf grouplist", "yum group list", "yum grouplist") {
		var names []string
		in := false
		for line := range strings.Lines(res.Stdout) {
			bare := strings.TrimSpace(line)
			if strings.HasSuffix(bare, ":") || bare == "" {
				in = strings.HasPrefix(bare, "Installed") // also "Installed Environment Groups:"
				continue
			}
			if in {
				names = append(names, bare)
			}
		}
		if res.Exit == 0 {
			return list(names, res.Argv[0])
		}
	}
	return facts.Field[[]string]{Source: "dnf group list --installed"}
}

// whichTold finds what "which", "type" or "command -v" told about a program.
func (p probe) whichTold(name string) facts.Field[string] {
	for _, line := range []string{"which " + name, "command -v " + name, "type " + name} {
		if _, told := p.commands()[line]; !told {
			continue
		}
		res, err := p.r.Query(p.ctx, strings.Split(line, " ")...)
		if err != nil {
			continue
		}
		out := strings.TrimSpace(res.Stdout)
		if strings.HasPrefix(out, "/") {
			return facts.Is(out, line)
		}
		if res.Exit != 0 && out == "" {
			return facts.None[string](line)
		}
	}
	return facts.Field[string]{}
}

// notInstalled says that an answer is that of a shell about a program that is not there.
func notInstalled(err error) bool { return errors.Is(err, host.ErrNotInstalled) }
