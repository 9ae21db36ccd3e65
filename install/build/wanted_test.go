package build_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/build"
)

// The rules are those of rdma-core 56: they name instances of a template, which is one file, and the target wants
// one more.
func TestWanted(t *testing.T) {
	const rules, units = "lib/udev/rules.d/", "lib/systemd/system/"
	p := build.Placed{Texts: map[string]string{
		rules + "90-rdma-ulp-modules.rules": `TAG+="systemd", ENV{SYSTEMD_WANTS}+="rdma-hw.target"
TAG+="systemd", ENV{ID_RDMA_ROCE}=="1", ENV{SYSTEMD_WANTS}+="rdma-load-modules@roce.service"
# ENV{SYSTEMD_WANTS}+="opensm.service"
`,
		rules + "60-rdma-ndd.rules":           `SUBSYSTEM=="infiniband", TAG+="systemd", ENV{SYSTEMD_WANTS}+="rdma-ndd.service absent.service"`,
		units + "rdma-hw.target":              "[Unit]\nWants=rdma-load-modules@rdma.service iwpmd.service\nBefore=network.target ibacm.service\n",
		units + "rdma-load-modules@.service":  "[Unit]\nWants=network-pre.target\n",
		units + "rdma-ndd.service":            "[Service]\nExecStart=/opt/rdma-core/56.1/sbin/rdma-ndd\n",
		units + "iwpmd.service":               "[Unit]\nWants=rdma-hw.target\nBindsTo=ibacm.service\n",
		units + "ibacm.service":               "",
		units + "opensm.service":              "",
		"etc/rdma/modules/rdma.conf":          "rdma_ucm\n",
		"lib/systemd/system/network.target.x": "",
	}}
	if diff := cmp.Diff([]string{"ibacm.service", "iwpmd.service", "rdma-hw.target", "rdma-load-modules@.service", "rdma-ndd.service"}, p.Wanted()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := (build.Placed{}).Wanted(); len(got) != 0 {
		t.Errorf("without rules %v is wanted", got)
	}
}
