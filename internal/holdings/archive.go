package holdings

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"strings"
)

// contents collects from a packed bundle or package the files that matter, without unpacking it.
type contents struct {
	memTree
	kept int64
	// links with an absolute target are usual in a package's payload outside of its repository; they
	// are refused only where they would be followed.
	payload bool
}

func newContents(payload bool) *contents {
	return &contents{memTree: memTree{map[string]memFile{}}, payload: payload}
}

// keep says how much of a file matters: all of it, or of an rpm the headers.
func keep(name string) (whole, headers bool) {
	base, dir := path.Base(name), path.Base(path.Dir(name))
	switch {
	case strings.HasSuffix(base, ".rpm"):
		return false, true
	case dir == "repodata", base == "InRelease", base == "Release", base == "Release.gpg", strings.TrimSuffix(base, compression(base)) == "Packages":
		return true, false
	case base == "distro", base == ".mlnx", base == "mlnx", base == ".arch", base == "arch", strings.TrimPrefix(base, ".") == "supported_kernels":
		return true, false
	case strings.Contains(base, "GPG-KEY"), base == "doca_keyring.gpg":
		return true, false
	}
	return false, false
}

func (a *contents) add(ctx context.Context, name string, size int64, r io.Reader) error {
	name, err := checkPath(name)
	if err != nil {
		return err
	}
	if _, twice := a.files[name]; twice {
		return refuse(hintHostile, "it has the file %s twice", name)
	}
	f := memFile{size: size}
	switch whole, headers := keep(name); {
	case whole && size > maxPacked:
		return refuse(hintHostile, "%s has %d MiB, more than the %d that an index may have", name, size>>20, maxPacked>>20)
	case whole:
		f.data, err = io.ReadAll(limit(ctx, r, maxPacked, name))
	case headers:
		if f.data, _, err = readRPMHeaders(r); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			// A broken package is refused when the index names it, with its name.
			f.data, err = nil, nil
		}
	}
	if err != nil {
		return err
	}
	if a.kept += int64(len(f.data)); a.kept > maxKept {
		return refuse(hintHostile, "its indexes and headers have more than %d MiB", maxKept>>20)
	}
	a.files[name] = f
	return nil
}

// addAt takes a file that can be read at any time later: nothing of it is kept.
func (a *contents) addAt(_ context.Context, name string, content *io.SectionReader) error {
	if _, twice := a.files[name]; twice {
		return refuse(hintHostile, "it has the file %s twice", name)
	}
	a.files[name] = memFile{size: content.Size(), content: content}
	return nil
}

// link takes a symbolic link, or a hard link when hard is set.
func (a *contents) link(name, target string, hard bool) error {
	name, err := checkPath(name)
	if err != nil {
		return err
	}
	if _, twice := a.files[name]; twice {
		return refuse(hintHostile, "it has the file %s twice", name)
	}
	if strings.HasPrefix(target, "/") && a.payload && !inRepository(name) {
		return nil
	}
	if strings.HasPrefix(target, "/") {
		return refuse(hintHostile, "%s is a link to %q, out of the source", name, clip(target))
	}
	joined := target
	if !hard {
		joined = path.Join(path.Dir(name), target)
	}
	joined = path.Clean(joined)
	if joined == ".." || strings.HasPrefix(joined, "../") || strings.ContainsRune(target, 0) {
		return refuse(hintHostile, "%s is a link to %q, out of the source", name, clip(target))
	}
	a.files[name] = memFile{target: joined}
	return nil
}

func inRepository(name string) bool {
	return strings.HasPrefix(name, "usr/share/doca-host-")
}

// taker is given what an archive has, one after another. Folders are not told: they are those of the files.
type taker interface {
	add(ctx context.Context, name string, size int64, r io.Reader) error
	addAt(ctx context.Context, name string, content *io.SectionReader) error
	link(name, target string, hard bool) error
}

func setUserID(name string) error {
	return refuse(hintHostile, "%q would run as another user (set-user-id or set-group-id)", clip(name))
}

func takeTar(ctx context.Context, a taker) func(*tar.Header, io.Reader) error {
	return func(h *tar.Header, r io.Reader) error {
		switch h.Typeflag {
		case tar.TypeReg:
			if h.Mode&0o6000 != 0 {
				return setUserID(h.Name)
			}
			return a.add(ctx, h.Name, h.Size, r)
		case tar.TypeSymlink, tar.TypeLink:
			return a.link(h.Name, h.Linkname, h.Typeflag == tar.TypeLink)
		case tar.TypeDir:
			_, err := checkPath(strings.TrimSuffix(h.Name, "/"))
			return err
		case tar.TypeXGlobalHeader:
			return nil
		}
		return refuse(hintHostile, "%q is neither a file nor a folder nor a link", clip(h.Name))
	}
}

func takeCPIO(ctx context.Context, a taker) func(cpioHeader, io.Reader) error {
	return func(h cpioHeader, r io.Reader) error {
		switch h.mode & 0o170000 {
		case 0o100000:
			if h.mode&0o6000 != 0 {
				return setUserID(h.name)
			}
			return a.add(ctx, h.name, h.size, r)
		case 0o120000:
			target, err := io.ReadAll(limit(ctx, r, maxPath, h.name))
			if err != nil {
				return err
			}
			return a.link(h.name, string(bytes.TrimSuffix(target, []byte{0})), false)
		case 0o040000:
			_, err := checkPath(h.name)
			return err
		}
		return refuse(hintHostile, "%q is neither a file nor a folder nor a link", clip(h.name))
	}
}

// bundleTree is the folder of a packed bundle: it has one at the top, named like the file.
func (a *contents) bundleTree() (tree, string) {
	folder := ""
	for name := range a.files {
		if dir := path.Dir(name); path.Base(name) == "distro" && !strings.Contains(dir, "/") && (folder == "" || dir < folder) {
			folder = dir
		}
	}
	if folder == "" || folder == "." {
		return a.memTree, "."
	}
	return sub(a.memTree, folder), folder
}

// repositories are the folders usr/share/doca-host-*/repo of a local repo package.
func (a *contents) repository() (tree, string, bool) {
	for name := range a.files {
		parts := strings.Split(name, "/")
		if len(parts) > 4 && inRepository(name) && parts[3] == "repo" {
			return sub(a.memTree, strings.Join(parts[:4], "/")), parts[2], true
		}
	}
	return nil, "", false
}
