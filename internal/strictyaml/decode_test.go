package strictyaml_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

type version string

type upper string

func (u *upper) UnmarshalText(text []byte) error {
	if string(text) != strings.ToUpper(string(text)) {
		return fmt.Errorf("%q is not upper case", text)
	}
	*u = upper(text)
	return nil
}

type common struct {
	Source string `yaml:"source"`
}

type row struct {
	Version version `yaml:"version"`
	Count   int8    `yaml:"count"`
	At      strictyaml.Pos
}

type document struct {
	APIVersion string              `yaml:"apiVersion"`
	Rows       []row               `yaml:"rows"`
	Dirs       map[string][]string `yaml:"dirs"`
	UID        *int                `yaml:"uid"`
	Container  *bool               `yaml:"container"`
	Loud       upper               `yaml:"loud"`
	Major      uint32              `yaml:"major"`
	Ratio      float64             `yaml:"ratio"`
	Free       any                 `yaml:"free"`
	Skipped    string              `yaml:"-"`
	hidden     string
	Common     common `yaml:",inline"`
}

func TestDecodeGood(t *testing.T) {
	var got document
	err := strictyaml.Decode("f.yaml", []byte(`apiVersion: rdmactl/v1
rows:
  - version: "24.10"
    count: -3
dirs:
  /sys/class/infiniband: []
  /dev: [a, b]
uid: 0
container: false
loud: ABC
major: 0x1f
ratio: 2
free: {a: [1, 2.5, x, null, true]}
source: here
`), &got)
	if err != nil {
		t.Fatal(err)
	}
	uid, container := 0, false
	if got.hidden != "" {
		t.Errorf("an unexported field was set to %q", got.hidden)
	}
	want := document{
		APIVersion: "rdmactl/v1",
		Rows:       []row{{Version: "24.10", Count: -3, At: strictyaml.Pos{File: "f.yaml", Line: 3, Column: 5}}},
		Dirs:       map[string][]string{"/sys/class/infiniband": {}, "/dev": {"a", "b"}},
		UID:        &uid, Container: &container, Loud: "ABC", Major: 31, Ratio: 2,
		Free:   map[string]any{"a": []any{int64(1), 2.5, "x", nil, true}},
		Common: common{Source: "here"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(document{})); diff != "" {
		t.Error(diff)
	}
}

// TestEachOfATypeHasItsOwnPlace: what is known of a type is worked out once, the values are not.
func TestEachOfATypeHasItsOwnPlace(t *testing.T) {
	var got document
	if err := strictyaml.Decode("f.yaml", []byte("rows:\n- version: a\n- count: 2\n- {version: c, count: 3}\n"), &got); err != nil {
		t.Fatal(err)
	}
	at := func(line int) strictyaml.Pos { return strictyaml.Pos{File: "f.yaml", Line: line, Column: 3} }
	want := []row{{Version: "a", At: at(2)}, {Count: 2, At: at(3)}, {Version: "c", Count: 3, At: at(4)}}
	if diff := cmp.Diff(want, got.Rows); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeFaults(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"unquoted version", "rows:\n- version: 24.10\n", `f.yaml:2:12: version must be a string, not the number 24.10; quote it: "24.10"`},
		{"unquoted date", "source: 2024-10-01\n", `f.yaml:1:9: source must be a string, not the date 2024-10-01; quote it: "2024-10-01"`},
		{"boolean for a string", "source: true\n", `f.yaml:1:9: source must be a string, not the boolean true; quote it: "true"`},
		{"unknown key", "sorce: a\n", `f.yaml:1:1: unknown key "sorce"; did you mean "source"?`},
		{"tag - is no key", "skipped: a\n", `f.yaml:1:1: unknown key "skipped"; known keys are apiVersion, container, dirs, free, loud, major, ratio, rows, source, uid`},
		{"unexported is no key", "hidden: a\n", `f.yaml:1:1: unknown key "hidden"; known keys are apiVersion, container, dirs, free, loud, major, ratio, rows, source, uid`},
		{"repeated key", "source: a\nsource: b\n", `f.yaml:2:1: key "source" is already given at line 1`},
		{"repeated map key", "apiVersion: x\ndirs:\n  /a: []\n  /a: [b]\n", `f.yaml:4:3: key "/a" is already given at line 3`},
		{"number as map key", "dirs:\n  1: []\n", `f.yaml:2:3: key "1" must be a string, not the number 1; quote it: "1"`},
		{"missing list", "apiVersion: x\ndirs:\n  /a:\n", `f.yaml:3:6: "/a" has no value; write [] for an empty list or remove the key`},
		{"item of a list", "apiVersion: x\ndirs:\n  /a: [b, 1]\n", `f.yaml:3:11: "/a"[1] must be a string, not the number 1; quote it: "1"`},
		{"list in a list", "rows:\n- count: 1\n- [a]\n", `f.yaml:3:3: rows[1] must be a mapping, not a list`},
		{"list for a mapping", "dirs: [a]\n", `f.yaml:1:7: dirs must be a mapping, not a list`},
		{"mapping for a string", "source: {a: b}\n", `f.yaml:1:9: source must be a string, not a mapping`},
		{"too large", "rows: [{count: 200}]\n", `f.yaml:1:16: count must be a whole number of 8 bits, not the number 200`},
		{"negative", "major: -1\n", `f.yaml:1:8: major must be a whole number from 0 of 32 bits, not the number -1`},
		{"yes is no boolean", "container: yes\n", `f.yaml:1:12: container must be true or false, not the string "yes"`},
		{"own type", "loud: abc\n", `f.yaml:1:7: loud: "abc" is not upper case`},
		{"merge", "rows:\n- &a {count: 1}\n- <<: *a\n", `f.yaml:3:3: merge keys (<<) are not supported; write the keys out`},
		{"two documents", "source: a\n---\nsource: b\n", `f.yaml:3:1: a second document starts here; only one is allowed`},
		{"empty", "# nothing\n", `f.yaml:1:1: the file has no document`},
		{"syntax", "source: a\nrows: [\n", `f.yaml:2:1: not valid YAML: did not find expected node content`},
		{"syntax in the middle", "source: a\nrows:\n  - version: \"1\"\n   count: 3\n", `f.yaml:3:1: not valid YAML: did not find expected '-' indicator`},
		{"tab", "source: a\n\tx: b\n", `f.yaml:2:1: not valid YAML: found a tab character that violates indentation`},
		{"unknown anchor", "source: a\nfree: [b, *x]\n", `f.yaml:2:11: not valid YAML: unknown anchor 'x' referenced`},
		{"control character", "source: a\nfree: é\x00b\n", `f.yaml:2:8: not valid YAML: control characters are not allowed`},
		{"no UTF-8", "source: a\nfree: \xff\n", `f.yaml:2:7: not valid YAML: invalid leading UTF-8 octet`},
		{
			"known keys once", "one: a\ntwo: b\nrows:\n- three: c\n- four: d\n  Ver-sion: e\n",
			"f.yaml:1:1: unknown key \"one\"; known keys are apiVersion, container, dirs, free, loud, major, ratio, rows, source, uid\n" +
				"f.yaml:2:1: unknown key \"two\"\n" +
				"f.yaml:4:3: unknown key \"three\"; known keys are count, version\n" +
				"f.yaml:5:3: unknown key \"four\"\n" +
				"f.yaml:6:3: unknown key \"Ver-sion\"; did you mean \"version\"?",
		},
		{"no mapping", "just text\n", `f.yaml:1:1: document must be a mapping, not a string`},
		{"alias loop", "free: &a [*a]\n", `f.yaml:1:11: alias *a contains itself`},
		{
			"all at once", "sorce: a\nrows:\n- version: 5.4\n  count: x\n",
			"f.yaml:1:1: unknown key \"sorce\"; did you mean \"source\"?\n" +
				"f.yaml:3:12: version must be a string, not the number 5.4; quote it: \"5.4\"\n" +
				"f.yaml:4:10: count must be a whole number of 8 bits, not the string \"x\"",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out document
			err := strictyaml.Decode("f.yaml", []byte(tt.in), &out)
			if err == nil {
				t.Fatalf("decoded to %+v, want an error", out)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.Usage {
				t.Errorf("got %T, want a fault of kind Usage", err)
			}
		})
	}
}

func TestAliasesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("free:\n- &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "- &a%d [%s]\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	var out document
	err := strictyaml.Decode("f.yaml", []byte(b.String()), &out)
	if err == nil || !strings.Contains(err.Error(), "aliases expand to more than") {
		t.Fatalf("got %v, want the alias limit", err)
	}
	// A few aliases are fine.
	if err := strictyaml.Decode("f.yaml", []byte("free: [&a {b: c}, *a, *a]\n"), &out); err != nil {
		t.Fatal(err)
	}
}

func TestDepthIsBounded(t *testing.T) {
	var out document
	in := "free: " + strings.Repeat("[", 500) + strings.Repeat("]", 500) + "\n"
	if err := strictyaml.Decode("f.yaml", []byte(in), &out); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Fatalf("got %v, want the depth limit", err)
	}
}

func TestDecodeNeedsAPointer(t *testing.T) {
	if err := strictyaml.Decode("f.yaml", []byte("a: b\n"), document{}); err == nil {
		t.Error("decoding into a value that cannot be set gave no error")
	}
}

func TestDecodeAll(t *testing.T) {
	var got []string
	err := strictyaml.DecodeAll("s.yaml", []byte("source: a\n---\n---\nsorce: b\n---\nsource: c\n---\nsource: d\n"), func(d document, _ strictyaml.Place) error {
		got = append(got, d.Common.Source)
		if d.Common.Source == "c" {
			return errors.New("c is not liked")
		}
		return nil
	})
	if diff := cmp.Diff([]string{"a", "c", "d"}, got); diff != "" {
		t.Error(diff)
	}
	want := "s.yaml:4:1: unknown key \"sorce\"; did you mean \"source\"?\ns.yaml:6:1: c is not liked"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := strictyaml.DecodeAll("s.yaml", nil, func(document, strictyaml.Place) error { return nil }); err == nil {
		t.Error("an empty stream gave no error")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("source: a\nrows:\n- version: \"1\"\n"))
	f.Add([]byte("a: &a [*a]\n---\n? {b: c}\n: d\n"))
	f.Add([]byte("free: !!binary aGk=\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var one document
		errOne := strictyaml.Decode("f.yaml", data, &one)
		seen := 0
		errAll := strictyaml.DecodeAll("f.yaml", data, func(document, strictyaml.Place) error { seen++; return nil })
		if errOne == nil && (errAll != nil || seen != 1) {
			t.Errorf("one document decodes alone and not as a stream: %v, %d", errAll, seen)
		}
	})
}

