package holdings

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	stackversion "github.com/rdmactl/rdmactl/internal/version"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// pkg is one package, with what is needed to check it and the kernels that it has modules for.
type pkg struct {
	matrix.HoldingPackage
	path    string
	sum     stated
	kernels []string
	relations
}

// found is what one source told, before it is put together.
type found struct {
	packages []pkg
	gone     []pkg // that the index names, and that are not there
	signed   string
	// signedIndex says that it is the index of an rpm repository that is signed by that key.
	signedIndex bool
	label       string // of the Release file
	suite       string
	// Of a bundle's own files, which nobody signs.
	version   string
	system    system
	arch      string
	supported []string
	folder    string // name of the repository's folder inside of a package or archive
	at        string // the repository, below what was read as a folder
	dists     bool   // the repository has dists/
	file      *matrix.HoldingFile
	notes     []string
}

func (f *found) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

var (
	mlnxMeta    = regexp.MustCompile(`^mlnx-ofed-(?:all|basic|bluefield|dpdk|eth-only|guest|hpc|hypervisor|kernel-only|msm|vma|vma-eth|vma-vpi|xlio)(?:-|$)`)
	mlnxVersion = regexp.MustCompile(`^(\d{1,2}\.\d{1,2}-\d+\.\d+\.\d+\.\d+(?:\.\d+)?)(?:$|[^0-9])`)
	docaMeta    = regexp.MustCompile(`^(?:doca-ofed|doca-all|doca-networking|doca-roce|doca-host|doca-ofed-userspace|doca-host-repo-.*)$`)
	docaVersion = regexp.MustCompile(`(?:^|[ :-])(\d{1,2}\.\d{1,2}\.\d{1,3})(?:$|[^0-9.])`)
)

// assemble turns what was found into holdings, one for each architecture of each release.
func (f *found) assemble(origin, place string, opts Options) ([]matrix.Holding, error) {
	if err := checkWanted(opts.Releases); err != nil {
		return nil, err
	}
	ids, foreign := f.several(opts.Known)
	if len(ids) > 1 || foreign && f.version == "" {
		return f.assembleSeveral(ids, origin, place, opts)
	}
	stack, version, err := f.release(opts.Stated, opts.Known)
	if err != nil {
		return nil, err
	}
	is := releaseID{stack: stack, version: version}
	for _, w := range opts.Releases {
		if !is.is(w) {
			return nil, refuse("leave --release away", "it has no release %s, but %s", clip(w), is)
		}
	}
	sys, err := f.systemOf(place, opts.Stated)
	if err != nil {
		return nil, err
	}
	arches := f.arches(place)
	if len(arches) == 0 {
		return nil, errNoArch()
	}
	f.checkSupported()
	var holdings []matrix.Holding
	for _, arch := range arches {
		var packages []pkg
		for _, p := range f.packages {
			if of, ok := archOf(p.Arch); (!ok || of == arch) && p.Arch != "src" {
				packages = append(packages, p)
			}
		}
		h := matrix.Holding{Stack: stack, Version: version, ID: sys.id, VersionID: sys.version, Arch: arch, Origin: origin, Signed: f.signed, SignedIndex: f.signedIndex, File: f.file}
		if err := fill(&h, packages, opts.Now); err != nil {
			return nil, err
		}
		holdings = append(holdings, h)
	}
	return holdings, nil
}

func errNoArch() error {
	return refuse("name a repository that has packages for one", "nothing in it tells the architecture")
}

// assembleSeveral makes holdings of an index with more than one release. Each may be for a system of its own.
func (f *found) assembleSeveral(ids []releaseID, origin, place string, opts Options) ([]matrix.Holding, error) {
	stated, wanted := opts.Stated, opts.Releases
	if stated.Version != "" {
		wanted = append(slices.Clone(wanted), stated.Version)
	}
	fits := func(r releaseID) bool {
		return (stated.Stack == "" || r.stack == stated.Stack) && (stated.Version == "" || r.is(stated.Version))
	}
	if (stated.Stack != "" || stated.Version != "") && !slices.ContainsFunc(ids, fits) {
		return nil, refuse("name one of them, or leave --stack and --version away", "it has several releases, none of which is %s: %s",
			clip(strings.TrimSpace(stated.Stack+" "+stated.Version)), listOf(ids))
	}
	if len(f.arches(place)) == 0 {
		return nil, errNoArch()
	}
	shares, err := f.split(ids, wanted, place)
	if err != nil {
		return nil, err
	}
	var holdings []matrix.Holding
	for _, one := range shares {
		if !fits(ids[one.release]) {
			continue
		}
		var packages []pkg
		for _, at := range one.packages {
			packages = append(packages, f.packages[at])
		}
		of := found{packages: packages, folder: f.folder, system: f.system}
		sys, err := of.systemOf(place, opts.Stated)
		if err != nil {
			return nil, err
		}
		r := ids[one.release]
		h := matrix.Holding{Stack: r.stack, Version: r.version, ID: sys.id, VersionID: sys.version, Arch: one.arch, Origin: origin, Signed: f.signed, SignedIndex: f.signedIndex, File: f.file}
		if err := fill(&h, packages, opts.Now); err != nil {
			return nil, err
		}
		holdings = append(holdings, h)
	}
	return holdings, nil
}

