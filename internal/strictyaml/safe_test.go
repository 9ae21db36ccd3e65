package strictyaml_test

import (
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

// TestSecretsAreNotQuoted: a file that is named by mistake may be a secret, and its text stays out of messages. A
// document that says that it is one of this program's has what is wrong in it quoted.
func TestSecretsAreNotQuoted(t *testing.T) {
	const secret = "$6$saltsalt$KiCkBaCk"
	for name, text := range map[string]string{
		"a password file":      "root:" + secret + ":19000:0\n",
		"one with keys":        "root: " + secret + "\n",
		"a key with the text":  "root:" + secret + ": 1\n",
		"a token":              "KiCkBaCk0123456789\n",
		"a token in a list":    "[\"" + secret + "\"]\n",
		"a repeated key":       "\"" + secret + "\": 1\n\"" + secret + "\": 2\n",
		"under a key of ours":  "uid: " + secret + "\nrows: " + secret + "\n",
		"a key of a mapping":   "dirs:\n  " + secret + ": 1\n",
		"a tag":                "uid: !" + secret + " x\n",
		"an alias":             "uid: *" + secret + "\n",
		"what must be quoted":  "apiversion: 1\ndirs:\n  a: [2026-11-30T06:00:00Z, KiCkBaCk]\nloud: " + secret + "x\n",
		"a list as a key":      "? [" + secret + "]\n: 1\n",
		"JSON":                 "{\"root:" + secret + "\": \"" + secret + "\"}",
		"JSON that is cut":     "{\"root:" + secret + "\": \"" + secret,
		"JSON of another kind": "\"" + secret + "\"",
	} {
		var out document
		err := strictyaml.Decode("f.yaml", []byte(text), &out)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if strings.Contains(err.Error(), "KiCkBaCk") || !strings.Contains(err.Error(), "f.yaml:") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var out document
	err := strictyaml.Decode("f.yaml", []byte("apiVersion: rdmactl/v1\n\"a b\": 1\nuid: some text\n"), &out)
	if err == nil || !strings.Contains(err.Error(), `"a b"`) || !strings.Contains(err.Error(), `"some text"`) {
		t.Errorf("what is wrong in a document of ours is not quoted: %v", err)
	}
	err = strictyaml.Decode("f.yaml", []byte("uld: 1\n"), &out)
	if err == nil || !strings.Contains(err.Error(), `unknown key "uld"; did you mean "uid"?`) {
		t.Errorf("a plain key is not quoted: %v", err)
	}
}
