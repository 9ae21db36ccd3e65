package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

// classes are the kinds of errors that callers tell apart.
func classes(err error) string {
	if err == nil {
		return "none"
	}
	s := ""
	for name, target := range map[string]error{
		"unknown": host.ErrUnknown, "not installed": host.ErrNotInstalled, "not allowed": host.ErrNotAllowed, "absent": fs.ErrNotExist,
		"permission": fs.ErrPermission, "deadline": context.DeadlineExceeded, "EINVAL": syscall.EINVAL, "EISDIR": syscall.EISDIR,
		"ENOTDIR": syscall.ENOTDIR, "ELOOP": syscall.ELOOP, "EIO": syscall.EIO,
	} {
		if errors.Is(err, target) {
			s += name + "\n"
		}
	}
	if s == "" {
		return "other"
	}
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		for j := range lines {
			if lines[i] < lines[j] {
				lines[i], lines[j] = lines[j], lines[i]
			}
		}
	}
	return strings.Join(lines, ", ")
}

// answer asks one question and prints all of the answer that a replay has to repeat.
func answer(r host.Reader, question int, p string) string {
	ctx := context.Background()
	switch question {
	case 0:
		data, err := r.ReadFile(p)
		return fmt.Sprintf("file %q %s", data, classes(err))
	case 1:
		names, err := r.ReadDir(p)
		return fmt.Sprintf("dir %q %s", names, classes(err))
	case 2:
		target, err := r.Readlink(p)
		return fmt.Sprintf("link %q %s", target, classes(err))
	case 3:
		info, err := r.Stat(p)
		return fmt.Sprintf("stat %+v %s", info, classes(err))
	case 4:
		info, err := r.Lstat(p)
		return fmt.Sprintf("lstat %+v %s", info, classes(err))
	case 5:
		res, err := r.Query(ctx, "cat", p)
		return fmt.Sprintf("query %q %q %d %s", res.Stdout, res.Stderr, res.Exit, classes(err))
	case 6:
		res, err := r.Derive(ctx, p, []string{"modinfo", p}, func(f io.ReaderAt, size int64) (string, error) {
			if size == 0 {
				return "", errors.New("not an ELF file")
			}
			first := make([]byte, 1)
			if _, err := f.ReadAt(first, 0); err != nil {
				return "", err
			}
			return fmt.Sprintf("filename: %s first %q of %d\n", p, first, size), nil
		})
		return fmt.Sprintf("derive %q %s", res.Stdout, classes(err))
	case 7:
		res, err := r.Query(ctx, "ofed_info", "-s")
		return fmt.Sprintf("query %q %s", res.Stdout, classes(err))
	default:
		_, err := r.Query(ctx, "reboot", p)
		return "refused " + classes(err)
	}
}