func TestPlace(t *testing.T) {
	at := func(line, column int) strictyaml.Pos {
		return strictyaml.Pos{File: "f.yaml", Line: line, Column: column}
	}
	seen := false
	err := strictyaml.DecodeAll("f.yaml", []byte("---\nfree: &a\n  /x: [b, c]\nsource: d\ndirs: *a\n"), func(_ document, p strictyaml.Place) error {
		seen = true
		for _, tt := range []struct {
			name      string
			got, want strictyaml.Pos
		}{
			{"document", p.Value(), at(2, 1)},
			{"value", p.Value("source"), at(4, 9)},
			{"key", p.Key("source"), at(4, 1)},
			{"key of a map", p.Key("free", "/x"), at(3, 3)},
			{"item", p.Value("free", "/x", 1), at(3, 11)},
			{"under", p.Under("free", "/x").Value(0), at(3, 8)},
			{"through an alias", p.Value("dirs", "/x", 1), at(3, 11)},
			{"missing key", p.Value("none", "x"), at(2, 1)},
			{"missing item", p.Value("free", "/x", 2), at(3, 7)},
			{"missing last key", p.Key("free", "y"), at(2, 7)},
		} {
			if tt.got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, tt.got, tt.want)
			}
		}
		return nil
	})
	if err != nil || !seen {
		t.Fatal(err)
	}
	if got := (strictyaml.Place{}).Value("x"); got != (strictyaml.Pos{}) {
		t.Errorf("nowhere is at %s", got)
	}
}
