package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/detect"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

func builtInIndex(t *testing.T) *matrix.Index {
	t.Helper()
	known, err := (&wishOptions{}).loadMatrix()
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// TestDescribedHost: what a person writes becomes what os-release, the files beside it and uname tell.
func TestDescribedHost(t *testing.T) {
	known := builtInIndex(t)
	for _, tt := range []struct {
		id, version, arch string
		wantID, want      string // "VERSION_ID point pack"
		kernel            string
		note              string
	}{
		{"rhel", "9.4", "x86_64", "rhel", "9.4", "5.14.0-427.13.1.el9_4.x86_64", "the first one of rhel 9.4"},
		{"RHEL", "9.4", "aarch64", "rhel", "9.4", "5.14.0-427.13.1.el9_4.aarch64", ""},
		{"rocky", "9.4", "x86_64", "rocky", "9.4", "5.14.0-427.13.1.el9_4.x86_64", "of which rocky is a rebuild"},
		{"almalinux", "8.10", "arm64", "almalinux", "8.10", "4.18.0-553.el8_10.aarch64", ""},
		{"rocky", "9", "x86_64", "rocky", "9", "", "no kernel of rocky 9 is known"},
		{"centos", "7.9.2009", "x86_64", "centos", "7 7.9.2009", "3.10.0-1160.el7.x86_64", ""},
		{"centos", "9", "x86_64", "centos", "9", "5.14.0-407.el9.x86_64", "which the table of mlnx-ofed"}, // Stream
		{"almalinux", "9", "x86_64", "almalinux", "9", "", "a minor release (--version-id 9.N)"},
		{"ol", "8.6", "x86_64", "ol", "8.6", "5.4.17-2136.307.3.1.el8uek.x86_64", "vendors' tables print for ol 8.6"},
		{"ol", "9.4", "x86_64", "ol", "9.4", "5.14.0-427.13.1.el9_4.x86_64", "beside UEK"},
		{"sles", "15.5", "x86_64", "sles", "15.5", "5.14.21-150500.53-default", ""},
		{"sles", "15-SP5", "x86_64", "sles", "15.5", "5.14.21-150500.53-default", ""},
		{"SLES", "15sp5", "x86_64", "sles", "15.5", "5.14.21-150500.53-default", ""},
		{"sles", "15", "x86_64", "sles", "15", "4.12.14-23-default", "the first one of sles 15.0"},
		{"sles", "15.9", "x86_64", "sles", "15.9", "", "no kernel of sles 15.9 is known"},
		{"openEuler", "22.03-LTS-SP3", "x86_64", "openeuler", "22.03 SP3", "5.10.0-182.0.0.95.oe2203sp3.x86_64", ""},
		{"openEuler", "22.03", "aarch64", "openeuler", "22.03", "5.10.0-60.18.0.50.oe2203.aarch64", ""},
		{"debian", "12.5", "x86_64", "debian", "12 12.5", "6.1.0-50-amd64", "the one of the archive of debian 12"},
		{"debian", "12", "amd64", "debian", "12", "6.1.0-50-amd64", "apt-cache show linux-image-amd64"},
		{"debian", "12", "x86_64", "debian", "12", "6.1.0-50-amd64", "name point releases of debian 12 (12.5)"},
		{"debian", "13", "x86_64", "debian", "13", "6.12.117+deb13-amd64", "the one of the archive of debian 13"},
		{"debian", "13", "aarch64", "debian", "13", "", "it may be --kernel 6.12.117+deb13-arm64"},
		{"debian", "12", "ppc64le", "debian", "12", "", "only 6.1.0-50-amd64 of x86_64"},
		{"debian", "14", "x86_64", "debian", "14", "", "only its line 7.2.12-1"},
		{"opensuse-leap", "15.6", "x86_64", "opensuse-leap", "15.6", "6.4.0-150600.21-default", "closing-the-leap-gap"},
		{"opensuse-leap", "15.3", "aarch64", "opensuse-leap", "15.3", "5.3.18-57-default", ""},
		{"opensuse-leap", "15.2", "x86_64", "opensuse-leap", "15.2", "", "no kernel of opensuse-leap 15.2 is known"}, // built anew from SLES's sources
		{"ubuntu", "25.10", "x86_64", "ubuntu", "25.10", "", "only its line 6.17"},
		{"debian", "11.3", "x86_64", "debian", "11 11.3", "5.10.0-13-amd64", "which the table of mlnx-ofed"},
		{"debian", "11.3", "aarch64", "debian", "11 11.3", "5.10.0-13-arm64", ""},
		{"debian", "10.8", "x86_64", "debian", "10 10.8", "4.19.0-14-amd64", ""}, // not 5.4.56+ of another table
		{"debian", "11", "x86_64", "debian", "11", "5.10.0-32-amd64", ""},
		{"debian", "9", "x86_64", "debian", "9", "", "no kernel of debian 9 is known, so what depends on the kernel is unknown here; --kernel RELEASE names one as uname -r prints it, such as X.Y.0-NN-amd64"},
		{"ubuntu", "24.04", "x86_64", "ubuntu", "24.04", "6.8.0-31-generic", ""},
		{"ubuntu", "26.04", "x86_64", "ubuntu", "26.04", "", "only its line 7.0"},
		{"plan9", "4", "x86_64", "plan9", "4", "", `the matrix knows no distribution "plan9"`},
	} {
		t.Run(tt.id+" "+tt.version+" "+tt.arch, func(t *testing.T) {
			h, err := describe(known, tt.id, tt.version, tt.arch)
			if err != nil {
				t.Fatal(err)
			}
			h.setDefaultKernel(known)
			docs, err := host.ParseEvidence("described", h.evidence())
			if err != nil {
				t.Fatal(err)
			}
			f := fresh(detect.Host(t.Context(), host.NewReplay(docs[0])))
			told := strings.Join(strings.Fields(f.Distro.VersionID.Or("")+" "+f.Distro.PointRelease.Or("")+" "+f.Distro.ServicePack.Or("")), " ")
			if f.Distro.ID.Or("") != tt.wantID || told != tt.want {
				t.Errorf("it is %s %q, want %s %q", f.Distro.ID.Or(""), told, tt.wantID, tt.want)
			}
			if got := f.Kernel.Release.Or(""); got != tt.kernel {
				t.Errorf("kernel %q, want %q", got, tt.kernel)
			}
			if notes := strings.Join(h.notes, "\n"); notes == "" || !strings.Contains(notes, tt.note) {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
			// A kernel of the distribution has its headers there, to be installed; of no kernel nothing is known.
			if f.Kernel.Headers.IsAbsent() != (tt.kernel != "") {
				t.Errorf("headers %+v of %q", f.Kernel.Headers, tt.kernel)
			}
			if !f.Packages.Installed.IsAbsent() {
				t.Errorf("packages %+v", f.Packages.Installed)
			}
		})
	}
	for _, version := range []string{"15-SP", "15sp5x", "15.5sp1"} {
		if _, err := describe(known, "sles", version, "x86_64"); err == nil || !strings.Contains(err.Error(), "is no version of sles") {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// TestFreshKernelOfTheUser: where the headers of a kernel are that no distribution made, nothing tells.
func TestFreshKernelOfTheUser(t *testing.T) {
	h, err := describe(builtInIndex(t), "ubuntu", "24.04", "x86_64")
	if err != nil {
		t.Fatal(err)
	}
	h.kernel = "6.9.1-mine+"
	docs, err := host.ParseEvidence("described", h.evidence())
	if err != nil {
		t.Fatal(err)
	}
	if f := fresh(detect.Host(t.Context(), host.NewReplay(docs[0]))); !f.Kernel.Headers.IsUnknown() {
		t.Errorf("headers %+v", f.Kernel.Headers)
	}
}

// TestQueryVerdicts compares what the default kernel makes of a system with what another kernel makes.
func TestQueryVerdicts(t *testing.T) {
	ask := func(args ...string) (plan.Comparison, string) {
		t.Helper()
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"matrix", "query", "--date", "2026-11-30", "--card", "connectx-6-dx", "-o", "json"}, args...), streams{in: strings.NewReader(""), out: &out, err: &errs})
		if code != 0 {
			t.Fatalf("exit %d: %s", code, errs.String())
		}
		checkSchema(t, out.Bytes())
		var c plan.Comparison
		if err := json.Unmarshal(out.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		return c, errs.String()
	}
	status := func(c plan.Comparison, stack string) string {
		for _, s := range c.Stacks {
			if s.Stack.Stack == stack {
				if s.Goes == nil || len(s.Goes) > 0 {
					t.Errorf("%s: of a fresh host would go %v", stack, s.Goes)
				}
				return string(s.Status)
			}
		}
		return ""
	}
	for _, tt := range []struct {
		args           []string
		stack, want    string
		chosen, stderr string
	}{
		{[]string{"--distro", "sles", "--version-id", "15.5"}, "mlnx-ofed", "supported", "mlnx-ofed", "5.14.21-150500.53-default"},
		{[]string{"--distro", "sles", "--version-id", "15.5", "--kernel", "6.9.1-mine"}, "mlnx-ofed", "unknown", "inbox", ""},
		{[]string{"--distro", "ol", "--version-id", "8.6"}, "mlnx-ofed", "supported", "mlnx-ofed", "uek"},
		{[]string{"--distro", "Debian", "--version-id", "11.3"}, "mlnx-ofed", "supported", "mlnx-ofed", "5.10.0-13-amd64"},
		{[]string{"--distro", "rhel", "--version-id", "9.4", "--profile", "inbox"}, "inbox", "present", "inbox", ""},
		{[]string{"--distro", "rhel", "--version-id", "9.4", "--stack", "rdma-core"}, "rdma-core", "supported", "rdma-core", ""},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			c, stderr := ask(tt.args...)
			if got := status(c, tt.stack); got != tt.want || c.Chosen != tt.chosen {
				t.Errorf("%s is %s, chosen %s; want %s, %s", tt.stack, got, c.Chosen, tt.want, tt.chosen)
			}
			if !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && strings.Contains(stderr, "is known") {
				t.Errorf("stderr %q, want %q", stderr, tt.stderr)
			}
		})
	}
}
