package detect

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// What package managers print of a need that nothing meets. The first is of libsolv (dnf, zypper), the second of
// rpm, the third of apt, which tells the version of the package that is needed only.
var (
	nothingProvides = regexp.MustCompile(`nothing provides (\S+?)(?:\([^)\s]*\))? = (\S+) needed by (\S+)`)
	isNeededBy      = regexp.MustCompile(`^\s*(\S+?)(?:\([^)\s]*\))? = (\S+) is needed by (\S+)`)
	debDepends      = regexp.MustCompile(`^\s*(\S+) : (?:Pre)?Depends: (\S+) \(= ([^)\s]+)\)`)
)

// unmetNeeds reads, in evidence alone, what installers and package managers said that they could not meet: the one
// trace of a package that is not installed because its other half is of another build. A live host is not asked.
func (p probe) unmetNeeds() []facts.UnmetNeed {
	replay, ok := p.r.(interface{ Evidence() *host.Evidence })
	if !ok || replay.Evidence() == nil {
		return nil
	}
	commands := replay.Evidence().Commands
	var out []facts.UnmetNeed
	for _, key := range slices.Sorted(maps.Keys(commands)) {
		for line := range strings.Lines(commands[key].Stdout + "\n" + commands[key].Stderr) {
			need, ok := unmetNeed(strings.TrimRight(line, "\r\n"))
			if !ok || !ofInterest(need.Package) {
				continue
			}
			need.Source = key
			if !slices.Contains(out, need) {
				out = append(out, need)
			}
		}
	}
	return out
}

func unmetNeed(line string) (facts.UnmetNeed, bool) {
	for _, pattern := range []*regexp.Regexp{nothingProvides, isNeededBy} {
		m := pattern.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if by := parseRpmList(m[3], false); len(by) == 1 {
			return facts.UnmetNeed{Package: by[0].Name, Version: by[0].Version, Needs: m[1], NeedsVersion: m[2]}, true
		}
	}
	if m := debDepends.FindStringSubmatch(line); m != nil {
		return facts.UnmetNeed{Package: m[1], Needs: m[2], NeedsVersion: m[3]}, true
	}
	return facts.UnmetNeed{}, false
}
