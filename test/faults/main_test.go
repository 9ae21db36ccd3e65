// Package faults runs the real program on real images of Debian 12 and does to a run what can happen to it:
// SIGKILL before, inside and after every kind of step, a disk that fills up, a repository that goes away, a key
// that changes, and more. After each there is a way on and a way back, and nothing is lost. README.md tells
// which fault is proven where. It needs root, mmdebstrap and the machine's own package sources to make the roots
// once, and runs with RDMACTL_ROOTS=1.
package faults

import (
	"os"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// lab has the program for all tests here.
var lab = rootlab.New("faults")

func TestMain(m *testing.M) { os.Exit(lab.Main(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
