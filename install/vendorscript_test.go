package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

const bundleDir = "/srv/OFED-4.17-1"

// scriptPlan runs a vendor's installer from an unpacked bundle.
func scriptPlan(program string) plan.Plan {
	return plan.Plan{
		Schema: plan.Schema, Verdict: plan.Install, Summary: "a vendor's installer", Warnings: []plan.Reason{}, Reboot: true,
		Steps: []plan.Step{
			{ID: "vendor-script", Kind: plan.KindVendorScript, Summary: "run it", Changes: plan.Changes{
				Script: &plan.ScriptChange{
					Program: bundleDir + "/" + program, Args: []string{"--all", "--kernel", "3.10.0-957.el7.x86_64", "--tmpdir", plan.RunDirectory + "/tmp"}, Directory: bundleDir,
				},
				Packages: []plan.PackageChange{{Name: "tool", Action: "replace"}, {Name: "burner", Action: "exclude"}},
			}},
			{ID: "activate", Kind: plan.KindActivate, Summary: "at the next boot", Reboot: true},
		},
	}
}

// scriptBench has an unpacked bundle whose installer replaces tool by vendor and driver, one change after another.
func scriptBench(t *testing.T, program string) *bench {
	t.Helper()
	b := newBootBench(t)
	b.env.Paths.Inside = "/var/lib/rdmactl"
	b.h.put(bundleDir+"/"+program, "#!/usr/bin/perl\n")
	b.h.put("/etc/security/limits.conf", "# none\n")
	b.h.put("/etc/modprobe.d/.keep", "")
	b.h.put("/usr/src/.keep", "")
	b.h.script = func(host.Command) host.Result {
		b.change(func(db fakeDB) { delete(db.Packages, "tool:amd64"); delete(db.Auto, "tool") })
		b.brings("driver", "4.17")
		b.brings("vendor", "4.17")
		return host.Result{}
	}
	return b
}

func (b *bench) change(what func(fakeDB)) {
	db := b.m.load()
	what(db)
	b.m.store(db)
	b.h.tick()
}

// brings unpacks a package half, then whole, as dpkg and rpm do.
func (b *bench) brings(name, version string) {
	p := pkgmgr.Package{Name: name, Arch: "amd64", Version: version, Status: pkgmgr.Broken}
	b.change(func(db fakeDB) { db.Packages[p.Key()] = p })
	b.m.unpack(p)
	b.h.tick()
	p.Status = pkgmgr.Installed
	b.change(func(db fakeDB) { db.Packages[p.Key()] = p })
}

func (b *bench) startScript(program string) (RunReport, error) {
	return Start(context.Background(), b.env, scriptPlan(program), b.opts)
}

