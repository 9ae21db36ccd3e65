package pkgmgr_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// filesOnly is a Reader of a few files.
type filesOnly struct {
	host.Reader
	files map[string]string
}

func (f filesOnly) ReadFile(path string) ([]byte, error) {
	if text, ok := f.files[path]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func TestPIDFileOwner(t *testing.T) {
	files, programs := []string{"/run/yum.pid", "/run/zypp.pid"}, []string{"dnf", "zypp"}
	for name, one := range map[string]struct {
		files map[string]string
		pid   int
	}{
		"nobody":              {nil, 0},
		"a living one":        {map[string]string{"/run/zypp.pid": "77\n", "/proc/77/comm": "zypper\n"}, 77},
		"one that has ended":  {map[string]string{"/run/zypp.pid": "77\n"}, 0},
		"another's number":    {map[string]string{"/run/zypp.pid": "77\n", "/proc/77/comm": "sshd\n"}, 0},
		"a file without one":  {map[string]string{"/run/zypp.pid": "\n", "/proc/77/comm": "zypper\n"}, 0},
		"stale, and a living": {map[string]string{"/run/yum.pid": "5", "/run/zypp.pid": "77", "/proc/77/comm": "zypper\n"}, 77},
	} {
		owner := pkgmgr.PIDFileOwner(filesOnly{files: one.files}, files, programs)
		if (owner == nil) != (one.pid == 0) || owner != nil && (owner.PID != one.pid || owner.Command != "zypper" || owner.File != "/run/zypp.pid") {
			t.Errorf("%s: %v", name, owner)
		}
	}
}

func TestWaitFor(t *testing.T) {
	held := &pkgmgr.LockedError{File: "/f", PID: 7, Command: "dnf"}
	asked := 0
	if err := pkgmgr.WaitFor(context.Background(), 0, func() *pkgmgr.LockedError { asked++; return held }); !errors.Is(err, held) || asked != 1 {
		t.Errorf("%v after %d", err, asked)
	}
	if err := pkgmgr.WaitFor(context.Background(), 0, func() *pkgmgr.LockedError { return nil }); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := pkgmgr.WaitFor(ctx, 1<<40, func() *pkgmgr.LockedError { return held }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
