package apt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

func TestParseMadison(t *testing.T) {
	const out = `libibverbs1 | 2410mlnx54-1.2410068 | http://user:secret@mirror.example.com/mlnx_ofed ./ Packages
libibverbs1 |     44.0-2 | http://deb.example.com/debian bookworm/main amd64 Packages
 rdma-core |     44.0-2 | http://deb.example.com/debian bookworm/main Sources
    half | 1.0
libibverbs1 | 52.0-2~bpo12+1 | http://deb.example.com/debian bookworm-backports/main amd64 Packages
`
	want := map[string][]pkgmgr.Offer{"libibverbs1": {
		{Version: "2410mlnx54-1.2410068", Repository: "http://mirror.example.com/mlnx_ofed"},
		{Version: "52.0-2~bpo12+1", Repository: "http://deb.example.com/debian"},
		{Version: "44.0-2", Repository: "http://deb.example.com/debian"},
	}}
	if diff := cmp.Diff(want, parseMadison(out)); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutPackages(t *testing.T) {
	const one = "Package: lib\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\nDescription: x\n Package: other\n"
	const two = "Package: lib\nStatus: install ok installed\nArchitecture: i386\nVersion: 1\n"
	const three = "Package: tool\nStatus: install ok installed\nArchitecture: all\nVersion: 1\n"
	text := strings.Join([]string{one, two, three}, "\n")
	left, missing := withoutPackages(text, []string{"lib:amd64", "tool:all"})
	if strings.TrimSpace(left) != strings.TrimSpace(two) || len(missing) > 0 {
		t.Errorf("%q, %v", left, missing)
	}
	if left, missing := withoutPackages(text, []string{"other:amd64"}); left != text || len(missing) != 1 {
		t.Errorf("%q, %v", left, missing)
	}
}

// What is not there is not named, what is older needs to be allowed, and nothing else does.
func TestWordsOfARequest(t *testing.T) {
	db := pkgmgr.Database{}
	for _, p := range []pkgmgr.Package{
		{Name: "lib", Arch: "amd64", Version: "2410mlnx54-1", Status: pkgmgr.Installed},
		{Name: "old", Arch: "amd64", Version: "9", Status: pkgmgr.ConfigFiles},
		{Name: "half", Arch: "all", Version: "1", Status: pkgmgr.Broken},
	} {
		db[p.Key()] = p
	}
	for name, c := range map[string]struct {
		req  pkgmgr.Request
		want []string
	}{
		"older":                    {pkgmgr.Request{Install: []pkgmgr.Want{{Name: "lib", Version: "44.0-2"}}}, []string{"--allow-downgrades", "lib=44.0-2"}},
		"newer":                    {pkgmgr.Request{Install: []pkgmgr.Want{{Name: "lib", Version: "2510mlnx54-1"}}}, []string{"lib=2510mlnx54-1"}},
		"older than what was once": {pkgmgr.Request{Install: []pkgmgr.Want{{Name: "old", Version: "1"}}}, []string{"old=1"}},
		"removals":                 {pkgmgr.Request{Remove: []string{"lib", "half", "old", "gone"}}, []string{"lib-", "half-"}},
		"of one architecture":      {pkgmgr.Request{Remove: []string{"lib:i386", "lib:amd64"}}, []string{"lib:amd64-"}},
	} {
		got, err := words(c.req, db)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
