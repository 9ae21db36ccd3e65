package sourcebuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// served is the source package on a web server, its .dsc signed by a key of the test.
func (m material) served(t *testing.T) (location string, keyring []byte, version string) {
	t.Helper()
	key, err := openpgp.NewEntity("rdmactl test", "", "test@rdmactl.invalid", nil)
	must(t, err)
	var public bytes.Buffer
	must(t, key.Serialize(&public))
	text, version := m.paragraph(t)
	dir := t.TempDir()
	name := "rdma-core_" + version + ".dsc"
	var signed bytes.Buffer
	w, err := clearsign.Encode(&signed, key.PrivateKey, nil)
	must(t, err)
	_, err = w.Write([]byte(text))
	must(t, errors.Join(err, w.Close()))
	must(t, os.WriteFile(filepath.Join(dir, name), signed.Bytes(), 0o644))
	entries, err := filepath.Glob(filepath.Join(m.source, "rdma-core_*"))
	must(t, err)
	for _, e := range entries {
		must(t, os.Symlink(e, filepath.Join(dir, filepath.Base(e))))
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return server.URL + "/" + name, public.Bytes(), version
}

func edge(t *testing.T) profiles.Build {
	t.Helper()
	p, err := profiles.Load("edge")
	must(t, err)
	return *p.Build
}

func TestBuildPlaceActivateRemove(t *testing.T) {
	m := prepared(t)
	root := rootlab.Copied(t, m.root, "run-built-").Dir
	h, err := host.NewRooted(root)
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	ctx := context.Background()
	run := func(argv ...string) host.Result {
		t.Helper()
		r, err := h.Run(ctx, host.Command{Argv: argv})
		must(t, err)
		return r
	}
	run("ldconfig")
	before := tree(t, root)
	distribution, err := build.LoadedLibrary(ctx, h)
	must(t, err)
	if !strings.HasPrefix(distribution, "/lib/") && !strings.HasPrefix(distribution, "/usr/lib/") {
		t.Fatalf("the root starts with %s", distribution)
	}

	location, keyring, debian := m.served(t)
	version, _, _ := strings.Cut(debian, "-")
	profile := edge(t)
	req := build.Request{
		Version: version, Prefix: profile.PrefixFor(version), Options: profile.Options(version),
		Providers: []string{"mlx4", "mlx5", "rxe"}, Nice: 10,
		Source: build.Source{Location: location, Keyrings: [][]byte{keyring}},
	}
	begin := time.Now()
	built, err := build.Make(ctx, h, req)
	must(t, err)
	took := time.Since(begin)
	t.Logf("built rdma-core %s (private ABI %d) as %s with %d jobs in %.1f s: %d files, providers %v", built.Manifest.Version, built.Manifest.PrivateABI, built.As, built.Jobs,
		took.Seconds(), len(built.Manifest.Files), built.Manifest.Providers())
	if built.Manifest.Source.SignedBy == "" || built.Manifest.Source.Package != debian {
		t.Errorf("the source is told as %+v", built.Manifest.Source)
	}
	if diff := outside(before, tree(t, root), "/var/cache/rdmactl"); diff != "" {
		t.Errorf("the build changed the root (-before +after):\n%s", diff)
	}

	again, err := build.Make(ctx, h, req)
	must(t, err)
	if !again.Reused || again.InPlace || again.Manifest.Digest != built.Manifest.Digest {
		t.Errorf("a second call: reused %v, in place %v", again.Reused, again.InPlace)
	}
	must(t, build.Place(ctx, h, built))
	must(t, build.Place(ctx, h, built)) // as after a run that was killed right behind it
	if again, err = build.Make(ctx, h, req); err != nil || !again.InPlace {
		t.Errorf("a call when it is in place: %+v, %v", again.InPlace, err)
	}
	placed, err := build.Read(h, req.Prefix)
	must(t, err)

	// Side by side: nobody loads it.
	changes, err := placed.Activate(build.Activation{})
	must(t, err)
	run("ldconfig")
	file, err := build.LoadedLibrary(ctx, h)
	must(t, err)
	if len(changes) != 0 || file != distribution {
		t.Errorf("side by side: %d changes, and the loader has %s", len(changes), file)
	}

	wanted := placed.Wanted()
	if want := []string{"iwpmd.service", "rdma-hw.target", "rdma-load-modules@.service", "rdma-ndd.service", "srp_daemon.service", "srp_daemon_port@.service"}; !slices.Equal(wanted, want) {
		t.Errorf("the rules want the units %q, not %q", wanted, want)
	}
	changes, err = placed.Activate(build.Activation{Library: true, Path: true, Udev: true, Units: append(wanted, "ibacm.service", "ibacm.socket"), Modules: []string{"rdma", "roce"}})
	must(t, err)
	made := write(t, h, changes)
	run("ldconfig")
	file, err = build.LoadedLibrary(ctx, h)
	must(t, err)
	if !placed.Manifest.Serves(file) {
		t.Errorf("the loader has %s, not that of %s", file, req.Prefix)
	}
	for _, program := range []string{"/usr/bin/ibv_devices", req.Prefix + "/bin/ibv_devices"} {
		if r := run("ldd", program); !strings.Contains(r.Stdout, "libibverbs.so.1 => "+req.Prefix+"/lib/libibverbs.so.1 ") {
			t.Errorf("ldd %s: %s%s", program, r.Stdout, r.Stderr)
		}
		// There is no RDMA in the root, so the program ends with an error of the library that it loaded.
		r := run("env", "LD_DEBUG=libs", program)
		if !strings.Contains(r.Stderr, "calling init: "+req.Prefix+"/lib/libibverbs.so.1") || strings.Contains(r.Stderr, "calling init: "+distribution) {
			t.Errorf("%s loads:\n%s", program, grep(r.Stderr, "calling init"))
		}
	}
	if r := run("sh", "-lc", ". /etc/profile && command -v ibv_devices"); strings.TrimSpace(r.Stdout) != req.Prefix+"/bin/ibv_devices" {
		t.Errorf("a login finds ibv_devices as %q", r.Stdout)
	}
	naming, err := h.ReadFile("/etc/udev/rules.d/60-rdma-persistent-naming.rules")
	must(t, err)
	if !strings.Contains(string(naming), `PROGRAM="`+req.Prefix+`/lib/udev/rdma_rename %k`) {
		t.Errorf("the naming rule does not name its program:\n%s", naming)
	}
	if r := run(req.Prefix + "/lib/udev/rdma_rename"); r.Exit > 125 {
		t.Errorf("rdma_rename cannot be run: %d %s", r.Exit, r.Stderr)
	}

	// Removal. An administrator's edit stays, and is named.
	conf := req.Prefix + "/etc/srp_daemon.conf"
	old, err := h.ReadFile(conf)
	must(t, err)
	must(t, h.WriteFile(conf, append(old, "# mine\n"...), 0))
	for _, name := range made {
		must(t, h.Remove(name))
	}
	removed, err := build.Remove(h, req.Prefix, []string{"/opt/rdma-core"})
	must(t, err)
	if diff := cmp.Diff([]string{"etc/srp_daemon.conf"}, removed.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	must(t, h.WriteFile(conf, old, 0))
	if removed, err = build.Remove(h, req.Prefix, []string{"/opt/rdma-core"}); err != nil || len(removed.Kept) > 0 {
		t.Errorf("the second removal kept %v, %v", removed.Kept, err)
	}
	must(t, build.Clean(h, built))
	run("ldconfig")
	if file, err = build.LoadedLibrary(ctx, h); err != nil || file != distribution {
		t.Errorf("after all the loader has %s, %v", file, err)
	}
	must(t, h.Remove(build.Cache)) // empty, or this fails
	must(t, h.Remove(filepath.Dir(build.Cache)))
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Errorf("the root is not as it was (-before +after):\n%s", diff)
	}
}

// outside is how two trees differ, but for one directory.
func outside(a, b map[string]string, dir string) string {
	cut := func(m map[string]string) map[string]string {
		out := map[string]string{}
		for name, text := range m {
			if name != dir && !strings.HasPrefix(name, dir+"/") {
				out[name] = text
			}
		}
		return out
	}
	return cmp.Diff(cut(a), cut(b))
}

// write makes the changes and gives what is to be removed afterwards, files before their directories.
func write(t *testing.T, h *host.Rooted, changes []plan.FileChange) []string {
	t.Helper()
	var made []string
	for _, c := range changes {
		for dir := filepath.Dir(c.Path); ; dir = filepath.Dir(dir) {
			_, err := h.Stat(dir)
			if err == nil {
				break
			}
			if !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			made = append(made, dir)
		}
		must(t, h.MkdirAll(filepath.Dir(c.Path), 0o755))
		must(t, h.WriteFile(c.Path, []byte(c.Content), 0o644))
		made = append([]string{c.Path}, made...)
	}
	return made
}

func grep(text, word string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// TestCostAgainstPlainRecipe measures Make, from the archive to the staged and verified tree, against what
// the upstream README says, with the same options and with none, in one root and by turns.
func TestCostAgainstPlainRecipe(t *testing.T) {
	m := prepared(t)
	root := rootlab.Copied(t, m.root, "run-built-").Dir
	h, err := host.NewRooted(root)
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	ctx := context.Background()
	location, keyring, debian := m.served(t)
	version, _, _ := strings.Cut(debian, "-")
	profile := edge(t)
	archives, err := filepath.Glob(filepath.Join(m.source, "*.orig.tar.gz"))
	must(t, err)
	archive, err := os.ReadFile(archives[0])
	must(t, err)
	must(t, h.WriteFile("/root/source.tar.gz", archive, 0))
	plain := func(options []string) cost {
		t.Helper()
		script := `rm -rf /root/plain && mkdir /root/plain && cd /root/plain && tar xzf ../source.tar.gz --strip-components=1 &&
mkdir build && cd build && cmake -GNinja "$@" .. && ninja && DESTDIR=/root/plain/dest ninja install`
		begin := now(t)
		r, err := h.Run(ctx, host.Command{Argv: append([]string{"nice", "sh", "-c", script, "sh"}, options...)})
		must(t, err)
		if r.Exit != 0 {
			t.Fatalf("the plain recipe ended with %d: %s", r.Exit, r.Stdout[max(0, len(r.Stdout)-2000):]+r.Stderr)
		}
		return begin.since(t)
	}
	req := build.Request{
		Version: version, Prefix: profile.PrefixFor(version), Options: profile.Options(version), Nice: 10,
		Providers: []string{"mlx5"}, Source: build.Source{Location: location, Keyrings: [][]byte{keyring}},
	}
	ours := func() cost {
		t.Helper()
		begin := now(t)
		built, err := build.Make(ctx, h, req)
		must(t, err)
		took := begin.since(t)
		must(t, build.Clean(h, built))
		return took
	}
	var a, b, c []cost
	for range 2 {
		a = append(a, ours())
		b = append(b, plain(profile.Options(version)))
		c = append(c, plain(nil))
	}
	t.Logf("rdmactl %v; plain recipe with the same options %v, with none %v", a, b, c)
	fmt.Printf("source build, rdmactl to plain recipe: same options: time %.2f, processor %.2f; none: time %.2f, processor %.2f\n",
		ratio(a, b, wall), ratio(a, b, processor), ratio(a, c, wall), ratio(a, c, processor))
}

// cost is what something took: time, and time of processors by this process and those that it started.
type cost struct{ wall, processor time.Duration }

func now(t *testing.T) cost {
	t.Helper()
	c := cost{wall: time.Duration(time.Now().UnixNano())}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		must(t, syscall.Getrusage(who, &u))
		c.processor += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return c
}

func (c cost) since(t *testing.T) cost {
	t.Helper()
	end := now(t)
	return cost{end.wall - c.wall, end.processor - c.processor}
}

func (c cost) String() string {
	return fmt.Sprintf("%.1f s (processor %.1f s)", c.wall.Seconds(), c.processor.Seconds())
}

func wall(c cost) time.Duration      { return c.wall }
func processor(c cost) time.Duration { return c.processor }

// ratio compares the best of several.
func ratio(a, b []cost, of func(cost) time.Duration) float64 {
	low := func(all []cost) time.Duration {
		least := of(all[0])
		for _, c := range all {
			least = min(least, of(c))
		}
		return least
	}
	return low(a).Seconds() / low(b).Seconds()
}
