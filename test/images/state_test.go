package images

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// installs installs a profile into an image and returns the report.
func (im image) installs(t *testing.T, args ...string) rootlab.Report {
	t.Helper()
	return rootlab.Decode[rootlab.Report](t, lab.Rdmactl(t, 0, append([]string{"install", "--root", im.Dir, "--yes", "-o", "json"}, args...)...))
}

// guarded is the image without what a rollback leaves: the exceptions, the package manager's own files and the
// runs themselves.
func (im image) guarded(t *testing.T) rootlab.Tree {
	t.Helper()
	return rootlab.TreeOf(t, im.Dir, im.view())
}

func (im image) view() rootlab.View {
	skip := []string{
		"/var/lib/rdmactl", "/var/log", "/var/cache", "/var/lib/apt", "/srv",
		// dpkg rewrites its database, and systemd's helper keeps notes of what was purged.
		"/var/lib/dpkg", "/var/lib/systemd/deb-systemd-helper-*", "/var/backups",
	}
	for _, e := range install.Exceptions() {
		skip = append(skip, e.Path)
	}
	return rootlab.View{Skip: skip}
}

// packages is the package database of the image: name to version, of what is installed whole.
func (im image) packages(t *testing.T) rootlab.Tree {
	t.Helper()
	text, err := os.ReadFile(im.Path("var/lib/dpkg/status"))
	must(t, err)
	out := rootlab.Tree{}
	for block := range strings.SplitSeq(string(text), "\n\n") {
		field := map[string]string{}
		for line := range strings.Lines(block) {
			if name, value, ok := strings.Cut(line, ":"); ok && name != "" && name[0] != ' ' {
				field[name] = strings.TrimSpace(value)
			}
		}
		if field["Package"] == "" {
			continue
		}
		if field["Status"] == "install ok installed" {
			out[field["Package"]] = field["Version"]
		} else {
			out[field["Package"]] = field["Status"]
		}
	}
	return out
}

// machine is what an installation into an image must leave alone: the build host.
type machine struct {
	files   rootlab.Tree
	modules []string
	mounts  []string
	links   []string
	kernel  map[string]string
}

// thisMachine reads the build host. Mounts and files below the cache are the tests' own.
func thisMachine(t *testing.T) machine {
	t.Helper()
	m := machine{kernel: map[string]string{}}
	m.files = rootlab.TreeOf(t, "/", rootlab.View{
		Dirs: []string{"etc", "run", "boot"}, Skip: []string{"/run/user", "/run/systemd/*", "/run/log", "/run/udev/data"},
	})
	for _, f := range []struct {
		file   string
		column int
		into   *[]string
	}{{"/proc/modules", 0, &m.modules}, {"/proc/self/mountinfo", 4, &m.mounts}} {
		text, err := os.ReadFile(f.file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // this kernel has no modules
		}
		must(t, err)
		for line := range strings.Lines(string(text)) {
			if word := strings.Fields(line)[f.column]; !strings.HasPrefix(word, "/var/cache/") && !strings.HasPrefix(word, "/tmp/") {
				*f.into = append(*f.into, word)
			}
		}
	}
	links, err := os.ReadDir("/sys/class/net")
	must(t, err)
	for _, l := range links {
		m.links = append(m.links, l.Name())
	}
	for _, name := range []string{"hostname", "printk_ratelimit_burst", "panic_on_oops", "core_pattern", "modprobe", "sysrq"} {
		if text, err := os.ReadFile("/proc/sys/kernel/" + name); err == nil {
			m.kernel[name] = string(text)
		}
	}
	if len(m.files) == 0 || len(m.mounts) == 0 || len(m.kernel) == 0 {
		t.Fatalf("this machine is not seen: %d files, %d mounts, %d settings", len(m.files), len(m.mounts), len(m.kernel))
	}
	return m
}

// unchanged checks that the build host is as before.
func (m machine) unchanged(t *testing.T) {
	t.Helper()
	now := thisMachine(t)
	if diff := m.files.Changed(now.files); len(diff) > 0 {
		t.Errorf("files of the build host changed:\n%s", strings.Join(diff, "\n"))
	}
	for what, pair := range map[string][2][]string{"modules": {m.modules, now.modules}, "mounts": {m.mounts, now.mounts}, "interfaces": {m.links, now.links}} {
		slices.Sort(pair[0])
		slices.Sort(pair[1])
		if !slices.Equal(pair[0], pair[1]) {
			t.Errorf("the %s of the build host were %v and are %v", what, pair[0], pair[1])
		}
	}
	for name, was := range m.kernel {
		if now.kernel[name] != was {
			t.Errorf("kernel.%s of the build host was %q and is %q", name, was, now.kernel[name])
		}
	}
}
