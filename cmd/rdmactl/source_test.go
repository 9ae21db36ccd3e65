package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/fault"
)

func named(name string) source { return source{facts: facts.Facts{Host: facts.Is(name, "test")}} }

// One host that fails does not keep the others from their answers, however it fails.
func TestOneHostOfAFleetFails(t *testing.T) {
	broken := errors.New("the output is closed")
	for name, tc := range map[string]struct {
		fail func() error
		kind fault.Kind // of the whole, 0 for an error that is no fault
		says string
		ends bool // it is not the host's
	}{
		"a panic":         {func() error { var none []int; return errors.New(string(rune(none[0]))) }, fault.Failed, "b: cannot answer for the host: runtime error: index out of range", false},
		"a stop":          {func() error { return fault.New(fault.Stopped, "live-unsafe", "reboot", "cannot plan") }, fault.Stopped, "b: cannot plan", false},
		"faulty evidence": {func() error { return fault.New(fault.Usage, "faulty-evidence", "", "cannot read") }, fault.Usage, "b: cannot read", false},
		"the command":     {func() error { return fault.New(fault.Usage, "usage", "", "give one host") }, fault.Usage, "give one host", true},
		"the output":      {func() error { return broken }, fault.Failed, "the output is closed", true},
	} {
		var answered []string
		list := hostList{answer: func(src source, several bool) error {
			if src.hostName() == "b" {
				return tc.fail()
			}
			answered = append(answered, src.hostName())
			return nil
		}}
		var err error
		for _, host := range []string{"a", "b", "c"} {
			if err = list.read(host, func() source { return named(host) }); err != nil {
				break
			}
		}
		if err == nil {
			err = list.end([]string{"fleet"})
		}
		if err == nil || fault.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
		if want := map[bool][]string{false: {"a", "c"}, true: {"a"}}[tc.ends]; !slices.Equal(answered, want) {
			t.Errorf("%s: answered are %q, want %q", name, answered, want)
		}
	}
	// A host whose facts cannot be made out is such a host, and one alone is a fault as well.
	list := hostList{answer: func(source, bool) error { return nil }}
	if err := list.read("a", func() source { panic("no facts") }); err != nil {
		t.Errorf("%v", err)
	}
	if err := list.end(nil); fault.KindOf(err) != fault.Failed || !strings.Contains(err.Error(), "a: cannot answer for the host: no facts, at source_test.go:") {
		t.Errorf("%v", err)
	}
	sound := hostList{answer: func(source, bool) error { return nil }}
	for _, host := range []string{"a", "b"} {
		if err := sound.read(host, func() source { return named(host) }); err != nil {
			t.Error(err)
		}
	}
	if err := sound.end(nil); err != nil {
		t.Errorf("no host failed: %v", err)
	}
}
