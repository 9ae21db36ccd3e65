package detect

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// packages reads the package database and the configuration of its manager. rpm is asked for named
// packages only: listing all takes it a second.
func (p probe) packages(d facts.Distro) facts.Packages {
	unread := map[string]string{}
	out := facts.Packages{Manager: p.manager(d), OFEDInfo: p.ofedInfo(), RepositoryList: p.repositories(d, unread)}
	out.Repositories = repositoryLines(out.RepositoryList)
	family := d.Family.Or("")
	var all facts.Field[[]facts.Package]
	switch {
	case p.evidence():
		all = p.anyPackages(family)
	case family == "rhel" || family == "suse":
		all = p.rpmPackages()
	case family == "debian":
		all = p.debPackages()
	default:
		all = p.anyPackages(family)
	}
	p.installed(&out, all, d)
	var complete bool
	out.Holds, complete = p.holds(d, out.Held, out.RepositoryList.Or(nil), unread)
	if out.Held.IsUnknown() && out.Held.Error == "" && !strings.HasPrefix(all.Source, "dpkg") && !out.Holds.IsUnknown() {
		// rpm's database knows no holds: dnf, yum and zypper have them in files.
		if names := lockedNames(out.Holds.Or(nil)); len(names) > 0 || complete {
			out.Held = list(names, out.Holds.Source)
		}
	}
	out.Proxies = p.proxies(d, unread)
	if len(unread) > 0 {
		out.Unread = unread
	}
	out.Database = p.database(all)
	out.Busy = p.busy(family)
	out.Registered = p.registered(d)
	out.Groups = p.groups()
	out.Excerpt = p.evidence() && all.IsKnown() && excerptOf(all)
	if out.Excerpt && strings.HasPrefix(all.Source, "dpkg") {
		// What is broken or held may be among the lines left out.
		if out.Broken.IsAbsent() {
			out.Broken = facts.Field[[]facts.Package]{Source: all.Source}
		}
		if out.Held.IsAbsent() {
			out.Held = facts.Field[[]string]{Source: all.Source}
		}
	}
	out.Vendor = vendorStack(out, all, d)
	out.Unmet = p.unmetNeeds()
	return out
}

// installed sorts the packages of the database by state and origin.
func (p probe) installed(out *facts.Packages, all facts.Field[[]facts.Package], d facts.Distro) {
	if !all.IsKnown() {
		out.Installed = all
		out.Broken = facts.Field[[]facts.Package]{State: all.State, Source: all.Source, Error: all.Error}
		out.Held = facts.Field[[]string]{State: all.State, Source: all.Source, Error: all.Error}
		if d.Family.Or("") == "rhel" || d.Family.Or("") == "suse" {
			out.Held = facts.Field[[]string]{Source: all.Source} // in files, see holds
		}
		p.heldByCommand(out)
		return
	}
	var installed, broken []facts.Package
	var held []string
	vendor, patterns := vendorOf(all.Value, out.OFEDInfo.Or("")), interesting()
	for _, pkg := range all.Value {
		want, flag, state := statusWords(pkg.Status)
		if want == "hold" {
			held = append(held, pkg.Name)
		}
		if state == "not-installed" || state == "config-files" {
			continue
		}
		halfDone := flag == "reinstreq" || flag == "reinst-required" || slices.Contains([]string{"half-installed", "half-configured", "unpacked"}, state)
		matters := matchesAny(patterns, pkg.Name) || strings.Contains(pkg.Version, "mlnx") || strings.Contains(pkg.Version, "MLNX")
		if !halfDone && !matters {
			continue
		}
		pkg = withOrigin(pkg, vendor, d.ID.Or(""))
		if halfDone {
			broken = append(broken, pkg)
		}
		if matters {
			installed = append(installed, pkg)
		}
	}
	sortPackages(installed)
	sortPackages(broken)
	out.Installed, out.Broken = list(installed, all.Source), list(broken, all.Source)
	out.Held = list(held, all.Source)
	if !strings.HasPrefix(all.Source, "dpkg") && all.Source != "/var/lib/dpkg/status" {
		// rpm's database has neither state: a transaction is whole or is not.
		out.Broken = facts.None[[]facts.Package](all.Source)
		out.Held = facts.Field[[]string]{Source: all.Source}
	}
	p.heldByCommand(out)
}

