package vm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Foreign is a root that the harness does not make.
type Foreign struct {
	// Name is the distribution's, Key what Build depends on.
	Name string
	Key  []any
	// Build makes the root, with systemd, one kernel in /boot and its modules, in a directory that does not exist.
	Build func(stage string) error
	// Offers is the suite whose repository, signed, becomes its only package source; without it the package manager
	// and the source are the root's own.
	Offers *Suite
	// Prepare changes the root once it has its package source; nil changes nothing.
	Prepare func(root string) error
}

// BootForeign returns a machine that has booted and is idle.
func BootForeign(t testing.TB, f Foreign) *Machine {
	t.Helper()
	return boot(t, Suite{Name: f.Name}, &Change{Name: "foreign", Key: f.Key, foreign: &f}, true)
}

// foreign returns the disk of such a root.
func (c *cache) foreign(s Suite, change *Change) (image, string, error) {
	agent, err := c.agent()
	if err != nil {
		return image{}, "", err
	}
	tools, err := c.root(Bookworm())
	if err != nil {
		return image{}, "", err
	}
	f := change.foreign
	made := []any{imageVersion, filepath.Base(agent), filepath.Base(tools), agentUnit, networkUnit, initramfs, diskSize, change.Key}
	offer := func(string) error { return nil }
	if f.Offers != nil {
		debs, err := c.root(*f.Offers)
		if err != nil {
			return image{}, "", err
		}
		trusted, err := c.signer("trusted")
		if err != nil {
			return image{}, "", err
		}
		made = append(made, filepath.Base(debs), filepath.Base(trusted.home), sourceLine(RepoGood))
		offer = func(stage string) error {
			repo := filepath.Join(stage, "srv", string(RepoGood))
			return errors.Join(index(repo, filepath.Join(debs, "debs"), f.Offers.Name), sign(repo, trusted), sources(stage, trusted))
		}
	}
	hash, err := key(made...)
	if err != nil {
		return image{}, "", err
	}
	dir, err := c.get(change.Name+"-"+s.Name, hash, func(dir string) error {
		begin := time.Now()
		stage := filepath.Join(dir, "stage")
		if err := f.Build(stage); err != nil {
			return err
		}
		if err := offer(stage); err != nil {
			return err
		}
		if f.Prepare != nil {
			if err := f.Prepare(stage); err != nil {
				return err
			}
		}
		if err := equip(stage, s.Name, agent); err != nil {
			return err
		}
		kernels, err := filepath.Glob(filepath.Join(stage, "boot/vmlinuz-*"))
		if err != nil {
			return err
		}
		if len(kernels) != 1 {
			return fmt.Errorf("the root has the kernels %q, want one", kernels)
		}
		if err := run(exec.Command("cp", kernels[0], filepath.Join(dir, "vmlinuz"))); err != nil {
			return err
		}
		release := filepath.Base(kernels[0])[len("vmlinuz-"):]
		cmd := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-euc", initramfs, "sh", filepath.Join(tools, "root"), stage, dir, release)
		if err := run(cmd); err != nil {
			return fmt.Errorf("cannot make the initramfs of %s: %w", release, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "initrd.img")); err != nil {
			return err
		}
		if err := seal(stage, dir); err != nil {
			return err
		}
		fmt.Fprintf(c.log, "vm: disk of %s made in %.0f s\n", s.Name, time.Since(begin).Seconds())
		return nil
	})
	return imageIn(dir), filepath.Base(dir), err
}

// initramfs makes, with the tools of Debian's root $1, which stays as it is, the initramfs of the kernel $4 in $2: what
// brings it to its disk. It is laid into $3.
const initramfs = `
mount --bind "$2/usr/lib/modules" "$1/usr/lib/modules"
mount --bind "$2/boot" "$1/boot"
mount --bind "$3" "$1/mnt"
mount -t tmpfs tmpfs "$1/tmp"
mount -t tmpfs tmpfs "$1/var/tmp"
mount -t proc proc "$1/proc"
chroot "$1" mkinitramfs -o /mnt/initrd.img "$4"
`
