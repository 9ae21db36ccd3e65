// Package sourcebuild builds rdma-core from real upstream source in a Debian root and looks at what the root
// is afterwards. It needs root, mmdebstrap and the machine's own package sources, and runs with
// RDMACTL_ROOTS=1.
package sourcebuild

import (
	"os"
	"testing"

	"github.com/rdmactl/rdmactl/host"
)

func TestMain(m *testing.M) {
	// A Rooted starts its own program again to enter the image.
	if len(os.Args) > 1 && os.Args[1] == host.ImageExecCommand {
		os.Exit(host.RootedChild(os.Args[2:]))
	}
	os.Exit(lab.Main(m))
}
