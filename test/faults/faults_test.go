package faults

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/test/internal/cache"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// trial is an image that a run is to be broken in.
type trial struct {
	image
	look   *looker
	args   []string // of install
	before state
}

func (tr *trial) install() []string {
	return append([]string{"install", "--root", tr.Dir, "--yes"}, tr.args...)
}

// stops runs an installation that has to end with an exit code, and say why and what to do; the image is as before.
func (tr *trial) stops(t testing.TB, exit int, says ...string) {
	t.Helper()
	r := lab.Rdmactl(t, exit, tr.install()...)
	_, said, _ := strings.Cut(r.Stderr, "rdmactl: ")
	t.Log(said)
	r.Says(t, says...)
	tr.before.same(t, "after it stopped", tr.look.look(t, tr.image))
}

// passes is the twin: the same image without the fault.
func (tr *trial) passes(t testing.TB) {
	t.Helper()
	lab.Rdmactl(t, 0, tr.install()...).Says(t, "done")
	if now := tr.packages(t); now["ibverbs-providers"] == "" {
		t.Error("nothing was installed")
	}
}

// trials makes them from one image.
type trials struct {
	start image
	look  *looker
	args  []string
	inbox []string // packages of the distribution's stack
}

func newTrials(t testing.TB) trials {
	b := base(t)
	return trials{bare(t), &looker{kept: b.Root}, []string{"--profile", "soft", "--netdev", "eth0", "--kernel", b.Kernel}, debs(t, b.Inbox)}
}

func (all trials) trial(t testing.TB) *trial {
	im := all.start.fork(t)
	return &trial{im, all.look, all.args, all.look.look(t, im)}
}

// served has the image use a repository on a web server. lost says which requests it does not answer.
func (all trials) served(t testing.TB, tr *trial, lost func(*http.Request) bool) {
	t.Helper()
	k := signers(t)
	dir := t.TempDir()
	repository(t, dir, all.inbox, index{signer: k.trusted})
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lost(r) {
			panic(http.ErrAbortHandler) // the connection ends, as that of a machine that goes away
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	tr.uses(t, server.URL, k.trusted)
	tr.before = tr.look.look(t, tr.image)
}

// TestFaults breaks runs in other ways than by a kill.
func TestFaults(t *testing.T) {
	all := newTrials(t)
	free := make(chan struct{}, seats)
	for _, c := range []struct {
		name string
		run  func(t *testing.T, all trials, tr *trial)
	}{
		{"no room is seen before it begins", noRoom},
		{"usr fills up", usrFillsUp},
		{"the image fills up", imageFillsUp},
		{"the journal fills up, rollback", journalFillsUp("rollback")},
		{"the journal fills up, resume", journalFillsUp("resume")},
		{"repository gone half-way", repositoryGone},
		{"expired key", expiredKey},
		{"rotated key", rotatedKey},
		{"clock in the past", clockInThePast},
		{"package left unconfigured", leftUnconfigured},
		{"dpkg's journal left", dpkgJournalLeft},
		{"usr is read-only", usrReadOnly},
		{"another package manager", anotherManager},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			free <- struct{}{}
			defer func() { <-free }()
			c.run(t, all, all.trial(t))
		})
	}
}

// mounted mounts a file system in memory on a directory of the image, until the test ends.
func (im image) mounted(t testing.TB, rel, size string) (unmount func()) {
	t.Helper()
	must(t, unix.Mount("rdmactl-test", im.Path(rel), "tmpfs", 0, "mode=0755,size="+size))
	is := true
	unmount = func() {
		if is {
			is = false
			must(t, unix.Unmount(im.Path(rel), unix.MNT_DETACH))
		}
	}
	t.Cleanup(unmount)
	return unmount
}

func noRoom(t *testing.T, all trials, tr *trial) {
	all.served(t, tr, func(*http.Request) bool { return false })
	unmount := tr.mounted(t, "var/cache/apt", "8m")
	must(t, os.MkdirAll(tr.Path("var/cache/apt/archives/partial"), 0o755))
	tr.stops(t, 4, "/var/cache/apt has", "MiB free", "are needed", "hint: make room")
	unmount()
	tr.passes(t)
}

