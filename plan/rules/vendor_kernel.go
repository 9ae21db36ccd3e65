package rules

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/version"
)

// kernelKind says whose kernel it is.
type kernelKind int

const (
	kernelUntold    kernelKind = iota // nothing tells the release
	kernelDistro                      // the distribution's default kernel
	kernelFlavour                     // another kernel of the distribution: for a cloud, UEK, 64k pages, real time
	kernelOther                       // built by the user, by a board's maker, by kernel.org or by a third party
	kernelCandidate                   // -rc
)

// vendorKernel is the target kernel as vendors' tables see it.
type vendorKernel struct {
	release string
	source  string
	parsed  version.KernelRelease
	digits  []int
	kind    kernelKind
	flavour string // of kernelFlavour, such as azure, uek, 64k
}

func isUEK(release string) bool { return strings.Contains(release, "uek") }

// kernelOf reads the target kernel; the distribution's id tells its naming.
func kernelOf(in Input, id string) vendorKernel {
	k := vendorKernel{}
	k.release, k.source = in.targetKernel()
	parsed, err := version.ParseKernel(k.release)
	if err != nil {
		return k
	}
	k.parsed, k.digits = parsed, digitsOf(k.release)
	if parsed.RC() > 0 {
		k.kind = kernelCandidate
		return k
	}
	k.kind, k.flavour = kindOf(k.release, id)
	return k
}

// kindOf tells by the pattern of a distribution's releases: 5.15.0-101-generic, 6.1.0-50-amd64,
// 5.14.0-427.13.1.el9_4.x86_64, 5.14.21-150500.53-default. Other distributions' patterns are not known:
// what has a suffix is theirs.
func kindOf(release, id string) (kernelKind, string) {
	switch id {
	case "ubuntu":
		return ubuntuKernel(release)
	case "debian":
		return debianKernel(release)
	case "rhel", "rocky", "almalinux", "centos", "ol", "scientific":
		return enterpriseKernel(release)
	case "sles", "opensuse-leap":
		_, flavour, _ := cutLast(release, "-")
		switch {
		case flavour == "default":
			return kernelDistro, ""
		case slices.Contains([]string{"azure", "rt", "64kb"}, flavour):
			return kernelFlavour, flavour
		}
		return kernelOther, ""
	}
	if strings.ContainsAny(release, "-") {
		return kernelDistro, ""
	}
	return kernelOther, ""
}

// ubuntuKernel: the number after the first dash counts the builds. A mainline build of Ubuntu's team has
// six digits there (6.9.0-060900-generic) and is no kernel of the distribution.
func ubuntuKernel(release string) (kernelKind, string) {
	_, rest, _ := strings.Cut(release, "-")
	build, flavour, ok := strings.Cut(rest, "-")
	if !ok || build == "" || len(build) > 5 || strings.Trim(build, "0123456789") != "" {
		return kernelOther, ""
	}
	if flavour == "generic" {
		return kernelDistro, ""
	}
	for _, known := range []string{
		"aws", "azure", "gcp", "gke", "oracle", "ibm", "nvidia", "oem", "kvm", "raspi", "lowlatency", "generic-64k", "realtime", "intel", "xilinx", "bluefield", "hwe",
	} {
		if strings.HasPrefix(flavour, known) {
			return kernelFlavour, printable(flavour)
		}
	}
	return kernelOther, ""
}

func debianKernel(release string) (kernelKind, string) {
	for _, arch := range []string{"amd64", "arm64", "686", "686-pae", "ppc64el", "s390x", "armmp", "riscv64", "powerpc64le"} {
		if rest, ok := strings.CutSuffix(release, "-"+arch); ok {
			switch _, flavour, _ := cutLast(rest, "-"); {
			case flavour == "cloud", flavour == "rt":
				return kernelFlavour, flavour + "-" + arch
			case strings.Contains(rest, "bpo"):
				return kernelFlavour, "backports" // 6.12.9+bpo-amd64, of a later release
			}
			return kernelDistro, ""
		}
	}
	return kernelOther, ""
}

func enterpriseKernel(release string) (kernelKind, string) {
	_, rest, ok := strings.Cut(release, ".el")
	switch {
	case !ok || rest == "" || rest[0] < '0' || rest[0] > '9' || strings.Contains(rest, "elrepo"):
		return kernelOther, ""
	case isUEK(rest):
		return kernelFlavour, "uek"
	}
	if _, flavour, found := strings.Cut(rest, "+"); found {
		return kernelFlavour, printable(flavour) // 64k, rt, debug
	}
	return kernelDistro, ""
}

func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// digitsOf are the leading numbers of a release: 5, 14, 0, 427, 13, 1.
func digitsOf(release string) []int {
	var out []int
	n, open := 0, false
	for i := 0; i <= len(release); i++ {
		switch {
		case i < len(release) && release[i] >= '0' && release[i] <= '9' && n < 1<<40:
			n, open = n*10+int(release[i]-'0'), true
			continue
		case !open:
			return out
		}
		out = append(out, n)
		n, open = 0, false
		if i < len(release) && release[i] != '.' && release[i] != '-' {
			return out
		}
	}
	return out
}

// kernelFit is how a kernel stands to the one that a table prints.
type kernelFit int

const (
	fitUntold kernelFit = iota // the table prints none, or the host's is not told
	fitExact                   // the same build
	fitErrata                  // a later or earlier build of the same line
	fitOff                     // another line or another flavour
)

// fit compares with a table's default kernel. A line is what one release of a distribution keeps while
// errata come: the build number of RHEL (5.14.0-427), the version of Ubuntu, SLES and others (5.15.0),
// the series of Debian (6.1).
func (k vendorKernel) fit(table, id string) kernelFit {
	switch {
	case k.kind == kernelUntold || table == "":
		return fitUntold
	case k.release == table || strings.HasPrefix(k.release, table) && boundary(k.release[len(table):]):
		return fitExact
	case k.kind == kernelOther || k.kind == kernelCandidate || isUEK(k.release) != isUEK(table):
		return fitOff
	case k.kind == kernelFlavour && !isUEK(table):
		return fitOff
	}
	n := 3
	switch id {
	case "rhel", "centos", "rocky", "almalinux":
		n = 4
	case "debian":
		n = 2
	}
	want := digitsOf(table)
	n = min(n, len(want))
	if n < 2 || len(k.digits) < n || !slices.Equal(k.digits[:n], want[:n]) {
		return fitOff
	}
	return fitErrata
}

// boundary says that what follows a whole kernel version is the architecture or flavour: 427.13.1.el9_4
// of the table, .x86_64 of uname. A flavour behind "+" (64k pages) makes another kernel.
func boundary(rest string) bool {
	if strings.Contains(rest, "+") {
		return false
	}
	return rest == "" || (rest[0] == '.' || rest[0] == '-') && len(rest) > 1 && (rest[1] < '0' || rest[1] > '9')
}
