// Package images runs the real program on real images: a root file system of Debian 12 that does not run,
// with a signed repository inside. It needs root, mmdebstrap and the machine's own package sources to make
// the root once, and runs with RDMACTL_ROOTS=1.
package images

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if skipped := skippedCount(); skipped > 0 {
		fmt.Printf("images: %d tests skipped: %s\n", skipped, skipReason())
	}
	os.Exit(code)
}
