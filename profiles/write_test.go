package profiles_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/profiles"
)

// What is shown is a profile again, and the same one.
func TestYAML(t *testing.T) {
	all, err := profiles.List()
	if err != nil {
		t.Fatal(err)
	}
	var shown []profiles.Resolved
	for _, name := range all {
		p, err := profiles.Library{}.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, p)
	}
	mine, err := profiles.Library{}.LoadFile("mine.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	mine.Memlock.Everyone = true
	mine.Memlock.Groups = []string{"no", "y", "null"}
	mine.Memlock.Units = []string{"0.service", "12:30.service", "1e3.service", "-.service"}[:3]
	mine.Modules.Load = append(mine.Modules.Load, profiles.Module{Name: "0x10", Why: `quotes " and \ and # and: é < >`})
	mine.File = "a\nb.yaml"
	for _, p := range append(shown, mine) {
		again, err := profiles.LoadFile("shown.yaml", p.YAML())
		if err != nil {
			t.Errorf("%s: %v\n%s", p.Name, err, p.YAML())
			continue
		}
		if diff := cmp.Diff(p.Profile, again); diff != "" {
			t.Errorf("%s (-profile +read again):\n%s", p.Name, diff)
		}
	}
}

func TestYAMLNamesOrigins(t *testing.T) {
	p, err := profiles.Library{}.Load("hpc")
	if err != nil {
		t.Fatal(err)
	}
	text := string(p.YAML())
	for _, want := range []string{
		"# Profile hpc, built-in; hpc extends lts extends inbox.\n",
		"\nprefer: [doca-ofed, mlnx-ofed, inbox] # from lts\n",
		"\n  debian:\n    # from inbox\n    - {name: rdma-core, ",
		"\n    # from hpc\n    - {name: librdmacm1, ",
		"\n  load:\n    # from inbox\n    - {name: ib_uverbs, ",
		"\n    # from hpc\n    - {name: ib_ipoib, ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	inbox, err := profiles.Library{}.Load("inbox")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(inbox.YAML()), "# from") {
		t.Errorf("inbox takes nothing over:\n%s", inbox.YAML())
	}
}
