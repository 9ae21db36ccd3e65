package verbs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain is also the worker's main: Run re-executes this test binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "verbs-worker" {
		os.Exit(workerMain())
	}
	os.Exit(m.Run())
}

func workerMain() int {
	progress := os.NewFile(ProgressFD, "progress")
	switch os.Getenv("FAKE_WORKER") {
	case "garbage":
		os.Stdout.WriteString("this is not a report\n")
		return 0
	case "closed":
		_ = os.Stdout.Close()
		_ = progress.Close()
	case "slow-start":
		time.Sleep(time.Minute)
	case "silent":
		return 0
	case "flood":
		_, _ = io.CopyN(os.Stdout, zeros{}, maxReportBytes+1)
		return 0
	case "panic":
		panic("a fault of the worker itself")
	case "environment":
		os.Stdout.WriteString(`{"schema":"rdmactl.verify/v1","verdict":"` + os.Getenv("IBV_SHOW_WARNINGS") + strings.Join(os.Args[2:], " ") + `","checks":[],"devices":[]}`)
		return 0
	case "child":
		// A provider that starts a program which keeps the pipes open.
		cmd := exec.Command("sleep", "300")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			return 1
		}
		announcer{progress}.say(progressRecord{Stage: StageConnect, Device: "fake0", Port: 1})
		select {}
	}
	h := newFakeHost()
	if os.Getenv("FAKE_IBV") != "empty" {
		h.device("fake0", "uverbs0", activePort())
	}
	h.limits("65536", "0000000000004000")
	return Worker(h, os.Stdin, os.Stdout, progress)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// fakeLibrary compiles testdata/fakeibverbs.c and returns the directory that holds libibverbs.so.1.
func fakeLibrary(t *testing.T) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed: no fake libibverbs can be built")
	}
	if _, err := os.Stat("/usr/include/infiniband/verbs.h"); err != nil {
		t.Skip("libibverbs-dev is not installed: no fake libibverbs can be built")
	}
	dir := t.TempDir()
	out, err := exec.Command(gcc, "-shared", "-fPIC", "-o", filepath.Join(dir, "libibverbs.so.1"), "testdata/fakeibverbs.c").CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return dir
}

func runSelf(t *testing.T, q Request, deadline time.Duration, env ...string) Report {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), RunOptions{Executable: self, Args: []string{"verbs-worker"}, Deadline: deadline, Env: env}, q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func firstBad(r Report) Check {
	for _, c := range r.Checks {
		if c.Status != Pass {
			return c
		}
	}
	return Check{}
}

