package vm_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/test/vm"
)

// TestMainJob is the whole job on each release: a bare host, the plan, exactly that installed, a
// reboot, verified traffic, nothing to do the second time, and back.
func TestMainJob(t *testing.T) {
	t.Parallel()
	for _, s := range vm.Suites() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			mainJob(t, bootWith(t, s))
		})
	}
}

func mainJob(t *testing.T, m *vm.Machine) {
	packages, before := packagesOf(m), manifest(m)

	modules := m.ReadFile("/proc/modules")

	// A host without a card is told what can be done, as the ordinary user.
	says(t, rdmactlAs(t, m, nil, 3, "plan"), "no-rdma-hardware", "--profile soft", "--card")
	sameEvidence(t, m)
	if names(m.ReadFile("/proc/modules")) != names(modules) {
		t.Errorf("detect or plan loaded a module: before\n%s\nafter\n%s", modules, m.ReadFile("/proc/modules"))
	}
	wantVerify(t, rdmactl(t, m, 5, "verify", "-o", "json"), "not-testable", "no-library")

	p := decode[plan.Plan](t, rdmactlAs(t, m, nil, 0, "plan", "--profile", "soft", "-o", "json"))
	if p.Verdict != plan.Install || p.Chosen == nil || p.Chosen.Stack != "inbox" {
		t.Fatalf("plan %+v", p)
	}
	m.Must("apt-get", "update")
	resolved := decode[plan.Plan](t, rdmactlAs(t, m, nil, 0, "plan", "--profile", "soft", "--resolve", "-o", "json"))
	if resolved.Solver == nil || len(resolved.Solver.Actions) == 0 {
		t.Fatal("the solver's answer is missing")
	}
	rdmactl(t, m, 4, "install", "--profile", "soft") // no terminal, no --yes
	says(t, rdmactl(t, m, 0, "install", "--profile", "soft", "--dry-run"), "rdma-core")
	sameHost(t, m, packages, before)

	// One release leaves the use of it to the boot, and to the unit that verifies and closes the run then.
	atBoot := m.Suite() == vm.Bookworm()
	args := []string{"install", "--profile", "soft", "--yes", "-o", "json"}
	verified := "pass"
	if atBoot {
		args, verified = append(args, "--activate", "reboot"), ""
	}
	r := rdmactl(t, m, 0, args...)
	report := decode[runReport](t, r)
	if report.Verdict != "done" || !report.Changed || report.Verify != verified || report.RebootRequired != atBoot {
		t.Fatalf("report %+v\n%s\n%s", report, r, m.Run("cat", report.Log))
	}
	if atBoot {
		awaitsReboot(t, m, args)
	}
	var want []string
	for _, a := range resolved.Solver.Actions {
		want = append(want, "+"+a.Name+" "+a.Version)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, packageDiff(packages, packagesOf(m))); diff != "" {
		t.Errorf("installed is not what was resolved (-resolved +installed):\n%s", diff)
	}
	for _, f := range changedFiles(p) {
		if !m.Exists(f) {
			t.Errorf("%s of the plan does not exist", f)
		}
	}
	says(t, m.Run("cat", report.Log), "apt-get", "exit 0")

	m.Reboot()
	if atBoot {
		closesItself(t, m, report)
	}
	if !m.Exists("/sys/class/infiniband/rxe0") {
		t.Errorf("no device after the reboot\n%s", m.Run("sh", "-c", "systemctl status 'rdmactl-rxe@*'; journalctl -b -u 'rdmactl-rxe@*'; rdma link"))
	}
	v := rdmactl(t, m, 0, "verify", "-o", "json")
	wantVerify(t, v, "pass", "")
	t.Log(m.Run(onPath, "verify", "--quick"))
	for _, op := range []string{"send", "write", "read"} {
		if !strings.Contains(strings.ToLower(v.Stdout), op) {
			t.Errorf("no test %s in\n%s", op, v)
		}
	}
	// A login session of the ordinary user, with the limits that PAM gives it.
	login := m.Exec(vm.Cmd{Argv: []string{onPath, "verify", "--quick", "-o", "json"}, User: "user", Login: true})
	if login.Exit != 0 {
		t.Errorf("the ordinary user: %s", login)
	}
	wantVerify(t, login, "pass", "")
	sameEvidence(t, m)

	if m.Suite() == vm.Trixie() {
		lintAgrees(t, m)
	}

	again := decode[runReport](t, rdmactl(t, m, 0, "install", "--profile", "soft", "--yes", "-o", "json"))
	if again.Verdict != "nothing-to-do" || again.Changed {
		t.Errorf("the second install: %+v", again)
	}

	// The administrator's edit survives the way back, and is named.
	const edited = "/etc/modules-load.d/rdmactl.conf"
	m.Shell("echo '# mine' >> " + edited)
	back := rdmactl(t, m, 0, "rollback", "-o", "json")
	if kept := decode[runReport](t, back).Kept; !slices.Contains(kept, edited) {
		t.Errorf("kept %q, want %s\n%s", kept, edited, back)
	}
	if text := m.ReadFile(edited); !strings.Contains(text, "# mine") {
		t.Errorf("the edit is gone: %q", text)
	}
	m.Must("rm", edited)
	sameHost(t, m, packages, before)
	if state := runState(t, m); state != "rolled-back" {
		t.Errorf("state %q", state)
	}
	wantVerify(t, rdmactl(t, m, 5, "verify", "-o", "json"), "not-testable", "no-library")
}

