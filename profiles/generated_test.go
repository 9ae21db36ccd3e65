package profiles

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestResolved keeps the resolved form of the built-in profiles in step with their files.
// RDMACTL_UPDATE=1 writes it anew.
func TestResolved(t *testing.T) {
	all, err := List()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		found, err := Library{}.find(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Library{}.resolve(found, nil)
		if err != nil {
			t.Fatal(err)
		}
		var data bytes.Buffer
		enc := json.NewEncoder(&data)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		if err := enc.Encode(want); err != nil {
			t.Fatal(err)
		}
		file := "resolved/" + name + ".json"
		if os.Getenv("RDMACTL_UPDATE") != "" {
			if err := os.WriteFile(file, data.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue // what is compiled in is the old one
		}
		have, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(have, data.Bytes()) {
			t.Errorf("%s is out of step with %s.yaml (%v); RDMACTL_UPDATE=1 writes it", file, name, err)
			continue
		}
		got, err := Library{}.Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-file +loaded):\n%s", name, diff)
		}
	}
	entries, err := os.ReadDir("resolved")
	if err != nil || len(entries) != len(all) {
		t.Errorf("%d files for %d profiles: %v", len(entries), len(all), err)
	}
}
