// Package bundles makes bundles for a Debian 12 that does not run, from a signed mirror that the test serves, and
// installs it from them with that mirror out of reach. It needs root, mmdebstrap and the machine's own package
// sources, and runs with RDMACTL_ROOTS=1. Hosts with dnf are in test/rpmhosts.
package bundles

import (
	"os"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// lab has the program for all tests here.
var lab = rootlab.New("bundles")

func TestMain(m *testing.M) { os.Exit(lab.Main(m)) }