// A library of C whose structures the compiler laid out, called through the real dynamic loader.
func TestRunAgainstLibrary(t *testing.T) {
	dir := fakeLibrary(t)
	for _, tt := range []struct {
		mode    string
		verdict Status
		code    Code
		detail  []string
	}{
		{mode: "", verdict: Pass},
		{mode: "no-inline", verdict: Pass},
		{mode: "chatty", verdict: Pass},
		{mode: "enosys", verdict: NotTestable, code: CodeNoKernelModule, detail: []string{"function not implemented"}},
		{mode: "empty", verdict: NotTestable, code: CodeNoDevice},
		{mode: "eacces", verdict: NotTestable, code: CodeNoPermission, detail: []string{"uverbs0", "0600"}},
		{mode: "ebusy", verdict: NotTestable, code: CodeDeviceBusy},
		{mode: "enodev", verdict: NotTestable, code: CodeDeviceGone},
		{mode: "enomem", verdict: NotTestable, code: CodeMemlock, detail: []string{"64 KiB"}},
		{mode: "down", verdict: NotTestable, code: CodePortDown},
		{mode: "enodata", verdict: NotTestable, code: CodeNoGID, detail: []string{"10.9.0.1"}},
		{mode: "flip", verdict: Fail, code: CodeWrongData, detail: []string{"RDMA WRITE", "offset 777"}},
		{mode: "completion", verdict: Fail, code: CodeCompletionError, detail: []string{"IBV_WC_REM_ACCESS_ERR", "vendor error 0x51"}},
		{mode: "other-device", verdict: NotTestable, code: CodeABI, detail: []string{"does not point to its device"}},
		{mode: "null-op", verdict: NotTestable, code: CodeABI, detail: []string{"post_send"}},
		{mode: "data-op", verdict: NotTestable, code: CodeABI, detail: []string{"post_recv", "executable"}},
		{mode: "crash", verdict: Fail, code: CodeProviderCrashed, detail: []string{"open-device of fake0", "SIGSEGV"}},
		{mode: "abort", verdict: Fail, code: CodeProviderCrashed, detail: []string{"open-device of fake0", "SIGABRT"}},
		{mode: "kill", verdict: Fail, code: CodeProviderCrashed, detail: []string{"open-device of fake0", "SIGBUS"}},
		{mode: "exit", verdict: Fail, code: CodeWorkerFailed, detail: []string{"open-device of fake0", "exit status 7"}},
	} {
		t.Run("mode "+tt.mode, func(t *testing.T) {
			r := runSelf(t, Request{Quick: true, Iterations: 200}, time.Minute, "LD_LIBRARY_PATH="+dir, "FAKE_IBV="+tt.mode)
			bad := firstBad(r)
			if r.Verdict != tt.verdict || bad.Code != tt.code {
				t.Fatalf("verdict %s with code %q, want %s with %q: %+v", r.Verdict, bad.Code, tt.verdict, tt.code, r.Checks)
			}
			for _, part := range tt.detail {
				if !strings.Contains(bad.Detail, part) {
					t.Errorf("detail %q does not say %q", bad.Detail, part)
				}
			}
			if r.Library == nil || r.Library.Path != filepath.Join(dir, "libibverbs.so.1") {
				t.Errorf("library %+v, want the one in %s", r.Library, dir)
			}
			// What the library says on its own is evidence.
			var evidence []string
			for _, c := range r.Checks {
				evidence = append(evidence, c.Evidence...)
			}
			if !slices.Contains(evidence, "libibverbs: Warning: this is a fake") {
				t.Errorf("the library's warning is not in the evidence %q", evidence)
			}
		})
	}
}

func TestRunTimesOut(t *testing.T) {
	dir := fakeLibrary(t)
	for mode, stage := range map[string]string{"hang": "open-device of fake0", "hang-traffic": "compare-data of fake0 port 1"} {
		t.Run(mode, func(t *testing.T) {
			r := runSelf(t, Request{Quick: true}, 2*time.Second, "LD_LIBRARY_PATH="+dir, "FAKE_IBV="+mode)
			bad := firstBad(r)
			if r.Verdict != Fail || bad.Code != CodeTimeout || !strings.Contains(bad.Detail, stage) {
				t.Errorf("verdict %s, %+v", r.Verdict, bad)
			}
			// What was settled before is not lost.
			if r.Checks[0].Name != checkLibrary || r.Checks[0].Status != Pass {
				t.Errorf("first check %+v", r.Checks[0])
			}
		})
	}
}

// A deadline that ends before any device is opened says nothing about a driver.
func TestRunWithTooLittleTime(t *testing.T) {
	for _, deadline := range []time.Duration{time.Nanosecond, 200 * time.Millisecond} {
		r := runSelf(t, Request{}, deadline, "FAKE_WORKER=slow-start")
		bad := firstBad(r)
		if r.Verdict != NotTestable || bad.Code != CodeTimeLimit || bad.Status != NotTestable || !strings.Contains(bad.Detail, deadline.String()) ||
			strings.Contains(bad.Detail, "hung") || bad.Remedy == "" {
			t.Errorf("%s: verdict %s, %+v", deadline, r.Verdict, bad)
		}
	}
}

