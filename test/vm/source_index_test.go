package vm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArchiveOfSourceIndex(t *testing.T) {
	const entry = `Package: rdma-core
Version: 56.1-1
Files:
 a4086d5f85cad79218d4bc627a09c8af 2192894 rdma-core_56.1.orig.tar.gz
Checksums-Sha256:
 329f 3201 rdma-core_56.1-1.dsc
 63ce 2192894 rdma-core_56.1.orig.tar.gz
 77aa 833 rdma-core_56.1.orig.tar.gz.asc
 4e27 32760 rdma-core_56.1-1.debian.tar.xz
Directory: pool/main/r/rdma-core
`
	const older = "\nPackage: rdma-core\nChecksums-Sha256:\n 1111 1 rdma-core_44.0.orig.tar.gz\n"
	got, err := archive("\n" + entry + older)
	if diff := cmp.Diff(Source{Version: "56.1", File: "rdma-core_56.1.orig.tar.gz", SHA256: "63ce"}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for _, text := range []string{"", "Package: rdma-core\n", "Package: rdma-core\nFiles:\n a4 2 rdma-core_56.1.orig.tar.gz\n" + older} {
		if got, err := archive(text); err == nil {
			t.Errorf("%q gives %+v", text, got)
		}
	}
}