// ballast fills a file system.
func ballast(t testing.TB, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Errorf("the file system cannot be filled: %v", err)
		return
	}
	defer func() { _ = f.Close() }() // nobody reads it
	for _, size := range []int{1 << 20, 4096, 1} {
		for block := make([]byte, size); ; {
			if _, err := f.Write(block); err != nil {
				break
			}
		}
	}
}

// usrFillsUp has /usr on a file system of its own, which somebody fills while packages are unpacked.
func usrFillsUp(t *testing.T, all trials, tr *trial) {
	small := filepath.Join(tr.State, "small")
	must(t, os.Mkdir(small, 0o755))
	must(t, unix.Mount("rdmactl-test", small, "tmpfs", 0, "size=300m"))
	t.Cleanup(func() { must(t, unix.Unmount(small, unix.MNT_DETACH)) })
	for _, dir := range []string{"upper", "work"} {
		must(t, os.Mkdir(filepath.Join(small, dir), 0o755))
	}
	lower := filepath.Join(tr.look.kept, "usr")
	must(t, unix.Mount("overlay", tr.Path("usr"), "overlay", 0, "lowerdir="+lower+",upperdir="+small+"/upper,workdir="+small+"/work"))
	t.Cleanup(func() { must(t, unix.Unmount(tr.Path("usr"), unix.MNT_DETACH)) })
	must(t, rootlab.Run(exec.Command("cp", "--archive", filepath.Join(tr.Upper(), "usr")+"/.", tr.Path("usr"))))
	tr.before = tr.look.look(t, tr.image)
	usr := image{rootlab.Root{Dir: tr.Path("usr"), State: tr.State}}
	h := hold(t, usr, func(o opening) bool { return o.program() == "dpkg" && strings.HasSuffix(o.path, ".dpkg-new") })
	filled := make(chan struct{})
	go func() {
		defer close(filled)
		select {
		case <-h.held:
			ballast(t, filepath.Join(small, "ballast"))
		case <-time.After(time.Minute):
			t.Error("dpkg did not begin within a minute")
		}
		h.release()
	}()
	tr.stops(t, 6, "No space left on device", "rolled back", "hint: make room")
	<-filled
	must(t, os.Remove(filepath.Join(small, "ballast")))
	tr.passes(t)
}

// imageFillsUp has the whole image on a small file system, which somebody fills to the last byte while packages are
// unpacked: what the run has reserved is room enough for its way back.
func imageFillsUp(t *testing.T, _ trials, tr *trial) {
	tr.image = tr.small(t, "500m")
	file, filled := tr.fills(t, func() bool { return true })
	tr.stops(t, 6, "No space left on device", "rolled back", "hint: make room on the file system that is full")
	<-filled
	must(t, os.Remove(file))
	tr.passes(t)
}

// journalFillsUp has whoever fills the image go on with it, so that the journal cannot be written any more either.
func journalFillsUp(way string) func(*testing.T, trials, *trial) {
	return func(t *testing.T, _ trials, tr *trial) {
		tr.image = tr.small(t, "500m")
		var over atomic.Bool
		file, filled := tr.fills(t, over.Load)
		r := lab.Rdmactl(t, 1, tr.install()...)
		over.Store(true)
		<-filled
		r.Says(t, "hint: make room")
		must(t, os.Remove(file))
		if last := tr.last(); last.Event == "run-ended" {
			t.Logf("the run could still write down that it failed")
			way = "rollback"
		} else {
			r.Says(t, "no space is left on the file system of its journal", "--resume", "rollback")
		}
		if way == "resume" { // whichever way the run was on
			if r := lab.Rdmactl(t, 0, "install", "--root", tr.Dir, "--resume", "--yes"); !strings.Contains(r.Stdout, "rolled-back") {
				lab.Rdmactl(t, 0, tr.install()...).Says(t, "nothing to do")
			}
		}
		lab.Rdmactl(t, 0, "rollback", "--root", tr.Dir)
		tr.before.same(t, "after "+way, tr.look.look(t, tr.image))
		tr.passes(t)
	}
}

