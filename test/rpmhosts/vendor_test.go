package rpmhosts

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
	"github.com/rdmactl/rdmactl/test/vendorlab"
)

// vendorSystem is a system for which the vendor has releases, and how those are on it.
type vendorSystem struct {
	name   string
	system system
	// release is the host's os-release where it is another than that of the system.
	release    string
	mlnx, doca vendorlab.Release
	modules    string   // package of the modules
	module     string   // where modprobe finds one of them, below the kernel's directory
	gone       []string // packages of the distribution whose place the vendor's take under another name
	tampered   string   // what its manager says of a package that was changed
}

// vendorSystems are Rocky 9.4, for which the vendor's releases for RHEL are, and SLES 15 SP6: a root of Leap 15.6,
// whose packages are those of SLES, under the name of SLES. No source names a release for Leap itself.
func vendorSystems() []vendorSystem {
	rocky, leap := systems()[0], systems()[1]
	return []vendorSystem{
		{
			name: rocky.name, system: rocky, mlnx: vendorlab.MLNXRHEL(), doca: vendorlab.DOCARHEL(),
			modules: "kmod-mlnx-ofa_kernel", module: "/extra/mlnx-ofa_kernel/mlxfw.ko",
			tampered: "checksum",
		},
		{
			name: "sles156", system: leap, mlnx: vendorlab.MLNXSLES(), doca: vendorlab.DOCASLES(),
			release: "NAME=\"SLES\"\nVERSION=\"15-SP6\"\nVERSION_ID=\"15.6\"\nPRETTY_NAME=\"SUSE Linux Enterprise Server 15 SP6\"\nID=\"sles\"\nID_LIKE=\"suse\"\n",
			modules: "mlnx-ofa_kernel-kmp-default", module: "/updates/mlxfw.ko",
			tampered: "Signature does not verify",
			gone:     []string{"libibverbs1", "libmlx5-1", "libmlx4-1", "libefa1", "libmana1", "librdmacm1", "libibumad3", "libibmad5", "libibnetdisc5"},
		},
	}
}

// fewer says that a part of a scenario is left out on this system, to save minutes: the first system has it.
// RDMACTL_ROOTS_ALL=1 has all on all.
func (v vendorSystem) fewer(t *testing.T, what string) bool {
	t.Helper()
	if v.name == vendorSystems()[0].name || os.Getenv("RDMACTL_ROOTS_ALL") == "1" {
		return false
	}
	t.Logf("left out is %s; RDMACTL_ROOTS_ALL=1 tries it", what)
	return true
}

// eachVendor runs a scenario on every system that the vendor has releases for.
func eachVendor(t *testing.T, scenario func(t *testing.T, v vendorSystem)) {
	t.Helper()
	for _, v := range vendorSystems() {
		t.Run(v.name, func(t *testing.T) { scenario(t, v) })
	}
}

// vendorHost is a host with the distribution's stack from its own repository, for which a vendor's releases are
// served as the vendor's own server has them.
type vendorHost struct {
	image
	of       vendorSystem
	lab      *vendorlab.Lab
	release  vendorlab.Release
	files    rootlab.Tree
	packages rootlab.Tree
}

// newVendorHost installs the distribution's stack. A package that no repository has any more is there too: the
// vendor's obsoletes it, so that it has to be packed from its files to come back.
func newVendorHost(t *testing.T, v vendorSystem, r vendorlab.Release) *vendorHost {
	t.Helper()
	h := &vendorHost{image: newImage(t, v.system, good), of: v, release: r}
	var err error
	h.lab, err = vendorlab.Open(os.Stderr)
	must(t, err)
	if v.release != "" {
		must(t, put(h.Path("etc/os-release"), v.release))
	}
	h.installs(t)
	old := recipe{name: obsolete, version: "44.0-" + v.system.suffix("2"), fill: func(tree string) error { return put(tree+"/usr/lib64/libibmad.old", "old\n") }}
	dir := filepath.Join(h.Dir, "seed")
	must(t, old.build(dir, h.Dir, h.vendor))
	h.inside(t, "rpm --install --force-debian /seed/*.rpm")
	must(t, os.RemoveAll(dir))
	h.files, h.packages = h.image.files(t), h.image.packages(t)
	return h
}

// obsolete is a package that the vendor's infiniband-diags takes the place of.
const obsolete = "libibmad"

// vendorSource is a release in a variant on a web server.
type vendorSource struct {
	vendorlab.Set
	address string
}

