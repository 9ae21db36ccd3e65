package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"rdmactl": func() { os.Exit(start(os.Getenv("RDMACTL_TEST_ETC"))) }})
}

// TestScripts runs the whole binary: each script in testdata/script is one story.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("RDMACTL_UPDATE") != "",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":    exits,
			"sha256":   sha256Of,
			"stdoutTo": stdoutTo,
			"replace":  replaceIn,
		},
	})
}

// exits runs a command and checks its exit code: exits CODE COMMAND [ARGS].
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGS]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("cannot run %s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v: exit %d, want %d", args[1:], got, want)
	}
}

// sha256Of puts the checksum of a file into a variable: sha256 NAME FILE.
func sha256Of(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sha256 NAME FILE")
	}
	sum := sha256.Sum256([]byte(ts.ReadFile(args[1])))
	ts.Setenv(args[0], hex.EncodeToString(sum[:]))
}

// stdoutTo writes what the last command printed to a file, with one text put for another, such as a directory that
// differs in each run: stdoutTo FILE OLD NEW.
func stdoutTo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: stdoutTo FILE OLD NEW")
	}
	text := strings.ReplaceAll(ts.ReadFile("stdout"), args[1], args[2])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// replaceIn writes a file anew with one text put for another that must be in it: replace OLD NEW FILE TO.
func replaceIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: replace OLD NEW FILE TO")
	}
	text := ts.ReadFile(args[2])
	if !strings.Contains(text, args[0]) {
		ts.Fatalf("%s has no %q", args[2], args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(strings.ReplaceAll(text, args[0], args[1])), 0o600))
}