func TestVendorInstallerAndBack(t *testing.T) {
	b := scriptBench(t, plan.OFAInstaller)
	before := b.h.tree()
	rep, err := b.startScript(plan.OFAInstaller)
	if err != nil || rep.Verdict != VerdictDone || !rep.RebootRequired {
		t.Fatalf("%+v, %v", rep, err)
	}
	want := bundleDir + "/install.pl --all --kernel 3.10.0-957.el7.x86_64 --tmpdir " + b.env.Paths.runInside(rep.RunID) + "/tmp"
	if ran := strings.Join(b.h.ran, "\n"); !strings.Contains(ran, want) || strings.Contains(ran, "--force") {
		t.Errorf("%q was not run:\n%s", want, ran)
	}
	db := b.m.load()
	for name, want := range map[string]pkgmgr.Status{"vendor": pkgmgr.Installed, "driver": pkgmgr.Installed, "tool": ""} {
		if got := db.Packages[name+":amd64"].Status; got != want {
			t.Errorf("package %s is %q, want %q", name, got, want)
		}
	}
	if again, err := b.startScript(plan.OFAInstaller); err == nil && again.Changed && again.RunID == rep.RunID {
		t.Errorf("a second run is the first: %+v", again)
	}
	for range 2 { // the second run is a plan of its own here: nothing plans it away
		if _, err := b.rollback(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("rolled back (-before +after):\n%s", diff)
	}
}

// What an installer did that was cut short is taken back first, whichever way the run goes on.
func TestCrashInVendorInstaller(t *testing.T) {
	crashEverywhere(t, 60, func() *bench { return scriptBench(t, plan.OFAInstaller) },
		func(b *bench) (RunReport, error) { return b.startScript(plan.OFAInstaller) }, journal.AwaitingReboot, journal.RolledBack)
}

func TestExitCodesOfVendorInstallers(t *testing.T) {
	for _, c := range []struct {
		program string
		exit    int
		code    string
		says    string
	}{
		{plan.MLNXInstaller, 1, "vendor-script-failed", "it failed"},
		{plan.MLNXInstaller, 2, "vendor-no-firmware", "no firmware for the adapter"},
		{plan.MLNXInstaller, 22, "vendor-option", "does not know one of its options"},
		{plan.MLNXInstaller, 28, "vendor-no-space", "not enough free space"},
		{plan.MLNXInstaller, 171, "vendor-no-hardware", "no card"},
		{plan.MLNXInstaller, 172, "vendor-prerequisite", "needs first"},
		{plan.MLNXInstaller, 173, "vendor-mst", "mst"},
		{plan.MLNXInstaller, 174, "vendor-dependants", "depend on"},
		{plan.MLNXInstaller, 77, "vendor-script-failed", "nothing documents"},
		{plan.MLNXInstaller, 137, "vendor-script-killed", "signal 9"},
		{plan.OFAInstaller, 174, "vendor-script-failed", "nothing documents"},
	} {
		t.Run(fmt.Sprint(c.program, c.exit), func(t *testing.T) {
			b := scriptBench(t, c.program)
			before := b.h.tree()
			whole := b.h.script
			b.h.script = func(cmd host.Command) host.Result {
				whole(cmd)
				return host.Result{Exit: c.exit, Stdout: "one\n\x1b[31mthe last\x1b[0m line\n"}
			}
			rep, err := b.startScript(c.program)
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.RolledBack || f.Code != c.code || f.Hint == "" || rep.Verdict != VerdictRolledBack {
				t.Fatalf("%+v, %v", rep, err)
			}
			for _, want := range []string{fmt.Sprintf("ended with %d", c.exit), c.says, "the last line", "rolled back"} {
				if !strings.Contains(f.Msg, want) {
					t.Errorf("%q is not said: %s", want, f.Msg)
				}
			}
			if diff := cmp.Diff(before, b.h.tree()); diff != "" {
				t.Errorf("rolled back (-before +after):\n%s", diff)
			}
		})
	}
}

func TestVendorInstallerThatDoesOtherThanAnnounced(t *testing.T) {
	for name, c := range map[string]struct {
		more func(*bench)
		code string
	}{
		"removes a package":    {func(b *bench) { b.change(func(db fakeDB) { delete(db.Packages, "other:amd64") }) }, "unannounced-change"},
		"another version":      {func(b *bench) { b.brings("other", "9.0") }, "unannounced-change"},
		"the firmware updater": {func(b *bench) { b.brings("burner", "4.17") }, "excluded-package"},
		"nothing of its own":   {func(b *bench) { b.m.store(b.was) }, "vendor-script-idle"},
		"a package half there": {func(b *bench) {
			b.change(func(db fakeDB) {
				db.Packages["half:amd64"] = pkgmgr.Package{Name: "half", Arch: "amd64", Version: "1", Status: pkgmgr.Broken}
			})
		}, "unannounced-change"},
		"what it is to do only": {func(*bench) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := scriptBench(t, plan.MLNXInstaller)
			b.change(func(db fakeDB) {
				db.Packages["other:amd64"] = pkgmgr.Package{Name: "other", Arch: "amd64", Version: "1.0", Status: pkgmgr.Installed}
			})
			b.was = b.m.load()
			before := b.h.text(fakeDBPath)
			whole := b.h.script
			b.h.script = func(cmd host.Command) host.Result {
				res := whole(cmd)
				c.more(b)
				return res
			}
			rep, err := b.startScript(plan.MLNXInstaller)
			if c.code == "" {
				if err != nil {
					t.Fatalf("%+v, %v", rep, err)
				}
				return
			}
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.RolledBack || f.Code != c.code {
				t.Fatalf("%+v, %v", rep, err)
			}
			if after := b.h.text(fakeDBPath); after != before {
				t.Errorf("the packages are not as before:\n%s\n%s", before, after)
			}
		})
	}
}