// replayed is the way from a recorder over a file to a replay.
func replayed(t *testing.T, r *host.Recorder, opts host.RecordOptions) *host.Replay {
	t.Helper()
	e, err := r.Evidence(opts)
	if err != nil {
		t.Fatal(err)
	}
	data, err := e.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := e.Marshal()
	if err != nil || string(again) != string(data) {
		t.Fatalf("a second Marshal differs: %v", err)
	}
	all, err := host.ParseEvidence("saved.yaml", data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return host.NewReplay(all[0])
}

// sample makes a tree with everything that a reader can meet.
func sample(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"etc/modprobe.d", "lib/modules/6.1.0", "empty", "closed", "proc", "sys/class/infiniband", "a/b/c"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for name, text := range map[string]string{
		"etc/os-release": "ID=debian\nVERSION_ID=\"12\"\n", "etc/empty": "", "etc/binary": "\x00\xff\x01\n", "etc/crlf": "a\r\nb\r\n",
		"etc/modprobe.d/x.conf": "# none\n\n  options x y=1\n", "closed/file": "hidden\n", "a/b/c/d": "deep",
		"sys/class/infiniband/x": "the build host's\n", "lib/modules/6.1.0/mlx5_core.ko": "\x7fELF....", "etc/no-end": "one\ntwo",
	} {
		must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	for name, target := range map[string]string{
		"link": "etc/os-release", "abs": "/etc/os-release", "dangling": "nowhere", "loop1": "loop2", "loop2": "loop1",
		"up": "../../../etc/os-release", "dir": "a/b", "a/b/back": "..", "tosys": "/sys/class",
	} {
		must(t, os.Symlink(target, filepath.Join(root, name)))
	}
	must(t, os.Chmod(filepath.Join(root, "etc/empty"), 0))
	must(t, syscall.Mkfifo(filepath.Join(root, "fifo"), 0o644))
	must(t, os.Chmod(filepath.Join(root, "closed"), 0))
	t.Cleanup(func() { must(t, os.Chmod(filepath.Join(root, "closed"), 0o755)) })
	return root
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func samplePaths(prefix string) []string {
	var paths []string
	for _, p := range []string{
		"", "/etc", "/etc/os-release", "/etc/empty", "/etc/binary", "/etc/crlf", "/etc/no-end", "/etc/modprobe.d", "/etc/modprobe.d/x.conf", "/etc/missing", "/etc/missing/x",
		"/etc/os-release/x", "/empty", "/empty/x", "/closed", "/closed/file", "/link", "/abs", "/dangling", "/loop1", "/up", "/dir", "/dir/c/d", "/a/b/back/b/c/d",
		"/fifo", "/proc", "/proc/version", "/sys/class/infiniband", "/sys/class/infiniband/x", "/tosys", "/tosys/infiniband/x", "/tosys/gone", "/lib/modules/6.1.0/mlx5_core.ko", "/dev", "/dev/infiniband",
	} {
		if prefix+p == "" {
			p = "/"
		}
		paths = append(paths, prefix+p)
	}
	return paths
}

// TestReplayAnswersAsRecorded is the promise of "detect --save": whatever was asked, in whatever
// order, a replay gives the same answers and tells the same kinds of errors apart.
func TestReplayAnswersAsRecorded(t *testing.T) {
	root := sample(t)
	rooted, err := host.NewRooted(root)
	must(t, err)
	defer func() { must(t, rooted.Close()) }()
	empty := t.TempDir()
	readers := map[string]struct {
		reader host.Reader
		paths  []string
	}{
		"live":   {host.NewLive(host.WithPath(empty)), samplePaths(root)},
		"rooted": {rooted, samplePaths("")},
	}
	for name, tt := range readers {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(150) {
				random := rand.New(rand.NewPCG(seed, 1))
				recorder := host.NewRecorder(tt.reader)
				type asked struct {
					question int
					path     string
				}
				var questions []asked
				want := map[asked]string{}
				for range 1 + random.IntN(40) {
					q := asked{random.IntN(9), tt.paths[random.IntN(len(tt.paths))]}
					questions = append(questions, q)
					want[q] = answer(recorder, q.question, q.path)
				}
				replay := replayed(t, recorder, host.RecordOptions{NoRedact: true})
				for _, q := range questions {
					if got := answer(replay, q.question, q.path); got != want[q] {
						e, err := replay.Evidence().Marshal()
						must(t, err)
						t.Fatalf("seed %d, question %d about %s:\nrecorded %s\nreplayed %s\n%s", seed, q.question, q.path, want[q], got, e)
					}
				}
				if !replay.Now().Equal(recorder.Now()) {
					t.Fatalf("recorded at %v, replayed at %v", recorder.Now(), replay.Now())
				}
			}
		})
	}
}

func TestRecorderCutsLongFiles(t *testing.T) {
	root := t.TempDir()
	long := strings.Repeat("CONFIG_SOMETHING=y\n", 5000)
	must(t, os.WriteFile(filepath.Join(root, "config"), []byte(long), 0o644))
	must(t, os.WriteFile(filepath.Join(root, "short"), []byte("x\n"), 0o644))
	rooted, err := host.NewRooted(root)
	must(t, err)
	defer func() { must(t, rooted.Close()) }()
	recorder := host.NewRecorder(rooted)
	for _, p := range []string{"/config", "/short"} {
		_, err := recorder.ReadFile(p)
		must(t, err)
	}
	whole, err := recorder.ReadFile("/config")
	must(t, err)
	if string(whole) != long {
		t.Error("the recorder's caller does not get the whole text")
	}
	replay := replayed(t, recorder, host.RecordOptions{Title: "long", RecordedAt: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)})
	kept, err := replay.ReadFile("/config")
	must(t, err)
	if len(kept) > 64<<10 || len(kept) < 63<<10 || !strings.HasPrefix(long, string(kept)) || kept[len(kept)-1] != '\n' {
		t.Errorf("%d bytes are kept, want whole lines of 64 KiB", len(kept))
	}
	if diff := cmp.Diff([]bool{true, false}, []bool{replay.Truncated("/config"), replay.Truncated("/short")}); diff != "" {
		t.Error(diff)
	}
	if got := replay.Now().Format(time.RFC3339); got != "2025-01-02T03:04:05Z" {
		t.Errorf("recorded at %s", got)
	}
}

func TestSavedEvidenceIsPrivate(t *testing.T) {
	p := filepath.Join(t.TempDir(), "host.yaml")
	must(t, os.WriteFile(p, nil, 0o644))
	live := host.NewLive()
	e, err := host.NewRecorder(live).Evidence(host.RecordOptions{})
	must(t, err)
	must(t, e.Save(live, p))
	if info, err := live.Stat(p); err != nil || info.Mode != 0o600 || info.Size == 0 {
		t.Errorf("got %+v, %v", info, err)
	}
	if err := e.Save(live, p+"/x"); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("saving below a file gives %v", err)
	}
}

// TestRecorderRefusesBinaryFiles: an evidence holds text, and what a recorder served is what it holds.
func TestRecorderRefusesBinaryFiles(t *testing.T) {
	r := host.NewRecorder(newRooted(t, sample(t)))
	_, err := r.ReadFile("/etc/binary")
	if err == nil || !strings.Contains(err.Error(), "NUL") {
		t.Errorf("a file with NUL is read: %v", err)
	}
	if _, err := r.ReadFile("/etc/crlf"); err != nil {
		t.Error(err)
	}
	replay := replayed(t, r, host.RecordOptions{})
	if _, again := replay.ReadFile("/etc/binary"); again == nil || !strings.Contains(again.Error(), "NUL") {
		t.Errorf("the replay says %v", again)
	}
}
