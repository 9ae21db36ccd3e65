package holdings

import (
	"slices"
	"testing"

	"github.com/rdmactl/rdmactl/detect"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// TestImportedRepositoryIsPlannedAgainst follows an administrator's mirror from the packages to the plan: what
// it holds for this system counts as present, and on any other system it counts for nothing.
func TestImportedRepositoryIsPlannedAgainst(t *testing.T) {
	l := newLab(t)
	need(t, "rpmbuild", "rpmsign", "createrepo_c")
	apt := imported(t, l.docaApt(), l.options())
	dir := t.TempDir()
	l.mlnxRPMs(dir)
	l.createrepo(dir, "vendor")
	rpm := imported(t, dir, l.options())

	data, err := Document([]matrix.Holding{apt, rpm})
	if err != nil {
		t.Fatal(err)
	}
	mirror, err := matrix.Load("mirror.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	base, err := matrix.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	merged, err := matrix.Merge(base, mirror)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		matrix         *matrix.Matrix
		id, version    string
		kernel, card   string
		stack, release string
		status         plan.Status
	}{
		"the system of the apt mirror":      {merged, "ubuntu", "22.04", debKernel, "1017", "doca-ofed", "2.9.1", plan.Present},
		"without the mirror":                {base, "ubuntu", "22.04", debKernel, "1017", "inbox", "", plan.Present},
		"another release":                   {merged, "ubuntu", "24.04", "6.8.0-31-generic", "1017", "inbox", "", plan.Present},
		"a card that the release lacks":     {merged, "ubuntu", "22.04", debKernel, "1023", "inbox", "", plan.Present},
		"the system of the rpm mirror":      {merged, "rhel", "9.4", rpmKernel, "1017", "mlnx-ofed", "24.10-1.1.4.0", plan.Present},
		"the mirror's system, other kernel": {merged, "ubuntu", "22.04", "6.8.0-1018-azure", "1017", "doca-ofed", "2.9.1", plan.Present}, // by DKMS
	} {
		t.Run(name, func(t *testing.T) {
			index, err := matrix.NewIndex(tc.matrix)
			if err != nil {
				t.Fatal(err)
			}
			docs, err := host.ParseEvidence("host", []byte("apiVersion: rdmactl/v1\nkind: Evidence\nfiles:\n  /etc/os-release: |\n    ID="+tc.id+"\n    VERSION_ID=\""+tc.version+"\"\n"+
				"commands:\n  uname -s: {stdout: \"Linux\\n\"}\n  uname -m: {stdout: \"x86_64\\n\"}\n  uname -r: {stdout: \""+tc.kernel+"\\n\"}\n"+
				"  lspci -nn: {stdout: \"0000:3b:00.0 Ethernet controller [0200]: Mellanox Technologies ConnectX [15b3:"+tc.card+"]\\n\"}\n"))
			if err != nil {
				t.Fatal(err)
			}
			lts, err := profiles.Load("lts")
			if err != nil {
				t.Fatal(err)
			}
			p, err := plan.Make(detect.Host(t.Context(), host.NewReplay(docs[0])), lts, index, plan.Request{Date: "2026-11-30"})
			if err != nil {
				t.Fatal(err)
			}
			if p.Chosen == nil || p.Chosen.Stack != tc.stack || p.Chosen.Version != tc.release || p.Chosen.Status != tc.status {
				t.Errorf("chosen %+v, want %s %s %s\n%s\n%+v", p.Chosen, tc.stack, tc.release, tc.status, p.Summary, p.Stacks)
			}
			for _, s := range p.Steps { // the rpm mirror's index is signed, and dnf is told to check that
				if r := s.Changes.Repository; r != nil && r.SignedIndex != (tc.stack == "mlnx-ofed") {
					t.Errorf("the repository is %+v", *r)
				}
			}
		})
	}
}

// TestEachReleaseOfAMirrorIsPlanned chooses either release of one index, with its own packages and kernels.
func TestEachReleaseOfAMirrorIsPlanned(t *testing.T) {
	l := newLab(t)
	dir := l.mirrorDebs()
	opts := l.options()
	got, err := Import(t.Context(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	data, err := Document(got.Holdings)
	if err != nil {
		t.Fatal(err)
	}
	mirror, err := matrix.Load("mirror.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	base, err := matrix.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	merged, err := matrix.Merge(base, mirror)
	if err != nil {
		t.Fatal(err)
	}
	index, err := matrix.NewIndex(merged)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := host.ParseEvidence("host", []byte("apiVersion: rdmactl/v1\nkind: Evidence\nfiles:\n  /etc/os-release: |\n    ID=ubuntu\n    VERSION_ID=\"22.04\"\n"+
		"commands:\n  uname -s: {stdout: \"Linux\\n\"}\n  uname -m: {stdout: \"x86_64\\n\"}\n  uname -r: {stdout: \""+debKernel+"\\n\"}\n"+
		"  lspci -nn: {stdout: \"0000:3b:00.0 Ethernet controller [0200]: Mellanox Technologies ConnectX [15b3:1017]\\n\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	lts, err := profiles.Load("lts")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range got.Holdings {
		var bytes int64
		for _, p := range h.Packages {
			bytes += p.Bytes
		}
		p, err := plan.Make(detect.Host(t.Context(), host.NewReplay(docs[0])), lts, index, plan.Request{Date: "2026-11-30", Stack: "mlnx-ofed", Version: h.Version})
		if err != nil {
			t.Fatal(err)
		}
		if p.Chosen == nil || p.Chosen.Version != h.Version || p.Chosen.Status != plan.Present {
			t.Errorf("chosen %+v, want %s\n%s", p.Chosen, h.Version, p.Summary)
			continue
		}
		at := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return s.ID == "packages" })
		if at < 0 || p.Steps[at].Bytes != bytes || bytes == 0 {
			t.Errorf("%s: %d bytes wanted, steps %+v", h.Version, bytes, p.Steps)
		}
	}
	if len(got.Holdings) != 2 {
		t.Errorf("%d holdings", len(got.Holdings))
	}
}
