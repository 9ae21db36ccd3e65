package install

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// writable stops before anything where a file system that the run must change is mounted read-only, as /usr is
// on image-based systems and after a disk error.
func (r *run) writable() error {
	if opener, ok := r.env.Host.(host.DirOpener); ok && r.inImage() {
		return r.writableIn(opener)
	}
	data, err := r.host.ReadFile("/proc/self/mounts")
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, host.ErrUnknown):
		return nil // writing says
	case err != nil:
		return fmt.Errorf("cannot read which file systems are mounted: %w", err)
	}
	for _, dir := range r.changes() {
		if mount, readOnly := mountOf(string(data), dir); readOnly {
			return fault.New(fault.Stopped, "read-only", "mount it writable (`mount -o remount,rw "+mount+"`), or change the image that this host boots",
				"cannot install: %s is on %s, which is mounted read-only; nothing was changed", dir, mount)
		}
	}
	return nil
}

// writableIn is writable for an image, whose mounts are those of this machine: each directory is asked itself.
func (r *run) writableIn(opener host.DirOpener) error {
	for _, dir := range r.changes() {
		if !path.IsAbs(dir) || dir == r.paths.State {
			continue // it is written to since before
		}
		readOnly, err := isReadOnly(opener, dir)
		if err != nil {
			return fmt.Errorf("cannot look whether %s is mounted read-only: %w", dir, err)
		}
		if readOnly {
			return fault.New(fault.Stopped, "read-only", "mount it writable, or work on a copy of the image that is",
				"cannot install: %s of the image %s is mounted read-only; nothing was changed", dir, r.env.Host.Told().Root)
		}
	}
	return nil
}

// isReadOnly asks the file system of a directory, or of the one above it that is there.
func isReadOnly(opener host.DirOpener, dir string) (bool, error) {
	root, err := opener.OpenDir(dir)
	for errors.Is(err, fs.ErrNotExist) && dir != "/" {
		dir = path.Dir(dir)
		root, err = opener.OpenDir(dir)
	}
	if err != nil {
		return false, err
	}
	defer root.Close() // it was only read
	f, err := root.Open(".")
	if err != nil {
		return false, err
	}
	defer f.Close() // likewise
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return false, err
	}
	return st.Flags&unix.ST_RDONLY != 0, nil
}

// changes are the directories that the plan's steps write to.
func (r *run) changes() []string {
	out := []string{r.paths.State}
	add := func(dir string) {
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	for _, s := range r.plan.Steps {
		switch s.Kind {
		case plan.KindPackages, plan.KindVendorScript:
			downloads, installed := r.pm.Directories()
			add(downloads)
			add(installed)
			add("/etc")
		case plan.KindBuild:
			if s.Changes.Build != nil && s.Changes.Build.Packages == "" {
				add(path.Dir(s.Changes.Build.Prefix))
			}
		case plan.KindInitramfs:
			add("/boot")
		case plan.KindRepository, plan.KindUse, plan.KindHold:
			add("/etc")
		}
		for _, f := range s.Changes.Files {
			add(path.Dir(f.Path))
		}
	}
	return out
}

// mountOf is the mount point that a directory is on, and whether it is mounted read-only, by the text of
// /proc/self/mounts. Of mounts over each other the last one counts.
func mountOf(mounts, dir string) (point string, readOnly bool) {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		at := unescape.Replace(f[1])
		if len(at) < len(point) || at != "/" && dir != at && !strings.HasPrefix(dir, at+"/") {
			continue
		}
		point, readOnly = at, slices.Contains(strings.Split(f[3], ","), "ro")
	}
	return point, readOnly
}
