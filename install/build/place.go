package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// Place moves a staged build to its prefix, whole or not at all. It does nothing where the prefix has this
// very build already, and refuses a prefix that has anything else: what stands there is Removed first, or is
// someone else's.
func Place(ctx context.Context, h Host, b Built) error {
	prefix := b.Manifest.Prefix
	done, err := Free(h, b.Manifest)
	if err != nil {
		return err
	}
	if !done {
		if err := move(ctx, h, b); err != nil {
			return err
		}
	}
	return label(ctx, h, prefix)
}

// label gives the files the SELinux labels of their place: they came from a cache, and a confined service may
// not load a library that is labelled as one. Where SELinux is off, restorecon does nothing.
func label(ctx context.Context, h Host, prefix string) error {
	result, err := h.Run(ctx, host.Command{Argv: []string{"restorecon", "-R", prefix}})
	if errors.Is(err, host.ErrNotInstalled) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot label %s: %w", prefix, err)
	}
	if result.Exit != 0 {
		return fault.New(fault.Failed, "label-failed", "run restorecon -R "+prefix+" by hand and see", "cannot label %s: restorecon ended with %d: %s", prefix, result.Exit, oneLine(result.Stdout+" "+result.Stderr))
	}
	return nil
}

// move brings the stage to its place.
func move(ctx context.Context, h Host, b Built) error {
	prefix := b.Manifest.Prefix
	s, err := inspect(h, b.Stage)
	if err != nil {
		return err
	}
	if !s.Intact() || s.Manifest.Digest != b.Manifest.Digest || len(s.Added) > 0 {
		return fault.New(fault.Stopped, "stage-changed", "build it again", "cannot place rdma-core %s: its staged tree %s is not what was built", b.Manifest.Version, b.Stage)
	}
	parent := path.Dir(prefix)
	if err := h.MkdirAll(parent, perm); err != nil {
		return fmt.Errorf("cannot make %s: %w", parent, err)
	}
	err = h.Rename(b.Stage, prefix)
	if !errors.Is(err, syscall.EXDEV) {
		if err != nil {
			return fmt.Errorf("cannot place rdma-core %s: %w", b.Manifest.Version, err)
		}
		return nil
	}
	// Another file system: copied beside the place first, so that the place itself still is made at once.
	beside := besideName(prefix)
	to, err := h.OpenDir(parent)
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", parent, err)
	}
	err = errors.Join(copyStage(ctx, h, b, to, beside), to.Close())
	if err == nil {
		err = h.Rename(path.Join(parent, beside), prefix)
	}
	if err != nil {
		return fmt.Errorf("cannot place rdma-core %s: %w", b.Manifest.Version, err)
	}
	return nil
}

func besideName(prefix string) string { return "." + path.Base(prefix) + ".rdmactl-new" }

// Free says whether a prefix can take a build: done when the build is there already, an error when something
// else is.
func Free(h Host, m Manifest) (done bool, err error) {
	s, err := Inspect(h, m.Prefix)
	if err != nil || !s.Exists {
		return false, err
	}
	switch {
	case s.Manifest == nil:
		return false, stop("prefix-taken", "give another prefix, or move away what is there", "cannot place rdma-core %s: %s exists and is not rdmactl's", m.Version, m.Prefix)
	case s.Manifest.Digest != m.Digest || s.Manifest.Inputs != m.Inputs:
		return false, stop("prefix-taken", "remove it first, or give another prefix", "cannot place rdma-core %s: %s has another build, of version %s", m.Version, m.Prefix, s.Manifest.Version)
	case !s.Intact():
		return false, stop("prefix-taken", "remove it first; files that were changed are kept", "cannot place rdma-core %s: it is in %s, but %s", m.Version, m.Prefix, s.differences())
	}
	return true, nil
}

func (s State) differences() string {
	first := append(append([]string{}, s.Changed...), s.Missing...)
	text := strings.Join(first[:min(len(first), 3)], ", ")
	if n := len(first) - 3; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text + " changed since"
}

