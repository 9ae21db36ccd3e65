package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/internal/fault"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReadmeShowsTheRefusal keeps the example of a host without a card in step with the program.
func TestReadmeShowsTheRefusal(t *testing.T) {
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"plan", "--evidence", "testdata/no-card.yaml"}, streams{in: strings.NewReader(""), out: &out, err: &errs})
	want := fmt.Sprintf("$ rdmactl plan; echo \"exit $?\"\n%sexit %d\n", out.String(), code)
	if code != int(fault.Refused) || !strings.Contains(readme(t), want) {
		t.Errorf("README.md does not show:\n%s%s", want, errs.String())
	}
}

// TestReadmeListsTheExits keeps the README's table of exit codes complete.
func TestReadmeListsTheExits(t *testing.T) {
	text := readme(t)
	for _, kind := range allExits() {
		if !strings.Contains(text, fmt.Sprintf("\n| %d | ", int(kind))) {
			t.Errorf("exit %d is not in README.md", int(kind))
		}
	}
	for _, cmd := range newRootCmd(&globalOptions{output: "table"}).Commands() {
		if !cmd.Hidden && !strings.Contains(text, "`"+cmd.Name()) && !strings.Contains(text, cmd.Name()+" ") {
			t.Errorf("the command %s is not in README.md", cmd.Name())
		}
	}
}
