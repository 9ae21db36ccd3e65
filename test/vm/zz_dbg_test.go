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
			t.Log(m.Exec(vm.Cmd{Argv: []string{"bash", "-c", os.Getenv("ZZ")}}))
			t.Logf("all %v", time.Since(b))
		}
	}
}
