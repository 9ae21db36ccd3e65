package faults

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// opening is a file of an image that a process is about to open, be it to read, to write, to make or to execute.
type opening struct {
	path string // in the image
	pid  int
	argv []string
}

// program is the name of the program that opens the file.
func (o opening) program() string {
	if len(o.argv) == 0 {
		return ""
	}
	return filepath.Base(o.argv[0])
}

// holder stops a process in the moment in which it opens a file: the kernel asks it about every opening in one
// image (fanotify), and the one that it waits for gets no answer. That process, and whoever waits for it, stands
// still until it is killed or let go, so that what the run was doing then does not depend on how fast anything is.
type holder struct {
	t  testing.TB
	fd int
	// held is given the opening that is held.
	held chan opening
	once sync.Once
	done chan struct{} // closed by release
	rest chan struct{} // closed when all are let go
}

// hold waits for an opening of the image that is one to stop at.
func hold(t testing.TB, im image, at func(opening) bool) *holder {
	t.Helper()
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK|unix.FAN_UNLIMITED_QUEUE, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_LARGEFILE)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		lab.Need(t, "needs a kernel with fanotify's permission events: "+err.Error())
	}
	must(t, err)
	if err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD|unix.FAN_MARK_FILESYSTEM, unix.FAN_OPEN_PERM|unix.FAN_ONDIR, unix.AT_FDCWD, im.Dir); err != nil {
		must(t, unix.Close(fd))
		lab.Need(t, "needs a kernel with fanotify's permission events: "+err.Error())
	}
	h := &holder{t: t, fd: fd, held: make(chan opening, 1), done: make(chan struct{}), rest: make(chan struct{})}
	go h.answer(im, at)
	t.Cleanup(h.release)
	return h
}

// release lets the held process go, if it still lives, and all others from now on.
func (h *holder) release() {
	h.once.Do(func() { close(h.done) })
	<-h.rest
}

// reply lets a process have the file that it opens.
func (h *holder) reply(fd int32) {
	var out bytes.Buffer
	_ = binary.Write(&out, binary.NativeEndian, unix.FanotifyResponse{Fd: fd, Response: unix.FAN_ALLOW}) // to memory
	_, _ = unix.Write(h.fd, out.Bytes())                                                                 // the process may be gone
	_ = unix.Close(int(fd))
}

// answer answers the kernel's questions until release. It must open nothing in the image itself.
func (h *holder) answer(im image, at func(opening) bool) {
	waits := true
	var waiting int32 // descriptor of the opening that is held
	defer func() {
		if waiting != 0 {
			h.reply(waiting)
		}
		_ = unix.Close(h.fd) // lets all go that still wait
		close(h.rest)
	}()
	buffer := make([]byte, 64<<10)
	for {
		select {
		case <-h.done:
			return
		default:
		}
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}, 100); n == 0 || errors.Is(err, unix.EINTR) {
			continue
		}
		n, err := unix.Read(h.fd, buffer)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			h.t.Errorf("the kernel's questions cannot be read: %v", err)
			return
		}
		events := bytes.NewReader(buffer[:n])
		for events.Len() > 0 {
			var e unix.FanotifyEventMetadata
			if err := binary.Read(events, binary.NativeEndian, &e); err != nil {
				h.t.Errorf("the kernel's questions cannot be read: %v", err)
				return
			}
			if e.Fd < 0 {
				continue
			}
			if waits && int(e.Pid) != os.Getpid() {
				if o := openingOf(im, e); at(o) {
					waits, waiting = false, e.Fd
					h.held <- o
					continue
				}
			}
			h.reply(e.Fd)
		}
	}
}

// openingOf names the file of an event. The run knows the image by its directory, what runs inside as "/".
func openingOf(im image, e unix.FanotifyEventMetadata) opening {
	o := opening{pid: int(e.Pid)}
	if name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(e.Fd))); err == nil {
		o.path = "/" + strings.TrimLeft(strings.TrimPrefix(name, im.Dir), "/")
	}
	if text, err := os.ReadFile("/proc/" + strconv.Itoa(o.pid) + "/cmdline"); err == nil {
		o.argv = strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	}
	return o
}

// gone says that a process has ended, reaped or not.
func gone(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

// await is one of a channel, in time.
func await[T any](t testing.TB, what string, c <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-c:
	case <-time.After(3 * time.Minute):
		t.Fatalf("%s: not within three minutes", what)
	}
	return got
}
