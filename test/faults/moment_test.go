package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// entry is what is read of a line of the journal.
type entry struct {
	Event, Step, Kind, Status string
}

func (e entry) String() string { return strings.TrimSpace(e.Event + " " + e.Step) }

// entries are the journal of the image's latest run, read behind the image's back: who is asked about each file
// that is opened in it must open none there himself.
func (im image) entries() (id string, all []entry) {
	files, err := filepath.Glob(im.Upper() + "/var/lib/rdmactl/runs/*/journal.jsonl")
	if err != nil || len(files) == 0 {
		return "", nil
	}
	slices.Sort(files) // their names begin with the time
	file := files[len(files)-1]
	text, err := os.ReadFile(file)
	if err != nil {
		return "", nil
	}
	for line := range bytes.Lines(text) {
		var e entry
		if json.Unmarshal(line, &e) == nil { // the last one may be half written
			all = append(all, e)
		}
	}
	return filepath.Base(filepath.Dir(file)), all
}

// last is the latest entry of the journal.
func (im image) last() entry {
	_, all := im.entries()
	if len(all) == 0 {
		return entry{}
	}
	return all[len(all)-1]
}

// worker is the process that works on a run of the image, 0 for none.
func (im image) worker() int {
	id, _ := im.entries()
	if id == "" {
		return 0
	}
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0
	}
	for _, file := range found {
		if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte("\x00install-worker\x00--run\x00"+id+"\x00")) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err == nil {
				return pid
			}
		}
	}
	return 0
}

// moment is a point of a run at which it is killed.
type moment struct {
	// opens says that the run stands still when a file is opened. It is asked only while after is the latest entry
	// of the journal.
	opens func(image, opening) bool
	// moved is a file that has just been moved to its name.
	moved string
	// after is the entry of the journal that is the latest when the run is killed.
	after entry
}

// logged is the moment in which an entry has been written to the journal. The kill comes while the worker has the
// entry written to the disk.
func logged(event, step string) moment { return moment{after: entry{Event: event, Step: step}} }

// opened is the moment in which, in a step, a file is opened.
func opened(step string, opens func(image, opening) bool) moment {
	return moment{after: entry{Event: "step-started", Step: step}, opens: opens}
}

// moved is the moment in which a step has moved a file to its name. The kill comes while the worker has the
// directory written to the disk.
func moved(step, file string) moment {
	return moment{after: entry{Event: "step-started", Step: step}, moved: file}
}

// file is a file by the end of its name.
func file(end string) func(image, opening) bool {
	return func(_ image, o opening) bool { return strings.HasSuffix(o.path, end) }
}

// by is a file that a program opens.
func by(program, end string) func(image, opening) bool {
	return func(_ image, o opening) bool { return o.program() == program && strings.HasSuffix(o.path, end) }
}

// temporary is the file beside a path that is written before it is moved there.
func temporary(path string) func(image, opening) bool {
	dir, base := filepath.Split(path)
	return func(_ image, o opening) bool {
		return strings.HasPrefix(o.path, dir+"."+base+".rdmactl-") && strings.HasSuffix(o.path, "~")
	}
}

// having is any file that is opened once another is there.
func having(path string) func(image, opening) bool {
	return func(im image, _ opening) bool {
		_, err := os.Lstat(im.Upper() + path)
		return err == nil
	}
}

// both is an opening of which two things are true.
func both(one, other func(image, opening) bool) func(image, opening) bool {
	return func(im image, o opening) bool { return one(im, o) && other(im, o) }
}

func (m moment) is(e entry) bool { return e.Event == m.after.Event && e.Step == m.after.Step }

// reached waits for the moment, and kills the worker then. It returns whether the journal proves that it was that
// moment; and an error if the run ended without it.
func (m moment) reached(t testing.TB, im image, start func(), ended <-chan struct{}) (hit bool) {
	t.Helper()
	if m.opens != nil {
		return m.standsStill(t, im, start, ended)
	}
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	must(t, err)
	defer func() { must(t, unix.Close(watch)) }()
	if m.moved != "" {
		_, err := unix.InotifyAddWatch(watch, filepath.Dir(im.Path(m.moved)), unix.IN_MOVED_TO)
		must(t, err)
	}
	start()
	worker, watched := 0, false
	buffer := make([]byte, 4096)
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); {
		select {
		case <-ended:
			return false
		default:
		}
		id, all := im.entries()
		if worker == 0 && len(all) > 0 {
			worker = im.worker()
		}
		if worker == 0 {
			time.Sleep(time.Millisecond)
			continue
		}
		if m.moved == "" {
			if !watched {
				_, err := unix.InotifyAddWatch(watch, im.Path("var/lib/rdmactl/runs/"+id+"/journal.jsonl"), unix.IN_MODIFY)
				must(t, err)
				watched = true
				continue
			}
			if len(all) > 0 && m.is(all[len(all)-1]) {
				return m.kill(t, im, worker)
			}
			if slices.ContainsFunc(all, m.is) {
				return false // it went on before it was seen
			}
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(watch), Events: unix.POLLIN}}, 100); err != nil && !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
		n, err := unix.Read(watch, buffer)
		if err == nil && m.moved != "" && bytes.Contains(buffer[:n], append([]byte(filepath.Base(m.moved)), 0)) {
			return m.kill(t, im, worker)
		}
	}
	t.Fatalf("%s: not within three minutes", m.after)
	return false
}

// standsStill waits until the run stands still, and kills it.
func (m moment) standsStill(t testing.TB, im image, start func(), ended <-chan struct{}) bool {
	t.Helper()
	h := hold(t, im, func(o opening) bool { return m.opens(im, o) && m.is(im.last()) })
	defer h.release()
	start()
	select {
	case o := <-h.held:
		t.Logf("%s stands still at %s", o.program(), o.path)
		hit := m.kill(t, im, im.worker())
		for end := time.Now().Add(10 * time.Second); !gone(o.pid); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("%s (%d) outlives the run", o.program(), o.pid)
				break
			}
		}
		return hit
	case <-ended:
		return false
	case <-time.After(3 * time.Minute):
		t.Fatalf("%s: not within three minutes", m.after)
	}
	return false
}

// kill ends the worker at once.
func (m moment) kill(t testing.TB, im image, worker int) bool {
	t.Helper()
	if worker == 0 {
		t.Fatal("there is no worker to kill")
	}
	if err := unix.Kill(worker, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); !gone(worker); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("SIGKILL does not end the worker")
		}
	}
	return m.is(im.last())
}
