package rpm

import (
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

func TestFailedScripts(t *testing.T) {
	out := "warning: %post(badpost-1.0-1.noarch) scriptlet failed, exit status 1\nwarning: %postun(old-1.0-1.noarch) scriptlet failed, exit status 1\n"
	if got := FailedScripts(out); len(got) != 1 || !strings.Contains(got[0], "badpost") {
		t.Errorf("%q", got)
	}
}

// TestCheckUndo refuses what would be another thing on a command line.
func TestCheckUndo(t *testing.T) {
	back := func(file string) pkgmgr.Undo {
		return pkgmgr.Undo{Back: []pkgmgr.OldPackage{{Package: pkgmgr.Package{Name: "a"}, File: file}}}
	}
	for name, u := range map[string]pkgmgr.Undo{"relative": back("a.rpm"), "blank": back("/var/a b.rpm"), "option": {Purge: []string{"--force"}}, "glob": {Remove: []string{"a*"}}} {
		if CheckUndo(u) == nil {
			t.Errorf("%s is taken", name)
		}
	}
	good := back("/var/lib/rdmactl/a.rpm")
	good.Purge, good.Remove = []string{"libibverbs"}, []string{"bb:x86_64"}
	if err := CheckUndo(good); err != nil {
		t.Error(err)
	}
}

// TestSortOffers has the newest first, by rpm's rules.
func TestSortOffers(t *testing.T) {
	offers := []pkgmgr.Offer{{Version: "44.0-150600.2"}, {Version: "2410mlnx54-1.2410068"}, {Version: "44.0-150600.10"}}
	SortOffers(offers)
	got := []string{}
	for _, o := range offers {
		got = append(got, o.Version)
	}
	if strings.Join(got, " ") != "2410mlnx54-1.2410068 44.0-150600.10 44.0-150600.2" {
		t.Errorf("sorted: %v", got)
	}
}
