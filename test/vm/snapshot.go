package vm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/test/vm/internal/wire"
)

// booted is the snapshot's name inside the disk file.
const booted = "booted"

// bootLimit is generous: an emulated processor on a loaded machine is slow.
const bootLimit = 420 * time.Second

// snapshot returns a qcow2 file over the suite's disk that holds the booted, idle machine.
func (c *cache) snapshot(s Suite, img image, imageName string, retried func()) (string, error) {
	version, err := qemuVersion()
	if err != nil {
		return "", err
	}
	hash, err := key(1, imageName, version, machineArgs(s.processors()))
	if err != nil {
		return "", err
	}
	dir, err := c.get("booted-"+s.Name, hash, func(dir string) error {
		begin := time.Now()
		disk := filepath.Join(dir, "disk.qcow2")
		serial := filepath.Join(dir, "serial.log")
		if err := overlay(img.disk, disk); err != nil {
			return err
		}
		q, err := bootWithRetry(retried, func() (*qemu, error) { return start(img, s.processors(), disk, serial, "") })
		if err != nil {
			return fmt.Errorf("%w\nserial console:\n%s", err, fileTail(serial, 30))
		}
		defer q.kill()
		if _, err := settle(q.ctl); err != nil {
			return err
		}
		if _, _, err := q.ctl.call(wire.Request{Op: "sync"}, nil, time.Minute); err != nil {
			return err
		}
		text, err := q.monitor("savevm "+booted, 2*time.Minute)
		if err != nil {
			return err
		}
		if text != "" {
			return fmt.Errorf("cannot save the machine: %s", text)
		}
		if _, err := q.execute("quit", nil, time.Minute); err != nil {
			return err
		}
		select {
		case <-q.done:
		case <-time.After(time.Minute):
			return fmt.Errorf("qemu did not quit after saving the machine")
		}
		fmt.Fprintf(c.log, "vm: %s booted and saved in %.0f s\n", s.Name, time.Since(begin).Seconds())
		return nil
	})
	return filepath.Join(dir, "disk.qcow2"), err
}

// bootWithRetry starts a machine until its agent answers; a boot that does not come up is tried
// once more, and counted.
func bootWithRetry(retried func(), start func() (*qemu, error)) (*qemu, error) {
	for try := 0; ; try++ {
		q, err := start()
		if err == nil {
			if _, err = q.ctl.hello("", bootLimit); err == nil {
				return q, nil
			}
			q.kill()
		}
		if try > 0 {
			return nil, fmt.Errorf("cannot boot, in two tries: %w", err)
		}
		retried()
	}
}

// settle waits until systemd has started everything, and returns the state that it names.
func settle(c *client) (string, error) {
	r, err := c.run(Cmd{Argv: []string{"systemctl", "is-system-running", "--wait"}, Timeout: bootLimit})
	if err != nil {
		return "", err
	}
	state := strings.TrimSpace(r.Stdout)
	if state != "running" && state != "degraded" {
		return state, fmt.Errorf("the machine did not finish booting: %s", r)
	}
	return state, nil
}

// overlay makes a copy-on-write file over base.
func overlay(base, path string) error {
	return run(exec.Command("qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", base, path))
}

// copyDisk copies a disk file, sharing its blocks where the file system can.
func copyDisk(from, to string) error {
	return run(exec.Command("cp", "--reflink=auto", "--sparse=auto", from, to))
}

func fileTail(path string, lines int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return lastLines(strings.ToValidUTF8(string(text), "?"), lines)
}
