package sidebyside

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// enterSystemd starts the root's own systemd as the first process of namespaces: what it mounts and starts ends
// with it, and /dev has nothing but what a container has.
const enterSystemd = `set -e
R=$1
mount --bind "$R" "$R"
mount -t proc proc "$R/proc"
mount -t sysfs -o ro sysfs "$R/sys"
mount -t cgroup2 cgroup2 "$R/sys/fs/cgroup"
mount -t tmpfs -o mode=755 run "$R/run"
mount -t tmpfs -o mode=755 dev "$R/dev"
for n in null zero full random urandom; do touch "$R/dev/$n"; mount --bind "/dev/$n" "$R/dev/$n"; done
mkdir "$R/dev/shm"
exec chroot "$R" /usr/bin/env -i container=rdmactl PATH=/usr/sbin:/usr/bin /usr/lib/systemd/systemd --system --unit=story.target --log-level=warning --log-target=null`

// service gives a real service its stack by a drop-in, beside an environment of its own with what needs quotes.
func service(t *testing.T, c chroot, version string) {
	if _, err := os.Stat(filepath.Join(c.root, "usr/lib/systemd/systemd")); err != nil {
		t.Skip("needs systemd in the root")
	}
	const units = "etc/systemd/system/"
	for name, text := range map[string]string{
		units + "probe.service":  "[Service]\nType=oneshot\nEnvironment=\"LD_LIBRARY_PATH=/odd dir/50%%:/x\" \"OTHER=it's \\\"q\\\"\"\nExecStart=/usr/local/bin/probe\nStandardOutput=append:/probe.out\n",
		units + "rights.service": "[Service]\nType=oneshot\nUser=nobody\nExecStart=/usr/local/bin/caps\n",
		units + "story.service":  "[Service]\nType=oneshot\nExecStart=/bin/sh /story\nStandardOutput=file:/story.out\nStandardError=inherit\n",
		units + "story.target":   "[Unit]\nRequires=story.service\nAfter=story.service\n",
		"usr/local/bin/probe": `#!/bin/sh
echo "path $LD_LIBRARY_PATH other $OTHER drivers ${IBV_DRIVERS-none}"
LD_DEBUG=libs ibv_devices 2>&1 | sed -n "s/.*calling init: \(.*libibverbs.so.*\)/loads \1/p"
command -v ibv_devices
echo end
`,
		"story": `export IBV_DRIVERS=hns
systemctl set-environment IBV_DRIVERS=hns
systemctl start probe
rdmactl use rdma-core@` + version + ` --unit probe --yes >/dev/null || echo "use: $?"
systemctl start probe
rdmactl use rdma-core@` + version + ` --unit probe --yes
rdmactl use rdma-core@` + version + ` --unit no-such --yes; echo "no-such: $?"
rdmactl use rdma-core@` + version + ` --unit rights --yes; echo "rights: $?"
rdmactl rollback >/dev/null || echo "rollback: $?"
systemctl start probe
systemctl exit 0
`,
	} {
		must(t, os.WriteFile(filepath.Join(c.root, name), []byte(text), 0o755))
	}
	c.says(t, 0, "cp /usr/bin/ibv_devices /usr/local/bin/caps && setcap cap_net_raw+ep /usr/local/bin/caps")
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--net", "--ipc", "--uts", "--cgroup", "sh", "-c", enterSystemd, "sh", c.root)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.CombinedOutput()
	story, readErr := os.ReadFile(filepath.Join(c.root, "story.out"))
	probe, probeErr := os.ReadFile(filepath.Join(c.root, "probe.out"))
	if readErr != nil || probeErr != nil {
		t.Fatalf("systemd did not come to the story: %v\n%s", err, out)
	}
	theirs := strings.TrimSpace(c.says(t, 0, "ldconfig -p | sed -n 's/.*libibverbs.so.1 .* => //p' | head -n1"))
	prefix := "/opt/rdma-core/" + version
	plain := "path /odd dir/50%:/x other it's \"q\" drivers hns\nloads " + theirs + "\n/usr/bin/ibv_devices\nend\n"
	switched := "path " + prefix + "/lib:/odd dir/50%:/x other it's \"q\" drivers none\nloads " + prefix + "/lib/libibverbs.so.1\n" + prefix + "/bin/ibv_devices\nend\n"
	if want := plain + switched + plain; string(probe) != want {
		t.Errorf("the service printed\n%swant\n%s%s", probe, want, story)
	}
	for _, want := range []string{"probe.service is set to rdma-core@" + version + " already", "systemd knows no such unit", "no-such: 4", "has file capabilities", "rights: 4"} {
		if !strings.Contains(string(story), want) {
			t.Errorf("%q is not in\n%s", want, story)
		}
	}
	for _, not := range []string{"use: ", "rollback: "} {
		if strings.Contains(string(story), "\n"+not) {
			t.Errorf("failed:\n%s", story)
		}
	}
}
