package vm

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// rootVersion changes when root() makes something else of the same package lists.
const rootVersion = 3

// bootModules are in the initramfs beside what MODULES=list keeps: the disk, its file system, and
// the channel. A list makes an initramfs that boots and is rebuilt three times as fast as "most".
const bootModules = "virtio_pci\nvirtio_blk\next4\ncrc32c_generic\nvirtio_console\nvirtio_net\n"

// setup runs outside the root, which is $1, after the essential packages were unpacked: what the
// kernel's scripts must find when they build the initramfs.
const setup = `mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/usr/share/initramfs-tools/modules.d"
echo MODULES=list >"$1/etc/initramfs-tools/conf.d/rdmactl-test"
printf '` + bootModules + `' >"$1/usr/share/initramfs-tools/modules.d/rdmactl-test"`

// mergeUsr runs before anything is unpacked.
const mergeUsr = `for d in bin lib lib32 lib64 libx32 sbin; do mkdir -p "$1/usr/$d"; ln -s "usr/$d" "$1/$d"; done`

// fetch runs outside the root with apt configured for it, while the package lists are there: it
// downloads what the repository will offer, without installing anything.
const fetch = `export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
mkdir -p "$DEBS/partial"
apt-get install --yes --download-only --no-remove -o APT::Install-Recommends=true \
  -o Dir::Cache::Archives="$DEBS" -o APT::Sandbox::User=root -o Debug::NoLocking=true $REPO_PACKAGES
rm -rf "$DEBS/partial" "$DEBS/lock"`

// unread are the files that no scenario reads, left out of every machine as container and cloud images
// leave them out; dpkg keeps the rule, so packages that a scenario installs come without them too. They
// are half of all files.
func unread() []string {
	return []string{"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/lintian/*"}
}

// root returns a directory with root/, the machine's file tree, and debs/, the repository's
// packages. mmdebstrap gets no mirror: it takes the one of this machine's apt configuration.
func (c *cache) root(s Suite) (string, error) {
	hash, err := key(rootVersion, s.Name, s.rootPackages(), s.repoPackages(), setup, mergeUsr, fetch, unread())
	if err != nil {
		return "", err
	}
	return c.get("root-"+s.Name, hash, func(dir string) error {
		begin := time.Now()
		fmt.Fprintf(c.log, "vm: making the root of Debian %s (%s), about a minute\n", s.Version, s.Name)
		root := filepath.Join(dir, "root")
		args := []string{
			"--variant=minbase", "--quiet", "--include=" + strings.Join(s.rootPackages(), ","),
			"--essential-hook=" + setup,
			"--customize-hook=" + fetch,
			`--customize-hook=chroot "$1" useradd --create-home --shell /bin/bash --uid 1000 user`,
		}
		for _, glob := range unread() {
			args = append(args, "--dpkgopt=path-exclude="+glob)
		}
		if s.splitUsr {
			args = append(args, "--setup-hook="+mergeUsr)
		}
		cmd := exec.Command("mmdebstrap", append(args, s.Name, root)...)
		cmd.Env = append(os.Environ(),
			"DEBS="+filepath.Join(dir, "debs"), "REPO_PACKAGES="+strings.Join(s.repoPackages(), " "))
		if err := run(cmd); err != nil {
			return err
		}
		if err := assertBare(root); err != nil {
			return err
		}
		fmt.Fprintf(c.log, "vm: root of %s made in %.0f s\n", s.Name, time.Since(begin).Seconds())
		return nil
	})
}

// assertBare fails when the root has a package of an RDMA stack: every scenario rests on that.
func assertBare(root string) error {
	status, err := os.ReadFile(filepath.Join(root, "var/lib/dpkg/status"))
	if err != nil {
		return err
	}
	found := matchPackages(string(status), forbidden())
	if len(found) != 0 {
		return fmt.Errorf("the root is not bare, it has %s", strings.Join(found, ", "))
	}
	return nil
}

// matchPackages returns the package names in a dpkg status file that match one of the patterns.
func matchPackages(status string, patterns []string) []string {
	var found []string
	for line := range strings.Lines(status) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "Package: ")
		if !ok {
			continue
		}
		for _, p := range patterns {
			if ok, err := path.Match(p, name); err == nil && ok {
				found = append(found, name)
				break
			}
		}
	}
	return found
}
