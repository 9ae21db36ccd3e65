package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

// Leaves says that a plan that names the distribution's own stack can take the vendor's stack of this host away: the
// packages, or what DKMS keeps, tell what belongs to the vendor's. Soft-RoCE asks for a device, not for another stack.
// What only ofed_info or files tell of is nobody's list of what has to go.
func Leaves(in Input) bool {
	if in.Profile.SoftRoCE != nil || in.Facts.Packages.Excerpt || in.inContainer() {
		return false
	}
	return len(AwayPackages(in)) > 0 || len(AwayDKMS(in)) > 0 && !in.Facts.Packages.OFEDInfo.IsKnown()
}

// AwaitsBoot says that a vendor's stack has gone from this host and that its modules are still in memory: the kernel's
// own are on disk, and the next boot loads them.
func AwaitsBoot(in Input) bool {
	_, told := InstalledPackages(in.Facts)
	if !told || in.Facts.Packages.Excerpt || !in.Running() || in.Facts.Packages.OFEDInfo.IsKnown() || in.Facts.Packages.Vendor.IsKnown() || len(AwayPackages(in)) > 0 {
		return false
	}
	for _, d := range in.Facts.Modules.DKMS.Or(nil) {
		if slices.Contains(foreignStacks(), d.Origin) && replacesKernel(d.Name) {
			return false
		}
	}
	own := false
	for _, d := range in.Facts.Modules.OnDisk {
		if vendorFile(d) {
			return false
		}
		own = own || (d.Name == "mlx5_core" || d.Name == "ib_core") && d.Origin.Or("") == "inbox"
	}
	return own && len(vendorModules(in)) > 0
}

// AwayPackages are the packages of other stacks than the distribution's on a host, half installed ones among them, by
// name and architecture: those that detect has told to be a vendor's, those of unknown origin that the layout of that
// stack lists, and those that rdmactl has built from source. No name alone is enough: the distribution has most of them as well.
func AwayPackages(in Input) []facts.Package {
	all, ok := in.Facts.Packages.Installed.Get()
	if !ok {
		return nil
	}
	var out []facts.Package
	vendors := map[string]bool{}
	for _, p := range all {
		if slices.Contains(foreignStacks(), p.Origin) {
			out, vendors[p.Origin] = append(out, p), true
		}
	}
	for _, p := range all {
		if p.Origin == "unknown" && listedBy(in, vendors, p.Name) {
			out = append(out, p)
		}
	}
	for _, p := range all {
		if BuiltHere(p) {
			p.Origin = "rdma-core" // the number of its version is the distribution's own way of counting
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b facts.Package) int {
		return strings.Compare(a.Name+":"+a.Arch, b.Name+":"+b.Arch)
	})
	return slices.CompactFunc(out, func(a, b facts.Package) bool { return a.Name == b.Name && a.Arch == b.Arch })
}

// listedBy says that the layout of a stack on the host names a package among what it brings or replaces.
func listedBy(in Input, vendors map[string]bool, name string) bool {
	for stack := range vendors {
		for _, l := range awayLayouts(in, stack) {
			lists := slices.Concat(l.replaces, l.meta)
			if slices.ContainsFunc(lists, nameMeets(name)) && !slices.ContainsFunc(l.keeps, nameMeets(name)) {
				return true
			}
		}
	}
	return false
}

// awayLayout is what the matrix tells of the packaging of a stack that goes.
type awayLayout struct{ replaces, meta, keeps, leaves []string }

// awayLayouts are those of a stack for the host's family. The release that is there may be one that the matrix lacks,
// so all of them count.
func awayLayouts(in Input, stack string) []awayLayout {
	if in.Matrix == nil {
		return nil
	}
	var out []awayLayout
	for _, l := range in.Matrix.Layouts(stack) {
		if l.Family != "" && l.Family != in.Facts.Distro.Family.Or("") {
			continue
		}
		out = append(out, awayLayout{
			replaces: l.Replaces, meta: slices.Concat(l.Meta, l.UserOnly), keeps: l.Keeps, leaves: l.Leaves,
		})
	}
	return out
}

