package install

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// writable stops before anything where a file system that the run must change is mounted read-only, as /usr is
// on image-based systems and after a disk error.
func (r *run) writable() error {
	data, err := r.host.ReadFile("/proc/self/mounts")
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, host.ErrUnknown), r.env.Host.Told().Kind == "root":
		return nil // an image is a directory of this machine; writing to it says
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
		case plan.KindPackages:
			downloads, installed := r.pm.Directories()
			add(downloads)
			add(installed)
			add("/etc")
		case plan.KindBuild:
			if s.Changes.Build != nil {
				add(path.Dir(s.Changes.Build.Prefix))
			}
		case plan.KindInitramfs:
			add("/boot")
		case plan.KindRepository, plan.KindUse:
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