// withOrigin names the stack that a package comes from, by its name and version and by its maker.
func withOrigin(pkg facts.Package, vendor, distro string) facts.Package {
	pkg.Origin = originOf(pkg.Name, pkg.Version, vendor, distro)
	switch builtByVendor := pkg.Supplier == nvidia || pkg.Supplier == hpe; {
	case pkg.Supplier == distributor:
		if pkg.Supplier = ""; pkg.Origin == other {
			pkg.Origin = inbox // openSUSE's releases have no mark: 61.0-1.2
		}
	case builtByVendor && (pkg.Origin == inbox || pkg.Origin == other) && !strings.HasPrefix(pkg.Name, "nvidia"):
		pkg.Origin = cmp.Or(vendor, mlnxOFED)
	case distro == "ubuntu" && canonicalName.MatchString(pkg.Name):
		pkg.Origin, pkg.Supplier = docaOFED, canonical
	}
	return pkg
}

// anyPackages reads whichever database is told. Where none is, the one that the family has is named,
// or both.
func (p probe) anyPackages(family string) facts.Field[[]facts.Package] {
	deb := p.debPackages()
	if !deb.IsUnknown() {
		return deb
	}
	rpm := p.rpmPackages()
	switch {
	case !rpm.IsUnknown(), family == "rhel", family == "suse":
		return rpm
	case family == "debian":
		return deb
	}
	rpm.Source = deb.Source + " or " + rpm.Source
	return rpm
}

func sortPackages(list []facts.Package) {
	slices.SortFunc(list, func(a, b facts.Package) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Version, b.Version)
	})
}

// statusWords splits "install ok installed": what is wanted, whether it is in order, what it is.
func statusWords(status string) (want, flag, state string) {
	words := strings.Fields(status)
	if len(words) != 3 {
		return "", "", ""
	}
	return words[0], words[1], words[2]
}

// dpkgFormat is expanded by dpkg-query itself, so the escapes stay as they are.
const dpkgFormat = `${Package}\t${Version}\t${Status}\n`

func (p probe) debPackages() facts.Field[[]facts.Package] {
	const source = "dpkg-query -W"
	text, err := p.run("dpkg-query", "-W", "-f", dpkgFormat)
	if err == nil {
		packages, err := parseDpkg(text)
		return field(packages, source, err)
	}
	if p.told.IsImage() || errors.Is(err, host.ErrNotInstalled) {
		if status, readErr := p.text("/var/lib/dpkg/status"); readErr == nil {
			return list(parseDpkgStatus(status), "/var/lib/dpkg/status")
		}
	}
	if text, from := p.firstTold("dpkg -l", "dpkg-query -l", "dpkg -l | grep -i mlnx", "dpkg -l | grep mlnx", "dpkg -l | grep rdma", "dpkg -l | grep ibverbs", "dpkg -l | grep -i ofed"); text != "" {
		return list(parseDpkgList(text), "dpkg-query: "+from)
	}
	if errors.Is(err, host.ErrNotInstalled) {
		return unknown[[]facts.Package](source, "dpkg-query is not installed")
	}
	return field[[]facts.Package](nil, source, err)
}

// parseDpkg reads name, version and status, separated by tabs. The version of a package that was
// removed may be empty.
func parseDpkg(text string) ([]facts.Package, error) {
	var packages []facts.Package
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		parts := strings.Split(line, "\t")
		if len(parts) != 3 || parts[0] == "" {
			return nil, fmt.Errorf("line %d of dpkg-query has %d fields, want 3", n, len(parts))
		}
		name, _, _ := strings.Cut(parts[0], ":")
		packages = append(packages, facts.Package{Name: name, Version: parts[1], Status: parts[2]})
	}
	return packages, nil
}

