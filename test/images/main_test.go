// Package images runs the real program on real images: a root file system of Debian 12 that does not run,
// with a signed repository inside. It needs root, mmdebstrap and the machine's own package sources to make
// the root once, and runs with RDMACTL_ROOTS=1.
package images

import (
	"os"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// lab has the program for all tests here.
var lab = rootlab.New("images")

func TestMain(m *testing.M) { os.Exit(lab.Main(m)) }
