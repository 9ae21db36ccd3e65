package detect

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

// The suppliers of vendor stacks.
const (
	nvidia    = "nvidia"
	canonical = "canonical"
	hpe       = "hpe"
)

var (
	// linux.mellanox.com/public/repo/doca/2.9.2/rhel9.4/x86_64, and mirrors that keep the path
	docaPath = regexp.MustCompile(`/repo/doca/([^/]+)(?:/([^/]+))?`)
	mlnxPath = regexp.MustCompile(`/mlnx_ofed/([^/]+)(?:/([^/]+))?`)
	// /mnt/MLNX_OFED_LINUX-24.10-1.1.4.0-rhel9.4-x86_64/RPMS, a bundle as a repository
	mlnxBundle = regexp.MustCompile(`MLNX_OFED_LINUX-([0-9.]+-[0-9.]+[0-9])-([a-z]+[0-9][a-z0-9.]*)`)
	// /usr/share/doca-host-2.9.2-012000-24.10-rhel94/repo/Packages, unpacked by the package doca-host
	docaLocal = regexp.MustCompile(`/doca-host-([0-9]+\.[0-9]+\.[0-9]+)-[0-9]+[-_][0-9.]+[-_]([a-z]+[0-9][a-z0-9]*)`)
	// doca-kernel-repo of doca-kernel-support holds the modules for one kernel.
	docaKernelRepo = regexp.MustCompile(`/doca-kernel-`)
	vendorWord     = regexp.MustCompile(`^(?:latest\S*|[0-9][0-9A-Za-z._-]*)$`)
	targetWord     = regexp.MustCompile(`^[a-z]+[0-9][a-z0-9.]*$`)

	// The last part of the address of Debian's and Ubuntu's archives, on any mirror.
	debArchive = regexp.MustCompile(`/(?:debian|debian-security|ubuntu|ubuntu-ports)/?$`)
	rpmOwnID   = regexp.MustCompile(`^(?:baseos|appstream|base|updates|extras|fasttrack|cr|rhel-[0-9]|rhui-|ol[0-9]+_|fedora|os|everything|update|source|` +
		`sle|sles|repo-oss|repo-update|repo-sle|basesystem|server-applications|product|amazonlinux|azurelinux|mariner|anolis|plus|highavailability|ha|nfv|rt|crb|powertools|codeready)`)
)

// classify says which stack a repository belongs to, by its address first: an id can be chosen freely.
func classify(r *facts.Repository, d facts.Distro) {
	r.Stack = other
	at, id := r.URL, strings.ToLower(r.ID)
	version := func(m []string) {
		if vendorWord.MatchString(m[1]) {
			r.Version = m[1]
			if targetWord.MatchString(m[2]) {
				r.Target = m[2]
			}
		}
	}
	set := func(stack, supplier string) { r.Stack, r.Supplier = stack, supplier }
	switch m := []string(nil); {
	case strings.Contains(at, "canonical-nvidia/doca"):
		set(docaOFED, canonical)
	case strings.Contains(at, "/SDR/") && strings.Contains(at, "doca"), strings.Contains(at, "/SDR/") && strings.Contains(at, "mlnx_ofed"):
		set(docaOFED, hpe)
		if strings.Contains(at, "mlnx_ofed") {
			r.Stack = mlnxOFED
		}
	case match(&m, docaPath, at), match(&m, docaLocal, at):
		set(docaOFED, nvidia)
		version(m)
	case match(&m, mlnxBundle, at), match(&m, mlnxPath, at):
		set(mlnxOFED, nvidia)
		version(m)
	case docaKernelRepo.MatchString(at), id == "doca", strings.HasPrefix(id, "doca-"), strings.HasPrefix(id, "doca_"):
		set(docaOFED, nvidia)
	case strings.HasPrefix(id, "mlnx_ofed"), strings.HasPrefix(id, "mlnx-ofed"), strings.HasPrefix(id, "mellanox_mlnx_ofed"):
		set(mlnxOFED, nvidia)
	case r.Kind == "apt" && ownArchive(*r, d), r.Kind == "rpm" && ownRPM(*r, id, d):
		r.Stack = inbox
	}
	r.Role = role(id, at)
}

func match(m *[]string, pattern *regexp.Regexp, text string) bool {
	*m = pattern.FindStringSubmatch(text)
	return *m != nil
}

// ownArchive says that an apt source is the distribution's: its suite is the release's or one derived
// from it, and the archive has the usual name. A PPA has both and is not.
func ownArchive(r facts.Repository, d facts.Distro) bool {
	u, err := url.Parse(r.URL)
	if err != nil || strings.Contains(u.Host, "launchpad") || !slices.Contains(r.Components, "main") {
		return false
	}
	suite := r.Suite
	if codename, ok := d.Codename.Get(); ok && suite != codename && !strings.HasPrefix(suite, codename+"-") && !strings.HasPrefix(suite, codename+"/") &&
		!slices.Contains([]string{"stable", "testing", "unstable", "sid", "stable-security", "stable-updates"}, suite) {
		return false
	}
	return debArchive.MatchString(u.Path) || strings.HasSuffix(u.Host, ".debian.org") || strings.HasSuffix(u.Host, ".ubuntu.com")
}

func ownRPM(r facts.Repository, id string, d facts.Distro) bool {
	if d.Family.Or("") == "suse" {
		// Of the registered products: "Basesystem_Module_15_SP6_x86_64:SLE-Module-Basesystem15-SP6-Pool".
		if _, name, ok := strings.Cut(id, ":"); ok {
			id = name
		}
	}
	return rpmOwnID.MatchString(id) && role(id, r.URL) != "epel"
}

// role names the repositories beside a stack's own that its installation needs.
func role(id, at string) string {
	switch {
	case strings.HasPrefix(id, "epel"), strings.Contains(at, "/epel/"), strings.Contains(at, "/pub/epel"), strings.Contains(id, "developer_epel"):
		return "epel"
	case id == "crb", id == "powertools", strings.Contains(id, "codeready"):
		return "codeready"
	case strings.Contains(id, "packagehub"), strings.Contains(id, "package-hub"), strings.Contains(id, "backports") && strings.Contains(at, "suse"):
		return "package-hub"
	case strings.Contains(id, "_uekr"):
		return "uek"
	}
	return ""
}