// serves makes the release in a variant. The address tells for which system it is, as the vendor's does.
func (h *vendorHost) serves(t *testing.T, v vendorlab.Variant) vendorSource {
	t.Helper()
	set, err := h.lab.Make(h.release, v)
	must(t, err)
	if set.Kernel != h.kernel {
		t.Fatalf("the vendor's modules are for %s, the host has %s", set.Kernel, h.kernel)
	}
	product := map[string]string{"mlnx-ofed": "mlnx_ofed", "doca-ofed": "doca"}[h.release.Stack]
	at := "/public/repo/" + product + "/" + h.release.Version + "/" + h.release.Label + "/x86_64/"
	server := httptest.NewServer(http.StripPrefix(at, http.FileServer(http.Dir(set.Repo))))
	t.Cleanup(server.Close)
	return vendorSource{set, server.URL + at}
}

func (h *vendorHost) args(verb string, s vendorSource, more ...string) []string {
	return append([]string{
		verb, "--root", h.Dir, "--stack", h.release.Stack, "--source", s.address, "--key", s.Key, "--card", "connectx-5", "--kernel", h.kernel,
	}, more...)
}

// same wants the host to be as it was before the vendor's release.
func (h *vendorHost) same(t *testing.T) {
	t.Helper()
	h.asBefore(t, h.files, h.packages)
	h.clean(t)
}

// clean wants neither the firmware updater nor the vendor's installer to have run.
func (h *vendorHost) clean(t *testing.T) {
	t.Helper()
	for _, mark := range []string{vendorlab.FirmwareMark, vendorlab.ScriptMark} {
		if h.has(mark) {
			t.Errorf("%s is there", mark)
		}
	}
}

// replaced are the packages of the distribution that the vendor's take the place of.
func replaced() []string {
	return []string{"rdma-core", "libibverbs", "libibverbs-utils", "librdmacm", "librdmacm-utils", "libibumad", "infiniband-diags"}
}

// serving looks at a host that has the vendor's release.
func (h *vendorHost) serving(t *testing.T, s vendorSource) {
	t.Helper()
	now := h.image.packages(t)
	for _, name := range replaced() {
		if !strings.Contains(now[name], "mlnx") {
			t.Errorf("package %s is %q", name, now[name])
		}
	}
	for _, name := range []string{h.of.modules, "mlnx-ofa_kernel", "ofed-scripts", vendorlab.Victim, h.meta()} {
		if now[name] == "" {
			t.Errorf("package %s is not installed", name)
		}
	}
	for _, name := range append([]string{"mlnx-fw-updater", obsolete}, h.of.gone...) {
		if now[name] != "" {
			t.Errorf("package %s is installed: %s", name, now[name])
		}
	}
	h.clean(t)
	// The programs are started with the vendor's library, and modprobe takes the vendor's module.
	if got := h.inside(t, `readlink -f "$(ldd /usr/bin/ibv_devinfo | sed -n 's/.*libibverbs.so.1 => \([^ ]*\) .*/\1/p')"`); !strings.Contains(got, "libibverbs.so.1.14.54.0") {
		t.Errorf("ibv_devinfo is started with %s", got)
	}
	if got := h.inside(t, "modinfo -k "+h.kernel+" -F filename mlxfw"); !strings.Contains(got, h.kernel+h.of.module) {
		t.Errorf("modprobe would load %s", got)
	}
	if got := h.inside(t, "ofed_info -s"); !strings.Contains(got, s.Release.Driver[:strings.LastIndexByte(s.Release.Driver, '.')]) {
		t.Errorf("ofed_info says %s", got)
	}
	if got := h.inside(t, "rpm -V --nomtime "+h.of.modules+" libibverbs rdma-core || :"); got != "" {
		t.Errorf("rpm -V: %s", got)
	}
	if text, err := os.ReadFile(h.repositoryFile()); err != nil || !strings.Contains(string(text), "gpgcheck=1") {
		t.Errorf("the repository is configured as %q, %v", text, err)
	}
}

// repositoryFile is where the vendor's repository is configured.
func (h *vendorHost) repositoryFile() string {
	return h.Path(h.system.repos + "/rdmactl-" + h.release.Stack + ".repo")
}

func (h *vendorHost) meta() string {
	if h.release.Stack == "doca-ofed" {
		return "doca-ofed"
	}
	return "mlnx-ofed-all"
}