// fill puts the packages of a release for one architecture into its holding.
func fill(h *matrix.Holding, packages []pkg, now time.Time) error {
	h.Date = now.UTC().Format(time.RFC3339)
	for _, p := range packages {
		h.Packages = append(h.Packages, p.HoldingPackage)
		h.Kernels = append(h.Kernels, p.kernels...)
		h.DKMS = h.DKMS || isDKMS(p.Name)
	}
	slices.SortFunc(h.Packages, func(a, b matrix.HoldingPackage) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version), strings.Compare(a.Arch, b.Arch))
	})
	h.Packages = slices.Compact(h.Packages)
	slices.Sort(h.Kernels)
	h.Kernels = slices.Compact(h.Kernels)
	if len(h.Kernels) > maxKernels {
		return refuse(hintHostile, "it has modules for more than %d kernels", maxKernels)
	}
	return nil
}

// release tells stack and version, from the signed packages before anything else.
func (f *found) release(stated Stated, known *matrix.Index) (stack, version string, err error) {
	doca, mlnx := map[string]bool{}, map[string]bool{}
	var itself map[string]bool
	for _, p := range f.packages {
		if m := docaVersion.FindStringSubmatch(p.Version); docaMeta.MatchString(p.Name) && m != nil {
			doca[m[1]] = true
			if p.Name == "doca-ofed" {
				itself = add(itself, m[1])
			}
		}
		if m := mlnxVersion.FindStringSubmatch(p.Version); mlnxMeta.MatchString(p.Name) && m != nil {
			mlnx[m[1]] = true
		}
	}
	if m := docaVersion.FindStringSubmatch(f.label); len(doca) == 0 && strings.HasPrefix(f.label, "DOCA-HOST") && m != nil {
		doca[m[1]] = true
	}
	if len(itself) > 0 {
		doca = itself
	}
	// A DOCA repository has the metapackages of MLNX_OFED too.
	versions := mlnx
	switch {
	case len(doca) > 0:
		stack, versions = "doca-ofed", doca
	case len(mlnx) > 0:
		stack = "mlnx-ofed"
	case f.version != "":
		stack, versions = "mlnx-ofed", map[string]bool{f.version: true}
	case strings.HasPrefix(f.label, "MLNX_OFED") && mlnxVersion.MatchString(f.suite):
		stack, versions = "mlnx-ofed", map[string]bool{mlnxVersion.FindStringSubmatch(f.suite)[1]: true}
	case stated.Stack != "" && stated.Version != "":
		v, err := stackversion.ParseStack(stated.Version)
		if err != nil {
			return "", "", refuse("write it as the vendor does: 24.10-1.1.4.0 of mlnx-ofed, 2.9.1 of doca-ofed", "--version %q is no version of a release", clip(stated.Version))
		}
		return stated.Stack, v.String(), f.agrees(stated.Stack, v.String(), known)
	default:
		return "", "", refuse("name a repository or bundle with one of the metapackages doca-ofed, doca-host or mlnx-ofed-all, or say --stack and --version",
			"none of its %d packages tells which release of which stack it is", len(f.packages))
	}
	if len(versions) > 1 {
		var all []string
		for v := range versions {
			all = append(all, v)
		}
		slices.Sort(all)
		return "", "", refuse("import a repository of one release; which packages belong to which cannot be told here", "it has several releases of %s: %s", stack, strings.Join(all, ", "))
	}
	for v := range versions {
		version = v
	}
	if f.version != "" && f.version != version {
		return "", "", refuse(hintDamaged, "its version file says %s, its packages are %s", f.version, version)
	}
	if stated.Stack != "" && stated.Stack != stack || stated.Version != "" && stated.Version != version {
		return "", "", refuse("leave --stack and --version away", "it is %s %s, not %s", stack, version, strings.TrimSpace(stated.Stack+" "+stated.Version))
	}
	return stack, version, nil
}

