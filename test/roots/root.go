package roots

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/test/internal/cache"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// treeVersion changes when tree makes something else of the same packages.
const treeVersion = 1

// tree returns a directory with root/, made by mmdebstrap from this machine's own apt sources.
func tree(c *cache.Cache, kind string, packages ...string) (string, error) {
	hash, err := cache.Key(treeVersion, packages)
	if err != nil {
		return "", err
	}
	return c.Get("rootstree-"+kind, hash, func(dir string) error {
		fmt.Fprintf(os.Stderr, "roots: making the %s root, about a minute\n", kind)
		args := []string{"--variant=minbase", "--quiet", "--include=" + strings.Join(packages, ",")}
		for _, glob := range []string{"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/lintian/*"} {
			args = append(args, "--dpkgopt=path-exclude="+glob)
		}
		return rootlab.Run(exec.Command("mmdebstrap", append(args, "bookworm", filepath.Join(dir, "root"))...))
	})
}

// Root is a file tree of one test, entered as rdmactl enters an image.
type Root struct {
	*host.Rooted
	Dir  string
	URL  string // of the server, which has a directory for each repository
	t    testing.TB
	repo string // directory that is served
	mu   sync.Mutex
	gone func(*http.Request) bool
}

// open makes a test its own copy of a tree. /usr shares the files with the cached one: package managers
// replace files, they do not write into them.
func open(t testing.TB, from, serve string) *Root {
	t.Helper()
	// Not t.TempDir: its name has the test's, with signs that sources.list and dnf read as more.
	base, err := os.MkdirTemp("", "rdmactl-root-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	r := &Root{Dir: filepath.Join(base, "root"), t: t, repo: serve}
	if err := rootlab.Run(exec.Command("cp", "-a", "--link", "--no-target-directory", filepath.Join(from, "root"), r.Dir)); err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{"etc", "var"} {
		if err := os.RemoveAll(filepath.Join(r.Dir, own)); err != nil {
			t.Fatal(err)
		}
		if err := rootlab.Run(exec.Command("cp", "-a", "--no-target-directory", filepath.Join(from, "root", own), filepath.Join(r.Dir, own))); err != nil {
			t.Fatal(err)
		}
	}
	files := http.FileServer(http.Dir(serve))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		gone := r.gone
		r.mu.Unlock()
		if gone != nil && gone(req) {
			http.NotFound(w, req)
			return
		}
		files.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	r.URL = server.URL
	r.Rooted, err = host.NewRooted(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Lose makes the server answer 404 to the requests that match; nil ends that.
func (r *Root) Lose(match func(*http.Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = match
}

// Put writes a file of the root.
func (r *Root) Put(path, text string) {
	r.t.Helper()
	file := filepath.Join(r.Dir, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// Text is a file of the root.
func (r *Root) Text(path string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.Dir, path))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// Tree is what a person would call the files of the root: /etc, /usr/share and what tests put at the
// top, with owner, mode and content, without databases, caches and logs.
func (r *Root) Tree() map[string]string {
	r.t.Helper()
	state := map[string]string{}
	for _, top := range []string{"/etc", "/usr", "/opt", "/srv", "/boot"} {
		err := filepath.WalkDir(r.Dir+top, func(p string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(p, r.Dir)
			if strings.HasSuffix(name, "/__pycache__") || strings.HasPrefix(name, "/usr/lib/sysimage") || name == "/etc/ld.so.cache" {
				if d.IsDir() {
					return filepath.SkipDir
				}
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			text := info.Mode().String()
			switch {
			case info.Mode().IsRegular() && !strings.HasPrefix(name, "/usr/lib/"):
				data, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				text += " " + string(data)
			case info.Mode().IsRegular():
				text += fmt.Sprintf(" %d bytes", info.Size())
			case info.Mode()&fs.ModeSymlink != 0:
				target, err := os.Readlink(p)
				if err != nil {
					return err
				}
				text += " -> " + target
			}
			state[name] = text
			return nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	return state
}
