package zypper

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// As `zypper addlock --type package libibverbs1 rdma-core` of zypper 1.14 writes it, and a person's.
const locked = `
type: package
match_type: glob
case_sensitive: on
solvable_name: libibverbs1


type: package
match_type: glob
case_sensitive: on
solvable_name: rdma-core


type: patch
match_type: glob
case_sensitive: on
solvable_name: openSUSE-2024-1

# together
type: package
solvable_name: opensm ibacm
version: == 3
`

func TestLocks(t *testing.T) {
	var got []pkgmgr.Hold
	for _, p := range paragraphs(locked) {
		got = append(got, holdsOf(p)...)
	}
	want := []pkgmgr.Hold{{Name: "libibverbs1"}, {Name: "rdma-core"}, {Name: "opensm", Version: "== 3"}, {Name: "ibacm", Version: "== 3"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Join(paragraphs(locked), "") != locked {
		t.Error("the parts are not the whole")
	}
	left := withoutLocks(locked, []pkgmgr.Hold{{Name: "rdma-core"}, {Name: "opensm", Version: "== 3"}, {Name: "openSUSE-2024-1"}})
	if diff := cmp.Diff(strings.Replace(locked, "\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: rdma-core\n\n", "", 1), left); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if left := withoutLocks(locked, []pkgmgr.Hold{{Name: "rdma"}}); left != locked {
		t.Errorf("another name: %s", left)
	}
}

func TestOtherLocksFile(t *testing.T) {
	for conf, want := range map[string]string{
		"": "[main]\nlocksfile.path = /x/locks\n",
		"# c\n[main]\nmultiversion = a\nlocksfile.path = /etc/zypp/locks\n": "# c\n[main]\nlocksfile.path = /x/locks\nmultiversion = a\n",
		"[main]\nlocksfile.apply = yes":                                     "[main]\nlocksfile.path = /x/locks\nlocksfile.apply = yes\n",
	} {
		if got := withLocksFile(conf, "/x/locks"); got != want {
			t.Errorf("%q becomes %q, want %q", conf, got, want)
		}
	}
}
