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
	// codes must be among the reasons or warnings that the plan gives; says are parts of its words, and unsaid
	// are parts or codes that it must not have.
	codes, says, unsaid []string
	// steps must be there, in this order.
	steps []string
	// never must not be proposed, nor offered as what to type next: a stack, or "stack version".
	never []string
	twins []twin
}

// twin changes a report in the one thing that decides. What is gone must be in the plan for the report, and not
// in that for the twin: codes, or words.
type twin struct {
	change []string // old, new, ...
	gone   []string
}

func vendors() []string { return []string{"mlnx-ofed", "doca-ofed"} }

func planCases() map[string]answer {
	return map[string]answer{
		"07-azure4151041-builtin-mlx-cores": {
			verdict: plan.Refuse, codes: []string{"drivers-built-into-kernel"},
			says: []string{
				"CONFIG_MLX4_CORE", "CONFIG_MLX5_CORE", "=y", "no module of any release", "inbox (rdma-core on these drivers) serves",
				"a kernel that has them as modules (=m)", "--profile inbox",
			},
			never: vendors(), unsaid: []string{"module-missing", "not loaded"},
			twins: []twin{{[]string{"CORE=y", "CORE=m"}, []string{"drivers-built-into-kernel"}}},
		},
		"19-cx3-ofed49lts-kernel514rc5": {
			verdict: plan.Refuse, codes: []string{"card-not-served", "kernel-breaks-build"},
			says: []string{
				"ConnectX-3", "4.9 LTS, the only branch with mlx4", "does not build on kernels from 5.6 on", "5.14.0-rc5",
				"no DOCA release serves ConnectX-3", "the kernel's own mlx4 with rdma-core, or a kernel before 5.6", "--profile inbox",
			},
			never: vendors(),
			twins: []twin{{[]string{"5.14.0-rc5", "4.15.0-20-generic"}, []string{"kernel-breaks-build"}}},
		},
		"20-ub2004-ofed54-point-release": {
			verdict: plan.Install, stack: "mlnx-ofed", versions: []string{"5.4-3.7.5.0"},
			codes: []string{"kernel-outside-matrix", "unknown-combination"},
			says:  []string{"-rc kernels are outside every support matrix", "5.4-3.1.0.0 does not build on kernel 5.14"},
			steps: []string{"build-modules", "packages", "initramfs", "activate"},
			never: []string{"mlnx-ofed 5.4-3.1.0.0"},
			twins: []twin{{[]string{"5.14.0-rc5", "5.4.0-26-generic"}, []string{"kernel-outside-matrix", "5.4-3.1.0.0 does not build"}}},
		},
		"23-dgx-oam-on-connectx-restart": {
			verdict: plan.Install, stack: "doca-ofed", versions: []string{"3."},
			codes:  []string{"management-over-rdma"},
			says:   []string{"bond0", "mlx5_core", "cuts the host off", "at the next boot", "maintenance window", "out-of-band console"},
			steps:  []string{"packages", "initramfs", "activate"},
			unsaid: []string{"restart openibd", "replace the RDMA modules in memory"},
			twins:  []twin{{[]string{"dev bond0", "dev eth9"}, []string{"management-over-rdma", "cuts the host off"}}},
		},
		"40-rhel8-efa-bundle-vs-os-libs": {
			verdict: plan.Refuse, codes: []string{"foreign-hardware", "user-space-mixed"},
			says: []string{
				"Elastic Fabric Adapter", "1d0f:efa1", "another vendor's RDMA card, and no ConnectX or BlueField is there", "stacks of ConnectX cards do not serve it", "provider efa",
				"half from the distribution (libibverbs 44.0-2.el8.1, librdmacm 44.0-2.el8.1)", "half from a bundle or other repository, as efa_installer.sh tells",
				"libibverbs-utils, rdma-core-devel from the distribution as well",
			},
			never: vendors(),
			twins: []twin{
				{[]string{"[1d0f:efa1]", "[15b3:1017]"}, []string{"foreign-hardware"}},
				{[]string{"44.0-2.el8.1", "43.0-1.el8"}, []string{"user-space-mixed"}}, // both halves of one build
			},
		},
		"41-efa-with-ofed-kernel-warning": {
			verdict: plan.Refuse, codes: []string{"foreign-hardware"},
			says: []string{
				"Elastic Fabric Adapter", "1d0f:efa2", "another vendor's RDMA card, and no ConnectX or BlueField is there", "mlnx-ofed is on this host", "its ib_core keeps the card's driver from loading",
				"uninstall it", "go back to the kernel's own ib_core",
			},
			never: vendors(),
			twins: []twin{{[]string{"[1d0f:efa2]", "[15b3:1017]"}, []string{"foreign-hardware"}}},
		},
		"83-lx2160a-no-headers": {
			verdict: plan.Refuse, codes: []string{"headers-missing"},
			says: []string{
				"the headers of kernel 5.10.35 are not there", "no package of ubuntu 20.04 can supply them", "Modules built against other headers do not fit",
				"The kernel's own drivers with rdma-core (inbox) serve", "an image with the headers of the same build", "--profile inbox",
			},
			never: vendors(), unsaid: []string{"headers-to-install"},
			twins: []twin{{[]string{"  ls /lib/modules/5.10.35/build: {stderr: \"ls: cannot access '/lib/modules/5.10.35/build': No such file or directory\\n\", exit: 2}\n", ""}, []string{"headers-missing"}}},
		},
		"87-gh200-611-64k-mlnx-nvme": {
			verdict: plan.Refuse, codes: []string{"optional-modules-fail", "kernel-not-covered"},
			says: []string{
				"6.11.0-1003-nvidia-64k", "flavour nvidia-64k", "25.1.0 predates kernel 6.11", "mlnx-nvme, an optional package, fails to build",
				"without the NVMe-oF and NFS over RDMA modules", "a newer release that lists this line of kernels",
				"the headers of the kernel are there (linux-headers-6.11.0-1003-nvidia-64k), and only that fails",
			},
			never: vendors(), unsaid: []string{"headers-missing", "headers-not-told", "headers-to-install"},
			twins: []twin{
				{[]string{"6.11.0-1003-nvidia-64k", "6.8.0-31-generic"}, []string{"optional-modules-fail"}},
				{[]string{"{stdout: \"linux-headers-6.11.0-1003-nvidia-64k ", "{stdout: \"linux-headers-6.8.0-31-generic "}, []string{"the headers of the kernel are there"}},
			},
		},
		"89-azure-ncv3-cx3pro-vf": {
			verdict: plan.Install, stack: "inbox",
			says: []string{
				"ConnectX-3 or ConnectX-3 Pro (a virtual function)", "mlx4_ib", "ib_ipoib", "rdma-core", "ends with MLNX_OFED 4.9 LTS",
				"card and firmware belong to the machine below", "without a firmware update", "--stack mlnx-ofed names it, if what only the vendor's stack has is needed",
			},
			steps: []string{"packages", "load-modules"},
			never: []string{"mlnx-ofed 5", "mlnx-ofed 2", "doca-ofed"},
			twins: []twin{{[]string{"[ConnectX-3/ConnectX-3 Pro Virtual Function] [15b3:1004]", "[ConnectX-3] [15b3:1003]"}, []string{"never-chosen", "(a virtual function)"}}},
		},
		"90-connectx2-en-dropped-stream": {
			verdict: plan.Refuse, codes: []string{"device-dropped", "card-not-served"},
			says: []string{
				"ConnectX-2 [15b3:6750]", "the EL 8 kernel dropped ConnectX-2", "no vendor stack serves it", "stay on EL 7", "third-party kmod or a mainline kernel", "replace the card",
			},
			never: []string{"mlnx-ofed", "doca-ofed", "inbox"},
			twins: []twin{{[]string{"15b3:6750", "15b3:1017", "MT26448", "MT27800"}, []string{"device-dropped"}}},
		},
		"93-rocky85-distro-override": {
			verdict: plan.Install, stack: "mlnx-ofed", codes: []string{"rebuild-of-rhel", "packages-replaced"},
			says: []string{
				"judged as RHEL 8.5", "--distro RHEL8.5", "rhel8.5", "this is unofficial", "the group Infiniband Support", "--add-kernel-support",
				"the initramfs must be made anew", "no other minor release will do",
			},
			steps:  []string{"build-modules", "packages", "initramfs"},
			unsaid: []string{"kernel-devel-4.18.0", "createrepo: modules are compiled", "RHEL8.4", "RHEL8.6", "RHEL 8.4", "RHEL 8.6", "rhel8.4", "rhel8.6", "RHEL8.10"},
			twins:  []twin{{[]string{"ID=\"rocky\"", "ID=\"rhel\""}, []string{"rebuild-of-rhel", "unofficial"}}},
		},
		"94-rhel73-inbox-userspace": {
			verdict: plan.Install, stack: "inbox",
			says: []string{
				"libibverbs", "librdmacm", "libmlx4", "rdma: the service that loads the RDMA modules", "enable and start rdma.service", "stop and disable rdma.service",
				"the user space is missing, no verbs library is installed", "the service is missing with its package",
			},
			steps: []string{"packages", "boot-service"},
			never: vendors(),
			twins: []twin{
				{[]string{"libvma-8.1.4-1.el7.x86_64\\n", "libvma-8.1.4-1.el7.x86_64\\nrdma-7.3_4.7_rc2-5.el7.noarch\\nlibibverbs-1.2.1-1.el7.x86_64\\n"}, []string{"the user space is missing", "the service is missing"}},
				{[]string{"7.3", "7.4", "3.10.0-514.el7", "3.10.0-693.el7"}, []string{"rdma.service", "libmlx4"}}, // rdma-core loads modules by udev and units of its own
				{[]string{"7.3", "9.4", "3.10.0-514.el7", "5.14.0-427.13.1.el9_4"}, []string{"rdma.service"}},
			},
		},
		"95-freebsd11-ibm-cx2": {
			verdict: plan.Refuse, codes: []string{"not-linux"}, says: []string{"Linux only"},
			never: plan.StackNames(), unsaid: []string{"firmware", "sudo"},
			twins: []twin{{[]string{`{stdout: "FreeBSD\n"}`, `{stdout: "Linux\n"}`, "11.4-RELEASE", "6.1.0-50-amd64"}, []string{"not-linux"}}},
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
			want.check(t, got, words)
			if t.Failed() {
				t.Log(words)
			}
			if len(want.twins) == 0 {
				t.Error("there is no twin: nothing shows that another host gets another answer")
			}
			for _, twin := range want.twins {
				twin.check(t, known, name, text, got)
			}
		})
	}
}