// fills fills the image's file system from the moment in which dpkg unpacks the first file until enough says so.
func (tr *trial) fills(t testing.TB, enough func() bool) (file string, filled <-chan struct{}) {
	t.Helper()
	file = filepath.Join(tr.State, "ballast")
	h := hold(t, tr.image, func(o opening) bool { return o.program() == "dpkg" && strings.HasSuffix(o.path, ".dpkg-new") })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-h.held:
			ballast(t, file)
			h.release()
			for !enough() {
				ballast(t, file)
			}
		case <-time.After(time.Minute):
			t.Error("dpkg did not begin within a minute")
			h.release()
		}
	}()
	return file, ended
}

// small is an image as this one, on a file system of a size.
func (tr *trial) small(t testing.TB, size string) image {
	t.Helper()
	state := filepath.Join(tr.State, "small")
	must(t, os.Mkdir(state, 0o755))
	must(t, unix.Mount("rdmactl-test", state, "tmpfs", 0, "mode=0755,size="+size))
	t.Cleanup(func() { must(t, unix.Unmount(state, unix.MNT_DETACH)) })
	im := image{rootlab.Root{Dir: filepath.Join(state, "root"), State: state}}
	for _, dir := range []string{im.Dir, filepath.Join(state, "work")} {
		must(t, os.Mkdir(dir, 0o755))
	}
	must(t, rootlab.Run(exec.Command("cp", "--archive", "--no-target-directory", tr.Upper(), im.Upper())))
	must(t, unix.Mount("overlay", im.Dir, "overlay", 0, "lowerdir="+tr.look.kept+",upperdir="+im.Upper()+",workdir="+filepath.Join(state, "work")))
	t.Cleanup(func() { must(t, unix.Unmount(im.Dir, unix.MNT_DETACH)) })
	return im
}

func repositoryGone(t *testing.T, all trials, tr *trial) {
	var sent atomic.Int32
	var down atomic.Bool
	down.Store(true)
	all.served(t, tr, func(r *http.Request) bool {
		return down.Load() && strings.HasSuffix(r.URL.Path, ".deb") && sent.Add(1) > 3
	})
	tr.stops(t, 4, "cannot download the packages", "Connection failed", "hint: nothing was changed")
	if sent.Load() <= 3 {
		t.Errorf("the repository was asked for %d packages", sent.Load())
	}
	down.Store(false)
	tr.passes(t)
}

// signedBy has the repository in the image described anew.
func (tr *trial) signedBy(t testing.TB, ix index) {
	t.Helper()
	reindex(t, tr.Path("srv/repo"), ix)
}

func expiredKey(t *testing.T, _ trials, tr *trial) {
	c, err := cache.Open()
	must(t, err)
	k := signers(t)
	old, err := rootlab.NewExpired(c, "faults-key", "expired")
	must(t, err)
	tr.uses(t, "file:/srv/repo", old)
	tr.before = tr.look.look(t, tr.image)
	tr.signedBy(t, index{signer: old})
	tr.stops(t, 4, "EXPKEYSIG", "hint: its key has expired", "nothing was changed")
	tr.signedBy(t, index{signer: k.trusted})
	tr.uses(t, "file:/srv/repo", k.trusted)
	tr.passes(t)
}

func rotatedKey(t *testing.T, _ trials, tr *trial) {
	k := signers(t)
	tr.signedBy(t, index{signer: k.next})
	tr.stops(t, 4, "NO_PUBKEY", "if its owner replaced the key, install the new one", "nothing was changed")
	tr.uses(t, "file:/srv/repo", k.next) // as the package with the new keyring does
	tr.passes(t)
}

