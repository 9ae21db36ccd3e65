package rootlab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// limit is far above what any command here takes; one that hangs fails its test.
const limit = 5 * time.Minute

// Result is how a command ended.
type Result struct {
	Exit           int
	Stdout, Stderr string
	Argv           []string
}

func (r Result) String() string {
	return fmt.Sprintf("$ %s\n%s%s[exit %d]", strings.Join(r.Argv, " "), r.Stdout, r.Stderr, r.Exit)
}

// Says checks that an output holds each text.
func (r Result) Says(t testing.TB, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.Stdout+r.Stderr, text) {
			t.Errorf("%q is not said:\n%s", text, r)
		}
	}
}

// Program is the file of rdmactl as it is released, built when it is first asked for.
func (l *Lab) Program(t testing.TB) string {
	t.Helper()
	file, err := l.program()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Command is rdmactl, not started yet.
func (l *Lab) Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, l.Program(t), args...)
}

// Rdmactl runs the program and checks its exit code.
func (l *Lab) Rdmactl(t testing.TB, exit int, args ...string) Result {
	t.Helper()
	cmd := l.Command(t, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	r := Result{cmd.ProcessState.ExitCode(), out.String(), said.String(), append([]string{"rdmactl"}, args...)}
	if r.Exit != exit {
		t.Fatalf("exit %d, want %d:\n%s", r.Exit, exit, r)
	}
	return r
}

// Report is what is read of rdmactl.run/v1.
type Report struct {
	RunID   string `json:"run_id"`
	Verdict string `json:"verdict"`
	Root    string `json:"root"`
	Changed bool   `json:"changed"`
	Log     string `json:"log"`
	Steps   []struct {
		ID, Status string
		Seconds    float64
	} `json:"steps"`
}

// Decode is the JSON that a command printed.
func Decode[T any](t testing.TB, r Result) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(r.Stdout), &v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, r)
	}
	return v
}

// RollsBack undoes the latest run in a root.
func (l *Lab) RollsBack(t testing.TB, root Root) {
	t.Helper()
	if r := Decode[Report](t, l.Rdmactl(t, 0, "rollback", "--root", root.Dir, "-o", "json")); r.Verdict != "rolled-back" {
		t.Errorf("the verdict of the rollback is %s", r.Verdict)
	}
}

// Run runs a command and puts the end of what it said into the error.
func Run(cmd *exec.Cmd) error {
	var said bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &said
	}
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		text := said.Bytes()
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, text[max(0, len(text)-4000):])
	}
	return nil
}

// Eventually polls until cond holds.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if cond() {
			return
		}
	}
	t.Fatalf("%s: not within two minutes", what)
}
