package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// initramfsStep makes the initramfs of one kernel anew. Its undo lays the old file back: making it once more
// would take the modules that are on disk at that moment, which the steps before it have yet to put back.
type initramfsStep struct{ run *run }

type initramfsUndo struct {
	Kernel string    `json:"kernel"`
	Before savedFile `json:"before"`
	Beside []string  `json:"beside,omitempty"` // files of beside that were there before
}

type initramfsLeft struct {
	Hash string `json:"sha256"`
}

// image is the file of a kernel's initramfs, where the distributions put it.
func (x *initramfsStep) image(kernel string) (string, error) {
	names := []string{
		"/boot/initrd.img-" + kernel,         // Debian, Ubuntu
		"/boot/initramfs-" + kernel + ".img", // RHEL, Fedora
		"/boot/initrd-" + kernel,             // SUSE
	}
	for _, name := range names {
		switch _, err := x.run.host.Lstat(name); {
		case err == nil:
			return name, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("cannot look at %s: %w", name, err)
		}
	}
	return "", nil
}

// kernel is the release that the step names.
func (x *initramfsStep) kernel(s plan.Step) (string, error) {
	k := s.Changes.Kernel
	if k == "" || strings.ContainsAny(k, "/ \t\n") || strings.HasPrefix(k, "-") || strings.HasPrefix(k, ".") {
		return "", fmt.Errorf("cannot make an initramfs: %q is not the release of a kernel", k)
	}
	return k, nil
}

func (x *initramfsStep) check(_ context.Context, s plan.Step, changed bool) (bool, error) {
	kernel, err := x.kernel(s)
	if err != nil {
		return false, err
	}
	file, err := x.image(kernel)
	return !changed || file == "", err
}

func (x *initramfsStep) prepare(_ context.Context, s plan.Step) (any, error) {
	kernel, err := x.kernel(s)
	if err != nil {
		return nil, err
	}
	file, err := x.image(kernel)
	if err != nil {
		return nil, err
	}
	before, err := save(x.run.host, x.run.journal, file, s.ID)
	if err != nil {
		return nil, err
	}
	u := initramfsUndo{Kernel: kernel, Before: before}
	for _, name := range beside(file) {
		switch _, err := x.run.host.Lstat(name); {
		case err == nil:
			u.Beside = append(u.Beside, name)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("cannot look at %s: %w", name, err)
		}
	}
	return u, nil
}

// beside are what update-initramfs makes beside an initramfs while it works, and leaves there when it is killed: the
// new file, and a second name of the old one.
func beside(file string) []string { return []string{file + ".new", file + ".dpkg-bak"} }

func (x *initramfsStep) do(ctx context.Context, s plan.Step, undo json.RawMessage) (any, string, error) {
	var u initramfsUndo
	if err := decode(undo, &u); err != nil {
		return nil, "", err
	}
	tools := []struct {
		program string
		argv    []string
	}{
		{"/usr/sbin/update-initramfs", []string{"update-initramfs", "-u", "-k", u.Kernel}},
		{"/usr/bin/dracut", []string{"dracut", "--force", "--kver", u.Kernel, u.Before.Path}},
		{"/usr/sbin/dracut", []string{"dracut", "--force", "--kver", u.Kernel, u.Before.Path}},
	}
	for _, tool := range tools {
		if _, err := x.run.host.Stat(tool.program); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, "", fmt.Errorf("cannot look for %s: %w", tool.program, err)
		}
		res, err := x.run.host.Run(ctx, host.Command{Argv: tool.argv})
		if err != nil {
			return nil, "", fmt.Errorf("cannot run %s: %w", tool.argv[0], err)
		}
		if res.Exit != 0 {
			return nil, "", fault.New(fault.Failed, "initramfs-failed", "run `"+strings.Join(tool.argv, " ")+"` by hand to see why",
				"cannot make %s anew: %s ended with %d: %s", u.Before.Path, tool.argv[0], res.Exit, lastLine(res.Stderr, res.Stdout))
		}
		now, _, err := look(x.run.host, u.Before.Path)
		if err != nil {
			return nil, "", err
		}
		if !now.Exists {
			return nil, "", fmt.Errorf("cannot make %s anew: %s ended with 0 and it is gone", u.Before.Path, tool.argv[0])
		}
		return initramfsLeft{now.Hash}, "", nil
	}
	return nil, "", fault.New(fault.Failed, "initramfs-tool-missing", "", "cannot make %s anew: neither update-initramfs nor dracut is on this host", u.Before.Path)
}

// lastLine is the last line that a command said, of the first text that has one.
func lastLine(texts ...string) string {
	for _, t := range texts {
		lines := strings.Split(strings.TrimSpace(t), "\n")
		if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
			return last
		}
	}
	return "no message"
}

func (x *initramfsStep) stopper(context.Context, plan.Step, record) error { return nil }

func (x *initramfsStep) beforeUndo(context.Context, plan.Step, record) (any, error) { return nil, nil }

func (x *initramfsStep) undo(_ context.Context, _ plan.Step, rec record) (undone, error) {
	var u initramfsUndo
	if err := decode(rec.undo, &u); err != nil {
		return undone{}, err
	}
	// A later kernel or configuration may have made it anew since; the packages' scripts do it as well. What
	// was there before boots, and a host that boots comes first.
	for _, name := range beside(u.Before.Path) {
		if slices.Contains(u.Beside, name) {
			continue
		}
		if err := x.run.host.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return undone{}, fmt.Errorf("cannot remove %s: %w", name, err)
		}
	}
	return undone{}, putBack(x.run.host, x.run.journal, u.Before, u.Before.Path)
}
