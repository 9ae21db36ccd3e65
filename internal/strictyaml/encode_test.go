package strictyaml_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

type texts struct {
	Texts map[string]string `yaml:"texts"`
}

func TestEncodeIsReadable(t *testing.T) {
	got, err := strictyaml.Encode(texts{map[string]string{"/b": "one\ntwo\n", "/a": "24.10", "/c": "no end\nhere"}})
	if err != nil {
		t.Fatal(err)
	}
	want := "texts:\n  /a: \"24.10\"\n  /b: |\n    one\n    two\n  /c: |-\n    no end\n    here\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// FuzzEncode is the property that whatever is recorded is read back unchanged.
func FuzzEncode(f *testing.F) {
	for _, s := range []string{
		"", " ", "\n", "\n\n", " lead\nx\n", "\tlead\n", "trail \n", "a\n\n\n", "a\r\nb\r\n", "\x00\x01", "\xff\xfe", "yes", "~", "null",
		"0o17", "0777", "2024-01-01", "1_000", "*a", "&a", "!!x", "- a", "a: b", "#c", "a #c\n", "\u2028\n", "\ufeffa\n", "\u0085\n",
		"---\n", "...\n", "a\n---\nb\n", "%YAML\n", "<<", "=", "\u00a0\n", "😀\nx\n", strings.Repeat("long ", 100), "x\n  y\n\tz\n", "key?\n? x\n",
		"a\n\n", "a\n \n", "\"\n", "'\n", "a\x7f\n", "a\ufffd\n",
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		in := texts{map[string]string{key: value}}
		data, err := strictyaml.Encode(in)
		if err != nil {
			t.Fatal(err)
		}
		var out texts
		if err := strictyaml.Decode("f.yaml", data, &out); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(in, out); diff != "" {
			t.Errorf("%s\n%q", diff, data)
		}
	})
}
