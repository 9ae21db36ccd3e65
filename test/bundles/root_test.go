package bundles

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/test/internal/cache"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// suite is the Debian release of the hosts.
const suite = "bookworm"

// rootPackages are on the host before anything is installed.
func rootPackages() []string {
	return []string{"dbus", "iproute2", "kmod", "perl", "procps", "python3", "systemd", "systemd-sysv", "udev", "util-linux"}
}

// offered are what the mirror has, with all that they need.
func offered() []string {
	return []string{
		"rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "librdmacm1", "rdmacm-utils", "libibumad3", "libibmad5",
		"libibnetdisc5", "infiniband-diags", "perftest", "mstflint", "ethtool", "pciutils",
	}
}

// fetch runs outside of the root with apt configured for it, while the package lists are there.
const fetch = `export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
mkdir -p "$DEBS/partial"
apt-get install --yes --download-only --no-remove --no-install-recommends \
  -o Dir::Cache::Archives="$DEBS" -o APT::Sandbox::User=root -o Debug::NoLocking=true $OFFERED
rm -rf "$DEBS/partial" "$DEBS/lock"`

// material is what is made once and kept, and nobody changes.
type material struct{ root, debs string }

func prepared(t *testing.T) material {
	t.Helper()
	lab.Need(t, rootlab.WhyNot("set RDMACTL_ROOTS=1 to make bundles and install from them; making the first root takes a minute", "mmdebstrap", "apt-ftparchive", "gpg"))
	c, err := cache.Open()
	must(t, err)
	hash, err := cache.Key(1, suite, rootPackages(), offered(), fetch)
	must(t, err)
	dir, err := c.Get("bundled-"+suite, hash, func(dir string) error {
		t.Logf("making a root of Debian %s, about a minute", suite)
		cmd := exec.Command("nice", "mmdebstrap", "--variant=minbase", "--quiet", "--include="+strings.Join(rootPackages(), ","),
			"--customize-hook="+fetch, suite, filepath.Join(dir, "root"))
		cmd.Env = append(os.Environ(), "DEBS="+filepath.Join(dir, "debs"), "OFFERED="+strings.Join(offered(), " "))
		return rootlab.Run(cmd)
	})
	must(t, err)
	return material{filepath.Join(dir, "root"), filepath.Join(dir, "debs")}
}

// signer is a key of these tests.
func signer(t *testing.T, name string) rootlab.Signer {
	t.Helper()
	c, err := cache.Open()
	must(t, err)
	s, err := rootlab.NewSigner(c, "bundleskey", name)
	must(t, err)
	t.Cleanup(func() { must(t, s.Stop()) })
	return s
}

// mirror serves a signed flat repository, and knows what it was asked for.
type mirror struct {
	dir, url, key string

	mu    sync.Mutex
	asked map[string]int
	// stops, if set, says that the mirror does not answer for a file until it is released.
	stops    func(name string) bool
	released chan struct{}
}

