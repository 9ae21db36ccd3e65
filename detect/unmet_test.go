package detect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

func TestUnmetNeeds(t *testing.T) {
	const head = "apiVersion: rdmactl/v1\nkind: Evidence\ncommands:\n"
	for name, tc := range map[string]struct {
		commands string
		want     []facts.UnmetNeed
	}{
		"dnf": {
			`  installer.sh: {stderr: " Problem: conflicting requests\n  - nothing provides libibverbs(x86-64) = 43.0-1.el8 needed by libibverbs-utils-43.0-1.el8.x86_64\n", exit: 1}`,
			[]facts.UnmetNeed{{Package: "libibverbs-utils", Version: "43.0-1.el8", Needs: "libibverbs", NeedsVersion: "43.0-1.el8", Source: "installer.sh"}},
		},
		"rpm": {
			`  rpm -i x.rpm: {stderr: "error: Failed dependencies:\n\tlibrdmacm(x86-64) = 43.0-1.el8 is needed by rdma-core-devel-43.0-1.el8.x86_64\n", exit: 1}`,
			[]facts.UnmetNeed{{Package: "rdma-core-devel", Version: "43.0-1.el8", Needs: "librdmacm", NeedsVersion: "43.0-1.el8", Source: "rpm -i x.rpm"}},
		},
		"apt, the same line twice": {
			`  apt-get install x: {stdout: " libibverbs-dev : Depends: libibverbs1 (= 39.0-1) but 50.0-2 is to be installed\n libibverbs-dev : Depends: libibverbs1 (= 39.0-1) but 50.0-2 is to be installed\n", exit: 100}`,
			[]facts.UnmetNeed{{Package: "libibverbs-dev", Needs: "libibverbs1", NeedsVersion: "39.0-1", Source: "apt-get install x"}},
		},
		"any version would do":      {`  installer.sh: {stderr: "nothing provides libibverbs >= 43 needed by libibverbs-utils-43.0-1.el8.x86_64\n"}`, nil},
		"of no stack":               {`  installer.sh: {stderr: "nothing provides bash = 5.1-1.el8 needed by bash-doc-5.1-2.el8.x86_64\n"}`, nil},
		"not the name of a package": {`  installer.sh: {stderr: "nothing provides libibverbs = 43.0-1.el8 needed by somebody\n"}`, nil},
		"installed":                 {`  dnf install x: {stdout: "Installed:\n  libibverbs-utils-43.0-1.el8.x86_64\n"}`, nil},
		"nothing":                   {`  uname -r: {stdout: "6.1.0\n"}`, nil},
	} {
		docs, err := host.ParseEvidence(name, []byte(head+tc.commands+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := probe{ctx: t.Context(), r: host.NewReplay(docs[0])}.unmetNeeds()
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
