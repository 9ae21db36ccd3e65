package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan/rules"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// PackagesReplaced tells that packages of the distribution or of another stack go.
const PackagesReplaced rules.Code = "packages-replaced"

// vendorSteps take this host to a release of a stack that is not the distribution's own. The packages of
// the old stack go in the same transaction of the package manager that brings the new ones, after
// everything was downloaded, verified and built.
func vendorSteps(in rules.Input, c *rules.Candidate, act activation, req Request) []Step {
	mode := activationMode(req)
	out := []Step{}
	if !inPlace(in, c) {
		switch c.Method {
		case rules.BySourcePackage:
			out = append(out, sourcePackageSteps(in, c, req)...)
		case rules.BySource:
			out = append(out, sourceSteps(in, c, req)...)
		case rules.ByVendorScript:
			out = append(out, scriptSteps(in, c, req)...)
		default:
			out = append(out, repositoryStep(in, c)...)
			out = append(out, toolsStep(in, c)...)
			out = append(out, modulesStep(in, c)...)
			out = append(out, removalStep(in, c)...)
			out = append(out, vendorPackages(in, c, req))
			out = append(out, oldRepositoryStep(in, c.Release.Stack)...)
		}
		if c.Method != rules.ByVendorScript { // its installer burns it, when it is asked to
			out = append(out, firmwareStep(in, c, req)...)
		}
		if c.Modules != rules.ModulesInbox {
			out = append(out, initramfsStep(in))
			if mode != ActivateNone {
				out = append(out, activationStep(c, act))
			}
		}
	} else {
		out = append(out, firmwareStep(in, c, req)...)
	}
	out = append(out, fileSteps(in)...)
	if !needsReboot(out) {
		out = append(out, atBootStep(in, mode, out)...)
	}
	if now(in, mode) {
		out = append(out, udevStep(in, out)...)
		out = append(out, servicesStep(in, out)...)
		if len(out) > 0 && !needsReboot(out) {
			out = append(out, verifyStep(in))
		}
	}
	return out
}

func needsReboot(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { return s.Reboot })
}

// installedIs says whether the host has this very release.
func installedIs(in rules.Input, r *matrix.Release) bool {
	return rules.ReleaseOnHost(in, r.Stack) == r
}

// inPlace says whether the host has the release: by its packages, or built into its directory.
func inPlace(in rules.Input, c *rules.Candidate) bool {
	if c.Method == rules.BySourcePackage {
		return packagesBuilt(in, c)
	}
	if c.Method != rules.BySource {
		return installedIs(in, c.Release)
	}
	return builtInPlace(in, c)
}

// stackPackages are the installed packages of a stack that this release would replace: those that the
// vendor's own installer removes, and all of another vendor stack.
func stackPackages(in rules.Input, c *rules.Candidate) []facts.Package {
	whole := removedWhole(in, c) // they go before, with the step that removes the old release
	return slices.DeleteFunc(slices.Clone(rules.ReplacedPackages(in, c)), func(p facts.Package) bool {
		return slices.ContainsFunc(whole, func(gone facts.Package) bool { return gone.Name == p.Name && gone.Arch == p.Arch })
	})
}

// named matches a package against an entry of a list, which may be a pattern (mlnx-ofed-*).
func named(name string) func(string) bool {
	return func(entry string) bool { return rules.NameMeets(name, entry) }
}

// RemovalStep is the id of the step that removes an old release whole before the new one comes.
const RemovalStep = "remove-old-stack"

// notInPlace says that the release cannot be installed over what is there.
func notInPlace(c *rules.Candidate) bool {
	return slices.ContainsFunc(c.Warnings, func(f rules.Finding) bool { return f.Code == rules.UpgradeNotInPlace })
}

