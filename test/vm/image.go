package vm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/rdmactl/rdmactl/test/vm/internal/manifest"
)

// imageVersion changes when image() makes another disk of the same root and agent.
const imageVersion = 4

const agentDir = "/opt/rdmactl-test"

// diskSize is the file system's size; the file is sparse.
const diskSize = "4G"

// agentUnit starts before anything that a test may break, and survives what a test does to systemd.
const agentUnit = `[Unit]
Description=Test harness agent
DefaultDependencies=no
After=systemd-udevd.service local-fs.target
IgnoreOnIsolate=yes

[Service]
ExecStart=` + agentDir + `/agent serve
Restart=always
RestartSec=100ms
KillMode=process
OOMScoreAdjust=-1000
TasksMax=infinity

[Install]
WantedBy=sysinit.target
`

const networkUnit = `[Match]
Name=en*

[Network]
Address=10.0.2.15/24
Gateway=10.0.2.2
LinkLocalAddressing=ipv6
IPv6AcceptRA=no
`

// masked units start jobs when the clock jumps, as it does after a snapshot was loaded; a scenario
// must meet the package manager's lock only when it means to.
func masked() []string {
	return []string{
		"apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer",
		"e2scrub_reap.service", "fstrim.timer",
	}
}

// image is a disk with what boots it.
type image struct{ disk, kernel, initrd string }

// mirror is the good repository beside the disk.
const mirror = "mirror"

// image returns the suite's disk, with the agent and the repositories on it, changed as change says; nil changes
// nothing.
func (c *cache) image(s Suite, change *Change) (image, string, error) {
	if change != nil && change.foreign != nil {
		return c.foreign(s, change)
	}
	root, err := c.root(s)
	if err != nil {
		return image{}, "", err
	}
	agent, err := c.agent()
	if err != nil {
		return image{}, "", err
	}
	trusted, err := c.signer("trusted")
	if err != nil {
		return image{}, "", err
	}
	stranger, err := c.signer("stranger")
	if err != nil {
		return image{}, "", err
	}
	made := []any{
		imageVersion, filepath.Base(root), filepath.Base(agent), filepath.Base(trusted.home),
		agentUnit, networkUnit, masked(), sourceLine(RepoGood), diskSize,
	}
	kind, stageOf := "image-"+s.Name, linkTree
	if change != nil {
		made = append(made, change.Key, change.source.SHA256)
		kind, stageOf = change.Name+"-"+s.Name, copyTree // its programs write into files in place
	}
	hash, err := key(made...)
	if err != nil {
		return image{}, "", err
	}
	dir, err := c.get(kind, hash, func(dir string) error {
		begin := time.Now()
		stage := filepath.Join(dir, "stage")
		if err := stageOf(filepath.Join(root, "root"), stage); err != nil {
			return err
		}
		if err := makeRepos(filepath.Join(stage, "srv"), filepath.Join(root, "debs"), s.Name, trusted, stranger); err != nil {
			return err
		}
		if err := linkTree(filepath.Join(stage, "srv", string(RepoGood)), filepath.Join(dir, mirror)); err != nil {
			return err
		}
		if err := furnish(stage, s, agent, trusted); err != nil {
			return err
		}
		if change != nil {
			if err := change.Build(stage, change.source); err != nil {
				return err
			}
		}
		for _, name := range []string{"vmlinuz", "initrd.img"} {
			found, err := filepath.Glob(filepath.Join(stage, "boot", name+"-*"))
			if err != nil {
				return err
			}
			if len(found) != 1 {
				return fmt.Errorf("the root has %d kernels' %s, want one", len(found), name)
			}
			if err := os.Link(found[0], filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		if err := seal(stage, dir); err != nil {
			return err
		}
		fmt.Fprintf(c.log, "vm: disk of %s made in %.0f s\n", s.Name, time.Since(begin).Seconds())
		return nil
	})
	return imageIn(dir), filepath.Base(dir), err
}

// seal makes the disk of a stage, which is gone then.
func seal(stage, dir string) error {
	// The last of the stage: what the machine changes from now on is hashed by its agent.
	known, err := manifest.Catalogue(stage, time.Now().Unix())
	if err != nil {
		return err
	}
	if err := known.Save(filepath.Join(stage, agentDir, "catalogue")); err != nil {
		return err
	}
	mkfs := exec.Command("mke2fs", "-q", "-t", "ext4", "-L", "root", "-d", stage, filepath.Join(dir, "disk.img"), diskSize)
	if err := run(mkfs); err != nil {
		return err
	}
	return os.RemoveAll(stage)
}

func imageIn(dir string) image {
	return image{
		disk:   filepath.Join(dir, "disk.img"),
		kernel: filepath.Join(dir, "vmlinuz"),
		initrd: filepath.Join(dir, "initrd.img"),
	}
}

// agent returns a directory with the agent's program, built from this source tree.
func (c *cache) agent() (string, error) {
	tmp, err := os.MkdirTemp("", "rdmactl-agent-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	built := filepath.Join(tmp, "agent")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", built,
		"github.com/rdmactl/rdmactl/test/vm/agent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if err := run(build); err != nil {
		return "", fmt.Errorf("cannot build the agent: %w", err)
	}
	program, err := os.ReadFile(built)
	if err != nil {
		return "", err
	}
	hash, err := key(program)
	if err != nil {
		return "", err
	}
	return c.get("agent", hash, func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "agent"), program, 0o755)
	})
}

