package plan_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// sideBySide is a host with the distribution's library and builds of some versions, of private ABI 64.
func sideBySide(active string, versions ...string) facts.Facts {
	f := facts.Facts{Origin: "live"}
	f.Userspace.Libibverbs = facts.Is([]facts.Libibverbs{{Path: "/usr/lib64/libibverbs.so.1", PrivateABI: facts.Is(34, "objdump")}}, "ld.so.conf")
	f.Userspace.Built = facts.None[[]facts.BuiltLibrary]("/opt/rdma-core")
	f.Managed = facts.None[map[string]string]("files named rdmactl below /etc")
	f.Platform.Systemd = facts.Is(true, "/run/systemd/system")
	for _, v := range versions {
		prefix := "/opt/rdma-core/" + v
		f.Userspace.Built = facts.Is(append(f.Userspace.Built.Value, facts.BuiltLibrary{
			Prefix: prefix, Path: prefix + "/lib/libibverbs.so.1", Version: facts.Is(v, prefix), PrivateABI: facts.Is(64, "objdump"),
			Providers: facts.Is([]facts.Provider{{Name: "mlx5", Path: prefix + "/lib/libibverbs/libmlx5-rdmav64.so", PrivateABI: 64}}, prefix),
			Active:    facts.Is(v == active, "ldconfig -p"),
		}), "/opt/rdma-core")
	}
	return f
}

func stepKinds(p plan.Plan) (out []plan.Kind) {
	for _, s := range p.Steps {
		out = append(out, s.Kind)
	}
	return out
}

func TestUse(t *testing.T) {
	whole := []plan.Kind{plan.KindUse, plan.KindVerify}
	for _, test := range []struct {
		name, stack, version string
		facts                facts.Facts
		verdict              plan.Verdict
		prefix               string
		steps                []plan.Kind
		code                 string
	}{
		{name: "a version", stack: "rdma-core", version: "64.0", facts: sideBySide("", "9.0", "64.0"), verdict: plan.Install, prefix: "/opt/rdma-core/64.0", steps: whole},
		{name: "the newest, by number", stack: "rdma-core", facts: sideBySide("", "9.0", "64.0", "56.1"), verdict: plan.Install, prefix: "/opt/rdma-core/64.0", steps: whole},
		{name: "by its directory", stack: "rdma-core", version: "/opt/rdma-core/9.0", facts: sideBySide("64.0", "9.0", "64.0"), verdict: plan.Install, prefix: "/opt/rdma-core/9.0", steps: whole},
		{name: "already", stack: "rdma-core", version: "64.0", facts: sideBySide("64.0", "64.0"), verdict: plan.NothingToDo},
		{name: "back", stack: "inbox", facts: sideBySide("64.0", "64.0"), verdict: plan.Install, steps: whole},
		{name: "back already", stack: "inbox", facts: sideBySide("", "64.0"), verdict: plan.NothingToDo},
		{name: "back, and nothing was built", stack: "inbox", facts: sideBySide(""), verdict: plan.NothingToDo},
		{name: "not built", stack: "rdma-core", version: "60.0", facts: sideBySide("", "64.0"), code: "not-built"},
		{name: "nothing built", stack: "rdma-core", facts: sideBySide(""), code: "not-built"},
		{name: "another stack", stack: "mlnx-ofed", facts: sideBySide("", "64.0"), code: "usage"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := plan.Use(test.facts, test.stack, test.version)
			var f *fault.Error
			if test.code != "" {
				if !errors.As(err, &f) || f.Code != test.code || f.Hint == "" {
					t.Errorf("%v, want %s", err, test.code)
				}
				return
			}
			if err != nil || p.Verdict != test.verdict || p.Schema != plan.Schema || p.Summary == "" {
				t.Fatalf("%v %q, %v", p.Verdict, p.Summary, err)
			}
			if diff := cmp.Diff(test.steps, stepKinds(p)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if len(p.Steps) > 0 && p.Steps[0].Changes.Use.Prefix != test.prefix {
				t.Errorf("uses %q", p.Steps[0].Changes.Use.Prefix)
			}
			var out bytes.Buffer
			if err := plan.RenderUse(&out, p, false); err != nil || !strings.HasPrefix(out.String(), p.Summary[:20]) || strings.Contains(out.String(), "STACK") {
				t.Errorf("printed as\n%s%v", out.String(), err)
			}
		})
	}
}

// A build brings udev's rules where no package does: of that the packages must be told.
func TestRulesOfABuild(t *testing.T) {
	for _, test := range []struct {
		name     string
		packages facts.Field[[]facts.Package]
		own      bool
	}{
		{"no package", facts.Is([]facts.Package{{Name: "bash", Status: "install ok installed"}}, "dpkg-query"), true},
		{"removed", facts.Is([]facts.Package{{Name: "rdma-core", Status: "deinstall ok config-files"}}, "dpkg-query"), true},
		{"its package", facts.Is([]facts.Package{{Name: "rdma-core", Status: "install ok installed"}}, "dpkg-query"), false},
		{"not told", facts.Field[[]facts.Package]{Source: "dpkg-query"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := sideBySide("", "64.0")
			f.Packages.Installed = test.packages
			p, err := plan.Use(f, "rdma-core", "64.0")
			if err != nil || len(p.Steps) == 0 {
				t.Fatalf("%+v, %v", p.Steps, err)
			}
			if got := p.Steps[0].Changes.Use.Rules; got != test.own || strings.Contains(p.Steps[0].Why, "udev rules") != test.own {
				t.Errorf("rules of the build: %v, and %q", got, p.Steps[0].Why)
			}
		})
	}
}

