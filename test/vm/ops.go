package vm

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/rdmactl/rdmactl/test/vm/internal/manifest"
	"github.com/rdmactl/rdmactl/test/vm/internal/wire"
)

// Exec runs a command to its end.
func (m *Machine) Exec(cmd Cmd) Result {
	m.t.Helper()
	m.on()
	r, err := m.q.ctl.run(cmd)
	if err != nil {
		m.t.Fatalf("%s: %v", strings.Join(cmd.Argv, " "), err)
	}
	m.slow(r.Seconds, strings.Join(cmd.Argv, " "))
	return r
}

// slow puts what took long into the test's log, where one looks for a scenario's seconds.
func (m *Machine) slow(seconds float64, what string) {
	m.t.Helper()
	if seconds >= 2 {
		m.t.Logf("%5.1f s  %.100s", seconds, what)
	}
}

// Run runs a command as root.
func (m *Machine) Run(argv ...string) Result {
	m.t.Helper()
	return m.Exec(Cmd{Argv: argv})
}

// RunAs runs a command as another user, with the limits that a service has; see Cmd for others.
func (m *Machine) RunAs(user string, argv ...string) Result {
	m.t.Helper()
	return m.Exec(Cmd{Argv: argv, User: user})
}

// Must runs a command as root, ends the test unless it exits 0, and returns its standard output.
func (m *Machine) Must(argv ...string) string {
	m.t.Helper()
	r := m.Run(argv...)
	if r.Exit != 0 {
		m.t.Fatal(r)
	}
	return r.Stdout
}

// Shell is Must for a sh script that ends at the first error.
func (m *Machine) Shell(script string) string {
	m.t.Helper()
	return m.Must("sh", "-ec", script)
}

// Process is a command that was started and not waited for.
type Process struct {
	m    *Machine
	id   uint64
	argv []string
}

// Start starts a command and returns at once.
func (m *Machine) Start(cmd Cmd) *Process {
	m.t.Helper()
	m.on()
	id, err := m.q.ctl.start(cmd)
	if err != nil {
		m.t.Fatal(err)
	}
	return &Process{m: m, id: id, argv: cmd.Argv}
}

// Wait waits up to limit. done is false when the command still runs; the result then holds what it
// has written so far.
func (p *Process) Wait(limit time.Duration) (r Result, done bool) {
	p.m.t.Helper()
	p.m.on()
	r, done, err := p.m.q.ctl.wait(p.id, p.argv, limit)
	if err != nil {
		p.m.t.Fatal(err)
	}
	return r, done
}

// Signal sends a signal to the command's process group.
func (p *Process) Signal(s syscall.Signal) {
	p.m.t.Helper()
	p.ask(wire.Request{Op: "signal", Proc: p.id, Signal: int(s)})
}

// Hangup closes the command's terminal, as the end of an ssh connection does: the kernel sends
// SIGHUP to the session, and reads and writes on the terminal fail.
func (p *Process) Hangup() {
	p.m.t.Helper()
	p.ask(wire.Request{Op: "hangup", Proc: p.id})
}

func (p *Process) ask(req wire.Request) {
	p.m.t.Helper()
	p.m.on()
	if _, _, err := p.m.q.ctl.call(req, nil, grace); err != nil {
		p.m.t.Fatal(err)
	}
}

// Put copies a local file to the machine as root's, with the permission bits of mode.
func (m *Machine) Put(local, remote string, mode fs.FileMode) {
	m.t.Helper()
	text, err := os.ReadFile(local)
	if err != nil {
		m.t.Fatal(err)
	}
	m.WriteFile(remote, string(text), mode)
}

// WriteFile writes a file as root's; directories above it are made (0755).
func (m *Machine) WriteFile(remote, text string, mode fs.FileMode) {
	m.t.Helper()
	m.on()
	const piece = 1 << 20
	for at := 0; at == 0 || at < len(text); at += piece {
		part := text[at:min(len(text), at+piece)]
		req := wire.Request{Op: "put", Path: remote, Mode: uint32(mode.Perm()), Offset: int64(at)}
		if _, _, err := m.q.ctl.call(req, []byte(part), time.Minute); err != nil {
			m.t.Fatal(err)
		}
	}
}

// ReadFile returns a file of the machine; the test ends when it cannot be read.
func (m *Machine) ReadFile(remote string) string {
	m.t.Helper()
	m.on()
	text, err := m.q.ctl.readFile(remote)
	if err != nil {
		m.t.Fatal(err)
	}
	return text
}

func (c *client) readFile(remote string) (string, error) {
	var text []byte
	for {
		req := wire.Request{Op: "get", Path: remote, Offset: int64(len(text))}
		_, body, err := c.call(req, nil, time.Minute)
		if err != nil {
			return "", err
		}
		if len(body) == 0 {
			return string(text), nil
		}
		text = append(text, body...)
	}
}

// Exists says whether the path exists on the machine, without following a link at its end.
func (m *Machine) Exists(remote string) bool {
	m.t.Helper()
	switch r := m.Run("sh", "-c", `test -e "$1" || test -L "$1"`, "sh", remote); r.Exit {
	case 0:
		return true
	case 1:
		return false
	default:
		m.t.Fatal(r)
		return false
	}
}

// Manifest maps a path to its type, mode, owner and content.
type Manifest = manifest.Manifest

// Manifest describes the trees below roots. Paths equal to or matching (path.Match) an entry of
// except are left out with all below them.
func (m *Machine) Manifest(roots, except []string) Manifest {
	m.t.Helper()
	m.on()
	begin := time.Now()
	defer func() { m.slow(time.Since(begin).Seconds(), "manifest") }()
	const file = "/run/rdmactl-test/manifest"
	req := wire.Request{Op: "manifest", Path: file, Roots: roots, Except: except}
	if _, _, err := m.q.ctl.call(req, nil, 5*time.Minute); err != nil {
		m.t.Fatal(err)
	}
	text, err := m.q.ctl.readFile(file)
	if err != nil {
		m.t.Fatal(err)
	}
	out, err := manifest.Parse([]byte(text))
	if err == nil && len(out) == 0 {
		err = errors.New("the manifest is empty")
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

// Diff lists how after differs from before, one line a path: "+ ", "- " or "~ " and what it is.
func Diff(before, after Manifest) []string { return manifest.Diff(before, after) }

// UseRepo makes the named repository the machine's only package source. It does not update the
// package lists.
func (m *Machine) UseRepo(r Repo) {
	m.t.Helper()
	m.WriteFile(sourcesList, sourceLine(r), 0o644)
}

// Packages returns the installed packages, "name" to "version", as dpkg knows them now.
func (m *Machine) Packages() map[string]string {
	m.t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(m.Must("dpkg-query", "-W", "-f", "${db:Status-Abbrev}\t${binary:Package}\t${Version}\n")) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) == 3 && strings.HasPrefix(fields[0], "ii") {
			out[fields[1]] = fields[2]
		}
	}
	return out
}

// Netdev returns the name of the machine's network interface (10.0.2.15/24).
func (m *Machine) Netdev() string {
	m.t.Helper()
	for name := range strings.FieldsSeq(m.Must("ls", "/sys/class/net")) {
		if strings.HasPrefix(name, "en") {
			return name
		}
	}
	m.t.Fatal("the machine has no en* interface")
	return ""
}