// removedWhole are the packages of a release that must be gone before this one comes.
func removedWhole(in rules.Input, c *rules.Candidate) []facts.Package {
	have, there := rules.VendorOnHost(in)
	if !there || !notInPlace(c) {
		return nil
	}
	installed, _ := rules.InstalledPackages(in.Facts)
	var out []facts.Package
	for _, p := range installed {
		if p.Origin == have.Stack {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b facts.Package) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// removalStep removes an old release in a transaction of its own where no upgrade in place is documented.
func removalStep(in rules.Input, c *rules.Candidate) []Step {
	have, there := rules.VendorOnHost(in)
	if !there || !notInPlace(c) {
		return nil
	}
	s := Step{
		ID: RemovalStep, Kind: KindPackages, Summary: "remove " + have.Name() + " whole",
		Why:  "no upgrade in place is documented from it to " + c.Release.Stack + " " + c.Release.Version + "; `ofed_uninstall.sh --force` of the old release does the same",
		Undo: "install the old release's packages again, which were kept", Root: true,
	}
	for _, p := range removedWhole(in, c) {
		s.Changes.Packages = append(s.Changes.Packages, PackageChange{Name: p.Name, Action: "remove", Why: "of " + have.Name()})
	}
	if len(s.Changes.Packages) == 0 {
		s.Summary += " with its own uninstaller: sudo ofed_uninstall.sh --force"
		s.Why = "no upgrade in place is documented from it to " + c.Release.Stack + " " + c.Release.Version + ", and nothing tells which packages it has"
		s.Undo = "install the old release again"
	}
	return []Step{s}
}

// rdmaGroups are the installed groups of packages that bring the distribution's own stack.
func rdmaGroups(in rules.Input) []string {
	var out []string
	for _, group := range in.Facts.Packages.Groups.Or(nil) {
		if strings.Contains(strings.ToLower(group), "infiniband") {
			out = append(out, printable(group))
		}
	}
	return out
}

// groupRemoval is the command that removes a group of packages.
func groupRemoval(in rules.Input, group string) string {
	if in.Facts.Packages.Manager.Or("") == "yum" {
		return "yum groupremove " + quoted(group)
	}
	return "dnf group remove " + quoted(group)
}

func vendorPackages(in rules.Input, c *rules.Candidate, req Request) Step {
	var changes []PackageChange
	for _, p := range stackPackages(in, c) {
		changes = append(changes, PackageChange{
			Name: p.Name, Action: "replace",
			Why: "of " + p.Origin + "; it goes only if " + c.Release.Stack + " excludes it, and a package of the same name from there takes its place",
		})
	}
	installed, told := rules.InstalledPackages(in.Facts)
	for _, name := range metaPackages(in, c) {
		action := "install"
		if slices.ContainsFunc(installed, func(have facts.Package) bool { return have.Name == name }) && !notInPlace(c) {
			action = "upgrade" // from another release of the stack
		}
		changes = append(changes, PackageChange{Name: name, Action: action, Why: "the vendor's package set"})
	}
	for _, p := range in.Profile.PackagesFor(in.Facts.Distro.Family.Or(""), rules.PackageRelease(in), c.Release.Stack) {
		if !told || !slices.ContainsFunc(installed, func(have facts.Package) bool { return named(have.Name)(p.Name) }) {
			changes = append(changes, PackageChange{Name: p.Name, Action: "install", Why: p.Why, Optional: p.Optional})
		}
	}
	changes = append(changes, excludedFirmware(c, req)...)
	verb := "install "
	if rules.StackVersions(in)[c.Release.Stack] != "" && !notInPlace(c) {
		verb = "move to "
	}
	summary := verb + c.Release.Stack + " " + c.Release.Version + " from its packages"
	if n := len(stackPackages(in, c)); n > 0 {
		summary += ", which replace " + plural(n, "package")
	}
	why := "everything is downloaded and verified before the first package of the old stack goes"
	for _, group := range rdmaGroups(in) {
		why += "; before it run `sudo " + groupRemoval(in, group) + "`: nothing tells which packages that group has brought, and they conflict with the vendor's"
	}
	return Step{
		ID: "packages", Kind: KindPackages, Summary: summary,
		Why:     why,
		Changes: Changes{Packages: changes},
		Undo:    "put the old packages back, which were kept before the change, and remove those that this step added",
		Root:    true, Network: true, Bytes: vendorBytes(c),
	}
}

// metaPackages are what the package manager is asked for.
func metaPackages(in rules.Input, c *rules.Candidate) []string {
	if set := vendorSet(in, c); set != "" {
		return []string{set}
	}
	if c.Layout == nil || len(c.Layout.Meta) == 0 {
		return []string{c.Release.Stack}
	}
	return c.Layout.Meta[:1]
}

// vendorBytes is what is downloaded: the sum of a holding, else an estimate of the layout.
func vendorBytes(c *rules.Candidate) int64 {
	var sum int64
	if c.Holding != nil {
		for _, p := range c.Holding.Packages {
			sum += p.Bytes
		}
	}
	if sum == 0 && c.Layout != nil {
		sum = int64(c.Layout.DiskMB) * 1_000_000
	}
	return sum
}

// address is where the packages come from.
func address(in rules.Input, c *rules.Candidate) string {
	if c.Holding != nil {
		return c.Holding.Origin
	}
	if c.Layout == nil || (c.Label == "" && strings.Contains(c.Layout.Repository, "{label}")) {
		return "" // no source names the vendor's path for this system
	}
	arch := in.Facts.Kernel.Arch.Or("x86_64")
	if arch == "aarch64" && c.Release.Stack == "doca-ofed" {
		arch = "arm64-sbsa" // DOCA's repositories name servers with aarch64 so
	}
	return strings.NewReplacer("{version}", c.Release.Version, "{label}", c.Label, "{arch}", arch).Replace(c.Layout.Repository)
}

// versionsOf are the versions of a release's packages, by name.
func versionsOf(h *matrix.Holding) map[string][]string {
	out := map[string][]string{}
	for _, p := range h.Packages {
		if !slices.Contains(out[p.Name], p.Version) {
			out[p.Name] = append(out[p.Name], p.Version)
		}
	}
	return out
}

func repositoryStep(in rules.Input, c *rules.Candidate) []Step {
	url := address(in, c)
	if url == "" {
		return nil
	}
	r := RepositoryChange{URL: url}
	switch {
	case c.Holding != nil:
		r.Fingerprint = c.Holding.Signed // the key that the import checked it with
		r.SignedIndex = c.Holding.SignedIndex
		r.Packages = versionsOf(c.Holding)
	case c.Layout != nil:
		for _, k := range c.Layout.Keys {
			if k.Kind == "packages" && (r.Fingerprint == "" || k.Fingerprint != "") {
				r.KeyURL, r.Fingerprint = k.URL, k.Fingerprint
			}
		}
	}
	name := "rdmactl-" + c.Release.Stack
	switch in.Facts.Distro.Family.Or("") {
	case "rhel":
		r.File = "/etc/yum.repos.d/" + name + ".repo"
	case "suse":
		r.File = "/etc/zypp/repos.d/" + name + ".repo"
	default:
		r.File = "/etc/apt/sources.list.d/" + name + ".list"
	}
	why := "packages are taken only from a repository whose signature is checked against a key with this fingerprint"
	if r.Fingerprint == "" {
		why = "packages are taken only from a repository that is signed; no source tells the fingerprint of its key, so the key must be given"
	}
	summary := "set up the repository of " + c.Release.Stack + " " + c.Release.Version
	if c.Method == rules.ByBundle {
		summary = "fetch and verify the bundle of " + c.Release.Stack + " " + c.Release.Version + " and use it as a local repository"
	}
	s := Step{
		ID: "repository", Kind: KindRepository, Summary: summary,
		Why: why, Changes: Changes{Repository: &r}, Undo: "remove the repository and its key", Root: true, Network: true,
	}
	if bundleOf(c.Holding) != nil {
		s = unpackedStep(c, s, &r)
	}
	return []Step{s}
}

// toolsStep brings what modules are built with. Headers must be of exactly the kernel that is planned for.
func toolsStep(in rules.Input, c *rules.Candidate) []Step {
	if c.Modules != rules.ModulesDKMS && c.Modules != rules.ModulesBuilt {
		return nil
	}
	installed, told := rules.InstalledPackages(in.Facts)
	have := func(name string) bool {
		return told && slices.ContainsFunc(installed, func(p facts.Package) bool { return p.Name == name })
	}
	var changes []PackageChange
	var needs []string
	if c.Layout != nil {
		needs = c.Layout.Needs
	}
	if headers := rules.HeadersPackage(in); headers != "" && !in.Facts.Kernel.Headers.IsKnown() && !rules.PackageInstalled(in, headers) {
		changes = append(changes, PackageChange{Name: headers, Action: "install", Why: "modules are compiled against the headers of exactly this kernel"})
	}
	for _, name := range needs {
		if !have(name) {
			changes = append(changes, PackageChange{Name: name, Action: "install", Why: needsWhy(name)})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return []Step{{
		ID: "build-tools", Kind: KindPackages, Summary: "install " + plural(len(changes), "package") + " to compile kernel modules with",
		Why:     "the release has no modules for this kernel and builds them here, also for each later kernel",
		Changes: Changes{Packages: changes},
		Undo:    "remove the packages that this step added",
		Root:    true, Network: true,
	}}
}

// needsWhy says what a package of the build is for.
func needsWhy(name string) string {
	switch {
	case strings.HasPrefix(name, "createrepo"):
		return "the vendor's script puts the packages that it built into a repository, from which they are installed"
	case name == "dkms":
		return "it compiles the modules, now and for each later kernel"
	}
	return "modules are compiled on this host"
}

// modulesStep builds modules for this kernel where the release has none and DKMS does not do it.
func modulesStep(in rules.Input, c *rules.Candidate) []Step {
	if c.Modules != rules.ModulesBuilt {
		return nil
	}
	tool := "mlnx_add_kernel_support.sh of the bundle"
	if c.Release.Stack == "doca-ofed" {
		tool = "doca-kernel-support of the package doca-extra"
	}
	kernel := in.Facts.Kernel.Release.Or("this kernel")
	if in.OtherKernel() {
		kernel = in.Kernel
	}
	return []Step{{
		ID: "build-modules", Kind: KindBuild, Summary: "build the release's modules for " + kernel + " with " + tool,
		Why:     "the release has no modules for this kernel; the packages that are built are of this kernel alone",
		Changes: Changes{Build: &BuildChange{Source: address(in, c), Version: c.Release.Version, Prefix: "/var/cache/rdmactl/build"}},
		Undo:    "remove the built packages", Root: true, Network: true,
	}}
}

func initramfsStep(in rules.Input) Step {
	kernel := in.Facts.Kernel.Release.Or("")
	if in.OtherKernel() {
		kernel = in.Kernel
	}
	release := kernel
	if kernel == "" {
		kernel = "the kernel"
	}
	return Step{
		ID: "initramfs", Kind: KindInitramfs, Summary: "make the initramfs of " + kernel + " anew",
		Why:     "the card's driver may be loaded from the initramfs; an old copy there wins over the new module",
		Changes: Changes{Kernel: release},
		Undo:    "lay the old file back", Root: true,
	}
}

func activationStep(c *rules.Candidate, act activation) Step {
	var swapped []ModuleChange
	if c.Layout != nil {
		for _, name := range c.Layout.Modules {
			swapped = append(swapped, ModuleChange{Name: name, Optional: true})
		}
	}
	s := Step{
		ID: "activate", Kind: KindActivate, Summary: "replace the RDMA modules in memory",
		Why:     "the drivers on disk serve only once they are loaded",
		Changes: Changes{Modules: swapped},
		Undo:    "load the modules that are then on disk, live or at the next boot", Root: true,
	}
	if act.reboot {
		s.Summary, s.Reboot = "the new modules are loaded at the next boot, which rdmactl leaves to you", true
		s.Why = act.reasons[0].Text
	} else if c.Layout != nil && len(c.Layout.Services) > 0 {
		for _, name := range c.Layout.Services {
			s.Changes.Services = append(s.Changes.Services, ServiceChange{Name: name, Action: "restart"})
		}
	}
	return s
}

// sourceSteps build a stack on the host.
func sourceSteps(in rules.Input, c *rules.Candidate, req Request) []Step {
	var out []Step
	if c.Method == rules.BySource && len(builtCopies(in, c)) > 0 {
		return append(out, useStep(in, c, buildPrefix(in, c))) // it stands there already
	}
	if needs := buildNeeds(in, c); len(needs) > 0 {
		out = append(out, Step{
			ID: BuildToolsStep, Kind: KindPackages, Summary: "install " + plural(len(needs), "package") + " to build with",
			Why: "the stack is compiled on this host", Changes: Changes{Packages: needs},
			Undo: "remove the packages that this step added", Root: true, Network: true,
		})
	}
	b := BuildChange{Source: address(in, c), Version: c.Release.Version, Prefix: buildPrefix(in, c)}
	if c.Method == rules.BySource {
		b.Options, b.Providers = buildOptions(in, c.Release.Version), buildProviders(in)
		if req.Source != "" {
			b.Source, b.SHA256, b.Signature = req.Source, req.SHA256, req.Signature
		}
	}
	s := Step{
		ID: "build", Kind: KindBuild, Summary: fmt.Sprintf("build %s %s from source into %s", c.Release.Stack, c.Release.Version, b.Prefix),
		Why:     "its own directory keeps it apart from the distribution's packages, which stay as they are",
		Changes: Changes{Build: &b}, Undo: "remove " + b.Prefix, Root: true, Network: true, Bytes: vendorBytes(c),
	}
	out = append(out, s)
	if !in.Aside {
		out = append(out, useStep(in, c, b.Prefix))
	}
	return out
}

// buildPrefix is the profile's directory, else one for each version, so that several stand side by side.
func buildPrefix(in rules.Input, c *rules.Candidate) string {
	if b := in.Profile.Build; b != nil && b.Prefix != "" && c.Method == rules.BySource {
		return b.PrefixFor(c.Release.Version)
	}
	return "/opt/rdmactl/" + c.Release.Stack + "/" + c.Release.Version
}
