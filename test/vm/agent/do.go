package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/test/vm/internal/manifest"
	"github.com/rdmactl/rdmactl/test/vm/internal/wire"
)

type agent struct {
	bootID string

	mu    sync.Mutex
	last  uint64
	procs map[uint64]*proc
	spool string // directory, in memory

	// catalogue reads the hashes that the disk came with, once.
	catalogue func() (manifest.Known, error)
}

func newAgent() (*agent, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, err
	}
	const spool = "/run/rdmactl-test"
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &agent{
		bootID: strings.TrimSpace(string(id)),
		procs:  map[uint64]*proc{},
		spool:  spool,
		catalogue: sync.OnceValues(func() (manifest.Known, error) {
			return manifest.Load(filepath.Join(filepath.Dir(self), "catalogue"))
		}),
	}, nil
}

func (a *agent) do(r wire.Request, body []byte) (wire.Response, []byte, error) {
	switch r.Op {
	case "hello":
		return wire.Response{BootID: a.bootID}, nil, nil
	case "start":
		return a.start(r, body)
	case "wait":
		return a.wait(r)
	case "signal", "hangup":
		return a.signal(r)
	case "put":
		return wire.Response{}, nil, put(r, body)
	case "get":
		return get(r)
	case "clock":
		ts := unix.NsecToTimespec(r.UnixNano)
		return wire.Response{}, nil, unix.ClockSettime(unix.CLOCK_REALTIME, &ts)
	case "manifest":
		return a.describe(r)
	case "sync":
		unix.Sync()
		return wire.Response{}, nil, nil
	}
	return wire.Response{}, nil, fmt.Errorf("unknown operation %q", r.Op)
}

// put writes one piece of a file. The first piece (offset 0) makes the file anew, with its
// directories, so that a running program can be replaced.
func put(r wire.Request, body []byte) error {
	flags := os.O_WRONLY
	if r.Offset == 0 {
		if err := os.MkdirAll(filepath.Dir(r.Path), 0o755); err != nil {
			return err
		}
		if err := os.Remove(r.Path); err != nil && !os.IsNotExist(err) {
			return err
		}
		flags |= os.O_CREATE | os.O_EXCL
	}
	mode := fs.FileMode(r.Mode & 0o777)
	f, err := os.OpenFile(r.Path, flags, mode)
	if err != nil {
		return err
	}
	if r.Offset == 0 {
		err = f.Chmod(mode) // whatever the umask says
	}
	if err == nil {
		_, err = f.WriteAt(body, r.Offset)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func get(r wire.Request) (wire.Response, []byte, error) {
	f, err := os.Open(r.Path)
	if err != nil {
		return wire.Response{}, nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return wire.Response{}, nil, err
	}
	if r.Limit <= 0 || r.Limit > wire.MaxBody {
		r.Limit = wire.MaxBody
	}
	// Files below /proc and /sys say that they are empty: read to the end, whatever Stat says.
	body, err := io.ReadAll(io.NewSectionReader(f, r.Offset, r.Limit))
	return wire.Response{Size: max(fi.Size(), r.Offset+int64(len(body)))}, body, err
}

// describe writes the manifest to r.Path, where the harness gets it: it may be larger than a frame.
func (a *agent) describe(r wire.Request) (wire.Response, []byte, error) {
	known, err := a.catalogue()
	if err != nil {
		return wire.Response{}, nil, err
	}
	m, err := manifest.Walk(r.Roots, r.Except, known)
	if err != nil {
		return wire.Response{}, nil, err
	}
	b := m.Bytes()
	if err := os.WriteFile(r.Path, b, 0o600); err != nil {
		return wire.Response{}, nil, err
	}
	return wire.Response{Size: int64(len(b))}, nil, nil
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
