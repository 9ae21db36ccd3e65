// Package cases replays public reports: each file of testdata is a host as its owner described it, with
// what was asked for, and the answers are what an expert with all vendor pages open would say.
package cases

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/detect"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// answer is what a plan must say about one report.
type answer struct {
	verdict plan.Verdict
	// stack and versions are the choice; versions are prefixes, any of them, empty where inbox is chosen.
	stack    string
	versions []string
	// codes must be among the reasons or warnings that the plan gives; says are parts of its words.
	codes, says []string
	// never must not be proposed: a stack, or "stack version".
	never []string
	// twin changes the report in the one thing that decides, and gone are codes that must not be there then.
	twin []string // old, new, ...
	gone []string
}

func planCases() map[string]answer {
	return map[string]answer{
		"07-azure4151041-builtin-mlx-cores": {
			verdict: plan.Refuse, codes: []string{"drivers-built-into-kernel"},
			says:  []string{"CONFIG_MLX4_CORE", "CONFIG_MLX5_CORE", "=y", "no module of any release", "--profile inbox"},
			never: []string{"mlnx-ofed", "doca-ofed"},
			twin:  []string{"CORE=y", "CORE=m"}, gone: []string{"drivers-built-into-kernel"},
		},
		"19-cx3-ofed49lts-kernel514rc5": {
			verdict: plan.Refuse, codes: []string{"card-not-served", "kernel-breaks-build"},
			says:  []string{"ConnectX-3", "4.9 LTS", "5.6", "5.14.0-rc5", "--profile inbox"},
			never: []string{"mlnx-ofed", "doca-ofed"},
			twin:  []string{"5.14.0-rc5", "4.15.0-20-generic"}, gone: []string{"kernel-breaks-build"},
		},
		"20-ub2004-ofed54-point-release": {
			verdict: plan.Install, stack: "mlnx-ofed", versions: []string{"5.4-3.7.5.0"},
			codes: []string{"kernel-outside-matrix", "unknown-combination"}, says: []string{"-rc kernels are outside every support matrix", "5.4-3.1.0.0"},
			never: []string{"mlnx-ofed 5.4-3.1.0.0"},
			twin:  []string{"5.14.0-rc5", "5.4.0-26-generic"}, gone: []string{"kernel-outside-matrix"},
		},
		"23-dgx-oam-on-connectx-restart": {
			verdict: plan.Install, stack: "doca-ofed", versions: []string{"3."},
			codes: []string{"management-over-rdma"}, says: []string{"bond0", "mlx5_core", "maintenance window", "out-of-band console"},
			twin: []string{"dev bond0", "dev eth9"}, gone: []string{"management-over-rdma"},
		},
		"40-rhel8-efa-bundle-vs-os-libs": {
			verdict: plan.Refuse, codes: []string{"foreign-hardware"}, says: []string{"Elastic Fabric Adapter", "1d0f:efa1", "provider efa"},
			never: []string{"mlnx-ofed", "doca-ofed"},
			twin:  []string{"[1d0f:efa1]", "[15b3:1017]"}, gone: []string{"foreign-hardware"},
		},
		"41-efa-with-ofed-kernel-warning": {
			verdict: plan.Refuse, codes: []string{"foreign-hardware"}, says: []string{"Elastic Fabric Adapter", "1d0f:efa2", "uninstall it", "kernel's own ib_core"},
			never: []string{"mlnx-ofed", "doca-ofed"},
			twin:  []string{"[1d0f:efa2]", "[15b3:1017]"}, gone: []string{"foreign-hardware"},
		},
		"83-lx2160a-no-headers": {
			verdict: plan.Refuse, codes: []string{"headers-missing"}, says: []string{"5.10.35", "no package", "--profile inbox"},
			never: []string{"mlnx-ofed", "doca-ofed"},
			twin:  []string{"  ls /lib/modules/5.10.35/build: {stderr: \"ls: cannot access '/lib/modules/5.10.35/build': No such file or directory\\n\", exit: 2}\n", ""},
			gone:  []string{"headers-missing"},
		},
		"87-gh200-611-64k-mlnx-nvme": {
			verdict: plan.Refuse, codes: []string{"optional-modules-fail", "kernel-not-covered"},
			says:  []string{"6.11.0-1003-nvidia-64k", "flavour nvidia-64k", "mlnx-nvme", "optional", "without the NVMe-oF and NFS over RDMA modules", "newer release"},
			never: []string{"mlnx-ofed", "doca-ofed"},
			twin:  []string{"6.11.0-1003-nvidia-64k", "6.8.0-31-generic"}, gone: []string{"optional-modules-fail"},
		},
		"89-azure-ncv3-cx3pro-vf": {
			verdict: plan.Install, stack: "inbox", says: []string{"4.9", "virtual function"},
			never: []string{"mlnx-ofed 5", "doca-ofed"},
			twin:  []string{"[ConnectX-3/ConnectX-3 Pro Virtual Function] [15b3:1004]", "[ConnectX-3] [15b3:1003]"}, gone: []string{"never-chosen"},
		},
		"90-connectx2-en-dropped-stream": {
			verdict: plan.Refuse, codes: []string{"device-dropped", "card-not-served"}, says: []string{"ConnectX-2", "15b3:6750", "EL 7", "mainline kernel"},
			never: []string{"mlnx-ofed", "doca-ofed", "inbox"},
			twin:  []string{"15b3:6750", "15b3:1017", "MT26448", "MT27800"}, gone: []string{"device-dropped"},
		},
		"93-rocky85-distro-override": {
			verdict: plan.Install, stack: "mlnx-ofed", codes: []string{"rebuild-of-rhel"}, says: []string{"RHEL 8.5", "unofficial", "Infiniband Support", "--add-kernel-support", "initramfs"},
			twin: []string{"ID=\"rocky\"", "ID=\"rhel\""}, gone: []string{"rebuild-of-rhel"},
		},
		"94-rhel73-inbox-userspace": {
			verdict: plan.Install, stack: "inbox", says: []string{"libibverbs", "librdmacm"},
			never: []string{"mlnx-ofed"},
		},
		"95-freebsd11-ibm-cx2": {
			verdict: plan.Refuse, codes: []string{"not-linux"}, says: []string{"Linux only"},
			never: []string{"inbox", "rdma-core", "ofed", "mlnx-ofed", "doca-ofed"},
			twin:  []string{`{stdout: "FreeBSD\n"}`, `{stdout: "Linux\n"}`, "11.4-RELEASE", "6.1.0-50-amd64"}, gone: []string{"not-linux"},
		},
	}
}

