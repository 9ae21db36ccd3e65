package detect

import (
	"context"
	"errors"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// dnfSizes is expanded by dnf itself, so the escapes stay as they are. dnf 4 ends each line on its own.
const dnfSizes = `%{name}\t%{version}-%{release}\t%{downloadsize}\t%{installsize}\n`

// rpmVersions begins with a word of its own, so that evidence keeps it apart from the question for the
// packages of RDMA stacks.
const rpmVersions = `have\t%{NAME}\t%{VERSION}-%{RELEASE}\n`

// The questions for sizes, without the names.
func aptSizeQuestion() []string { return []string{"apt-cache", "show", "--no-all-versions"} }

func dnfSizeQuestion() []string {
	return []string{"dnf", "-q", "-C", "repoquery", "--latest-limit=1", "--qf", dnfSizes}
}

func zypperSizeQuestion() []string {
	return []string{"zypper", "--no-refresh", "--non-interactive", "info"}
}

// PackageSizes asks the package manager for the sizes of packages by their names, from the lists that it has
// at hand: nothing is fetched. It is no part of Host because it takes apt most of a second, and only a
// comparison of stacks needs it. Evidence answers with every name that it was recorded with; names is what to
// ask a host. Sorted by name.
func PackageSizes(ctx context.Context, r host.Reader, f facts.Facts, names []string) facts.Field[[]facts.PackageSize] {
	p := probe{ctx: ctx, r: r, told: r.Told()}
	out := p.packageSizes(f, names)
	if !out.IsKnown() {
		return out
	}
	have := p.versions(f.Packages.Manager.Or(""), names)
	for i := range out.Value {
		out.Value[i].Have = have[out.Value[i].Name]
	}
	return out
}

// versions are those that are installed, by name: what a build takes is among what Host leaves out.
func (p probe) versions(manager string, names []string) map[string]string {
	var all []facts.Package
	switch question := []string{"rpm", "-q", "--qf", rpmVersions}; {
	case manager == "apt":
		all = p.debPackages().Or(nil)
	case p.evidence():
		for _, res := range p.answers(strings.Join(question, " ")) {
			all = append(all, parseRpmVersions(res.Stdout)...)
		}
	default:
		if res, err := p.r.Query(p.ctx, append(question, names...)...); err == nil {
			all = parseRpmVersions(res.Stdout)
		}
	}
	have := map[string]string{}
	for _, one := range all {
		if one.Status == "" || strings.HasSuffix(one.Status, " ok installed") {
			have[one.Name] = one.Version
		}
	}
	return have
}

// parseRpmVersions reads the lines of rpmVersions; a package that is not installed has another one.
func parseRpmVersions(text string) []facts.Package {
	var all []facts.Package
	for line := range strings.Lines(text) {
		if parts := strings.Split(strings.TrimRight(line, "\r\n"), "\t"); len(parts) == 3 && parts[0] == "have" {
			all = append(all, facts.Package{Name: parts[1], Version: parts[2]})
		}
	}
	return all
}

func (p probe) packageSizes(f facts.Facts, names []string) facts.Field[[]facts.PackageSize] {
	manager := f.Packages.Manager
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	switch manager.Or("") {
	case "apt":
		return p.askSizes(aptSizeQuestion(), names, "apt-cache show", parseAptSizes)
	case "dnf":
		return p.askSizes(dnfSizeQuestion(), names, "dnf -C repoquery", parseDnfSizes)
	case "zypper":
		if repository := p.unfetched(f); repository != "" {
			return unknown[[]facts.PackageSize]("zypper info", "zypper has no list of the repository %s yet and would fetch it (zypper refresh does)", repository)
		}
		return p.askSizes(zypperSizeQuestion(), names, "zypper info", parseZypperSizes)
	case "":
		return facts.Field[[]facts.PackageSize]{Source: manager.Source, Error: manager.Error}
	}
	return unknown[[]facts.PackageSize](manager.Source, "%s tells no sizes from the lists at hand", manager.Value)
}

// parseSizes reads an answer to a question for names.
type parseSizes func(text, source string, names []string) []facts.PackageSize

func (p probe) askSizes(question, names []string, source string, parse parseSizes) facts.Field[[]facts.PackageSize] {
	if p.evidence() {
		return p.recordedSizes(question, source, parse)
	}
	if len(names) == 0 {
		return facts.None[[]facts.PackageSize](source)
	}
	res, err := p.r.Query(p.ctx, append(slices.Clone(question), names...)...)
	if err != nil {
		if cause := errors.Unwrap(err); cause != nil {
			err = cause // without the names
		}
		return field[[]facts.PackageSize](nil, source, err)
	}
	// Each of the three ends with an error code of its own where a name is in no list.
	return told(parse(res.Stdout, source, names), source)
}

// recordedSizes reads all answers to a question that evidence has, whatever the names were: those depend on
// the profile and on the release that recorded them.
func (p probe) recordedSizes(question []string, source string, parse parseSizes) facts.Field[[]facts.PackageSize] {
	var all []facts.PackageSize
	asked := false
	for _, res := range p.answers(strings.Join(question, " ") + " ") {
		asked = true
		names := strings.Fields(res.Argv[0])[len(strings.Fields(strings.Join(question, " "))):]
		for _, one := range parse(res.Stdout, source, names) {
			if !slices.ContainsFunc(all, func(have facts.PackageSize) bool { return have.Name == one.Name }) {
				all = append(all, one)
			}
		}
	}
	if !asked {
		return facts.Field[[]facts.PackageSize]{Source: source}
	}
	return told(all, source)
}

func told(all []facts.PackageSize, source string) facts.Field[[]facts.PackageSize] {
	if len(all) == 0 {
		return unknown[[]facts.PackageSize](source, "it has none of the packages in its lists, which may never have been fetched")
	}
	slices.SortFunc(all, func(a, b facts.PackageSize) int { return strings.Compare(a.Name, b.Name) })
	return facts.Is(all, source)
}

// parseAptSizes reads the paragraphs of "apt-cache show --no-all-versions", one for each name: that of the
// version that would be installed. One without Size is of dpkg's own database: no repository has it. A name
// that has no paragraph is in no list, which says something only where there are lists: without them all that
// is shown comes from the database.
func parseAptSizes(text, source string, names []string) []facts.PackageSize {
	var all []facts.PackageSize
	lists := false
	for _, paragraph := range deb822(text) {
		one := facts.PackageSize{Name: paragraph["package"], Version: paragraph["version"]}
		if one.Name == "" || !slices.Contains(names, one.Name) {
			continue
		}
		if size, ok := bytesOf(paragraph["size"], 1); ok {
			one.Download, lists = facts.Is(size, source), true
		} else {
			one.Download = unknown[int64](source, "the installed version is in no repository")
		}
		if size, ok := bytesOf(paragraph["installed-size"], 1<<10); ok {
			one.Installed = facts.Is(size, source)
		} else {
			one.Installed = unknown[int64](source, "the package has no Installed-Size")
		}
		all = append(all, one)
	}
	if !lists {
		return nil
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(have facts.PackageSize) bool { return have.Name == name }) {
			all = append(all, facts.PackageSize{Name: name, Download: facts.None[int64](source), Installed: facts.None[int64](source)})
		}
	}
	return all
}

