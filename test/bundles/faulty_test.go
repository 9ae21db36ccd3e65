package bundles

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// TestFaultyBundles are refused before anything is run or written, and the sound twin is taken.
func TestFaultyBundles(t *testing.T) {
	m := prepared(t)
	mi := newMirror(t, m, "trusted")
	h := newHost(t, m, mi)
	dir := t.TempDir()
	out := created(t, mi.creating(dir, []string{h.evidence}))
	sound, err := os.ReadFile(out.File)
	must(t, err)
	before := h.files(t)
	sum := []string{"--sha256", out.SHA256}
	flip := func(at int) []byte {
		data := bytes.Clone(sound)
		data[at] ^= 1
		return data
	}
	for name, one := range map[string]struct {
		data  []byte
		proof []string
		says  string
	}{
		"tampered package":         {flip(len(sound) - 5000), []string{"--trust-bundle"}, "has the SHA-256"},
		"tampered package, proven": {flip(len(sound) - 5000), sum, "has the SHA-256"},
		"tampered manifest":        {bytes.Replace(sound, []byte(`"plan": "profile inbox`), []byte(`"plan": "profile INBOX`), 1), []string{"--trust-bundle"}, "signature of its manifest"},
		"wrong checksum":           {sound, []string{"--sha256", strings.Repeat("a", 64)}, "its SHA-256 is " + out.SHA256},
		"cut off":                  {sound[:len(sound)/2], []string{"--trust-bundle"}, "cut off"},
		"more behind":              {append(bytes.Clone(sound), "more"...), []string{"--trust-bundle"}, "something was added"},
		"no bundle":                {[]byte("nothing of the kind"), []string{"--trust-bundle"}, "ends too early"},
	} {
		file := filepath.Join(dir, "faulty.bundle")
		must(t, os.WriteFile(file, one.data, 0o644))
		r := lab.Rdmactl(t, 2, h.installing(file, one.proof...)...)
		if !strings.Contains(r.Stderr, one.says) {
			t.Errorf("%s: %q is not said:\n%s", name, one.says, r)
		}
	}
	// What lies beside shows damage on the way.
	must(t, os.WriteFile(out.File+".sha256", []byte(strings.Repeat("b", 64)+"  rdma.bundle\n"), 0o644))
	lab.Rdmactl(t, 2, h.installing(out.File, sum...)...).Says(t, "rdma.bundle.sha256")
	must(t, os.Remove(out.File+".sha256"))
	pipe := filepath.Join(dir, "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	lab.Rdmactl(t, 2, h.installing(pipe, sum...)...).Says(t, "not a regular file")
	if diff := before.Changed(h.files(t)); len(diff) > 0 {
		t.Errorf("a refused bundle changed:\n%s", strings.Join(diff, "\n"))
	}
	// A directory of another in the place where bundles are unpacked.
	must(t, os.MkdirAll(h.Path("var/cache/rdmactl"), 0o777))
	must(t, os.Chmod(h.Path("var/cache/rdmactl"), 0o777))
	lab.Rdmactl(t, 4, h.installing(out.File, sum...)...).Says(t, "only root writes")
	must(t, os.RemoveAll(h.Path("var/cache/rdmactl")))
	lab.Rdmactl(t, 0, h.installing(out.File, sum...)...).Says(t, "run ended: done")
	lab.RollsBack(t, h.Root)
}

// TestFaultyMirrors give no bundle.
func TestFaultyMirrors(t *testing.T) {
	m := prepared(t)
	good := newMirror(t, m, "trusted")
	h := newHost(t, m, good)
	for name, one := range map[string]struct {
		who   string
		spoil func(*mirror)
		says  string
	}{
		"unsigned":      {"", nil, "not signed"},
		"another's key": {"stranger", nil, "NO_PUBKEY"},
		"edited index": {"trusted", func(mi *mirror) {
			must(t, os.WriteFile(filepath.Join(mi.dir, "Packages"), []byte("Package: rdma-core\nVersion: 99\nArchitecture: amd64\n"), 0o644))
		}, "cannot"},
		"edited package": {"trusted", func(mi *mirror) {
			found, err := filepath.Glob(filepath.Join(mi.dir, "perftest_*.deb"))
			must(t, err)
			data, err := os.ReadFile(found[0])
			must(t, err)
			data[len(data)-100] ^= 1
			must(t, os.WriteFile(found[0], data, 0o644))
		}, "Hash Sum mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			mi := newMirror(t, m, one.who)
			if one.spoil != nil {
				one.spoil(mi)
			}
			dir := t.TempDir()
			lab.Rdmactl(t, 4, mi.creating(dir, []string{h.evidence})...).Says(t, one.says)
			if _, err := os.Lstat(filepath.Join(dir, "rdma.bundle")); !os.IsNotExist(err) {
				t.Errorf("there is a bundle: %v", err)
			}
		})
	}
}

// TestCutOff kills the making of a bundle in the middle of its downloads: another call fetches the rest only.
func TestCutOff(t *testing.T) {
	m := prepared(t)
	mi := newMirror(t, m, "trusted")
	h := newHost(t, m, mi)
	dir := t.TempDir()
	args := mi.creating(dir, []string{h.evidence})
	const last = 8
	seen := 0
	mi.stops = func(name string) bool {
		if strings.HasSuffix(name, ".deb") {
			seen++
		}
		return seen > last
	}
	cmd := lab.Command(t, args...)
	must(t, cmd.Start())
	rootlab.Eventually(t, "the downloads", func() bool {
		mi.mu.Lock()
		defer mi.mu.Unlock()
		return seen > last
	})
	must(t, syscall.Kill(cmd.Process.Pid, syscall.SIGKILL))
	_ = cmd.Wait() // killed
	// apt is in a session of its own and goes on, against a mirror that says nothing more.
	for _, pid := range workingOn(t, dir) {
		must(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	mi.release()
	mi.debs()
	if _, err := os.Lstat(filepath.Join(dir, "rdma.bundle")); !os.IsNotExist(err) {
		t.Errorf("there is half a bundle: %v", err)
	}
	there, err := filepath.Glob(filepath.Join(dir, "cache/*/cache/archives/*.deb"))
	must(t, err)
	out := created(t, args)
	second := mi.debs()
	for _, file := range there {
		if n := second[filepath.Base(file)]; n > 0 {
			t.Errorf("%s was there and was asked for %d times", filepath.Base(file), n)
		}
	}
	whole := out.Repositories[0].Packages
	t.Logf("%d packages were there when it was killed; %d were asked for after, of %d in the bundle", len(there), len(second), whole)
	if len(there) == 0 || len(there) >= whole || len(second) > whole-len(there) {
		t.Errorf("there were %v, and asked for %v", there, second)
	}
	created(t, args)
	if third := mi.debs(); len(third) > 0 {
		t.Errorf("a third call asked for %v", third)
	}
}

// workingOn are the processes whose command lines name a directory.
func workingOn(t *testing.T, dir string) []int {
	t.Helper()
	var out []int
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte(dir+"/")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		must(t, err)
		out = append(out, pid)
	}
	return out
}