func add(set map[string]bool, word string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[word] = true
	return set
}

// systemOf tells the distribution: signed packages, the bundle's own file, the name of the
// repository's folder, the place it was read from, what the user stated.
func (f *found) systemOf(place string, stated Stated) (system, error) {
	var told system
	for _, p := range f.packages {
		if !isCoreDriver(p.Name) && !mlnxMeta.MatchString(p.Name) && !docaMeta.MatchString(p.Name) {
			continue
		}
		s, ok := labelOfVersion(p.Version)
		if !ok {
			s, ok = parseLabel(strings.TrimPrefix(p.Name, "doca-host-repo-"))
		}
		if !ok {
			continue
		}
		if told != (system{}) && told != s {
			return system{}, refuse("import the repository of one system at a time", "its packages are for %s and for %s", told, s)
		}
		told = s
	}
	if f.system != (system{}) {
		if told != (system{}) && told != f.system {
			return system{}, refuse(hintDamaged, "its file distro says %s, its packages are for %s", f.system, told)
		}
		told = f.system
	}
	if told == (system{}) {
		var ok bool
		if told, ok = labelIn(f.folder, "-_/"); !ok {
			told, _ = labelIn(place, "/-_")
		}
	}
	want := system{stated.Distro, stated.VersionID}
	switch {
	case told == (system{}) && want.id != "" && want.version != "":
		return want, f.fits(want)
	case told == (system{}):
		return system{}, refuse("say --distro and --version-id, such as --distro rhel --version-id 9.4", "nothing in it tells for which distribution it is")
	case want.id != "" && want.id != told.id || want.version != "" && want.version != told.version:
		return system{}, refuse("leave --distro and --version-id away", "it is for %s, not for %s", told, want)
	}
	return told, f.fits(told)
}

// fits refuses packages in another format than the system's package manager has. The two formats name
// architectures differently.
func (f *found) fits(s system) error {
	want := ""
	switch s.id {
	case "debian", "ubuntu":
		want = "deb"
	case "rhel", "rocky", "almalinux", "centos", "ol", "scientific", "fedora", "sles", "opensuse", "opensuse-leap", "openeuler", "euleros", "anolis", "alinux",
		"amzn", "azurelinux", "mariner", "photon", "xenserver":
		want = "rpm"
	default:
		return nil // of the others nobody looked
	}
	for _, p := range f.packages {
		has := ""
		switch p.Arch {
		case "amd64", "arm64", "ppc64el", "all":
			has = "deb"
		case "x86_64", "aarch64", "ppc64le", "noarch":
			has = "rpm"
		}
		if has != "" && has != want {
			return refuse("state the system that it is of", "it is not for %s, whose packages are of the format %s: %s %s is of the format %s", s, want, p.Name, p.Version, has)
		}
	}
	return nil
}

func (f *found) arches(place string) []string {
	seen := map[string]bool{}
	for _, p := range f.packages {
		if arch, ok := archOf(p.Arch); ok {
			seen[arch] = true
		}
	}
	if len(seen) == 0 {
		if f.arch != "" {
			return []string{f.arch}
		}
		words := strings.FieldsFunc(place, func(r rune) bool { return r == '/' })
		for i := len(words) - 1; i >= 0; i-- {
			if arch, ok := archOf(words[i]); ok {
				return []string{arch}
			}
		}
	}
	var arches []string
	for arch := range seen {
		arches = append(arches, arch)
	}
	slices.Sort(arches)
	return arches
}

// checkSupported compares a bundle's list of kernels, which nobody signs, with its packages. It counts
// only where the module packages themselves do not tell their kernels.
func (f *found) checkSupported() {
	have := map[string]bool{}
	silent := -1
	for i, p := range f.packages {
		if isCoreDriver(p.Name) && len(p.kernels) == 0 {
			silent = i
		}
		for _, k := range p.kernels {
			have[k] = true
		}
	}
	var more []string
	for _, k := range f.supported {
		if !have[k] {
			more = append(more, k)
		}
	}
	switch {
	case len(more) == 0:
	case silent >= 0:
		f.packages[silent].kernels = more
		f.note("the kernels are those of the bundle's own list; its module packages do not tell theirs")
	default:
		f.note("the bundle's own list names kernels that it has no modules for: %s", clip(strings.Join(more, ", ")))
	}
}
