package build

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// ManifestName is the file in a prefix that tells what was put there.
const ManifestName = ".rdmactl-manifest.json"

const manifestFormat = 1

// Manifest is what was built and which files it has.
type Manifest struct {
	Format  int    `json:"format"`
	Stack   string `json:"stack"` // rdma-core
	Version string `json:"version"`
	// PrivateABI is IBVERBS_PABI_VERSION: libibverbs and its providers must have the same.
	PrivateABI int    `json:"private_abi"`
	Prefix     string `json:"prefix"`
	// LibDir and DriverDir are where libibverbs and the driver configuration are, below the prefix.
	LibDir    string     `json:"libdir"`
	DriverDir string     `json:"driverdir"`
	Source    Provenance `json:"source"`
	Options   []string   `json:"options"`
	Tools     Tools      `json:"tools"`
	// Inputs is a SHA-256 over the source and all that was asked for: equal inputs need no second build.
	Inputs string  `json:"inputs"`
	Files  []Entry `json:"files"`
	// Digest is a SHA-256 over Files.
	Digest string `json:"digest"`
}

// Entry is one file below the prefix.
type Entry struct {
	Path   string      `json:"path"`
	Kind   string      `json:"kind"` // dir, file, link
	Mode   fs.FileMode `json:"mode,omitempty"`
	Size   int64       `json:"size,omitempty"`
	SHA256 string      `json:"sha256,omitempty"`
	Link   string      `json:"link,omitempty"`
}

func digestOf(files []Entry) (string, error) {
	data, err := json.Marshal(files)
	if err != nil {
		return "", fmt.Errorf("cannot write a manifest: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// readManifest reads the manifest of a directory. The error is fs.ErrNotExist when it has none.
func readManifest(root *os.Root) (Manifest, error) {
	data, err := readAll(root, ManifestName, maxMeta)
	if err != nil {
		return Manifest{}, err
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return Manifest{}, fmt.Errorf("cannot read %s: %w", ManifestName, err)
	}
	if err := m.sound(); err != nil {
		return Manifest{}, fmt.Errorf("cannot use %s: %w", ManifestName, err)
	}
	return m, nil
}

// sound refuses a manifest that no build of ours wrote: what it names is removed one day.
func (m Manifest) sound() error {
	if m.Format != manifestFormat {
		return fmt.Errorf("its format is %d, this program knows %d", m.Format, manifestFormat)
	}
	digest, err := digestOf(m.Files)
	if err != nil {
		return err
	}
	if digest != m.Digest {
		return errors.New("its digest is not that of its files")
	}
	for _, e := range m.Files {
		if clean, err := relative(e.Path); err != nil || clean != e.Path || clean == "." || clean == ManifestName {
			return fmt.Errorf("%q is no path below the prefix", clip(e.Path))
		}
		if e.Kind != "dir" && e.Kind != "file" && e.Kind != "link" {
			return fmt.Errorf("%q is of unknown kind %q", clip(e.Path), clip(e.Kind))
		}
	}
	return nil
}

// has says whether the manifest has a file or link.
func (m Manifest) has(name string) bool {
	for _, e := range m.Files {
		if e.Path == name && e.Kind != "dir" {
			return true
		}
	}
	return false
}

// write puts the manifest into a directory, last of all: with it the directory is complete.
func (m Manifest) write(root *os.Root) error {
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return fmt.Errorf("cannot write a manifest: %w", err)
	}
	const temp = ManifestName + "~"
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, plain)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Chmod(plain), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := root.Rename(temp, ManifestName); err != nil {
		return err
	}
	return syncDir(root, ".")
}

// State is what became of a prefix.
type State struct {
	Exists bool
	// Manifest is nil where there is none: the directory is not one of ours.
	Manifest *Manifest
	// Changed are files that are no longer as they were put there, Missing those that are gone, Added those
	// that others put there. All are below the prefix, sorted.
	Changed, Missing, Added []string
}

// Intact says that the prefix is ours and just as it was left.
func (s State) Intact() bool {
	return s.Manifest != nil && len(s.Changed) == 0 && len(s.Missing) == 0
}

// Inspect compares a prefix with its manifest.
func Inspect(h Host, prefix string) (State, error) {
	if err := checkPrefix(prefix); err != nil {
		return State{}, err
	}
	return inspect(h, prefix)
}

func inspect(h Host, dir string) (State, error) {
	info, err := h.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("cannot look at %s: %w", dir, err)
	}
	s := State{Exists: true}
	if !info.Mode.IsDir() {
		return s, nil
	}
	root, err := h.OpenDir(dir)
	if err != nil {
		return s, fmt.Errorf("cannot look into %s: %w", dir, err)
	}
	defer root.Close() // it was only read
	m, err := readManifest(root)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("cannot look into %s: %w", dir, err)
	}
	s.Manifest = &m
	known := map[string]bool{ManifestName: true}
	for _, e := range m.Files {
		known[e.Path] = true
		same, err := e.matches(root)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.Missing = append(s.Missing, e.Path)
		case err != nil:
			return s, fmt.Errorf("cannot look at %s: %w", path.Join(dir, e.Path), err)
		case !same:
			s.Changed = append(s.Changed, e.Path)
		}
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && name != "." && !known[name] {
			s.Added = append(s.Added, name)
		}
		return err
	})
	if err != nil {
		return s, fmt.Errorf("cannot look into %s: %w", dir, err)
	}
	return s, nil
}

// matches says whether a file still is what the manifest says.
func (e Entry) matches(root *os.Root) (bool, error) {
	info, err := root.Lstat(e.Path)
	if err != nil {
		if notDir(err) {
			err = fs.ErrNotExist // a directory above it was replaced by a file
		}
		return false, err
	}
	switch e.Kind {
	case "dir":
		return info.IsDir(), nil
	case "link":
		if info.Mode().Type() != fs.ModeSymlink {
			return false, nil
		}
		target, err := root.Readlink(e.Path)
		return target == e.Link, err
	}
	if !info.Mode().IsRegular() || info.Size() != e.Size || info.Mode().Perm() != e.Mode {
		return false, nil
	}
	sum, _, err := sumOf(root, e.Path)
	return sum == e.SHA256, err
}

// checkPrefix refuses directories that cannot be one build's own, and names that a script, a rule or the
// loader's configuration could not hold as they are.
func checkPrefix(prefix string) error {
	const hint = "give a directory of its own, such as /opt/rdma-core/65.0"
	switch {
	case !prefixText.MatchString(prefix), path.Clean(prefix) != prefix:
		return stop("bad-prefix", hint, "cannot build into %q: not a clean absolute path of letters, digits and . _ + -", clip(prefix))
	case strings.Count(prefix, "/") < 2:
		return stop("bad-prefix", hint, "cannot build into %s: it is not a directory of one build alone", prefix)
	}
	for _, dir := range []string{"/usr/local", "/usr/lib", "/usr/lib64", "/usr/bin", "/usr/sbin", "/usr/share", "/usr/include", "/usr/libexec", "/var/lib", "/var/cache"} {
		if prefix == dir {
			return stop("bad-prefix", hint, "cannot build into %s: it holds what others installed", prefix)
		}
	}
	for _, dir := range []string{"/proc", "/sys", "/dev", "/run", "/boot", "/etc"} {
		if strings.HasPrefix(prefix, dir+"/") {
			return stop("bad-prefix", hint, "cannot build into %s: no programs belong below %s", prefix, dir)
		}
	}
	return nil
}