// AwayDKMS are the modules of vendors' stacks that DKMS keeps although no package has them any more. Those of a
// package go with it.
func AwayDKMS(in Input) []facts.DKMSPackage {
	var out []facts.DKMSPackage
	for _, d := range in.Facts.Modules.DKMS.Or(nil) {
		if !slices.Contains(foreignStacks(), d.Origin) || !replacesKernel(d.Name) || !plainWord(d.Name) || !plainWord(d.Version) {
			continue
		}
		owned := slices.ContainsFunc(AwayPackages(in), func(p facts.Package) bool {
			return strings.HasPrefix(p.Name, d.Name) && strings.Contains(p.Name, "dkms")
		})
		if !owned {
			out = append(out, d)
		}
	}
	return out
}

// AwayFiles are files and directories that a vendor's stack is known to leave when its packages go, as the layouts of
// the stacks on this host tell, and those of DKMS without a package. Whether they are there is seen when it is time.
func AwayFiles(in Input) []string {
	stacks := map[string]bool{}
	for _, p := range AwayPackages(in) {
		stacks[p.Origin] = true
	}
	var out []string
	for _, d := range AwayDKMS(in) {
		stacks[d.Origin] = true
		out = append(out, "/var/lib/dkms/"+d.Name, "/usr/src/"+d.Name+"-"+d.Version)
	}
	for stack := range stacks {
		for _, l := range awayLayouts(in, stack) {
			out = append(out, l.leaves...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// AwayModules says that kernel modules go with the stack, so that those in memory are replaced by a boot.
func AwayModules(in Input) bool {
	return len(AwayDKMS(in)) > 0 || len(vendorModules(in)) > 0 || slices.ContainsFunc(AwayPackages(in), func(p facts.Package) bool {
		name := strings.ToLower(p.Name)
		return strings.Contains(name, "dkms") || strings.Contains(name, "kernel") || strings.HasPrefix(name, "kmod-") || strings.HasSuffix(name, "-modules") || strings.Contains(name, "-kmp-")
	})
}

// AwayRepositories are the files that configure repositories of the stacks that go, or that rdmactl has made for them,
// and of such a file only if all of it is theirs. shared are files that have others' as well.
func AwayRepositories(in Input, except string) (files, shared []string) {
	theirs, others := map[string]bool{}, map[string]bool{}
	for _, r := range in.Facts.Packages.RepositoryList.Or(nil) {
		stack := stackOfRepository(r)
		if stack == "" || stack == except {
			others[r.File] = true
			continue
		}
		if r.Enabled {
			theirs[r.File] = true
		}
	}
	for file := range theirs {
		switch {
		case others[file] || !repositoryFile(file):
			shared = append(shared, file)
		default:
			files = append(files, file)
		}
	}
	slices.Sort(files)
	slices.Sort(shared)
	return files, shared
}

// stackOfRepository is the vendor's stack that a repository is of, empty for none: by the name that rdmactl gives its
// file, since a mirror's address may tell nothing, else by what its address tells.
func stackOfRepository(r facts.Repository) string {
	base := path.Base(r.File)
	base = strings.TrimSuffix(base, path.Ext(base))
	for _, stack := range foreignStacks() {
		if r.Stack == stack || base == "rdmactl-"+stack {
			return stack
		}
	}
	// The vendor's installation guides have administrators call the files so.
	switch base {
	case "mlnx_ofed", "mellanox_mlnx_ofed":
		return "mlnx-ofed"
	case "doca":
		return "doca-ofed"
	}
	return ""
}

// repositoryFile says that a file is one of those that configure repositories one by one.
func repositoryFile(file string) bool {
	return path.Clean(file) == file && slices.Contains([]string{"/etc/apt/sources.list.d", "/etc/yum.repos.d", "/etc/zypp/repos.d"}, path.Dir(file))
}

// AwayRepositoryNames are how the package manager names the repositories of vendors' stacks: addresses for apt, ids for
// the others.
func AwayRepositoryNames(in Input) []string {
	var out []string
	for _, r := range in.Facts.Packages.RepositoryList.Or(nil) {
		name := r.ID
		if r.Kind == "apt" {
			name = r.URL
		}
		if stackOfRepository(r) != "" && name != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// plainWord says that a name can be a part of a path.
func plainWord(word string) bool {
	return word != "" && word[0] != '.' && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+~-") == ""
}

// tornPackage says that unpacking was cut short: apt cannot remove such a package before it is unpacked again.
func tornPackage(p facts.Package) bool {
	return strings.Contains(p.Status, "reinst") || strings.HasSuffix(p.Status, " half-installed")
}