// TestVendorStackComesAndGoes replaces the distribution's stack by a vendor's and takes it back.
func TestVendorStackComesAndGoes(t *testing.T) {
	eachVendor(t, func(t *testing.T, v vendorSystem) {
		releases := []vendorlab.Release{v.mlnx, v.doca}
		if v.fewer(t, "DOCA, which TestVendorBundles installs") {
			releases = releases[:1]
		}
		for _, release := range releases {
			t.Run(release.String(), func(t *testing.T) { comesAndGoes(t, newVendorHost(t, v, release)) })
		}
	})
}

func comesAndGoes(t *testing.T, h *vendorHost) {
	t.Helper()
	s := h.serves(t, vendorlab.Variant{})
	lab.Rdmactl(t, 0, h.args("plan", s)...).Says(t, h.release.Stack+" "+h.release.Version, "libibverbs: of inbox", "exclude mlnx-fw-updater")
	if diff := h.files.Changed(h.image.files(t)); len(diff) > 0 {
		t.Errorf("a question changed files:\n%s", strings.Join(diff, "\n"))
	}
	r := rootlab.Decode[rootlab.Report](t, lab.Rdmactl(t, 0, h.args("install", s, "--yes", "-o", "json")...))
	if r.Verdict != "done" || !r.Changed {
		t.Errorf("the report is %+v", r)
	}
	h.serving(t, s)
	again := rootlab.Decode[rootlab.Report](t, lab.Rdmactl(t, 0, h.args("install", s, "--yes", "-o", "json")...))
	if again.Verdict != "nothing-to-do" || again.Changed {
		t.Errorf("another run is %+v", again)
	}
	lab.RollsBack(t, h.Root)
	h.same(t)
}

// TestFaultyVendors are releases that must not be installed: each stops before anything changes, or is taken back.
func TestFaultyVendors(t *testing.T) {
	eachVendor(t, faultyVendors)
}

func faultyVendors(t *testing.T, v vendorSystem) {
	h := newVendorHost(t, v, v.mlnx)
	for _, c := range []struct {
		name string
		as   vendorlab.Variant
		exit int
		says []string
	}{
		{"unsigned", vendorlab.Variant{Fault: vendorlab.Unsigned}, 2, []string{".rpm is not signed", "hint"}},
		{"by another key", vendorlab.Variant{Fault: vendorlab.WrongKey}, 2, []string{".rpm is signed by another key", "hint"}},
		{"by a key that is expired", vendorlab.Variant{Fault: vendorlab.ExpiredKey}, 2, []string{"expired", "hint"}},
		{"with an index that was changed", vendorlab.Variant{Fault: vendorlab.EditedIndex}, 2, []string{"repomd.xml", "hint"}},
		{"with a list that is cut off", vendorlab.Variant{Fault: vendorlab.Truncated}, 2, []string{"primary", "hint"}},
		{"with a package that is not signed", vendorlab.Variant{Fault: vendorlab.UnsignedPackage}, 4, []string{vendorlab.Victim, "not signed", "hint"}},
		{"with a package by another key", vendorlab.Variant{Fault: vendorlab.StrangerPackage}, 4, []string{vendorlab.Victim, "key", "hint"}},
		{"with a package by a key that is expired", vendorlab.Variant{Fault: vendorlab.ExpiredPackage}, 4, []string{vendorlab.Victim, "expired", "hint"}},
		{"with packages that were changed", vendorlab.Variant{Fault: vendorlab.Tampered}, 4, []string{"mlnx-", v.tampered, "nothing was changed"}},
		{"with a script that fails before", vendorlab.Variant{Fault: vendorlab.FailingScript}, 6, []string{"ofed-scripts", "rolled back"}},
		{"with a script that fails after", vendorlab.Variant{Fault: vendorlab.LateScript}, 6, []string{"ofed-scripts", "rolled back"}},
		{"whose packages burn firmware", vendorlab.Variant{Firmware: true}, 4, []string{"mlnx-fw-updater would come with them", "hint"}},
	} {
		if c.as.Fault == vendorlab.FailingScript && v.fewer(t, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			s := h.serves(t, c.as)
			if s.OldKey != "" {
				defer h.trusts(t, s.OldKey)()
			}
			r := lab.Rdmactl(t, c.exit, h.args("install", s, "--yes")...)
			_, said, _ := strings.Cut(r.Stderr, "rdmactl: ")
			t.Log(said)
			r.Says(t, c.says...)
			h.same(t)
		})
	}
}