// copyStage copies a staged tree and syncs all of it.
func copyStage(ctx context.Context, h Host, b Built, parent *os.Root, name string) error {
	from, err := h.OpenDir(b.Stage)
	if err != nil {
		return err
	}
	defer from.Close() // it was only read
	// parent is a directory of others as well: nothing but this name is touched in it.
	if err := errors.Join(parent.RemoveAll(name), parent.Mkdir(name, 0o700), parent.Chmod(name, perm)); err != nil {
		return err
	}
	to, err := parent.OpenRoot(name)
	if err != nil {
		return err
	}
	defer to.Close() // files in it are closed with an error
	dirs := []string{"."}
	for _, e := range b.Manifest.Files {
		if err := ctx.Err(); err != nil {
			return errors.Join(err, parent.RemoveAll(name))
		}
		switch e.Kind {
		case "dir":
			dirs = append(dirs, e.Path)
			err = errors.Join(to.Mkdir(e.Path, 0o700), to.Chmod(e.Path, perm))
		case "link":
			err = to.Symlink(e.Link, e.Path)
		default:
			err = copyFile(from, to, e)
		}
		if err != nil {
			return errors.Join(err, parent.RemoveAll(name))
		}
	}
	for _, dir := range dirs {
		if err := syncDir(to, dir); err != nil {
			return err
		}
	}
	return b.Manifest.write(to)
}

func copyFile(from, to *os.Root, e Entry) error {
	in, _, err := openRegular(from, e.Path)
	if err != nil {
		return err
	}
	defer in.Close() // it was only read
	out, err := to.OpenFile(e.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(e.Mode), out.Sync(), out.Close())
}

// Removed is what a removal left.
type Removed struct {
	// Kept are files that were changed or put there by others, below the prefix. While there are such the
	// manifest stays as well.
	Kept []string
}

// Remove takes a placed build away: what still is as it was put there goes, all else is kept and named.
// dirs are directories above the prefix that were made for it, outermost first; they go when they are empty.
func Remove(h Host, prefix string, dirs []string) (Removed, error) {
	s, err := Inspect(h, prefix)
	if err != nil {
		return Removed{}, err
	}
	parent := path.Dir(prefix)
	above, err := h.OpenDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return Removed{}, removeEmpty(h, dirs)
	}
	if err != nil {
		return Removed{}, fmt.Errorf("cannot open %s: %w", parent, err)
	}
	defer above.Close() // nothing was written through it
	if err := above.RemoveAll(besideName(prefix)); err != nil {
		return Removed{}, fmt.Errorf("cannot remove what an interrupted copy left: %w", err)
	}
	if s.Exists && s.Manifest == nil {
		// The last step before the directory itself was taken is the removal of the manifest.
		if err := above.Remove(path.Base(prefix)); err != nil {
			return Removed{}, stop("not-ours", "remove it by hand if it is not needed", "cannot remove %s: it is not rdmactl's", prefix)
		}
		s.Exists = false
	}
	out := Removed{}
	if s.Exists {
		root, err := above.OpenRoot(path.Base(prefix))
		if err != nil {
			return out, fmt.Errorf("cannot open %s: %w", prefix, err)
		}
		out.Kept, err = s.take(root)
		if err = errors.Join(err, root.Close()); err != nil {
			return out, fmt.Errorf("cannot remove %s: %w", prefix, err)
		}
		if len(out.Kept) > 0 {
			return out, nil
		}
		if err := above.Remove(path.Base(prefix)); err != nil {
			return out, fmt.Errorf("cannot remove %s: %w", prefix, err)
		}
	}
	if err := syncDir(above, "."); err != nil {
		return out, fmt.Errorf("cannot remove %s: %w", prefix, err)
	}
	return out, removeEmpty(h, dirs)
}

// take removes what is unchanged, files before the directories that hold them.
func (s State) take(root *os.Root) (kept []string, err error) {
	keep := map[string]bool{}
	for _, name := range append(append([]string{}, s.Changed...), s.Added...) {
		keep[name] = true
		kept = append(kept, name)
	}
	files := s.Manifest.Files
	for i := len(files) - 1; i >= 0; i-- {
		e := files[i]
		if keep[e.Path] {
			continue
		}
		same, err := e.matches(root) // once more: it may have been changed since it was looked at
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return kept, err
		}
		if !same {
			kept = append(kept, e.Path)
			continue
		}
		err = root.Remove(e.Path)
		if e.Kind == "dir" && (errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist)) {
			continue // it holds what is kept
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return kept, err
		}
	}
	if len(kept) > 0 {
		return kept, nil
	}
	return nil, root.Remove(ManifestName)
}

// removeEmpty removes directories, the innermost first, as far as nobody put something there.
func removeEmpty(h Host, dirs []string) error {
	for i := len(dirs) - 1; i >= 0; i-- {
		err := h.Remove(dirs[i])
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, syscall.EEXIST):
			return nil
		default:
			return fmt.Errorf("cannot remove directory %s: %w", dirs[i], err)
		}
	}
	return nil
}