// awaitsReboot checks a run that comes into use at the next boot: nothing is in use, and asking again changes nothing.
func awaitsReboot(t *testing.T, m *vm.Machine, args []string) {
	t.Helper()
	if state := runState(t, m); state != "awaiting-reboot" {
		t.Errorf("state %q, want awaiting-reboot", state)
	}
	if m.Exists("/sys/class/infiniband/rxe0") {
		t.Error("the device is there before the reboot")
	}
	if again := decode[runReport](t, rdmactl(t, m, 0, args...)); again.Verdict != "nothing-to-do" || again.Changed || !again.RebootRequired {
		t.Errorf("the second install before the reboot: %+v", again)
	}
	says(t, rdmactl(t, m, 4, "install", "--resume", "--yes"), "has not been rebooted")
}

// closesItself waits for the unit that verifies a run after the boot, and for it to be gone.
func closesItself(t *testing.T, m *vm.Machine, report runReport) {
	t.Helper()
	var state string
	eventually(t, "the run to be closed after the boot", 5*time.Minute, func() bool {
		state = runState(t, m)
		return state != "awaiting-reboot" && state != "running"
	})
	if state != "done" {
		t.Errorf("state %q after the boot, want done\n%s", state, m.Run("journalctl", "--boot", "--no-pager", "--unit", "rdmactl-finish.service"))
	}
	says(t, rdmactl(t, m, 0, "history", report.RunID, "--follow"), "verification after the reboot: pass")
	eventually(t, "the unit to be gone", time.Minute, func() bool { return !m.Exists("/etc/systemd/system/rdmactl-finish.service") })
	if m.Exists("/etc/systemd/system/multi-user.target.d/50-rdmactl-finish.conf") {
		t.Error("what starts the unit is left")
	}
}

// names are the module names of /proc/modules, sorted.
func names(modules string) string {
	var out []string
	for line := range strings.Lines(modules) {
		name, _, _ := strings.Cut(line, " ")
		out = append(out, name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// changedFiles are the files that a plan writes.
func changedFiles(p plan.Plan) []string {
	var out []string
	for _, s := range p.Steps {
		for _, f := range s.Changes.Files {
			out = append(out, f.Path)
		}
	}
	return out
}

// sameEvidence saves the host and checks that detect and plan say the same from the file as live:
// exactly with --no-redact, and but for the pseudonyms without.
func sameEvidence(t *testing.T, m *vm.Machine) {
	t.Helper()
	for _, redact := range []bool{false, true} {
		file := fmt.Sprintf("/root/h-%v.yaml", redact)
		args := []string{"detect", "--save", file, "-o", "json"}
		if !redact {
			args = append(args, "--no-redact")
		}
		live := rdmactl(t, m, 0, args...)
		replayed := rdmactl(t, m, 0, "detect", "--evidence", file, "-o", "json")
		livePlan := m.Run(onPath, "plan", "--profile", "soft", "-o", "json")
		replayedPlan := m.Run(onPath, "plan", "--profile", "soft", "-o", "json", "--evidence", file)
		if diff := cmp.Diff(comparable(t, live, redact), comparable(t, replayed, redact)); diff != "" {
			t.Errorf("detect from evidence (redacted %v) differs (-live +evidence):\n%s", redact, diff)
		}
		if livePlan.Exit != replayedPlan.Exit || livePlan.Stdout != replayedPlan.Stdout {
			t.Errorf("plan from evidence differs:\n%s", cmp.Diff(livePlan.Stdout, replayedPlan.Stdout))
		}
		if mode := strings.TrimSpace(m.Must("stat", "-c", "%a", file)); mode != "600" {
			t.Errorf("%s has mode %s", file, mode)
		}
	}
}

// comparable is a document without what must differ: the origin, and with redact the leaves that hold
// addresses and names.
func comparable(t *testing.T, r vm.Result, redact bool) any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(r.Stdout), &doc); err != nil {
		t.Fatalf("%v\n%s", err, r)
	}
	delete(doc, "origin")
	if redact {
		blank(doc)
	}
	return doc
}

// blank empties the leaves that redaction replaces.
func blank(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			switch key {
			case "hostname", "mac", "node_guid", "node_desc", "addresses", "gid", "ipv4", "machine_model", "cmdline":
				v[key] = "redacted"
				continue
			}
			blank(child)
		}
	case []any:
		for _, child := range v {
			blank(child)
		}
	}
}