func TestRunWithoutLibrary(t *testing.T) {
	dir := t.TempDir()
	// A file that is no library stands before any real one on the loader's path.
	if err := os.WriteFile(filepath.Join(dir, "libibverbs.so.1"), []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := runSelf(t, Request{}, time.Minute, "LD_LIBRARY_PATH="+dir)
	if bad := firstBad(r); r.Verdict != NotTestable || bad.Code != CodeNoLibrary || !strings.Contains(bad.Detail, dir) {
		t.Errorf("verdict %s, %+v", r.Verdict, bad)
	}
}

func TestRunWithIncompleteLibrary(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed: no library can be built")
	}
	dir := t.TempDir()
	src := filepath.Join(dir, "x.c")
	if err := os.WriteFile(src, []byte("void *ibv_get_device_list(int *n) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-o", filepath.Join(dir, "libibverbs.so.1"), src).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	r := runSelf(t, Request{}, time.Minute, "LD_LIBRARY_PATH="+dir)
	if bad := firstBad(r); r.Verdict != NotTestable || bad.Code != CodeABI || !strings.Contains(bad.Detail, "ibv_free_device_list") {
		t.Errorf("verdict %s, %+v", r.Verdict, bad)
	}
}

func TestRunDistrustsItsWorker(t *testing.T) {
	for worker, part := range map[string]string{
		"garbage": "cannot be read",
		"silent":  "cannot be read",
		"flood":   "more than",
		"panic":   "exit status 2",
		"closed":  "exit status 1",
	} {
		t.Run(worker, func(t *testing.T) {
			r := runSelf(t, Request{}, time.Minute, "FAKE_WORKER="+worker)
			bad := firstBad(r)
			if r.Verdict != Fail || bad.Code != CodeWorkerFailed || !strings.Contains(bad.Detail, part) {
				t.Errorf("verdict %s, %+v", r.Verdict, bad)
			}
		})
	}
}

func TestRunAsksForWarningsAndPutsNothingInArguments(t *testing.T) {
	r := runSelf(t, Request{Device: "mlx5_0"}, time.Minute, "FAKE_WORKER=environment")
	if r.Verdict != "1" {
		t.Errorf("IBV_SHOW_WARNINGS and further arguments are %q, want 1 and none", r.Verdict)
	}
}

// A killed worker takes along what it started.
func TestRunKillsTheProcessGroup(t *testing.T) {
	start := time.Now()
	r := runSelf(t, Request{}, time.Second, "FAKE_WORKER=child")
	bad := firstBad(r)
	if bad.Code != CodeTimeout || !strings.Contains(bad.Detail, "connect of fake0 port 1") {
		t.Errorf("%+v", bad)
	}
	if strings.Contains(bad.Detail, "cannot be killed") || time.Since(start) > 2*time.Minute {
		t.Errorf("the child of the worker lived on: %s", bad.Detail)
	}
}

func TestRunErrors(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), RunOptions{Executable: "/does/not/exist", Args: []string{"verbs-worker"}}, Request{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing executable: %v", err)
	}
	if _, err := Run(t.Context(), RunOptions{Executable: self, Args: []string{"verbs-worker"}}, Request{Device: "a b"}); err == nil {
		t.Error("a bad request was run")
	}
	if _, err := Run(t.Context(), RunOptions{Executable: self}, Request{}); err == nil {
		t.Error("this program was run without the arguments of a worker")
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	_, err = Run(ctx, RunOptions{Executable: self, Args: []string{"verbs-worker"}, Env: []string{"FAKE_WORKER=child"}}, Request{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestBounded(t *testing.T) {
	b := &bounded{limit: 5}
	for _, s := range []string{"abc", "def", "ghi"} {
		if n, err := b.Write([]byte(s)); n != 3 || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
	}
	if b.text() != "abcde" || !b.overflowed() {
		t.Errorf("%q, %v", b.text(), b.overflowed())
	}
	b = &bounded{limit: 5}
	if _, err := b.Write([]byte("abcde")); err != nil || b.overflowed() {
		t.Error("exactly the limit is no overflow")
	}
}

func TestProgressSurvivesGarbage(t *testing.T) {
	p := &progress{}
	p.read(strings.NewReader(`{"stage":"connect","device":"mlx5_0","port":1}` + "\n" + "\x00\x01 garbage\n" + `{"stage":"done"}` + "\n"))
	last, r := p.state()
	if last.Stage != StageConnect || last.Device != "mlx5_0" || len(r.Checks) != 0 {
		t.Errorf("%+v, %+v", last, r)
	}
}

func TestLastLine(t *testing.T) {
	for in, want := range map[string]string{"": "", "{}": "{}", "{}\n": "{}", "noise\n{}\n": "{}"} {
		if got := lastLine([]byte(in)); !bytes.Equal(got, []byte(want)) {
			t.Errorf("lastLine(%q) = %q", in, got)
		}
	}
}
