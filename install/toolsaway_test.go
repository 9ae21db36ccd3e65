package install

import (
	"context"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// FilesOf gives packages whose names begin with lib a library, and all others a program.
func (m *fakeManager) FilesOf(_ context.Context, packages []pkgmgr.Package) (map[string][]string, error) {
	out := map[string][]string{}
	for _, p := range packages {
		file := "/usr/bin/" + p.Name
		if strings.HasPrefix(p.Name, "lib") {
			file = "/usr/lib/x86_64-linux-gnu/" + p.Name + ".so.3"
		}
		out[p.Key()] = []string{"/usr", file}
	}
	return out, nil
}

// toolsBench is a host with a compiler's part, and a repository with the rest.
func toolsBench(t *testing.T) *bench {
	b := newBench(t)
	b.m.repo["cc"] = fakeRepo{version: "12", needs: []string{"cc-data", "tool"}}
	b.m.repo["cc-data"] = fakeRepo{version: "12"}
	b.m.repo["nl-dev"] = fakeRepo{version: "3", needs: []string{"libnl"}}
	b.m.repo["libnl"] = fakeRepo{version: "3", needs: []string{"nl-base"}}
	b.m.repo["nl-base"] = fakeRepo{version: "3"}
	return b
}

func toolsPlan() plan.Plan {
	p := testPlan()
	p.Steps = []plan.Step{
		{ID: plan.BuildToolsStep, Kind: plan.KindPackages, Changes: plan.Changes{Packages: []plan.PackageChange{
			{Name: "cc", Action: "install"}, {Name: "nl-dev", Action: "install"},
		}}},
		{ID: "built", Kind: plan.KindFiles, Changes: plan.Changes{Files: []plan.FileChange{{Path: "/etc/built.conf", Action: "write", Mode: "0644", Content: "x\n"}}}},
		{ID: plan.ToolsAwayStep, Kind: plan.KindRemove, Changes: plan.Changes{BroughtBy: plan.BuildToolsStep}},
		{ID: "verify", Kind: plan.KindVerify},
	}
	return p
}

func TestToolsAway(t *testing.T) {
	b := toolsBench(t)
	rep, err := b.starts(toolsPlan())
	if err != nil || rep.Verdict != VerdictDone {
		t.Fatalf("%+v, %v", rep, err)
	}
	db := b.m.load()
	for name, want := range map[string]bool{
		"cc": false, "cc-data": false, "nl-dev": false, // brought to build with
		"libnl": true, "nl-base": true, // a library, and what it needs
		"tool": true, // was here before
	} {
		if _, there := db.Packages[name+":amd64"]; there != want {
			t.Errorf("package %s: there %v, want %v", name, there, want)
		}
	}
	if db.Auto["libnl"] || !db.Auto["tool"] {
		t.Errorf("marked as dependencies are %v: the next cleaning up would take libnl", db.Auto)
	}
}

func TestCrashWhileToolsGo(t *testing.T) {
	crashEverywhere(t, 60, func() *bench { return toolsBench(t) }, func(b *bench) (RunReport, error) {
		if _, err := b.h.Stat("/etc/built.conf"); err == nil && b.changing() == "" {
			return NewReport(VerdictNothingToDo), nil // what is built is there: no plan would build it again
		}
		return b.starts(toolsPlan())
	})
}

// A manager that cannot tell what is a library removes nothing, and the run goes back.
func TestToolsStayWithoutFiles(t *testing.T) {
	b := toolsBench(t)
	b.env.Manager = struct{ pkgmgr.Manager }{b.m}
	before := b.h.tree()
	_, err := b.starts(toolsPlan())
	wantKind(t, err, fault.RolledBack, "cannot tell which of the packages have libraries")
	if now := b.h.tree(); len(now) != len(before) {
		t.Errorf("the host has %d entries, had %d", len(now), len(before))
	}
}

func TestSharedLibrary(t *testing.T) {
	for file, want := range map[string]bool{
		"/usr/lib/x86_64-linux-gnu/libnl-3.so.200":         true,
		"/usr/lib/x86_64-linux-gnu/libnl-3.so.200.26.0":    true,
		"/usr/lib64/libnl-3.so.200":                        true,
		"/lib/libudev.so.1":                                true,
		"/usr/lib/x86_64-linux-gnu/libnl-3.so":             false,
		"/usr/lib/gcc/x86_64-linux-gnu/12/libgcc_s.so.1":   false, // the compiler's own
		"/usr/share/doc/x.so.1":                            false,
		"/usr/lib/python3/dist-packages/x.so.backup":       false,
		"/usr/lib/x86_64-linux-gnu/cmake/libx.so.1/readme": false,
	} {
		if got := sharedLibrary(file); got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
}
