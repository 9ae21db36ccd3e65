package rootlab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Lab is what the tests of one package share: the program, and how many of them could not run.
type Lab struct {
	name    string
	program func() (string, error)

	mu      sync.Mutex
	skipped int
	reason  string // of the latest that was skipped
}

// New is the lab of the named test package.
func New(name string) *Lab {
	return &Lab{name: name, program: sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp("", "rdmactl-"+name+"-")
		if err != nil {
			return "", err
		}
		file := filepath.Join(dir, "rdmactl")
		return file, Build(file)
	})}
}

// Build builds rdmactl as it is released.
func Build(file string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-o", file, "github.com/rdmactl/rdmactl/cmd/rdmactl")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return Run(cmd)
}

// Main runs the tests, and says how many were skipped and why the latest was. It returns the exit code.
func (l *Lab) Main(m *testing.M) int {
	code := m.Run()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.skipped > 0 {
		fmt.Printf("%s: %d tests skipped: %s\n", l.name, l.skipped, l.reason)
	}
	return code
}

// Need skips a test, and counts it, if there is a reason why it cannot run.
func (l *Lab) Need(t testing.TB, why string) {
	t.Helper()
	if why == "" {
		return
	}
	l.mu.Lock()
	l.skipped, l.reason = l.skipped+1, why
	l.mu.Unlock()
	t.Skip(why)
}

// WhyNot is why roots cannot be made and entered here with these programs, empty if they can. unasked is the
// reason where nobody asked for it, by RDMACTL_ROOTS=1.
func WhyNot(unasked string, programs ...string) string {
	switch {
	case os.Getenv("RDMACTL_ROOTS") != "1":
		return unasked
	case os.Geteuid() != 0:
		return "needs root: a root file system is made and entered"
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return "needs " + program + ": test/prepare installs it"
		}
	}
	return ""
}