// An unpacked bundle is run only where nobody but root could have changed it.
func TestUnpackedBundleThatOthersCouldChange(t *testing.T) {
	for name, spoil := range map[string]func(*fakeHost) error{
		"a file that all may write": func(h *fakeHost) error { return os.Chmod(h.path(bundleDir+"/install.pl"), 0o777) },
		"a folder that all may write": func(h *fakeHost) error {
			return errors.Join(os.Mkdir(h.path(bundleDir+"/DEBS"), 0o755), os.Chmod(h.path(bundleDir+"/DEBS"), 0o777))
		},
		"a link out":           func(h *fakeHost) error { return os.Symlink("/etc", h.path(bundleDir+"/conf")) },
		"a link up":            func(h *fakeHost) error { return os.Symlink("../old", h.path(bundleDir+"/conf")) },
		"a directory above it": func(h *fakeHost) error { return os.Chmod(h.path("/srv"), 0o777) },
	} {
		t.Run(name, func(t *testing.T) {
			b := scriptBench(t, plan.OFAInstaller)
			if err := spoil(b.h); err != nil {
				t.Fatal(err)
			}
			before := b.h.tree()
			rep, err := b.startScript(plan.OFAInstaller)
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.Stopped || f.Code != "source-not-trusted" || rep.Changed {
				t.Fatalf("%+v, %v", rep, err)
			}
			if diff := cmp.Diff(before, b.h.tree()); diff != "" {
				t.Errorf("refused (-before +after):\n%s", diff)
			}
		})
	}
	b := scriptBench(t, plan.OFAInstaller) // sound: a link inside, and a sticky directory above, as /tmp is
	if err := errors.Join(os.Symlink("install.pl", b.h.path(bundleDir+"/install")), os.Chmod(b.h.path("/srv"), 0o777|os.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	if rep, err := b.startScript(plan.OFAInstaller); err != nil {
		t.Errorf("a sound one: %+v, %v", rep, err)
	}
}

func TestInstallerThatIsNotProven(t *testing.T) {
	for name, c := range map[string]struct {
		script plan.ScriptChange
		code   string
	}{
		"no source": {plan.ScriptChange{Program: "install.pl"}, "no-source"},
		"no proof": {plan.ScriptChange{
			Program: plan.SourcesDir + "/" + strings.Repeat("a", 64) + "-whole/repository/install.pl",
			Bundle:  &plan.BundleChange{File: "/srv/OFED-4.17-1.tgz", SHA256: strings.Repeat("a", 64), Folder: "OFED-4.17-1", Repository: "OFED-4.17-1", Whole: true},
		}, "source-not-proven"},
	} {
		b := scriptBench(t, plan.OFAInstaller)
		p := scriptPlan(plan.OFAInstaller)
		p.Steps[0].Changes.Script = &c.script
		rep, err := Start(context.Background(), b.env, p, b.opts)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Stopped || f.Code != c.code || f.Hint == "" || rep.Changed {
			t.Errorf("%s: %+v, %v", name, rep, err)
		}
	}
}

// A dry run says what the installer removes and what is run, and stops for what nobody allowed.
func TestDryRunOfVendorInstaller(t *testing.T) {
	b := scriptBench(t, plan.OFAInstaller)
	before := b.h.tree()
	var out strings.Builder
	if rep, err := DryRun(context.Background(), b.env, scriptPlan(plan.OFAInstaller), nil, &out); err != nil || rep.Verdict != VerdictDone {
		t.Fatalf("%+v, %v", rep, err)
	}
	for _, want := range []string{"remove tool", "keep out burner", "run " + bundleDir + "/install.pl --all"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not said:\n%s", want, out.String())
		}
	}
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("it changed (-before +after):\n%s", diff)
	}
}

// A program that an installer left running is waited for, and named.
func TestInstallerThatStillRuns(t *testing.T) {
	b := scriptBench(t, plan.OFAInstaller)
	b.opts.LockWait = 10 * time.Millisecond
	b.h.script = func(host.Command) host.Result {
		b.h.put("/proc/4711/cmdline", "/usr/bin/perl\x00"+bundleDir+"/install.pl\x00")
		return host.Result{Exit: 1}
	}
	rep, err := b.startScript(plan.OFAInstaller)
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Failed || !strings.Contains(f.Msg, "process 4711 still runs") {
		t.Fatalf("%+v, %v", rep, err)
	}
	if err := os.RemoveAll(b.h.path("/proc/4711")); err != nil {
		t.Fatal(err)
	}
	if rep, err := b.rollback(); err != nil {
		t.Errorf("%+v, %v", rep, err)
	}
}
