package matrix

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write embedded.bin and docs/matrix.md from the YAML files")

const howToUpdate = "write it anew: go generate ./profiles/matrix"

// fromFiles is the matrix as the YAML files have it, read by name.
func fromFiles(t testing.TB) *Matrix {
	t.Helper()
	names, err := filepath.Glob("*.yaml")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	var all []*Matrix
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		one, err := Load("profiles/matrix/"+name, data)
		if err != nil {
			t.Error(err)
			continue
		}
		all = append(all, one)
	}
	if t.Failed() {
		t.FailNow()
	}
	m, err := Merge(&Matrix{}, all...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestGenerated(t *testing.T) {
	m := fromFiles(t)
	for _, file := range []struct {
		name string
		want []byte
	}{
		{"embedded.bin", encode(m)},
		{filepath.Join("..", "..", "docs", "matrix.md"), matrixPage(t, m)},
	} {
		if *update {
			if err := os.WriteFile(file.name, file.want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(file.name)
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Equal(have, file.want) {
			t.Errorf("%s is not what the YAML files say; %s", file.name, howToUpdate)
		}
	}
}

// TestEmbedded: what is embedded is the matrix of the files and not only of the same bytes.
func TestEmbedded(t *testing.T) {
	got, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromFiles(t), got, noPlaces(), cmpopts()); diff != "" {
		t.Errorf("the embedded matrix is not that of the files; %s\n%s", howToUpdate, diff)
	}
}

// cmpopts: an empty list of a file is none.
func cmpopts() cmp.Option {
	return cmp.FilterValues(func(a, b []string) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
}

// noPlaces: what is embedded was read from no file.
func noPlaces() cmp.Option {
	return cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".At" }, cmp.Ignore())
}
