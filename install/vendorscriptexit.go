package install

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// scriptFault is the fault of an installer that did not end with 0. The codes of mlnxofedinstall are of the vendor's
// manual, and 174 is of the script itself; of install.pl none are documented.
func scriptFault(c plan.ScriptChange, res host.Result, said []string) error {
	name := path.Base(c.Program)
	last := strings.Join(said, " | ")
	if last == "" {
		last = "nothing"
	}
	why := func(meaning string) error {
		return fmt.Errorf("cannot install with %s: it ended with %d: %s; it said last: %s", name, res.Exit, meaning, last)
	}
	const logs = "its last lines and its own log say why"
	switch {
	case res.Exit > 128 && res.Exit < 160:
		return fault.New(fault.Failed, "vendor-script-killed", "see who ended it, such as the kernel for want of memory (`dmesg`)", "%w", why(fmt.Sprintf("signal %d ended it", res.Exit-128)))
	case name != plan.MLNXInstaller:
		return fault.New(fault.Failed, "vendor-script-failed", logs, "%w", why("nothing documents what that means"))
	}
	switch res.Exit {
	case 1:
		return fault.New(fault.Failed, "vendor-script-failed", logs, "%w", why("it failed, or found a card that the release does not serve"))
	case 2:
		return fault.New(fault.Failed, "vendor-no-firmware", "leave --firmware away, and burn firmware of the card's maker with mstflint", "%w", why("it has no firmware for the adapter"))
	case 22:
		return fault.New(fault.Failed, "vendor-option", "the release may be older or newer than those whose options rdmactl knows; leave --method vendor-script away", "%w", why("it does not know one of its options"))
	case 28:
		return fault.New(fault.Failed, "vendor-no-space", "make room on the file systems of /usr, /var and /lib/modules", "%w", why("there is not enough free space"))
	case 171:
		return fault.New(fault.Failed, "vendor-no-hardware", "see that `lspci -d 15b3:` shows the card; where there is none leave --method vendor-script away", "%w", why("it finds no card that it is for"))
	case 172:
		return fault.New(fault.Failed, "vendor-prerequisite", "its last lines say what; install that with the package manager, or take the bundle for this system", "%w",
			why("something that it needs first is missing, or the bundle is for another distribution"))
	case 173:
		return fault.New(fault.Failed, "vendor-mst", "see `dmesg`; with Secure Boot its key must be enrolled", "%w", why("the driver of its firmware tools (mst) did not start"))
	case 174:
		return fault.New(fault.Failed, "vendor-dependants", "name them with --allow-remove if they may go, or remove them first", "%w", why("packages that are not of the stack depend on those that it removes"))
	}
	return fault.New(fault.Failed, "vendor-script-failed", logs, "%w", why("nothing documents what that means"))
}

// saidLast are the last lines that an installer said, and that its own log has.
func (x *vendorScriptStep) saidLast(res host.Result) []string {
	const most = 3
	out := lastLines(res.Stderr+"\n"+res.Stdout, most)
	names, err := x.run.host.ReadDir(x.tmp())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return append(out, "its log cannot be read: "+err.Error())
	}
	for _, n := range names {
		if !strings.HasSuffix(n, ".logs") {
			continue
		}
		text, err := x.run.host.ReadFile(path.Join(x.tmp(), n, "general.log"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return append(out, "its log cannot be read: "+err.Error())
		}
		for _, line := range lastLines(string(text), most) {
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	return out
}

// lastLines are the last lines of a text that have something, without what a terminal would obey.
func lastLines(text string, most int) []string {
	out := []string{}
	for line := range strings.Lines(text) {
		line = strings.Map(printable, strings.TrimSpace(colours(line)))
		if len(line) > 300 {
			line = fmt.Sprintf("%.300q", line)
		}
		if line != "" {
			out = append(out, line)
		}
	}
	return out[max(0, len(out)-most):]
}

// colours takes the sequences out that the vendor's installer colours its lines with.
func colours(line string) string {
	for {
		from := strings.Index(line, "\x1b[")
		if from < 0 {
			return line
		}
		to := strings.IndexByte(line[from:], 'm')
		if to < 0 {
			return line[:from]
		}
		line = line[:from] + line[from+to+1:]
	}
}