// parseDnfSizes reads the lines that were asked for. A package that has none may still be in a repository
// whose list is not at hand: dnf -C passes over such a repository without a word. One of two architectures
// of the same version is enough: dnf takes the host's own.
func parseDnfSizes(text, source string, names []string) []facts.PackageSize {
	var all []facts.PackageSize
	for line := range strings.Lines(text) {
		parts := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if len(parts) != 4 || !slices.Contains(names, parts[0]) {
			continue
		}
		one := facts.PackageSize{Name: parts[0], Version: parts[1]}
		for i, to := range []*facts.Field[int64]{&one.Download, &one.Installed} {
			if size, ok := bytesOf(parts[2+i], 1); ok {
				*to = facts.Is(size, source)
			} else {
				*to = unknown[int64](source, "%q is not a size", parts[2+i])
			}
		}
		i := slices.IndexFunc(all, func(have facts.PackageSize) bool { return have.Name == one.Name })
		switch {
		case i < 0:
			all = append(all, one)
		case all[i].Download.Or(0) < one.Download.Or(0): // the larger of x86_64 and i686, to promise nothing
			all[i] = one
		}
	}
	return all
}

// parseZypperSizes reads the descriptions of "zypper info", lines "Key : value". It tells what a package takes
// on disk, with one decimal, and not the size of its file.
func parseZypperSizes(text, source string, names []string) []facts.PackageSize {
	var all []facts.PackageSize
	var one *facts.PackageSize
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if key, value = strings.TrimSpace(key), strings.TrimSpace(value); !ok || line[0] == ' ' {
			continue // of the description
		}
		switch {
		case key == "Name":
			one = nil
			if slices.Contains(names, value) && !slices.ContainsFunc(all, func(have facts.PackageSize) bool { return have.Name == value }) {
				all = append(all, facts.PackageSize{
					Name: value, Download: unknown[int64](source, "zypper shows no size of a package's file"),
					Installed: unknown[int64](source, "zypper shows no size"),
				})
				one = &all[len(all)-1]
			}
		case one == nil:
		case key == "Version":
			one.Version = value
		case key == "Installed Size":
			if size, ok := roundedBytes(value); ok {
				one.Installed = facts.Is(size, source)
			}
			one = nil // what follows is of the description
		}
	}
	return all
}

// bytesOf reads decimal digits as a number of units.
func bytesOf(text string, unit int64) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit/1e6 { // room for a sum
		return 0, false
	}
	return n * unit, true
}

// roundedBytes reads "293.0 KiB".
func roundedBytes(text string) (int64, bool) {
	number, unit, _ := strings.Cut(text, " ")
	n, err := strconv.ParseFloat(number, 64)
	power, known := map[string]int{"B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[unit]
	if err != nil || !known || math.IsNaN(n) || n < 0 || n > 1e6 {
		return 0, false
	}
	return int64(math.Round(n * float64(int64(1)<<power))), true
}

// unfetched is a repository whose list zypper does not have, empty for none: it would fetch it in spite of
// --no-refresh. Evidence is not asked.
func (p probe) unfetched(f facts.Facts) string {
	if p.evidence() {
		return ""
	}
	repositories, known := f.Packages.RepositoryList.Get()
	if !known {
		return "(none is known)"
	}
	for _, r := range repositories {
		if !r.Enabled || r.Kind != "rpm" {
			continue
		}
		if _, err := p.r.Stat(path.Join("/var/cache/zypp/solv", path.Base(r.ID), "solv")); err != nil {
			return r.ID
		}
	}
	return ""
}
