package sidebyside

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/test/internal/cache"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// suite is the Debian release whose root and whose source package are used: 13 has rdma-core 56.1.
const suite = "trixie"

// packages are in the root: what profile edge builds with, and the distribution's rdma-core with its tools.
func packages() []string {
	return []string{
		"build-essential", "cmake", "ninja-build", "pkg-config", "python3", "libnl-3-dev", "libnl-route-3-dev",
		"libudev-dev", "libsystemd-dev", "rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "sudo", "libcap2-bin", "fish", "tcsh", "zsh", "ksh",
	}
}

// source runs outside of the root with apt configured for it: the tarball is of the source package that the signed
// index of the machine's own mirror names.
const source = `set -e
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
sed -n 's/^deb /deb-src /p' "$1/etc/apt/sources.list" >"$1/etc/apt/sources.list.d/source.list"
apt-get -q update
mkdir "$SOURCE"
cd "$SOURCE"
apt-get -q source --download-only -o APT::Sandbox::User=root --tar-only rdma-core
rm "$1/etc/apt/sources.list.d/source.list"`

// built is a root with rdma-core of the source package in /opt/rdma-core/VERSION, which is not the default. It is
// made once; a test has a copy of its own.
func built(t *testing.T) (root, version string) {
	t.Helper()
	if why := rootlab.WhyNot("set RDMACTL_ROOTS=1 to build in a real root; it takes minutes", "mmdebstrap"); why != "" {
		t.Skip(why)
	}
	edge, err := profiles.Load("edge")
	must(t, err)
	c, err := cache.Open()
	must(t, err)
	hash, err := cache.Key(suite, packages(), source, edge.Build.Options("56.1"), 2)
	must(t, err)
	dir, err := c.Get("sidebyside-"+suite, hash, func(dir string) error {
		t.Logf("making a root of Debian %s and building rdma-core in it, about five minutes", suite)
		cmd := exec.Command("nice", "mmdebstrap", "--variant=minbase", "--quiet", "--include="+strings.Join(packages(), ","),
			"--customize-hook="+source, suite, filepath.Join(dir, "root"))
		cmd.Env = append(os.Environ(), "SOURCE="+filepath.Join(dir, "source"))
		if err := rootlab.Run(cmd); err != nil {
			return err
		}
		return buildIn(dir, *edge.Build)
	})
	must(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "version"))
	must(t, err)
	return rootlab.Copied(t, filepath.Join(dir, "root"), "run-side-").Dir, string(text)
}

// buildIn builds the tarball and puts it in its place.
func buildIn(dir string, profile profiles.Build) (err error) {
	archives, err := filepath.Glob(filepath.Join(dir, "source", "rdma-core_*.orig.tar.*"))
	if err != nil || len(archives) == 0 {
		return fmt.Errorf("no tarball of rdma-core: %w", err)
	}
	name := strings.TrimPrefix(filepath.Base(archives[0]), "rdma-core_")
	version, _, _ := strings.Cut(name, ".orig")
	f, err := os.Open(archives[0])
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	h, err := host.NewRooted(filepath.Join(dir, "root"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	ctx := context.Background()
	b, err := build.Make(ctx, h, build.Request{
		Version: version, Prefix: profile.PrefixFor(version), Options: profile.Options(version), Providers: []string{"mlx4", "mlx5", "rxe"}, Nice: 10,
		Source: build.Source{Location: archives[0], SHA256: hex.EncodeToString(sum.Sum(nil))},
	})
	if err != nil {
		return err
	}
	if err := errors.Join(build.Place(ctx, h, b), build.Clean(h, b)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "version"), []byte(version), 0o644)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