// clockInThePast has a repository that was signed in what is the future by the clock.
func clockInThePast(t *testing.T, _ trials, tr *trial) {
	k := signers(t)
	tr.signedBy(t, index{signer: k.trusted, date: time.Now().Add(72 * time.Hour)})
	tr.stops(t, 4, "not valid yet", "clock is probably wrong", "nothing was changed")
	tr.signedBy(t, index{signer: k.trusted})
	tr.passes(t)
}

func leftUnconfigured(t *testing.T, _ trials, tr *trial) {
	tr.chroot(t, "dpkg --unpack /srv/repo/libibverbs1_*.deb")
	tr.before = tr.look.look(t, tr.image)
	tr.stops(t, 4, "libibverbs1 (install ok unpacked)", "sudo chroot "+tr.Dir+" dpkg --configure -a")
	tr.chroot(t, "dpkg --configure -a")
	tr.passes(t)
}

func dpkgJournalLeft(t *testing.T, _ trials, tr *trial) {
	// As dpkg leaves it when it dies before its changes are in the database.
	text, err := os.ReadFile(tr.Path("var/lib/dpkg/status"))
	must(t, err)
	block, _, _ := strings.Cut(string(text), "\n\n")
	must(t, os.WriteFile(tr.Path("var/lib/dpkg/updates/0000"), []byte(block+"\n"), 0o644))
	tr.stops(t, 4, "dpkg was interrupted earlier", "hint: ", "dpkg --configure -a")
	tr.chroot(t, "dpkg --configure -a")
	tr.passes(t)
}

func usrReadOnly(t *testing.T, _ trials, tr *trial) {
	usr := tr.Path("usr")
	must(t, unix.Mount(usr, usr, "", unix.MS_BIND, ""))
	is := true
	t.Cleanup(func() {
		if is {
			must(t, unix.Unmount(usr, unix.MNT_DETACH))
		}
	})
	must(t, unix.Mount("", usr, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	tr.stops(t, 4, "/usr of the image "+tr.Dir+" is mounted read-only", "nothing was changed", "hint: mount it writable")
	must(t, unix.Unmount(usr, unix.MNT_DETACH))
	is = false
	tr.passes(t)
}

// anotherManager has an administrator install a package in the image, by the distribution's own means, when the run
// begins.
func anotherManager(t *testing.T, _ trials, tr *trial) {
	tr.chroot(t, "apt-get -q update")
	tr.before = tr.look.look(t, tr.image)
	h := hold(t, tr.image, func(o opening) bool {
		return strings.HasPrefix(o.program(), "dpkg-") && strings.HasSuffix(o.path, ".deb")
	})
	ended := make(chan error, 1)
	cmd := exec.Command("chroot", tr.Dir, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "install", "libibumad3") // which dpkg has not touched yet
	go func() { ended <- rootlab.Run(cmd) }()
	o := await(t, "dpkg of the administrator", h.held)
	t.Logf("%s stands still at %s", o.program(), o.path)
	if os.Getenv("RDMACTL_ROOTS_ALL") == "1" { // two minutes
		lab.Rdmactl(t, 4, tr.install()...).Says(t, "cannot use the package manager: apt-get (pid ", "hint: wait until it has ended, then run again")
	}
	run := lab.Command(t, tr.install()...)
	said, err := run.StderrPipe()
	must(t, err)
	must(t, run.Start())
	waits := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(said); lines.Scan(); { // to its end, so that the run is not held up
			if strings.Contains(lines.Text(), "waiting up to 2m0s: apt-get (pid ") {
				waits <- lines.Text()
			}
		}
	}()
	t.Log(await(t, "the run's word about the lock", waits))
	h.release()
	must(t, await(t, "the administrator's apt-get", ended))
	must(t, run.Wait()) // the twin: it goes on by itself
	if now := tr.packages(t); now["libibumad3"] == "" || now["perftest"] == "" {
		t.Errorf("not all packages are installed: %v", now)
	}
}
