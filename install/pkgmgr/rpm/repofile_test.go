package rpm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRepoIDs(t *testing.T) {
	for text, want := range map[string][]string{
		"[doca]\nname=[x]\nbaseurl=https://example.com\n\n [doca-2] \n": {"doca", "doca-2"},
		"[main]\ngpgcheck=1\n":               {},
		"[a b]\n[--x]\n[*]\n[]\n[ok_1.2:3]":  {"ok_1.2:3"},
		"# [off]\nname=none\nbaseurl=[x]y\n": {},
	} {
		if diff := cmp.Diff(want, RepoIDs(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
