package detect

import (
	"context"
	"errors"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// dpkgRelations is expanded by dpkg-query itself, so the escapes stay as they are. What it prints is the
// status file of dpkg, with no more than what a solver reads of it.
const dpkgRelations = `Package: ${Package}\nStatus: ${Status}\nEssential: ${Essential}\nMulti-Arch: ${Multi-Arch}\nArchitecture: ${Architecture}\n` +
	`Version: ${Version}\nInstalled-Size: ${Installed-Size}\nProvides: ${Provides}\nPre-Depends: ${Pre-Depends}\nDepends: ${Depends}\nConflicts: ${Conflicts}\nBreaks: ${Breaks}\nReplaces: ${Replaces}\n\n`

// PackageRelations are all packages that a host has, with their relations, as dpkg's status file has them. It is
// no part of Host: only a bundle for the host needs it, and it is as large as all else together. Of a host
// without dpkg, and of evidence that was saved without it, it is unknown.
func PackageRelations(ctx context.Context, r host.Reader, f facts.Facts) facts.Field[string] {
	const source = "dpkg-query -W"
	if manager := f.Packages.Manager.Or(""); manager != "apt" {
		return facts.Field[string]{State: facts.Unknown, Source: source, Error: "a host with " + printableManager(manager) + " is not asked for them"}
	}
	p := probe{ctx: ctx, r: r, told: r.Told()}
	text, err := p.run("dpkg-query", "-W", "-f", dpkgRelations)
	switch {
	case err != nil:
		if errors.Is(err, host.ErrUnknown) {
			return facts.Field[string]{State: facts.Unknown, Source: source, Error: "the evidence was saved without them"}
		}
		return facts.Field[string]{State: facts.Unknown, Source: source, Error: err.Error()}
	case strings.Count(text, "\nStatus: ") == 0:
		return facts.Field[string]{State: facts.Unknown, Source: source, Error: "it tells no packages"}
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, ": \n") && !strings.HasSuffix(line, ":\n") { // a field without a value is none
			out.WriteString(line)
		}
	}
	return facts.Is(out.String(), source)
}

func printableManager(name string) string {
	if name == "" {
		return "a package manager that nothing tells"
	}
	return name
}
