#!/usr/bin/python3
# The maintainer script of a hostile package. Each attempt is written down with how it ended: "refused" with the
# error, or "done". None would do harm where it succeeds, but each would show on the build host.
import ctypes, errno, glob, os, signal, socket, struct, subprocess, sys, time

libc = ctypes.CDLL(None, use_errno=True)
given = dict(line.strip().split("=", 1) for line in open("/given"))
outside, victim, disk = given["outside"], int(given["victim"]), given["disk"]
told = open("/told", "a")


def attempt(name):
    def run(do):
        try:
            text = do()
        except (OSError, subprocess.CalledProcessError) as e:
            told.write("%s: refused: %s\n" % (name, e))
        else:
            told.write("%s: done: %s\n" % (name, text))
        told.flush()
    return run


def call(result):
    if result != 0:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))


def syscall(number, *args):
    result = libc.syscall(ctypes.c_long(number), *args)
    if result < 0:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))
    return result


def mount(source, target, kind, flags=0):
    os.makedirs(target, exist_ok=True)
    call(libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), None))


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


@attempt("modprobe")
def _():
    subprocess.run(["modprobe", "--ignore-install", "dummy"], check=True)


@attempt("init_module")
def _():
    syscall(175, b"\x7fELF", ctypes.c_ulong(4), b"")


@attempt("reboot")
def _():
    call(libc.reboot(0))  # LINUX_REBOOT_CMD_CAD_OFF


@attempt("write /sys")
def _():
    write("/sys/kernel/mm/ksm/sleep_millisecs", "21")


@attempt("mount sysfs")
def _():
    mount("sysfs", "/m/sys", "sysfs")


@attempt("write /proc/sys")
def _():
    write("/proc/sys/kernel/printk_ratelimit_burst", "11")


@attempt("unprotect /proc/sys")
def _():
    call(libc.umount2(b"/proc/sys", 2))
    write("/proc/sys/kernel/printk_ratelimit_burst", "12")


@attempt("remount /proc/sys")
def _():
    call(libc.mount(None, b"/proc/sys", None, ctypes.c_ulong(32 | 4096), None))  # MS_REMOUNT, MS_BIND


@attempt("mount proc")
def _():
    mount("proc", "/m/proc", "proc")
    write("/m/proc/sys/kernel/printk_ratelimit_burst", "13")


@attempt("sysrq")
def _():
    write("/proc/sysrq-trigger", "h")


@attempt("raw PCI config in /proc")
def _():
    for path in glob.glob("/proc/bus/pci/*/*") or ["/proc/bus/pci/00/00.0"]:
        open(path, "r+b").close()


@attempt("raw PCI config in /sys")
def _():
    for path in glob.glob("/sys/bus/pci/devices/*/config") or ["/sys/bus/pci/devices/none"]:
        open(path, "r+b").close()


@attempt("iopl")
def _():
    call(libc.iopl(3))


@attempt("mknod")
def _():
    major, minor = disk.split(":")
    os.mknod("/made-disk", 0o600 | 0o060000, os.makedev(int(major), int(minor)))
    open("/made-disk", "rb").read(1)


@attempt("node that came with the image")
def _():
    open("/opt/disk", "rb").read(1)


@attempt("devtmpfs")
def _():
    mount("devtmpfs", "/m/dev", "devtmpfs")


@attempt("mount the disk")
def _():
    mount("/opt/disk", "/m/disk", "ext4", 1)  # MS_RDONLY


@attempt("kill")
def _():
    os.kill(victim, signal.SIGKILL)


@attempt("/proc/1/root")
def _():
    write("/proc/1/root" + outside + "/by-root", "x")


@attempt("/proc/1/cwd")
def _():
    write("/proc/1/cwd/../../../../../../../.." + outside + "/by-cwd", "x")


@attempt("descriptors of the helper")
def _():
    for pid in ("1", "self", str(os.getppid())):
        for fd in os.listdir("/proc/%s/fd" % pid):
            try:
                write("/proc/%s/fd/%s/../../../../../../../..%s/by-fd" % (pid, fd, outside), "x")
            except OSError:
                continue
            return pid + " " + fd
    raise OSError(errno.EACCES, "none leads out")


@attempt("threads of the helper")
def _():
    for task in os.listdir("/proc/1/task"):
        os.listdir("/proc/1/task/%s/fd" % task)
        write("/proc/1/task/%s/root%s/by-task" % (task, outside), "x")


@attempt("program of the helper")
def _():
    open("/proc/1/exe", "r+b").close()


@attempt("ptrace")
def _():
    call(libc.ptrace(16, 1, None, None))  # PTRACE_ATTACH


@attempt("files by handle")
def _():
    handle = struct.pack("IiQQ", 8, 1, 2, 0)
    at = os.open("/", os.O_RDONLY)
    syscall(304, ctypes.c_int(at), handle, ctypes.c_int(0))


@attempt("chroot")
def _():
    child = os.fork()
    if child == 0:
        try:
            os.makedirs("/m/jail", exist_ok=True)
            back = os.open("/", os.O_RDONLY)
            os.chroot("/m/jail")
            os.fchdir(back)
            for _ in range(50):
                os.chdir("..")
            os.chroot(".")
            write(outside + "/by-chroot", "x")
        except OSError:
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        raise OSError(errno.ENOENT, "it ends in the image")


@attempt("by name")
def _():
    write(outside + "/by-name", "x")


@attempt("by link")
def _():
    os.symlink(outside, "/out")
    write("/out/by-link", "x")


@attempt("network interface")
def _():
    subprocess.run(["ip", "link", "add", "rdmactl-hostile", "type", "dummy"], check=True)


@attempt("loopback down")
def _():
    subprocess.run(["ip", "link", "set", "lo", "mtu", "65530"], check=True)


@attempt("raw socket")
def _():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()


@attempt("clock")
def _():
    time.clock_settime(time.CLOCK_REALTIME, time.time())


@attempt("host name")
def _():
    socket.sethostname("hostile")


@attempt("other namespaces")
def _():
    call(libc.setns(os.open("/proc/1/ns/mnt", os.O_RDONLY), 0))


subprocess.run(["systemctl", "start", "cron.service"])
subprocess.run(["sh", "-c", "sync; reboot -f; sysctl -w kernel.printk_ratelimit_burst=14; mount -o remount,rw /sys"])
told.write("end\n")