// furnish makes a root of Debian a machine, with only our package source.
func furnish(root string, s Suite, agent string, trusted signer) error {
	return errors.Join(equip(root, "debian"+s.Version, agent), sources(root, trusted))
}

// sources makes the signed repository a root's only package source.
func sources(root string, trusted signer) error {
	public, err := trusted.public()
	if err != nil {
		return err
	}
	for _, list := range []string{"sources.list", "sources.list.d", "trusted.gpg.d", "auth.conf.d"} {
		if err := os.RemoveAll(filepath.Join(root, "etc/apt", list)); err != nil {
			return err
		}
	}
	for path, text := range map[string][]byte{
		keyring:     public,
		sourcesList: []byte(sourceLine(RepoGood)),
	} {
		if err := replace(filepath.Join(root, path), text); err != nil {
			return err
		}
	}
	for _, dir := range []string{"etc/apt/trusted.gpg.d", "var/lib/apt/lists/partial"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	return noMirror(root)
}

// equip makes a root a machine: name, network and the agent.
func equip(root, name, agent string) error {
	program, err := os.ReadFile(filepath.Join(agent, "agent"))
	if err != nil {
		return err
	}
	for path, text := range map[string][]byte{
		agentDir + "/agent": program,
		"/etc/systemd/system/rdmactl-test-agent.service": []byte(agentUnit),
		"/etc/systemd/network/10-test.network":           []byte(networkUnit),
		"/etc/hostname":                                  []byte(name + "\n"),
		"/etc/hosts":                                     []byte("127.0.0.1 localhost\n127.0.1.1 " + name + "\n::1 localhost\n"),
		"/etc/fstab":                                     []byte("/dev/vda / ext4 defaults 0 0\n"),
		"/etc/resolv.conf":                               nil,
		// Fixed, so that no boot is a first boot.
		"/etc/machine-id": []byte("0123456789abcdef0123456789abcdef\n"),
	} {
		if err := replace(filepath.Join(root, path), text); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(root, agentDir, "agent"), 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, "var/log/journal"), 0o755); err != nil {
		return err
	}
	links := map[string]string{
		"etc/systemd/system/sysinit.target.wants/rdmactl-test-agent.service":  "/etc/systemd/system/rdmactl-test-agent.service",
		"etc/systemd/system/multi-user.target.wants/systemd-networkd.service": "/lib/systemd/system/systemd-networkd.service",
	}
	for _, unit := range masked() {
		links["etc/systemd/system/"+unit] = "/dev/null"
	}
	for link, target := range links {
		path := filepath.Join(root, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(target, path); err != nil {
			return err
		}
	}
	return nil
}

// noMirror fails when the machine's package configuration still names where its root came from.
func noMirror(root string) error {
	dir := filepath.Join(root, "etc/apt")
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte("http")) {
			return errors.New("the machine's " + path[len(root):] + " names a network source")
		}
		return nil
	})
}
