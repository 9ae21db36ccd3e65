package detect

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// evidence reads testdata/NAME.yaml.
func evidence(t testing.TB, name string) *host.Evidence {
	t.Helper()
	file := filepath.Join("testdata", name+".yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := host.ParseEvidence(file, data)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 {
		t.Fatalf("%s has %d documents, want 1", file, len(all))
	}
	return all[0]
}

func detected(t testing.TB, e *host.Evidence) facts.Facts {
	t.Helper()
	return Host(t.Context(), host.NewReplay(e))
}

// lines prints facts as one line for each leaf: what is known with its source, what is absent, and
// what is unknown for a reason. Silence is left out.
func lines(t testing.TB, f facts.Facts) []string {
	t.Helper()
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	var out []string
	walk("", tree, &out)
	return out
}

func walk(at string, node any, out *[]string) {
	add := func(format string, args ...any) {
		*out = append(*out, strings.TrimPrefix(at, ".")+fmt.Sprintf(format, args...))
	}
	switch n := node.(type) {
	case map[string]any:
		state, isField := n["state"].(string)
		if !isField {
			for _, key := range slices.Sorted(maps.Keys(n)) {
				walk(at+"."+key, n[key], out)
			}
			return
		}
		switch state {
		case "absent":
			add(" is absent (%v)", n["source"])
		case "unknown":
			if n["error"] != nil {
				add(" is unknown: %v (%v)", n["error"], n["source"])
			}
		case "known":
			if list, ok := n["value"].([]any); ok && len(list) > 0 {
				if _, ok := list[0].(map[string]any); ok {
					walk(at, list, out)
					return
				}
			}
			text, err := json.Marshal(n["value"])
			add(" = %s (%v)%v", text, n["source"], errText(err))
		default: // a port, whose state is a field of its own
			for _, key := range slices.Sorted(maps.Keys(n)) {
				walk(at+"."+key, n[key], out)
			}
		}
	case []any:
		for i, item := range n {
			walk(fmt.Sprintf("%s[%s]", at, label(i, item)), item, out)
		}
	case nil:
	default:
		text, err := json.Marshal(n)
		add(": %s%v", text, errText(err))
	}
}

func errText(err error) string {
	if err != nil {
		return " " + err.Error()
	}
	return ""
}

// label names an item of a list by its name, so that a golden file reads well.
func label(i int, item any) string {
	fields, ok := item.(map[string]any)
	if !ok {
		return fmt.Sprint(i)
	}
	for _, key := range []string{"name", "address", "path"} {
		if name, ok := fields[key].(string); ok && name != "" {
			return name
		}
	}
	return fmt.Sprint(i)
}

// posing is a replay that says it is another kind of source and writes down what it is asked.
type posing struct {
	host.Reader
	kind  string
	asked chan string
}

func (p posing) Told() host.Told {
	told := p.Reader.Told()
	told.Kind = p.kind
	return told
}

func (p posing) Query(ctx context.Context, argv ...string) (host.Result, error) {
	if p.asked != nil {
		p.asked <- strings.Join(argv, " ")
	}
	return p.Reader.Query(ctx, argv...)
}