// parseDpkgStatus reads /var/lib/dpkg/status, a list of deb822 paragraphs.
func parseDpkgStatus(text string) []facts.Package {
	var packages []facts.Package
	for _, paragraph := range deb822(text) {
		if paragraph["package"] != "" {
			packages = append(packages, facts.Package{Name: paragraph["package"], Version: paragraph["version"], Status: paragraph["status"]})
		}
	}
	return packages
}

var dpkgLine = regexp.MustCompile(`^([uihrp])([ncHUFWti])([R ]?)\s+(\S+)\s+(\S+)\s`)

// parseDpkgList reads "dpkg -l", of which an excerpt may be pasted.
func parseDpkgList(text string) []facts.Package {
	wants := map[string]string{"u": "unknown", "i": "install", "h": "hold", "r": "deinstall", "p": "purge"}
	states := map[string]string{
		"n": "not-installed", "c": "config-files", "H": "half-installed", "U": "unpacked", "F": "half-configured",
		"W": "triggers-awaited", "t": "triggers-pending", "i": "installed",
	}
	var packages []facts.Package
	for line := range strings.Lines(text) {
		m := dpkgLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		flag := "ok"
		if m[3] == "R" {
			flag = "reinstreq"
		}
		name, _, _ := strings.Cut(m[4], ":")
		packages = append(packages, facts.Package{Name: name, Version: m[5], Status: wants[m[1]] + " " + flag + " " + states[m[2]]})
	}
	return packages
}

// rpmFormat is expanded by rpm itself. A tag without a value prints "(none)".
const rpmFormat = `%{NAME}\t%{VERSION}-%{RELEASE}\t%{ARCH}\t%{EPOCH}\t%{VENDOR}\n`

// rpmTrouble are words of a database that cannot be trusted, of Berkeley DB (EL 6 to 8, SLES to 15
// SP3), ndb and sqlite.
var rpmTrouble = regexp.MustCompile(`(?i)(error: .*(?:rpmdb|packages (?:database|index)|db[345] error|sqlite|index database).*|.*DB_RUNRECOVERY.*|.*database disk image is malformed.*)`)

func (p probe) rpmPackages() facts.Field[[]facts.Package] {
	const source = "rpm -q"
	argv := append([]string{"rpm", "-q", "--qf", rpmFormat}, rpmNames()...)
	res, err := p.r.Query(p.ctx, argv...)
	if errors.Is(err, host.ErrUnknown) {
		res, err = p.recordedRPM(err)
	}
	if err == nil {
		// The exit code is the number of packages that are not there; each has a line of words.
		packages := parseRpmQuery(res.Stdout)
		if trouble := rpmTrouble.FindString(res.Stderr); trouble != "" {
			return unknown[[]facts.Package](source, "%s", trouble)
		}
		if len(packages) == 0 && !strings.Contains(res.Stdout, "is not installed") {
			return unknown[[]facts.Package](source, "rpm ended with exit code %d and said nothing", res.Exit)
		}
		return list(packages, source)
	}
	var packages []facts.Package
	from := ""
	for _, line := range p.packageQueries() {
		text, told := p.firstTold(line)
		if text == "" {
			continue
		}
		if from == "" {
			from = told
		}
		for _, pkg := range parseRpmText(text, line) {
			if !slices.ContainsFunc(packages, func(have facts.Package) bool {
				return have.Name == pkg.Name && (pkg.Version == "" || have.Version == pkg.Version)
			}) {
				packages = append(packages, pkg)
			}
		}
	}
	if from != "" {
		return list(packages, from)
	}
	if cause := errors.Unwrap(err); cause != nil {
		err = cause // without the two hundred names
	}
	return field[[]facts.Package](nil, source, err)
}

