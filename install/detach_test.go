package install

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// rootVariable tells a process of this test which fake host is meant.
const rootVariable = "RDMACTL_TEST_ROOT"

// TestMain lets the test binary stand for rdmactl: its worker, and a front-end that can be killed.
func TestMain(m *testing.M) {
	root := os.Getenv(rootVariable)
	if len(os.Args) < 2 || root == "" {
		os.Exit(m.Run())
	}
	env := processEnv(root)
	switch os.Args[1] {
	case "install-worker":
		signal.Ignore(syscall.SIGHUP)
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		os.Exit(Worker(ctx, env, os.Args[3], os.Args[5]))
	case "front-end":
		_, err := Start(context.Background(), env, testPlan(), Options{Progress: NewPlain(os.Stdout)})
		fmt.Println("front-end ended:", err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func processEnv(root string) Env {
	h := &fakeHost{t: &testing.T{}, root: root, tick: func() {}, fails: map[string]string{}, free: 10 << 20}
	m := newFakeManager(h)
	m.gate = filepath.Join(root, "var/gate")
	return Env{
		Host: h, Manager: m, Tool: "test",
		Paths:  Paths{State: h.path("/var/lib/rdmactl"), Log: h.path("/var/log/rdmactl"), Lock: h.path("/run/rdmactl/lock")},
		Verify: func(context.Context) (Outcome, error) { return Outcome{Verdict: "pass", Summary: "ok"}, nil },
	}
}

// detachedBench is a bench whose worker is a process of its own.
func detachedBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	t.Setenv(rootVariable, b.h.root)
	b.env = processEnv(b.h.root)
	b.opts.Foreground = false
	// A process that is stuck at the gate when a test fails.
	t.Cleanup(b.openGate)
	return b
}

func (b *bench) openGate() { b.h.put("/var/gate", "") }

// inApply waits until the worker is in the middle of the packages step and returns its pid.
func (b *bench) inApply() int {
	b.t.Helper()
	for range 500 {
		time.Sleep(20 * time.Millisecond)
		ids, err := b.env.Paths.store().IDs()
		if err != nil || len(ids) == 0 {
			continue
		}
		j, err := b.env.Paths.store().Open(ids[len(ids)-1])
		if err != nil {
			continue
		}
		for _, e := range j.Entries {
			if e.Event == journal.StepStarted {
				return j.Entries[0].PID
			}
		}
	}
	b.t.Fatal("the worker does not come to its first step")
	return 0
}

func TestDetachedRun(t *testing.T) {
	for _, systemd := range []bool{true, false} {
		t.Run(fmt.Sprintf("systemd %v", systemd), func(t *testing.T) {
			b := detachedBench(t)
			if !systemd {
				if err := os.RemoveAll(b.h.path("/run/systemd")); err != nil {
					t.Fatal(err)
				}
			}
			b.openGate()
			before := b.h.tree()
			var out strings.Builder
			b.opts.Progress = NewPlain(&out)
			rep, err := b.start()
			if err != nil || rep.Verdict != VerdictDone || rep.Verify != "pass" {
				t.Fatalf("%+v, %v", rep, err)
			}
			for _, want := range []string{"run started: a test", "step 1/6 packages: install alpha", "step 6/6 verify: pass: ok [done", "run ended: done"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("progress does not say %q:\n%s", want, out.String())
				}
			}
			if _, err := os.Stat(filepath.Join(b.env.Paths.store().RunDir(rep.RunID), exeName)); err == nil {
				t.Error("the copy of the program is left")
			}
			var again strings.Builder
			if _, err := Follow(context.Background(), b.env.Paths, "", NewPlain(&again)); err != nil || again.String() != out.String() {
				t.Errorf("history --follow: %v, differs:\n%s", err, cmp.Diff(out.String(), again.String()))
			}
			if _, err := Rollback(context.Background(), b.env, RollbackOptions{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, b.h.tree()); diff != "" {
				t.Errorf("rollback left:\n%s", diff)
			}
		})
	}
}

func TestFrontEndKilled(t *testing.T) {
	b := detachedBench(t)
	cmd := exec.Command("/proc/self/exe", "front-end")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	worker := b.inApply()
	// What a closed terminal does to its session, and worse.
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if worker == cmd.Process.Pid {
		t.Fatal("the worker is the front-end")
	}
	_, err := b.start()
	wantKind(t, err, fault.Locked)
	b.openGate()
	rep, err := Follow(context.Background(), b.env.Paths, "", nil)
	if err != nil || rep.Verdict != VerdictDone {
		t.Errorf("%+v, %v", rep, err)
	}
}

func TestStopFromFrontEnd(t *testing.T) {
	b := detachedBench(t)
	before := b.h.tree()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		b.inApply()
		cancel()
		time.Sleep(300 * time.Millisecond)
		b.openGate()
	}()
	rep, err := Start(ctx, b.env, testPlan(), b.opts)
	wantKind(t, err, fault.Interrupted)
	if b.state(rep.RunID) != journal.Interrupted || rep.Changed {
		t.Errorf("%+v, state %s", rep, b.state(rep.RunID))
	}
	before["var/gate"] = "-rw-r--r-- "
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("left:\n%s", diff)
	}
}

func TestWorkerKilled(t *testing.T) {
	b := detachedBench(t)
	before := b.h.tree()
	go func() {
		if err := syscall.Kill(b.inApply(), syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}()
	rep, err := b.start()
	wantKind(t, err, fault.Failed, "process is gone")
	if rep.Verdict != VerdictFailed || b.state(rep.RunID) != journal.Unfinished {
		t.Errorf("%+v, state %s", rep, b.state(rep.RunID))
	}
	_, err = b.start()
	wantKind(t, err, fault.Stopped, rep.RunID)
	b.openGate()
	if _, err := Rollback(context.Background(), b.env, RollbackOptions{}); err != nil {
		t.Fatal(err)
	}
	before["var/gate"] = "-rw-r--r-- "
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("left:\n%s", diff)
	}
}
