// Package rpmhosts runs the real program on file trees of hosts whose packages are RPMs: Rocky Linux 9 with dnf
// and openSUSE Leap 15.6 with zypper, for a vendor's releases under the name of SLES 15 SP6.
//
// The programs of a tree are Debian's, which has rpm, dnf and zypper too; dpkg and its database are taken out.
// What the rpm database holds, and what the signed repository offers, is real: a kernel with its modules, and
// rdma-core, perftest and mstflint of Debian 12, built into RPMs under the distribution's names, versions,
// splits and places. It needs root, mmdebstrap, rpmbuild and the machine's own package sources, and runs with
// RDMACTL_ROOTS=1.
package rpmhosts

import (
	"os"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
	"github.com/rdmactl/rdmactl/test/vm"
)

// lab has the program for all tests here.
var lab = rootlab.New("rpmhosts")

func TestMain(m *testing.M) { os.Exit(vm.Report(func() int { return lab.Main(m) })) }
