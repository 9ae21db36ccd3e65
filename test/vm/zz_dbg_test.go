package vm_test

import (
	"os"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/test/vm"
)

func TestZZ(t *testing.T) {
	for _, s := range vm.Suites() {
		if s.Name == os.Getenv("ZZS") {
			b := time.Now()
			m := vm.Boot(t, s)
			t.Logf("boot %v", time.Since(b))
			mf := func() {
				b := time.Now()
				x := m.Manifest([]string{"/etc", "/usr", "/lib/modules"}, nil)
				t.Logf("manifest %d %v", len(x), time.Since(b))
			}
			if os.Getenv("ZZM") != "" {
				mf()
				mf()
			}
			t.Log(m.Exec(vm.Cmd{Argv: []string{"bash", "-c", os.Getenv("ZZ")}}))
			if os.Getenv("ZZM") != "" {
				mf()
				mf()
				t.Log(m.Run("ps", "axo", "pid,time,cmd", "--sort=time"))
				t.Log(m.Run("journalctl", "-b", "--no-pager", "-n", "20"))
			}
			t.Logf("all %v", time.Since(b))
		}
	}
}