func TestPlans(t *testing.T) {
	known := index(t)
	for name, want := range planCases() {
		t.Run(name, func(t *testing.T) {
			text := report(t, name)
			got := planOf(t, known, name, text)
			words := allWords(t, got)
			if got.Verdict != want.verdict && !(want.verdict == plan.Install && got.Verdict == plan.NothingToDo) {
				t.Errorf("verdict %s, want %s", got.Verdict, want.verdict)
			}
			if want.stack != "" {
				switch {
				case got.Chosen == nil || got.Chosen.Stack != want.stack:
					t.Errorf("chosen %+v, want %s", got.Chosen, want.stack)
				case len(want.versions) > 0 && !slices.ContainsFunc(want.versions, func(v string) bool { return strings.HasPrefix(got.Chosen.Version, v) }):
					t.Errorf("chosen %s, want %q", got.Chosen.Version, want.versions)
				}
			}
			for _, code := range want.codes {
				if !slices.Contains(codes(got), code) {
					t.Errorf("code %s is missing among %q", code, codes(got))
				}
			}
			for _, says := range want.says {
				if !strings.Contains(words, says) {
					t.Errorf("%q is not said", says)
				}
			}
			for _, never := range want.never {
				if got.Chosen != nil && strings.HasPrefix(got.Chosen.Stack+" "+got.Chosen.Version, never) {
					t.Errorf("%s is proposed", never)
				}
			}
			if t.Failed() {
				t.Log(words)
			}
			if len(want.twin) == 0 {
				return
			}
			for i := 0; i < len(want.twin); i += 2 {
				if !strings.Contains(text, want.twin[i]) {
					t.Fatalf("the twin changes nothing: %q is not in the report", want.twin[i])
				}
			}
			changed := strings.NewReplacer(want.twin...).Replace(text)
			other := planOf(t, known, name, changed)
			for _, code := range want.gone {
				if slices.Contains(codes(other), code) {
					t.Errorf("the twin has %s as well:\n%s", code, allWords(t, other))
				}
			}
		})
	}
}

// TestEveryReport plans each report: whatever people send, the answer is complete and the same each time.
func TestEveryReport(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d reports, %v", len(files), err)
	}
	known := index(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		text := report(t, name)
		first, second := planOf(t, known, name, text), planOf(t, known, name, text)
		if diff := plan.Compare(first, second); len(diff) > 0 {
			t.Errorf("%s: not the same twice: %q", name, diff)
		}
		if len(first.Stacks) != len(plan.StackNames()) || first.Summary == "" {
			t.Errorf("%s: the answer is not complete: %+v", name, first)
		}
		for _, s := range first.Stacks {
			if len(s.Reasons) == 0 {
				t.Errorf("%s: %s has no reason", name, s.Stack)
			}
		}
	}
}

func index(t *testing.T) *matrix.Index {
	t.Helper()
	m, err := matrix.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	x, err := matrix.NewIndex(m)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func report(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// planOf plans as `rdmactl plan --evidence` does.
func planOf(t *testing.T, known *matrix.Index, name, text string) plan.Plan {
	t.Helper()
	docs, err := host.ParseEvidence(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	reader := host.NewReplay(docs[0])
	req := plan.Request{Date: "2026-11-30"}
	if told := docs[0].Request; told != nil {
		req.Stack, req.Version, req.Method, req.Profile, req.Kernel = told.Stack, told.Version, told.Method, told.Profile, told.TargetKernel
	}
	profile := req.Profile
	if profile == "" {
		profile = "lts"
	}
	p, err := profiles.Load(profile)
	if err != nil {
		t.Fatal(err)
	}
	got, err := plan.Make(detect.HostWithKernel(t.Context(), reader, req.Kernel), p, known, req)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func codes(p plan.Plan) []string {
	var out []string
	for _, list := range [][]plan.Reason{p.Reasons, p.Warnings} {
		for _, r := range list {
			out = append(out, r.Code)
		}
	}
	for _, s := range p.Stacks {
		for _, r := range s.Reasons {
			out = append(out, r.Code)
		}
	}
	return out
}

// allWords is what a person reads, in one line.
func allWords(t *testing.T, p plan.Plan) string {
	t.Helper()
	var b strings.Builder
	if err := plan.Render(&b, p, false); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
