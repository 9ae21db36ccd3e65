package sourcebuild

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/cache"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// suite is the Debian release whose root and whose source package are used: 13 has rdma-core 56.1.
const suite = "trixie"

// packages are in the root: what profile edge installs to build with, and the distribution's rdma-core, so
// that there is a library to win against.
func packages() []string {
	return []string{
		"build-essential", "cmake", "ninja-build", "pkg-config", "python3", "libnl-3-dev", "libnl-route-3-dev",
		"libudev-dev", "libsystemd-dev", "rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils",
	}
}

// source runs outside of the root with apt configured for it: the source is the one that the signed index of
// the machine's own mirror names. Not all mirrors have the .dsc itself, so its text is taken from the index.
const source = `set -e
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
sed -n 's/^deb /deb-src /p' "$1/etc/apt/sources.list" >"$1/etc/apt/sources.list.d/source.list"
apt-get -q update
mkdir "$SOURCE"
cd "$SOURCE"
apt-cache showsrc --only-source rdma-core >index
apt-get -q source --download-only -o APT::Sandbox::User=root --tar-only rdma-core
apt-get -q source --download-only -o APT::Sandbox::User=root --diff-only rdma-core
rm "$1/etc/apt/sources.list.d/source.list"`

// material is the cached root, which nobody changes, and the files of the source package.
type material struct{ root, source string }

func prepared(t *testing.T) material {
	t.Helper()
	if why := rootlab.WhyNot("set RDMACTL_ROOTS=1 to build in a real root; it takes minutes", "mmdebstrap"); why != "" {
		t.Skip(why)
	}
	c, err := cache.Open()
	must(t, err)
	hash, err := cache.Key(suite, packages(), source)
	must(t, err)
	dir, err := c.Get("source-"+suite, hash, func(dir string) error {
		t.Logf("making a root of Debian %s with build tools, about three minutes", suite)
		cmd := exec.Command("nice", "mmdebstrap", "--variant=minbase", "--quiet", "--include="+strings.Join(packages(), ","),
			"--customize-hook="+source, suite, filepath.Join(dir, "root"))
		cmd.Env = append(os.Environ(), "SOURCE="+filepath.Join(dir, "source"))
		return rootlab.Run(cmd)
	})
	must(t, err)
	return material{filepath.Join(dir, "root"), filepath.Join(dir, "source")}
}

// paragraph is the index's entry of the newest version, as the text of a .dsc has it.
func (m material) paragraph(t *testing.T) (text, version string) {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(m.source, "index"))
	must(t, err)
	first, _, _ := bytes.Cut(bytes.TrimLeft(index, "\n"), []byte("\n\n"))
	var out strings.Builder
	skip := false
	for line := range strings.Lines(string(first) + "\n") {
		if line[0] == ' ' {
			// The index lists the .dsc among the files.
			if !skip && !strings.HasSuffix(strings.TrimSpace(line), ".dsc") {
				out.WriteString(line)
			}
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		skip = false
		switch name {
		case "Package":
			line = "Source:" + value
		case "Directory", "Priority", "Section":
			skip = true
		case "Version":
			version = strings.TrimSpace(value)
		}
		if !skip {
			out.WriteString(line)
		}
	}
	return out.String(), version
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree is every file of a root but ldconfig's own cache of inode numbers and times, which changes with each run.
func tree(t *testing.T, root string) rootlab.Tree {
	t.Helper()
	return rootlab.TreeOf(t, root, rootlab.View{Skip: []string{"/var/cache/ldconfig/aux-cache"}})
}
