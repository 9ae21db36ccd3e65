package detect

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

// dkms lists the module packages of RDMA stacks that DKMS keeps. Its tree is
// /var/lib/dkms/NAME/VERSION/KERNEL/ARCH; evidence may have the words of "dkms status" instead.
func (p probe) dkms() facts.Field[[]facts.DKMSPackage] {
	const dir = "/var/lib/dkms"
	names, err := p.r.ReadDir(dir)
	if err != nil {
		if text, source := p.firstTold("dkms status"); text != "" {
			return list(parseDKMSStatus(text, source), source)
		}
		return field[[]facts.DKMSPackage](nil, dir, err)
	}
	var found []facts.DKMSPackage
	for _, name := range names {
		if !ofInterest(name) {
			continue
		}
		versions, err := p.r.ReadDir(dir + "/" + name)
		if err != nil {
			return field[[]facts.DKMSPackage](nil, dir+"/"+name, err)
		}
		for _, version := range versions {
			// Beside the versions are links such as kernel-6.1.0-50-amd64-x86_64 to what is installed.
			if strings.HasPrefix(version, "kernel-") || strings.HasPrefix(version, ".") {
				continue
			}
			one := facts.DKMSPackage{Name: name, Version: version, Kernels: []string{}}
			below, err := p.r.ReadDir(dir + "/" + name + "/" + version)
			if err != nil {
				continue // original_module and the like are kept here, too; a file has no kernels
			}
			for _, kernel := range below {
				if kernel != "source" && kernel != "build" && facts.IsKernelRelease(kernel) {
					one.Kernels = append(one.Kernels, kernel)
				}
			}
			one.Installed = p.dkmsInstalled(dir+"/"+name, one, versions)
			found = append(found, one)
		}
	}
	return list(found, dir)
}

// dkmsInstalled finds the kernels of a version that one of the links kernel-RELEASE-ARCH leads to,
// VERSION/RELEASE/ARCH.
func (p probe) dkmsInstalled(dir string, pkg facts.DKMSPackage, names []string) facts.Field[[]string] {
	var installed []string
	var failed error
	for _, kernel := range pkg.Kernels {
		for _, name := range names {
			if !strings.HasPrefix(name, "kernel-"+kernel+"-") {
				continue
			}
			target, err := p.r.Readlink(dir + "/" + name)
			switch {
			case err != nil:
				failed = err
			case strings.Contains("/"+target+"/", "/"+pkg.Version+"/"+kernel+"/"):
				installed = append(installed, kernel)
			}
		}
	}
	if failed != nil {
		return field[[]string](nil, dir, failed)
	}
	return list(installed, dir)
}

// "NAME/VERSION, KERNEL, ARCH: installed" of DKMS 3, "NAME, VERSION, KERNEL, ARCH: installed" before,
// and "NAME/VERSION: added" of what was built for no kernel.
var dkmsLine = regexp.MustCompile(`^([^\s,/:]+)(?:/|, )([^\s,:]+)(?:, ([^\s,:]+))?(?:, [^\s,:]+)?: *(added|built|installed)`)

func parseDKMSStatus(text, source string) []facts.DKMSPackage {
	var found []facts.DKMSPackage
	for line := range strings.Lines(text) {
		m := dkmsLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || !ofInterest(m[1]) {
			continue
		}
		i := slices.IndexFunc(found, func(have facts.DKMSPackage) bool { return have.Name == m[1] && have.Version == m[2] })
		if i < 0 {
			found = append(found, facts.DKMSPackage{Name: m[1], Version: m[2], Kernels: []string{}, Installed: facts.None[[]string](source)})
			i = len(found) - 1
		}
		if m[3] != "" && !slices.Contains(found[i].Kernels, m[3]) {
			found[i].Kernels = append(found[i].Kernels, m[3])
		}
		if m[3] != "" && m[4] == "installed" && !slices.Contains(found[i].Installed.Value, m[3]) {
			found[i].Installed = facts.Is(append(found[i].Installed.Value, m[3]), source)
		}
	}
	return found
}

// withOrigins names the stack of each package, by the same marks as for packages of the distribution.
func withOrigins(all facts.Field[[]facts.DKMSPackage], packages facts.Packages, distro facts.Distro) facts.Field[[]facts.DKMSPackage] {
	vendor := vendorOf(packages.Installed.Or(nil), packages.OFEDInfo.Or(""))
	for i := range all.Value {
		one := &all.Value[i]
		one.Origin = originOf(one.Name, one.Version, vendor, distro.ID.Or(""))
		if one.Origin == inbox {
			one.Origin = other // a revision alone does not make a source tree the distribution's
		}
	}
	return all
}
