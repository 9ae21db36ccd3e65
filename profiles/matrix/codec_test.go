package matrix

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodedFormKeepsAll(t *testing.T) {
	m, err := Load("m.yaml", []byte(sound))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(string(encode(m)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, got, noPlaces()); diff != "" {
		t.Error(diff)
	}
	if got.Releases[0].At.Line != 0 {
		t.Errorf("a built-in entry stands at %s", got.Releases[0].At)
	}
}

// TestDecodeRefuses: a damaged binary must not become a matrix with holes.
func TestDecodeRefuses(t *testing.T) {
	m, err := Load("m.yaml", []byte(sound))
	if err != nil {
		t.Fatal(err)
	}
	data := string(encode(m))
	for n := range len(data) {
		if _, err := decode(data[:n]); err == nil {
			t.Fatalf("cut at byte %d of %d it gave no error", n, len(data))
		}
	}
	otherTypes := []byte(data)
	otherTypes[len(magic)]++
	for name, text := range map[string]string{
		"more":          data + "x",
		"other types":   string(otherTypes),
		"other magic":   strings.Replace(data, "matrix 1", "matrix 2", 1),
		"texts too big": data[:len(magic)+4] + "\x01\xff\xff\xff\xff\x0f",
	} {
		if _, err := decode(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	m, err := Load("m.yaml", []byte(sound))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(encode(m)))
	f.Fuzz(func(t *testing.T, data string) {
		m, err := decode(data)
		if err != nil {
			return
		}
		if _, err := decode(string(encode(m))); err != nil {
			t.Error(err)
		}
	})
}
