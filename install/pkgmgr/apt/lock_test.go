package apt

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// procHost is a Writer that has only a /proc.
type procHost struct {
	host.Writer
	files map[string]string
	links map[string]string
}

func (p procHost) ReadFile(path string) ([]byte, error) {
	if text, ok := p.files[path]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func (p procHost) ReadDir(dir string) ([]string, error) {
	names := []string{}
	for l := range p.links {
		if rest, ok := strings.CutPrefix(l, dir+"/"); ok {
			names = append(names, rest)
		}
	}
	if len(names) == 0 {
		return nil, fs.ErrNotExist
	}
	return names, nil
}

func (p procHost) Readlink(path string) (string, error) {
	if target, ok := p.links[path]; ok {
		return target, nil
	}
	return "", fs.ErrNotExist
}

func TestLockOwnerIsNamed(t *testing.T) {
	const locks = "1: POSIX  ADVISORY  WRITE 812 fd:01:393240 0 EOF\n2: FLOCK  ADVISORY  WRITE 99 00:17:1 0 EOF\n3: POSIX  ADVISORY  READ  813 fd:01:5 0 EOF\n4: OFDLCK ADVISORY  WRITE -1 fd:01:6 0 EOF\n"
	held := procHost{
		files: map[string]string{"/proc/locks": locks, "/proc/812/comm": "unattended-upgr\n"},
		links: map[string]string{"/proc/812/fd/3": "/dev/null", "/proc/812/fd/4": "/var/lib/dpkg/lock-frontend"},
	}
	err := New(held).Wait(context.Background(), 0)
	var locked *pkgmgr.LockedError
	if !errors.As(err, &locked) || locked.PID != 812 || locked.Command != "unattended-upgr" || locked.File != "/var/lib/dpkg/lock-frontend" {
		t.Errorf("held: %v", err)
	}
	if want := "unattended-upgr (pid 812) holds /var/lib/dpkg/lock-frontend"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := New(held).Wait(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// The file is open, but the lock is on another one, of another process, or for reading.
	for _, links := range []map[string]string{
		{"/proc/812/fd/3": "/dev/null"},
		{"/proc/99/fd/3": "/var/lib/dpkg/lock"},
		{"/proc/813/fd/3": "/var/lib/dpkg/lock"},
		{},
	} {
		if err := New(procHost{files: held.files, links: links}).Wait(context.Background(), 0); err != nil {
			t.Errorf("%v: %v", links, err)
		}
	}
	if err := New(procHost{}).Wait(context.Background(), 0); err != nil {
		t.Errorf("without /proc: %v", err)
	}
}
