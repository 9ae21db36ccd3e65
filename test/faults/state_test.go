package faults

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// state is all of an image that a run answers for.
type state struct{ files, packages rootlab.Tree }

// looker looks at images over one kept root. It reads each file of that root once.
type looker struct {
	kept string

	mu       sync.Mutex
	known    rootlab.Tree
	unpacked map[string]string // of an initramfs as a file to its content
}

// skipped are left out: exceptions that a rollback names, files of the package manager whose content packages
// tells, and the runs themselves.
func skipped() []string {
	skip := []string{
		"/var/lib/rdmactl", "/var/log", "/var/cache", "/var/lib/apt", "/srv",
		// dpkg rewrites its database, and systemd's helper keeps notes of what was purged.
		"/var/lib/dpkg", "/var/lib/systemd/deb-systemd-helper-*", "/var/backups",
	}
	for _, e := range install.Exceptions() {
		skip = append(skip, e.Path)
	}
	return skip
}

// look reads the state of an image.
func (l *looker) look(t testing.TB, im image) state {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = rootlab.TreeOf(t, l.kept, rootlab.View{Skip: skipped(), Attributes: true})
	}
	files := rootlab.TreeOf(t, im.Dir, rootlab.View{Skip: skipped(), Attributes: true, Known: func(p string) string {
		// What the image's own directory does not have is that of the kept root.
		if _, err := os.Lstat(filepath.Join(im.Upper(), p)); errors.Is(err, fs.ErrNotExist) {
			return l.known[p]
		}
		return ""
	}})
	for p, was := range files {
		if raw, ok := strings.CutPrefix(p, "/boot/initrd.img-"); ok && !leftover(raw) && strings.HasPrefix(was, "-") {
			files[p] = l.initramfs(t, im, p, was)
		}
	}
	return state{files, im.packages(t)}
}

// leftover says that a name is that of a file that is being made, or of an old one.
func leftover(name string) bool {
	return strings.HasSuffix(name, ".new") || strings.HasSuffix(name, ".dpkg-bak")
}

// initramfs describes an initramfs by what is in it: each making has other times of files in it, and so another text.
func (l *looker) initramfs(t testing.TB, im image, p, was string) string {
	t.Helper()
	what := l.unpacked[was]
	if what == "" {
		const dir = "var/log/faults-initramfs"
		im.chroot(t, "unmkinitramfs "+p+" /"+dir)
		var all []string
		for name, text := range rootlab.TreeOf(t, im.Path(dir), rootlab.View{}) {
			all = append(all, name+" "+text)
		}
		must(t, os.RemoveAll(im.Path(dir)))
		slices.Sort(all)
		sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
		mode, _, _ := strings.Cut(was, " ")
		what = fmt.Sprintf("%s initramfs of %d files %x", mode, len(all), sum)
		if l.unpacked == nil {
			l.unpacked = map[string]string{}
		}
		l.unpacked[was] = what
	}
	return what
}

// packages is the package database of the image: name to version and architecture, or its state if it is not
// installed whole; and whether it is marked as installed for others only.
func (im image) packages(t testing.TB) rootlab.Tree {
	t.Helper()
	out := rootlab.Tree{}
	each := func(file string, do func(map[string]string)) {
		text, err := os.ReadFile(im.Path(file))
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		must(t, err)
		for block := range strings.SplitSeq(string(text), "\n\n") {
			field := map[string]string{}
			for line := range strings.Lines(block) {
				if name, value, ok := strings.Cut(line, ":"); ok && name != "" && name[0] != ' ' {
					field[name] = strings.TrimSpace(value)
				}
			}
			if field["Package"] != "" {
				do(field)
			}
		}
	}
	each("var/lib/dpkg/status", func(f map[string]string) {
		if strings.HasSuffix(f["Status"], " not-installed") {
			return // dpkg remembers the name of what failed to come, until it forgets it
		}
		out[f["Package"]] = f["Version"] + " " + f["Architecture"]
		if f["Status"] != "install ok installed" {
			out[f["Package"]] += " " + f["Status"]
		}
	})
	each("var/lib/apt/extended_states", func(f map[string]string) {
		if is, there := out[f["Package"]]; there && f["Auto-Installed"] == "1" {
			out[f["Package"]] = is + " auto"
		}
	})
	return out
}

// same checks that a state is the one that it should be.
func (want state) same(t testing.TB, what string, got state) {
	t.Helper()
	if diff := want.files.Changed(got.files); len(diff) > 0 {
		t.Errorf("%s: the files are others (%d):\n%s", what, len(diff), strings.Join(diff[:min(len(diff), 40)], "\n"))
	}
	if diff := want.packages.Changed(got.packages); len(diff) > 0 {
		t.Errorf("%s: the packages are others: %v", what, diff)
	}
}
