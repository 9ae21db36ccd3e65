package vm_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/test/vm"
)

// TestLifecycle proves what the harness promises about files, terminals and power cuts; the main job
// reboots each release.
func TestLifecycle(t *testing.T) {
	t.Parallel()
	m := vm.Boot(t, vm.Bookworm())
	t.Run("files", func(t *testing.T) { lifecycleFiles(t, m) })
	t.Run("processes", func(t *testing.T) { lifecycleProcesses(t, m) })
	t.Run("power cut", func(t *testing.T) { lifecyclePowerCut(t, m) })
}

func lifecycleFiles(t *testing.T, m *vm.Machine) {
	text := make([]byte, 9<<20+17) // not a whole number of pieces
	for i := range text {
		text[i] = byte(i * i >> 8)
	}
	local := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(local, text, 0o600); err != nil {
		t.Fatal(err)
	}
	m.Put(local, "/opt/big", 0o751)
	want := fmt.Sprintf("%x  /opt/big\n751 root\n", sha256.Sum256(text))
	if got := m.Shell("sha256sum /opt/big; stat -c '%a %U' /opt/big"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if m.ReadFile("/opt/big") != string(text) {
		t.Error("the file came back changed")
	}
	m.WriteFile("/opt/big", "", 0o600) // replaces, and an empty file is a file
	if m.ReadFile("/opt/big") != "" || !m.Exists("/opt/big") || m.Exists("/opt/absent") {
		t.Error("an empty file was not written")
	}

	before := m.Manifest([]string{"/etc", "/usr/lib"}, nil)
	m.Shell(`echo >>/etc/motd; chmod 700 /etc/skel; rm /etc/issue; touch /etc/new; mkdir /usr/lib/cache; touch /usr/lib/cache/x
# The same size and time as before.
cp -p /etc/hostname /tmp/h; sed -i s/debian/DEBIAN/ /etc/hostname; touch -r /tmp/h /etc/hostname`)
	var got []string
	for _, line := range vm.Diff(before, m.Manifest([]string{"/etc", "/usr/lib"}, []string{"/usr/lib/cache"})) {
		got = append(got, strings.Join(strings.Fields(line)[:2], " "))
	}
	changes := []string{"~ /etc/hostname", "- /etc/issue", "~ /etc/motd", "+ /etc/new", "~ /etc/skel"}
	if !slices.Equal(got, changes) {
		t.Errorf("got %q, want %q", got, changes)
	}
}

func lifecycleProcesses(t *testing.T, m *vm.Machine) {
	// A terminal that goes away kills what runs on it, and nothing that systemd runs.
	p := m.Start(vm.Cmd{
		Argv: []string{"sh", "-c", "tty; systemd-run --quiet --unit=elsewhere sleep 600; echo ready; sleep 600"},
		PTY:  true,
	})
	eventually(t, "the command on the terminal", time.Minute, func() bool {
		r, done := p.Wait(100 * time.Millisecond)
		if done {
			t.Fatal(r)
		}
		return strings.Contains(r.Stdout, "/dev/pts/") && strings.Contains(r.Stdout, "ready")
	})
	p.Hangup()
	if r, done := p.Wait(time.Minute); !done || r.Signal != int(syscall.SIGHUP) {
		t.Errorf("after the hangup: ended %v, %s", done, r)
	}
	if r := m.Run("systemctl", "is-active", "elsewhere"); r.Exit != 0 {
		t.Error(r)
	}

	q := m.Start(vm.Cmd{Argv: []string{"sleep", "600"}})
	q.Signal(syscall.SIGTERM)
	if r, done := q.Wait(time.Minute); !done || r.Signal != int(syscall.SIGTERM) {
		t.Errorf("after SIGTERM: ended %v, %s", done, r)
	}

	carrier := "/sys/class/net/" + m.Netdev() + "/carrier"
	m.Monitor("set_link net0 off")
	eventually(t, "the cable to be out", time.Minute, func() bool { return m.ReadFile(carrier) == "0\n" })
	m.Monitor("set_link net0 on")
	eventually(t, "the cable to be in", time.Minute, func() bool { return m.ReadFile(carrier) == "1\n" })
}

func lifecyclePowerCut(t *testing.T, m *vm.Machine) {
	m.Shell("echo synced >/var/lib/synced; sync -f /var/lib/synced; echo >/run/gone")
	m.PowerCut()
	m.PowerOn()
	if got := m.ReadFile("/var/lib/synced"); got != "synced\n" {
		t.Errorf("what was synced before the power cut is %q", got)
	}
	if m.Exists("/run/gone") {
		t.Error("memory outlived the power cut")
	}
	if log := m.Must("journalctl", "--boot", "--no-pager", "--dmesg"); !strings.Contains(log, "recovery complete") {
		t.Error("the file system was not recovered: it was not cut off")
	}
}
