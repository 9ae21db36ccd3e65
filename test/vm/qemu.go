package vm

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/test/vm/internal/wire"
)

// machineArgs is the machine itself, with so many processors; a snapshot fits only the arguments that it was made with.
// Emulation (tcg) works everywhere, also where KVM is paravirtual and boots no stock kernel. It translates code by its
// virtual address, so with random ones (norandmaps) each process would have all its libraries translated anew: that takes
// a quarter of all time, and after thousands of processes a write to a page of such a library takes milliseconds a byte,
// so that the next boot does not come up.
func machineArgs(processors int) []string {
	return []string{
		"-nodefaults", "-no-user-config", "-display", "none",
		"-machine", "pc", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", strconv.Itoa(processors), "-m", "2048",
		"-append", "console=ttyS0 panic=-1 quiet norandmaps root=/dev/vda rw",
		"-netdev", "user,id=net0,restrict=on", "-device", "virtio-net-pci,netdev=net0",
		"-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
		"-device", "virtserialport,chardev=ctl,name=" + wire.PortName,
	}
}

// qemu is a running emulator. Both its sockets are inherited, not found by a path, so nobody else
// can speak to it; and it dies with this process.
type qemu struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // valid after done: how it ended
	qmp  net.Conn
	in   *bufio.Reader
	ctl  *client
}

// start boots disk, or loads the snapshot of that name from it. The serial console's output is
// added to serial.
func start(img image, processors int, disk, serial, snapshot string) (*qemu, error) {
	qmp, qmpFar, err := socketPair()
	if err != nil {
		return nil, err
	}
	ctl, ctlFar, err := socketPair()
	if err != nil {
		return nil, errors.Join(err, qmp.Close(), qmpFar.Close())
	}
	// ExtraFiles become descriptors 3 and 4.
	args := []string{
		"-chardev", "socket,id=qmp,fd=3", "-mon", "chardev=qmp,mode=control",
		"-chardev", "socket,id=ctl,fd=4",
		"-chardev", "file,id=serial,append=on,path=" + serial, "-serial", "chardev:serial",
		"-kernel", img.kernel, "-initrd", img.initrd,
		// With cache=unsafe a flush by the machine still reaches the host's memory, qcow2's own tables
		// included, and only the host's fsync is left out: so a killed qemu is a true power cut, and
		// dpkg's many fsyncs do not wait for the host's disk.
		"-drive", "if=virtio,format=qcow2,cache=unsafe,file=" + disk,
	}
	args = append(args, machineArgs(processors)...)
	if snapshot != "" {
		args = append(args, "-loadvm", snapshot)
	}
	stderr, err := os.OpenFile(filepath.Join(filepath.Dir(serial), "qemu.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	q := &qemu{cmd: exec.Command("qemu-system-x86_64", args...), done: make(chan struct{}), qmp: qmp}
	q.cmd.ExtraFiles = []*os.File{qmpFar, ctlFar}
	q.cmd.Stdout, q.cmd.Stderr = stderr, stderr
	q.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	err = q.cmd.Start()
	_, _, _ = qmpFar.Close(), ctlFar.Close(), stderr.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start qemu: %w", err), qmp.Close(), ctl.Close())
	}
	q.ctl = newClient(ctl)
	go func() {
		q.err = q.cmd.Wait()
		close(q.done)
	}()
	q.in = bufio.NewReader(qmp)
	if err := q.greet(); err != nil {
		q.kill()
		return nil, fmt.Errorf("cannot speak to qemu: %w", err)
	}
	return q, nil
}

func socketPair() (near net.Conn, far *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fds[0]), "near")
	near, err = net.FileConn(f) // has a descriptor of its own
	far = os.NewFile(uintptr(fds[1]), "far")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, nil, errors.Join(err, far.Close())
	}
	return near, far, nil
}

func (q *qemu) greet() error {
	if err := q.qmp.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	if _, err := q.in.ReadBytes('\n'); err != nil {
		return err
	}
	_, err := q.execute("qmp_capabilities", nil, time.Minute)
	return err
}

// execute runs one QMP command.
func (q *qemu) execute(command string, arguments map[string]any, timeout time.Duration) (json.RawMessage, error) {
	if err := q.qmp.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	request := map[string]any{"execute": command}
	if arguments != nil {
		request["arguments"] = arguments
	}
	if err := json.NewEncoder(q.qmp).Encode(request); err != nil {
		return nil, err
	}
	for {
		line, err := q.in.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var reply struct {
			Return json.RawMessage
			Error  *struct{ Desc string }
		}
		if err := json.Unmarshal(line, &reply); err != nil {
			return nil, err
		}
		switch {
		case reply.Error != nil:
			return nil, fmt.Errorf("qemu: %s: %s", command, reply.Error.Desc)
		case reply.Return != nil:
			return reply.Return, nil
		} // else an event
	}
}

// monitor runs a command of the human monitor and returns what it printed.
func (q *qemu) monitor(line string, timeout time.Duration) (string, error) {
	raw, err := q.execute("human-monitor-command", map[string]any{"command-line": line}, timeout)
	if err != nil {
		return "", err
	}
	var text string
	err = json.Unmarshal(raw, &text)
	return text, err
}

// cpuTime is what the emulator took of this machine's processors; it is known when it has ended.
func (q *qemu) cpuTime() time.Duration {
	state := q.cmd.ProcessState
	return state.UserTime() + state.SystemTime()
}

// kill is a power cut: the process ends at once, and so do its connections.
func (q *qemu) kill() {
	_ = q.cmd.Process.Kill() // already ended is as good
	<-q.done
	_ = q.qmp.Close()
	if q.ctl != nil {
		q.ctl.close()
	}
}

// qemuVersion is the first line of --version.
func qemuVersion() (string, error) {
	out, err := exec.Command("qemu-system-x86_64", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("cannot ask qemu for its version: %w", err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line, nil
}