// trusts has rpm trust a key for good, as of a host that took it years ago, and returns what takes it back.
func (h *vendorHost) trusts(t *testing.T, key string) (back func()) {
	t.Helper()
	before := h.packages
	must(t, rootlab.Run(exec.Command("cp", key, h.Path("old.asc"))))
	h.inside(t, "rpmkeys --import /old.asc && rm /old.asc")
	h.packages = h.image.packages(t)
	var came []string
	for name := range h.packages {
		if before[name] == "" {
			came = append(came, name)
		}
	}
	return func() {
		h.inside(t, "rpm -e "+strings.Join(came, " "))
		h.packages = before
	}
}

// TestKilledVendor ends the vendor's transaction with SIGKILL as it begins and in its middle; both ways on lead to a
// whole host.
func TestKilledVendor(t *testing.T) {
	eachVendor(t, killedVendor)
}

func killedVendor(t *testing.T, v vendorSystem) {
	h := newVendorHost(t, v, v.mlnx)
	s := h.serves(t, vendorlab.Variant{})
	args := h.args("install", s, "--yes")
	type place struct{ name, file string }
	points := []place{
		{"in the middle", "usr/lib64/libibverbs.so.1.14.54.0"},
		{"as it begins", "var/lib/rdmactl/rpm-transaction.json"},
	}
	if v.fewer(t, "the point as it begins") {
		points = points[:1]
	}
	for _, point := range points {
		for _, way := range []string{"resume", "rollback"} {
			t.Run(way+" "+point.name, func(t *testing.T) {
				fresh := false
				rootlab.KilledAt(t, point.name, func() (rootlab.Root, *exec.Cmd) {
					if fresh { // the run had come to its end
						lab.RollsBack(t, h.Root)
					}
					fresh = true
					return h.Root, lab.Command(t, args...)
				}, func() bool { return h.has(point.file) })
				t.Logf("killed with %d of the files that differ", len(h.files.Changed(h.image.files(t))))
				lab.Rdmactl(t, 4, args...).Says(t, "unfinished", "--root "+h.Dir)
				if way == "resume" {
					lab.Rdmactl(t, 0, "install", "--root", h.Dir, "--resume", "--yes").Says(t, "done")
					h.serving(t, s)
				}
				lab.RollsBack(t, h.Root)
				h.same(t)
			})
		}
	}
}

// TestSeveralReleases has two releases in one index, as mirrors have them.
func TestSeveralReleases(t *testing.T) {
	eachVendor(t, severalReleases)
}

func severalReleases(t *testing.T, v vendorSystem) {
	h := newVendorHost(t, v, v.mlnx)
	newer := v.mlnx
	newer.Version, newer.Driver = "24.10-2.1.8.0", "24.10-2.1.8.0"
	repo := t.TempDir()
	for _, r := range []vendorlab.Release{h.release, newer} {
		set, err := h.lab.Make(r, vendorlab.Variant{})
		must(t, err)
		must(t, rootlab.Run(exec.Command("sh", "-c", `cp -n "$1"/*.rpm "$2"`, "sh", set.Repo, repo)))
	}
	must(t, rootlab.Run(exec.Command("createrepo_c", "-q", "--general-compress-type=gz", repo)))
	s := h.serves(t, vendorlab.Variant{})
	server := httptest.NewServer(http.StripPrefix("/mlnx_ofed/all/"+v.mlnx.Label+"/x86_64/", http.FileServer(http.Dir(repo))))
	t.Cleanup(server.Close)
	s.address = server.URL + "/mlnx_ofed/all/" + v.mlnx.Label + "/x86_64/"
	// dnf and zypper take the newest drivers whatever the metapackage is asked for in.
	lab.Rdmactl(t, 0, h.args("plan", s, "--version", h.release.Version)...).Says(t, "install mlnx-ofed "+h.release.Version)
	lab.Rdmactl(t, 4, h.args("install", s, "--version", h.release.Version, "--yes")...).Says(t,
		"cannot install this release from "+s.address, v.modules+" 24.10", "OFED.24.10.2.1.8.1", ", not 24.10", "OFED.24.10.1.1.4.1", "hint: ask for the newest")
	h.same(t)
	lab.Rdmactl(t, 0, h.args("install", s, "--version", newer.Version, "--yes")...).Says(t, "done")
	s.Release = newer
	h.serving(t, s)
	lab.RollsBack(t, h.Root)
	h.same(t)
}
