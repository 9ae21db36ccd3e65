package detect

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/kmod"
)

// allowUnsupported reads allow_unsupported_modules of SUSE's modprobe, which stands in
// 10-unsupported-modules.conf; a file in /etc hides one of the same name below /usr/lib.
func (p probe) allowUnsupported() facts.Field[bool] {
	const key = "allow_unsupported_modules"
	var failed error
	unknownDir := false
	value := facts.None[bool]("/etc/modprobe.d")
	seen := map[string]bool{}
	for _, dir := range kmod.ModprobeDirs() {
		names, _, err := p.listed(dir)
		switch {
		case errors.Is(err, host.ErrUnknown):
			unknownDir = true
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			failed = err
		}
		for _, name := range names {
			if !strings.HasSuffix(name, ".conf") || seen[name] {
				continue
			}
			seen[name] = true
			file := path.Join(dir, name)
			text, err := p.text(file)
			if err != nil {
				failed = err
				continue
			}
			for line := range strings.Lines(text) {
				if words := strings.Fields(line); len(words) == 2 && words[0] == key {
					value = facts.Is(words[1] == "1", file)
				}
			}
		}
	}
	switch {
	case value.IsKnown():
		return value
	case failed != nil:
		return facts.Failed[bool](value.Source, failed)
	case unknownDir:
		return facts.Field[bool]{Source: value.Source}
	}
	return value
}