func (want answer) check(t *testing.T, got plan.Plan, words string) {
	t.Helper()
	if got.Verdict != want.verdict && !(want.verdict == plan.Install && got.Verdict == plan.NothingToDo) {
		t.Errorf("verdict %s, want %s", got.Verdict, want.verdict)
	}
	if got.Verdict == plan.Refuse && (got.Chosen != nil || len(got.Steps) > 0) {
		t.Errorf("a refusal with the choice %v and %d steps", got.Chosen, len(got.Steps))
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
	for _, unsaid := range want.unsaid {
		if has(t, got, unsaid) {
			t.Errorf("%q is said", unsaid)
		}
	}
	at := 0
	for _, id := range want.steps {
		i := slices.IndexFunc(got.Steps[at:], func(s plan.Step) bool { return s.ID == id })
		if i < 0 {
			t.Fatalf("no step %s, or not in this place", id)
		}
		at += i + 1
	}
	for _, never := range want.never {
		if got.Chosen != nil && strings.HasPrefix(got.Chosen.Stack+" "+got.Chosen.Version, never) {
			t.Errorf("%s is proposed", never)
		}
		if slices.ContainsFunc(got.Next, func(h plan.Hint) bool { return strings.Contains(h.Command+" ", "--stack "+never+" ") }) {
			t.Errorf("%s is offered as what to type next", never)
		}
	}
}

func (tw twin) check(t *testing.T, known *matrix.Index, name, text string, original plan.Plan) {
	t.Helper()
	if len(tw.gone) == 0 {
		t.Error("nothing must be gone in the twin")
	}
	for i := 0; i < len(tw.change); i += 2 {
		if !strings.Contains(text, tw.change[i]) {
			t.Fatalf("the twin changes nothing: %q is not in the report", tw.change[i])
		}
	}
	other := planOf(t, known, name, strings.NewReplacer(tw.change...).Replace(text))
	for _, gone := range tw.gone {
		if !has(t, original, gone) {
			t.Errorf("%s is not in the answer itself, so that a twin without it shows nothing", gone)
		}
		if has(t, other, gone) {
			t.Errorf("the twin has %s as well:\n%s", gone, allWords(t, other))
		}
	}
}

// has says that a plan has a code, or words.
func has(t *testing.T, p plan.Plan, what string) bool {
	t.Helper()
	return slices.Contains(codes(p), what) || strings.Contains(allWords(t, p), what)
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
