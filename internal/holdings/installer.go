package holdings

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/web"
)

// Installer is a bundle that has the vendor's own installer at its top.
type Installer struct {
	// Origin is the packed file, a path or an address without credentials; empty for an unpacked bundle, which is in
	// Directory.
	Origin, Directory string
	SHA256            string // of the file
	Folder            string // in the file, "." for its top
	Version           string // that the bundle says it is
	Entries           int    // files and links of Folder
	Bytes             int64  // of its files
	// Proof is what proves the whole file: sha256 or signature; empty for nothing.
	Proof string
}

// ofaFolder is the name of a release of the OpenFabrics Alliance's OFED, as its file unpacks.
var ofaFolder = regexp.MustCompile(`^OFED-(\d+\.\d+(?:\.\d+)*(?:-\d+)?)$`)

// FindInstaller looks for a program at the top of a bundle, packed or not, and proves the file as far as opts can.
// Nothing is run or written. Errors are faults.
func FindInstaller(ctx context.Context, source, program string, opts Options) (Installer, error) {
	found, err := findInstaller(ctx, source, program, opts)
	if err == nil {
		return found, nil
	}
	var own *refusal
	switch {
	case errors.As(err, &own):
		return found, fault.New(fault.Usage, "no-installer", own.hint, "cannot use %s: %w", source, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return found, fault.New(fault.Interrupted, "interrupted", "", "cannot use %s: interrupted", source)
	}
	return found, fault.New(fault.Usage, "no-installer", "name the bundle, packed or unpacked, that you may read", "cannot use %s: %w", source, err)
}

func findInstaller(ctx context.Context, source, program string, opts Options) (Installer, error) {
	place, err := filepath.Abs(source)
	if err != nil {
		return Installer{}, err
	}
	info, err := os.Stat(source)
	if err != nil {
		return Installer{}, err
	}
	hint := "name the vendor's bundle; " + program + " is at its top"
	if info.IsDir() {
		root, err := os.OpenRoot(source)
		if err != nil {
			return Installer{}, err
		}
		defer root.Close()
		t := dirTree{root}
		if there, err := exists(ctx, t, program); err != nil {
			return Installer{}, err
		} else if !there {
			return Installer{}, refuse(hint, "it has no %s", program)
		}
		version, err := installerVersion(ctx, t, filepath.Base(place))
		return Installer{Directory: place, Version: version}, err
	}
	if !info.Mode().IsRegular() {
		return Installer{}, refuse(hint, "it is neither a folder nor a regular file")
	}
	judge, err := newJudge(opts)
	if err != nil {
		return Installer{}, err
	}
	file, err := os.OpenFile(source, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return Installer{}, err
	}
	defer file.Close()
	whole, err := seal(ctx, file, info.Size())
	if err != nil {
		return Installer{}, err
	}
	im := &importer{judge: judge, opts: opts}
	if err := im.prove(whole); err != nil {
		return Installer{}, err
	}
	a := newContents(false)
	name := filepath.Base(source)
	switch {
	case strings.HasSuffix(name, ".iso"):
		_, err = takeISO(ctx, survey{a}, whole, whole.size)
	case strings.HasSuffix(name, ".tgz"), strings.HasSuffix(name, ".tar.gz"):
		var r io.ReadCloser
		if r, err = unpacker(".gz", io.NewSectionReader(whole, 0, whole.size)); err != nil {
			return Installer{}, damaged(name, err)
		}
		defer r.Close()
		err = walkTar(ctx, r, name, takeTar(ctx, survey{a}))
	default:
		err = refuse("name a bundle that ends in .tgz or .iso, or the folder that it was unpacked to", "it is no bundle")
	}
	if err != nil {
		return Installer{}, err
	}
	folder, ok := a.folderOf(program)
	if !ok {
		return Installer{}, refuse(hint, "it has no %s at its top", program)
	}
	out := Installer{Origin: place, SHA256: whole.sum, Folder: folder, Proof: im.proof}
	if opts.Origin != "" {
		out.Origin = web.Public(opts.Origin)
	}
	for name, f := range a.files {
		if _, ok := within(folder, name); ok {
			out.Entries++
			if f.target == "" {
				out.Bytes += f.size
			}
		}
	}
	out.Version, err = installerVersion(ctx, sub(a.memTree, folder), path.Base(folder))
	return out, err
}

// survey takes the names and sizes of what an archive has, and what is in its version files. Packages are not looked at.
type survey struct{ *contents }

func (s survey) add(ctx context.Context, name string, size int64, r io.Reader) error {
	if _, headers := keep(name); !headers {
		return s.contents.add(ctx, name, size, r)
	}
	name, err := checkPath(name)
	if err != nil {
		return err
	}
	if _, twice := s.files[name]; twice {
		return refuse(hintHostile, "it has the file %s twice", name)
	}
	s.files[name] = memFile{size: size}
	return nil
}

// folderOf is the folder at the top of an archive that has a program, a file of its own.
func (a *contents) folderOf(program string) (folder string, ok bool) {
	for name, f := range a.files {
		dir := path.Dir(name)
		if path.Base(name) == program && !strings.Contains(dir, "/") && f.target == "" && (!ok || dir < folder) {
			folder, ok = dir, true
		}
	}
	return folder, ok
}

// installerVersion is what a bundle says that it is: by its version file, or the name of the folder.
func installerVersion(ctx context.Context, t tree, folder string) (string, error) {
	data, _, err := readAny(ctx, t, maxSmallFile, ".mlnx", "mlnx")
	if err == nil {
		text := strings.TrimSpace(string(data))
		if !fileVersion.MatchString(text) {
			return "", refuse(hintDamaged, "its version file has %q, which is no version", clip(text))
		}
		return text, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if m := ofaFolder.FindStringSubmatch(folder); m != nil {
		return m[1], nil
	}
	return "", refuse("name the bundle as the vendor gives it out", "nothing in it tells its version (no .mlnx, and its folder is not named OFED-VERSION)")
}
