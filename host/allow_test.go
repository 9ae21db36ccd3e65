package host_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/host"
)

func TestAllowed(t *testing.T) {
	for _, line := range []string{
		"uname -r", "uname -a", "lspci -nn", "lspci -D -nn -vv", "lspci -nnk -s 0000:06:00.0", "lsmod", "modinfo mlx5_core", "modinfo -F version mlx5_core",
		"modinfo -k 5.14.0-1.el9.x86_64 mlx5_ib", "dpkg-query -W -f ${Package}\\t${Version}\\t${Status}\\n", "dpkg --print-architecture", "dpkg -s rdma-core", "dpkg -l",
		"rpm -qa", "rpm -q rdma-core libibverbs", "rpm -qa --qf %{NAME}\\n", "rpm -qf /usr/lib64/libibverbs.so.1", "rpm -q --whatprovides libibverbs.so.1()(64bit)",
		"ip link", "ip -br link show", "ip -d -j link show dev eth0", "ip route", "ip route get 192.0.2.1", "ip addr", "ip a", "rdma link", "rdma link show mlx5_0/1", "rdma system", "rdma -j dev show",
		"rdma statistic show link mlx5_0/1", "devlink dev show", "devlink dev info pci/0000:a3:00.0", "devlink dev eswitch show pci/0000:a3:00.0",
		"ibv_devinfo -v", "ibv_devinfo -d mlx5_0 -i 1", "ibstat", "ibstat mlx5_0 1", "ibstat -l", "systemctl is-active openibd", "systemctl show -p LimitMEMLOCK slurmd",
		"systemctl list-units --type=service --all --no-pager", "systemctl cat openibd.service", "systemd-detect-virt -c", "mokutil --sb-state", "mokutil --list-enrolled",
		"findmnt -n -o FSTYPE /", "df -P /boot", "ldconfig -p", "apt-cache policy rdma-core", "apt-config dump", "apt-mark showhold", "apt-get -s install --no-install-recommends rdma-core=44.0-2", "apt-get -s purge rdma-core", "apt-get --print-uris -y install x", "getent group rdma", "objdump -p /usr/lib/libibverbs.so.1",
		"readelf -d /usr/lib/libibverbs.so.1", "ofed_info -s", "dmesg", "dmesg -xT", "dmesg --level=err,warn", "id", "id -u", "ls /sys/class/infiniband", "ls -l /dev/infiniband",
		"cat /proc/version", "readlink -f /sys/class/net/eth0/device", "lsinitramfs /boot/initrd.img", "lsinitrd -k 5.14.0", "lsinitrd /boot/initramfs.img", "udevadm info -q property -p /sys/class/net/eth0",
		"ethtool eth0", "ethtool -i eth0", "ethtool -S eth0", "ethtool --show-priv-flags eth0", "mlxconfig -d 0000:06:00.0 query", "mlxconfig -d /dev/mst/mt4119_pciconf0 q LINK_TYPE_P1",
		"mst status -v", "mstflint -d 0000:06:00.0 q", "flint -d 03:00.0 query full", "journalctl -k -b -n 200 --no-pager", "journalctl -u openibd -o cat", "sysctl -n kernel.modules_disabled",
		"dnf -C -q --setopt=*.gpgcheck=1 repoquery --available --latest-limit=1 --qf %{name}\\n rdma-core", "dnf -C -q repolist --enabled", "dnf -C --assumeno --setopt=strict=1 install ethtool-2:6.2-1.el9 a-1~rc1-1",
		"dnf5 -C --assumeno do --action=install a-1-1 --action=remove b", "yum -C --assumeno --color=never remove rdma", "yum -C -q list available --showduplicates rdma-core",
		"zypper --non-interactive --xmlout --no-refresh install --dry-run --no-recommends --auto-agree-with-licenses rdma-core=44.0-150600.2 !ofed-kernel-utils", "zypper --non-interactive --xmlout --no-refresh remove --dry-run --no-clean-deps rdma-core",
		"zypper --non-interactive --xmlout --no-refresh search --details --match-exact --type package rdma-core", "/usr/bin/uname -r", "/sbin/lspci -nn", "gcc --version", "dkms status", "grep -c devx /proc/kallsyms", "test -e /dev/infiniband/rdma_cm", "stat -L -c %a /dev/infiniband/uverbs0",
		"ls -d /lib/modules/5.10.35;rm", "mlxfwmanager --query -d 0000:06:00.0", "hostname", "ps -C opensm -o args=",
	} {
		if err := host.Allowed(strings.Split(line, " ")); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestNotAllowed(t *testing.T) {
	lines := []string{
		"", "sh -c ls", "bash", "env ls", "sudo ls", "ls; rm /x", "ls /x ; rm", "./uname -r", "/tmp/uname -r", "../uname", "reboot", "rm -rf /", "modprobe mlx5_core", "insmod x.ko", "rmmod mlx5_core",
		"uname -r x", "lspci -M", "lspci -xxx", "lspci -H1", "lspci -A intel-conf1", "lspci -q", "lspci -F /x", "lspci -i", "setpci -s 1 0.w=1", "lsmod x",
		"modinfo", "modinfo -b /x y", "dpkg-query --root=/x -W", "dpkg-query --admindir=/x -W", "dpkg-query", "dpkg -i x.deb", "dpkg -r x", "dpkg --purge x", "dpkg --configure -a", "dpkg -s x --force-all", "dpkg --root=/x -l",
		"rpm -i x.rpm", "rpm -e x", "rpm -qa --pipe sh", "rpm -q --define a x", "rpm -qE %(id)", "rpm -E %(id)", "rpm --eval %(id)", "rpm -qp http://x/y.rpm", "rpm -qp ftp://x/y.rpm", "rpm --initdb", "rpm --import x", "rpm -Uvh x", "rpm -q --root /x y", "rpm --rebuilddb", "rpm -q --rcfile=x y",
		"ip link add x type dummy", "ip link set eth0 up", "ip link del x", "ip -batch f", "ip -b f", "ip netns exec x sh", "ip -n x link", "ip monitor", "ip route add default", "ip route flush cache", "ip addr flush dev eth0",
		"rdma link add rxe0 type rxe netdev eth0", "rdma link delete rxe0", "rdma system set netns exclusive", "rdma dev set mlx5_0 name x", "rdma -b f", "rdma statistic qp set link mlx5_0/1 auto on", "rdma monitor", "rdma res monitor",
		"devlink dev reload pci/0000:a3:00.0", "devlink dev eswitch set pci/0000:a3:00.0 mode switchdev", "devlink dev param set x", "devlink dev flash pci/0000:a3:00.0 file x", "devlink port split x count 4", "devlink health recover x",
		"ibv_rc_pingpong", "systemctl start openibd", "systemctl stop openibd", "systemctl daemon-reload", "systemctl mask x", "systemctl -H root@x status", "systemctl --root=/x cat y", "systemctl", "systemctl set-default x", "systemctl edit x", "systemctl reboot",
		"mokutil --import x", "mokutil --disable-validation", "mokutil --reset", "mokutil --delete x", "mokutil", "findmnt --poll", "df --sync", "ldconfig", "ldconfig -p -C /x", "ldconfig -v", "ldconfig -r /x -p",
		"apt-cache gencaches", "apt-cache -o Dir::Cache=/x policy y", "apt-cache add x", "apt-config dump -o x=y", "apt-config shell x y", "apt-mark hold x", "apt-mark unhold x", "apt-get update", "apt-get install x", "apt-get -y install x", "apt-get -s update", "apt-get -s -o Dir::Etc=/x install y", "apt-get -s -c /x install y", "apt install x",
		"getent hosts example.com", "getent ahosts x", "getent shadow", "objdump", "readelf", "ofed_info -x",
		"dmesg -C", "dmesg -c", "dmesg --clear", "dmesg --read-clear", "dmesg -D", "dmesg -E", "dmesg -n 1", "dmesg --console-off", "dmesg -w", "dmesg -xC", "dmesg -F /x",
		"cat", "cat -", "cat relative", "cat /dev/watchdog", "cat /dev/../dev/watchdog", "cat /tmp/../dev/kmsg", "cat /proc/kmsg", "cat /proc/1/root/etc/shadow", "cat /sys/kernel/debug/tracing/trace_pipe", "grep x", "grep -r x /dev/mem", "grep -f /x y", "grep x /dev/mem",
		"lsinitrd --unpack /boot/x", "udevadm trigger", "udevadm control --reload", "udevadm settle", "udevadm info --cleanup-db", "udevadm info -c", "udevadm test /sys/x", "udevadm",
		"ethtool -s eth0 speed 100", "ethtool -K eth0 rx off", "ethtool -p eth0", "ethtool -t eth0", "ethtool -r eth0", "ethtool -f eth0 x", "ethtool --set-priv-flags eth0 x on", "ethtool -E eth0", "ethtool --reset eth0", "ethtool -i eth0 eth1", "ethtool", "ethtool -k eth0 rx",
		"mlxconfig -d x set A=1", "mlxconfig -d x -y set A=1", "mlxconfig -d x reset", "mlxconfig -d x q A=1", "mlxconfig", "mst start", "mst restart", "mst", "mstflint -d x -i f burn", "flint -d x -i f q", "flint -d x dc", "flint -d x q b", "mlxfwmanager", "mlxfwmanager -u", "mlxfwmanager --query --online", "mlxlink -d x -a UP", "mlxlink -d x --port_state DN",
		"dnf -C install rdma-core", "dnf -C -y --assumeno install rdma-core", "dnf -C --assumeno install /tmp/x.rpm", "dnf -C --assumeno install x.rpm", "dnf -C --assumeno install http://x/y.rpm", "dnf -C --assumeno install @group", "dnf -C --assumeno shell", "dnf -C --assumeno --setopt=pluginpath=/x install a", "dnf -q repoquery rdma-core",
		"yum --assumeno localinstall x", "yum -C -y install a", "zypper --no-refresh install rdma-core", "zypper --no-refresh install --dry-run --force a", "zypper --no-refresh install --dry-run ./x.rpm", "zypper --no-refresh --root /x install --dry-run a", "zypper --no-refresh remove --dry-run !!a",
		"journalctl --vacuum-size=1M", "journalctl --rotate", "journalctl --flush", "journalctl -f", "journalctl --sync", "journalctl -M x", "journalctl --root=/x", "journalctl /x",
		"sysctl -w a=b", "sysctl a=b", "sysctl -n a=b", "sysctl -p", "sysctl --system", "sysctl -nw a", "sysctl --load=x", "hostname newname", "hostname -F /x", "dkms install x", "dkms remove x --all", "gcc x.c", "gcc --version x", "numactl ls", "mount /x /y", "mount -a", "stat", "pgrep", "update-alternatives --set a b", "dpkg-divert --add x", "tar --version --checkpoint-action=x",
	}
	for _, line := range lines {
		err := host.Allowed(strings.Split(line, " "))
		if !errors.Is(err, host.ErrNotAllowed) {
			t.Errorf("%q is allowed (%v)", line, err)
		}
	}
	if err := host.Allowed([]string{"cat", "/a\x00b"}); !errors.Is(err, host.ErrNotAllowed) {
		t.Error("an argument with a NUL byte is allowed")
	}
	if err := host.Allowed(nil); !errors.Is(err, host.ErrNotAllowed) {
		t.Error("an empty command is allowed")
	}
}