// newMirror has the packages of the material. who signs its index; the key is that of trusted.
func newMirror(t *testing.T, m material, who string) *mirror {
	t.Helper()
	mi := &mirror{dir: t.TempDir(), key: filepath.Join(t.TempDir(), "key.asc"), asked: map[string]int{}, released: make(chan struct{})}
	found, err := filepath.Glob(filepath.Join(m.debs, "*.deb"))
	must(t, err)
	if len(found) < len(offered()) {
		t.Fatalf("only %d packages are in %s", len(found), m.debs)
	}
	must(t, rootlab.Run(exec.Command("cp", append(found, mi.dir)...)))
	var packages, release bytes.Buffer
	list := exec.Command("apt-ftparchive", "packages", ".")
	list.Dir, list.Stdout = mi.dir, &packages
	must(t, rootlab.Run(list))
	must(t, os.WriteFile(filepath.Join(mi.dir, "Packages"), packages.Bytes(), 0o644))
	sums := exec.Command("apt-ftparchive", "-o", "APT::FTPArchive::Release::Codename="+suite, "release", ".")
	sums.Dir, sums.Stdout = mi.dir, &release
	must(t, rootlab.Run(sums))
	must(t, os.WriteFile(filepath.Join(mi.dir, "Release"), release.Bytes(), 0o644))
	if who != "" {
		must(t, rootlab.Run(signer(t, who).GPG("--clearsign", "--output", filepath.Join(mi.dir, "InRelease"), filepath.Join(mi.dir, "Release"))))
	}
	public, err := signer(t, "trusted").Public()
	must(t, err)
	must(t, os.WriteFile(mi.key, public, 0o644))
	files := http.FileServer(http.Dir(mi.dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		mi.mu.Lock()
		mi.asked[name]++
		stopped := mi.stops != nil && mi.stops(name)
		mi.mu.Unlock()
		if stopped {
			<-mi.released
			panic(http.ErrAbortHandler)
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	mi.url = server.URL
	return mi
}

// release ends what the mirror had stopped, and stops nothing more.
func (mi *mirror) release() {
	mi.mu.Lock()
	defer mi.mu.Unlock()
	mi.stops = nil
	close(mi.released)
}

// debs is how often the mirror was asked for each package since the last time.
func (mi *mirror) debs() map[string]int {
	mi.mu.Lock()
	defer mi.mu.Unlock()
	out := map[string]int{}
	for name, n := range mi.asked {
		if strings.HasSuffix(name, ".deb") {
			out[name] = n
		}
	}
	mi.asked = map[string]int{}
	return out
}

// requests is how often the mirror was asked for anything since the last time.
func (mi *mirror) requests() int {
	mi.mu.Lock()
	defer mi.mu.Unlock()
	n := 0
	for _, one := range mi.asked {
		n += one
	}
	mi.asked = map[string]int{}
	return n
}

// host is one host of one test.
type host struct {
	rootlab.Root
	evidence string
}

// newHost is a host that has the mirror configured, and its evidence.
func newHost(t *testing.T, m material, mi *mirror) host {
	t.Helper()
	h := host{Root: rootlab.Over(t, m.root, "run-bundled-"), evidence: filepath.Join(t.TempDir(), "host.yaml")}
	for _, name := range []string{"etc/apt/sources.list", "etc/apt/sources.list.d"} {
		must(t, os.RemoveAll(h.Path(name)))
	}
	must(t, os.MkdirAll(h.Path("etc/apt/sources.list.d"), 0o755))
	must(t, rootlab.Run(exec.Command("cp", mi.key, h.Path("usr/share/keyrings/mirror.asc"))))
	must(t, os.WriteFile(h.Path("etc/apt/sources.list"), []byte("deb [signed-by=/usr/share/keyrings/mirror.asc] "+mi.url+" ./\n"), 0o644))
	lab.Rdmactl(t, 0, "detect", "--root", h.Dir, "--save", h.evidence)
	return h
}

// files is the host without what a rollback leaves.
func (h host) files(t *testing.T) rootlab.Tree {
	t.Helper()
	skip := []string{
		"/var/lib/rdmactl", "/var/log", "/var/cache/apt", "/var/cache/ldconfig", "/var/cache/debconf", "/var/lib/apt",
		"/var/lib/dpkg", "/var/lib/systemd/deb-systemd-helper-*", "/var/backups",
	}
	for _, e := range install.Exceptions() {
		skip = append(skip, e.Path)
	}
	return rootlab.TreeOf(t, h.Dir, rootlab.View{Skip: skip})
}

// packages is what dpkg says: name to state and version.
func (h host) packages(t *testing.T) rootlab.Tree {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.Command("chroot", h.Dir, "dpkg-query", "-W", "-f", `${Package} ${Status} ${Version}\n`)
	cmd.Stdout = &said
	must(t, rootlab.Run(cmd))
	out := rootlab.Tree{}
	for line := range strings.Lines(said.String()) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[name] = rest
	}
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