func TestUseStopsBeforeWhatCannotServe(t *testing.T) {
	for code, spoil := range map[string]func(*facts.Userspace){
		"mixed-providers": func(u *facts.Userspace) { u.Built.Value[0].Providers.Value[0].PrivateABI = 34 },
		"no-providers":    func(u *facts.Userspace) { u.Built.Value[0].Providers = facts.None[[]facts.Provider]("dir") },
		"no-private-abi":  func(u *facts.Userspace) { u.Built.Value[0].PrivateABI = facts.Field[int]{Source: "objdump"} },
		"builds-unknown": func(u *facts.Userspace) {
			u.Built = facts.Failed[[]facts.BuiltLibrary]("/opt/rdma-core", errors.New("permission denied"))
		},
		"several-builds": func(u *facts.Userspace) {
			twin := u.Built.Value[0]
			u.Built.Value[0].Prefix, twin.Prefix = "/opt/rdma-core/a", "/opt/rdma-core/b"
			u.Built.Value = append(u.Built.Value, twin)
		},
	} {
		f := sideBySide("", "64.0")
		if _, err := plan.Use(f, "rdma-core", "64.0"); err != nil {
			t.Fatal(err)
		}
		spoil(&f.Userspace)
		_, err := plan.Use(f, "rdma-core", "64.0")
		var fa *fault.Error
		if !errors.As(err, &fa) || fa.Code != code || fa.Kind != fault.Stopped {
			t.Errorf("%s: %v", code, err)
		}
	}
	// The distribution's own library is not there to go back to.
	f := sideBySide("64.0", "64.0")
	f.Userspace.Libibverbs.Value[0].Path = "/usr/local/lib/libibverbs.so.1"
	var fa *fault.Error
	if _, err := plan.Use(f, "inbox", ""); !errors.As(err, &fa) || fa.Code != "no-inbox-library" {
		t.Errorf("without the distribution's: %v", err)
	}
	// Of two builds of a version the one in its usual place is meant.
	f = sideBySide("", "mine", "64.0")
	f.Userspace.Built.Value[0].Version = facts.Is("64.0", "name")
	if p, err := plan.Use(f, "rdma-core", "64.0"); err != nil || p.Steps[0].Changes.Use.Prefix != "/opt/rdma-core/64.0" {
		t.Errorf("two builds of a version: %v", err)
	}
}

func TestUseOfAnImageSendsNoTraffic(t *testing.T) {
	f := sideBySide("", "64.0")
	f.Origin = "root"
	p, err := plan.Use(f, "rdma-core", "64.0")
	if diff := cmp.Diff([]plan.Kind{plan.KindUse}, stepKinds(p)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestUseUnit(t *testing.T) {
	const file = "/etc/systemd/system/slurmd.service.d/60-rdmactl-stack.conf"
	sum := sha256.Sum256([]byte("text"))
	is := facts.Is(map[string]string{file: hex.EncodeToString(sum[:])}, "files")
	f := sideBySide("", "64.0")
	there := f
	there.Managed = is
	without := f
	without.Platform.Systemd = facts.Is(false, "/run/systemd/system")
	unknown := f
	unknown.Managed = facts.Field[map[string]string]{Source: "files"}
	for _, test := range []struct {
		name   string
		facts  facts.Facts
		text   string
		action string // empty: nothing to do
		steps  int
	}{
		{"written", f, "text", "write", 2},
		{"written already", there, "text", "", 0},
		{"another text", there, "new", "write", 2},
		{"taken away", there, "", "remove", 2},
		{"taken away already", f, "", "", 0},
		{"without systemd", without, "text", "write", 1},
	} {
		p, err := plan.UseUnit(test.facts, "rdma-core@64.0", "slurmd.service", test.text)
		if err != nil || len(p.Steps) != test.steps || (p.Verdict == plan.Install) != (test.action != "") {
			t.Errorf("%s: %d steps, %s, %v", test.name, len(p.Steps), p.Verdict, err)
			continue
		}
		if test.action != "" {
			if c := p.Steps[0].Changes.Files; len(c) != 1 || c[0].Path != file || c[0].Action != test.action || c[0].Content != test.text {
				t.Errorf("%s: %+v", test.name, c)
			}
			if p.Next[0].Command != "systemctl restart slurmd.service" {
				t.Errorf("%s: next is %v", test.name, p.Next)
			}
		}
	}
	if _, err := plan.UseUnit(unknown, "inbox", "slurmd.service", "text"); err == nil {
		t.Error("a drop-in that may be there is written over")
	}
}
