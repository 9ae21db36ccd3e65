package apt

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestErrorLinesTellTheCause has what dpkg 1.21 says on a full disk: the cause is on a line of its own, set in.
func TestErrorLinesTellTheCause(t *testing.T) {
	const stderr = `dpkg: error processing archive /tmp/apt-dpkg-install-4bH8xv/0-rdma-core_44.0-2_amd64.deb (--unpack):
 cannot copy extracted data for './usr/sbin/rdma-ndd' to '/usr/sbin/rdma-ndd.dpkg-new': failed to write (No space left on device)
dpkg-deb: error: paste subprocess was killed by signal (Broken pipe)
Errors were encountered while processing:
 /tmp/apt-dpkg-install-4bH8xv/0-rdma-core_44.0-2_amd64.deb
E: Sub-process /usr/bin/dpkg returned an error code (1)
`
	want := []string{
		"dpkg: error processing archive /tmp/apt-dpkg-install-4bH8xv/0-rdma-core_44.0-2_amd64.deb (--unpack): cannot copy extracted data for './usr/sbin/rdma-ndd' to '/usr/sbin/rdma-ndd.dpkg-new': failed to write (No space left on device)",
		"E: Sub-process /usr/bin/dpkg returned an error code (1)",
	}
	if diff := cmp.Diff(want, errorLines(stderr, "")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const other = "dpkg: error processing package x (--configure):\nE: Sub-process /usr/bin/dpkg returned an error code (1)\n indented, of nobody\n"
	if diff := cmp.Diff([]string{"dpkg: error processing package x (--configure):", "E: Sub-process /usr/bin/dpkg returned an error code (1)"}, errorLines(other, "")); diff != "" {
		t.Errorf("a line that is not the cause (-want +got):\n%s", diff)
	}
}
