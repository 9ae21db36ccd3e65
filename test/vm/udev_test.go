package vm_test

import (
	"fmt"
	"testing"

	"github.com/rdmactl/rdmactl/test/vm"
	"github.com/rdmactl/rdmactl/udev"
)

// lintAgrees compares udev.Lint with `udevadm verify` (systemd 254 and later, so Debian 13) on what
// both judge, and has it judge the rules that an install wrote.
func lintAgrees(t *testing.T, m *vm.Machine) {
	t.Helper()
	const written = "/etc/udev/rules.d/91-rdmactl-soft-roce.rules"
	texts := map[string]bool{
		m.ReadFile(written):                             true,
		"KERNEL=\"uverbs*\", TAG+=\"systemd\"\n":        false,
		"ACTION==\"add\", MODE==\"0666\"\n":             false,
		"ACTION==\"add\", KERNELL==\"x\", TAG+=\"a\"\n": false,
		"ACTION==\"add\", TAG+=\"a\n":                   false,
		"ACTION==\"add\", GOTO=\"end\"\n":               false,
	}
	n := 0
	for text, sound := range texts {
		n++
		file := fmt.Sprintf("/root/60-%d.rules", n)
		m.WriteFile(file, text, 0o644)
		r := m.Run("udevadm", "verify", "--no-style", file)
		problems := udev.Lint(file, []byte(text), udev.Options{})
		if (r.Exit == 0) != sound || (problems == nil) != sound {
			t.Errorf("%q: want sound %v; lint: %v; %s", text, sound, problems, r)
		}
	}
}