// recordedRPM finds the answer to the same question with another list of names, as an older or newer
// release of this program asked it.
func (p probe) recordedRPM(err error) (host.Result, error) {
	if line := p.recorded("rpm -q --qf %{NAME}\\t%{VERSION}-%{RELEASE}"); line != "" {
		return p.r.Query(p.ctx, strings.Split(line, " ")...)
	}
	return host.Result{}, err
}

// packageQueries are the command lines of evidence that list rpm packages: the usual ones, and what
// else begins as a query of all.
func (p probe) packageQueries() []string {
	lines := []string{"rpm -qa", "rpm -qa | sort"}
	for _, line := range p.recordedAll("rpm -qa") {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// parseRpmText reads a listing of packages by the format that its command line asks for.
func parseRpmText(text, line string) []facts.Package {
	_, format, ok := strings.Cut(line, "--qf")
	if !ok {
		_, format, ok = strings.Cut(line, "--queryformat")
	}
	switch {
	case !ok:
		return parseRpmList(text, false)
	case !strings.Contains(format, "%{VERSION}"):
		return parseRpmList(text, true)
	case strings.Contains(format, `%{NAME}\t%{VERSION}-%{RELEASE}`):
		return parseRpmQuery(text)
	}
	var packages []facts.Package
	for line := range strings.Lines(text) {
		// "NAME VERSION RELEASE", "NAME VERSION-RELEASE.ARCH"
		words := strings.FieldsFunc(strings.TrimSpace(line), func(r rune) bool { return r == ' ' || r == '\t' || r == ',' || r == '|' })
		switch {
		case len(words) == 1:
			packages = append(packages, parseRpmList(words[0], false)...)
		case len(words) >= 2 && strings.Contains(words[1], "-"):
			packages = append(packages, facts.Package{Name: words[0], Version: rpmArch.ReplaceAllString(words[1], "")})
		case len(words) >= 3:
			packages = append(packages, facts.Package{Name: words[0], Version: words[1] + "-" + rpmArch.ReplaceAllString(words[2], "")})
		}
	}
	return packages
}

// parseRpmQuery reads name, version and what follows: architecture, epoch and vendor.
func parseRpmQuery(text string) []facts.Package {
	var packages []facts.Package
	for line := range strings.Lines(text) {
		parts := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if len(parts) < 2 || parts[0] == "" {
			continue
		}
		pkg := facts.Package{Name: parts[0], Version: parts[1]}
		for i, to := range []*string{&pkg.Arch, &pkg.Epoch, &pkg.Supplier} {
			if at := i + 2; at < len(parts) && parts[at] != "(none)" {
				*to = parts[at]
			}
		}
		pkg.Supplier = supplierOf(pkg.Supplier)
		packages = append(packages, pkg)
	}
	return packages
}

// distributor stands for the distribution itself as the maker of a package.
const distributor = "distribution"

// supplierOf names the maker of a vendor stack from the tag Vendor of a package.
func supplierOf(vendor string) string {
	switch lower := strings.ToLower(vendor); {
	case strings.Contains(lower, "mellanox"), strings.Contains(lower, "nvidia"):
		return nvidia
	case strings.Contains(lower, "hewlett"):
		return hpe
	case strings.Contains(lower, "suse"):
		return distributor
	}
	return ""
}

var rpmArch = regexp.MustCompile(`\.(x86_64|aarch64|ppc64le|ppc64|s390x|riscv64|noarch|i[3-6]86|armv7hl|\(none\))$`)

// parseRpmList reads "NAME-VERSION-RELEASE.ARCH" lines, or bare names.
func parseRpmList(text string, bare bool) []facts.Package {
	var packages []facts.Package
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.ContainsAny(line, " \t") {
			continue
		}
		if bare {
			packages = append(packages, facts.Package{Name: line})
			continue
		}
		arch := strings.TrimPrefix(rpmArch.FindString(line), ".")
		line = rpmArch.ReplaceAllString(line, "")
		release := strings.LastIndexByte(line, '-')
		if release <= 0 {
			continue
		}
		version := strings.LastIndexByte(line[:release], '-')
		if version <= 0 {
			continue
		}
		packages = append(packages, facts.Package{Name: line[:version], Version: line[version+1:], Arch: arch})
	}
	return packages
}

// heldByCommand takes holds from apt-mark where the database did not tell them.
func (p probe) heldByCommand(out *facts.Packages) {
	if !out.Held.IsUnknown() || !p.evidence() {
		return
	}
	if text, from := p.firstTold("apt-mark showhold"); text != "" {
		out.Held = list(strings.Fields(text), from)
	}
}

// manager names the package manager: that of the family, if it is on the host.
func (p probe) manager(d facts.Distro) facts.Field[string] {
	var names []string
	switch d.Family.Or("") {
	case "debian":
		names = []string{"apt"}
	case "rhel":
		names = []string{"dnf", "yum", "tdnf"}
	case "suse":
		names = []string{"zypper"}
	default:
		names = []string{"apt", "dnf", "yum", "zypper"}
	}
	missing := 0
	for _, name := range names {
		program := "/usr/bin/" + name
		if name == "apt" {
			program += "-get"
		}
		_, err := p.r.Stat(program)
		switch {
		case err == nil:
			return facts.Is(name, program)
		case field(0, "", err).IsAbsent():
			missing++
		}
	}
	if missing == len(names) {
		return facts.None[string]("/usr/bin")
	}
	if !d.Family.IsKnown() {
		return facts.Field[string]{Source: d.Family.Source}
	}
	// The distribution's own manager, where the source does not show the program.
	switch d.Family.Value {
	case "debian", "suse":
		return facts.Is(names[0], d.Family.Source)
	case "rhel":
		major, _, _ := strings.Cut(d.VersionID.Or(""), ".")
		n, err := strconv.Atoi(major)
		if err != nil {
			return facts.Field[string]{Source: d.VersionID.Source}
		}
		if n < 8 || d.ID.Or("") == "amzn" && n == 2 {
			return facts.Is("yum", d.VersionID.Source)
		}
		return facts.Is("dnf", d.VersionID.Source)
	}
	return facts.Field[string]{Source: d.Family.Source}
}

var (
	ofedProgram = regexp.MustCompile(`(?m)^\s*echo "?(MLNX_OFED_LINUX-[^":\s]+|OFED-internal-[^":\s]+|OFED-[0-9][^":\s]*)`)
	ofedVersion = regexp.MustCompile(`^(\S+?):?(?:\s|$)`)
)

// ofedInfo returns the vendor release. ofed_info is a script with the text in it, so its text is
// read and the script is not run.
func (p probe) ofedInfo() facts.Field[string] {
	if p.evidence() {
		res, err := p.r.Query(p.ctx, "ofed_info", "-s")
		switch m := ofedVersion.FindStringSubmatch(strings.TrimSpace(res.Stdout)); {
		case err == nil && res.Exit == 0 && m != nil && m[1] != "":
			return facts.Is(strings.TrimSuffix(m[1], ":"), "ofed_info -s")
		case errors.Is(err, host.ErrNotInstalled):
			return facts.None[string]("ofed_info -s")
		}
	}
	const file = "/usr/bin/ofed_info"
	res, err := p.r.Derive(p.ctx, file, []string{"ofed_info", "-s"}, decodeOFEDInfo)
	if err != nil {
		return field("", file, err)
	}
	if version := strings.TrimSuffix(strings.TrimSpace(res.Stdout), ":"); version != "" {
		return facts.Is(version, file)
	}
	return unknown[string](file, "the script does not name its release")
}
