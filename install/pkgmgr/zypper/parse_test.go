package zypper

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/plan"
)

const answer = `<?xml version='1.0'?>
<stream>
<message type="info">Loading repository data...</message>
<install-summary download-size="12786" space-usage-diff="-32" packages-to-change="4">
<to-upgrade>
<solvable type="package" name="alpha" edition="1:2.0-1" arch="noarch" edition-old="1.0-1" arch-old="noarch" summary="a &quot;test&quot;">
<description>test</description></solvable>
</to-upgrade>
<to-install>
<solvable type="package" name="beta" edition="0:2.0-1" arch="x86_64" repository="test" summary="test"/>
<solvable type="patch" name="SUSE-2026-1" edition="1" arch="noarch" summary="no package"/>
</to-install>
<to-remove>
<solvable type="package" name="gamma" edition="1.0-1" arch="noarch" summary="test"/>
</to-remove>
<to-upgrade-change-arch>
<solvable type="package" name="delta" edition="2.0-1" arch="noarch" edition-old="1.0-1" arch-old="x86_64" summary="test"/>
</to-upgrade-change-arch>
</install-summary>
<prompt id="0"><text>Continue?</text></prompt>
</stream>
`

func TestSummary(t *testing.T) {
	sum, err := parseSummary(answer)
	if err != nil || !sum.told || sum.download != 12786 || sum.installed != -32 {
		t.Fatalf("%+v, %v", sum, err)
	}
	want := []plan.ResolvedPackage{
		{Name: "alpha", Arch: "noarch", Version: "1:2.0-1", Action: "upgrade"},
		{Name: "beta", Arch: "x86_64", Version: "2.0-1", Origin: "test", Action: "install"},
		{Name: "gamma", Arch: "noarch", From: "1.0-1", Action: "remove"},
		{Name: "delta", Arch: "noarch", Version: "2.0-1", Action: "install"},
		{Name: "delta", Arch: "x86_64", From: "1.0-1", Action: "remove"},
	}
	if diff := cmp.Diff(want, sum.actions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, out := range map[string]string{
		"a list that is not known":  strings.ReplaceAll(answer, "to-remove", "to-sell"),
		"a package without version": strings.Replace(answer, `edition="1.0-1" arch="noarch" summary="test"/>`, `arch="noarch"/>`, 1),
	} {
		if sum, err := parseSummary(out); err == nil {
			t.Errorf("%s: %v", name, sum.actions)
		}
	}
	if sum, err := parseSummary("<stream><message type=\"error\">No provider of 'nosuch=1.0-1' found.</message></stream>"); err != nil || sum.told {
		t.Errorf("an error is taken for an answer: %v, %v", sum, err)
	}
}

func TestBestOffer(t *testing.T) {
	offers, err := parseSearch(`<stream><search-result version="0.0"><solvable-list>
<solvable status="installed" name="alpha" kind="package" edition="9.0-1" arch="noarch" repository="(System Packages)"/>
<solvable status="other-version" name="alpha" kind="package" edition="3.0-1" arch="noarch" repository="later"/>
<solvable status="other-version" name="alpha" kind="package" edition="1.0-1" arch="noarch" repository="first"/>
<solvable status="other-version" name="alpha" kind="package" edition="2.0-1" arch="noarch" repository="first"/>
<solvable status="not-installed" name="alpha" kind="pattern" edition="5.0-1" arch="noarch" repository="first"/>
</solvable-list></search-result></stream>`)
	if err != nil || len(offers) != 4 {
		t.Fatalf("%v, %v", offers, err)
	}
	repos, err := parseRepos(`<stream><repo-list><repo alias="a" name="first" priority="90" enabled="1"><url>http://x/</url></repo>
<repo alias="b" name="later" priority="99" enabled="0"><url>http://user:secret@y/</url></repo></repo-list></stream>`)
	if err != nil || len(repos) != 2 || !repos[0].Enabled || repos[1].Enabled {
		t.Fatalf("%v, %v", repos, err)
	}
	if v, ok := best("alpha", offers, repos); !ok || v != "2.0-1" {
		t.Errorf("the repository with the better priority is passed over: %q, %v", v, ok)
	}
	repos[1].Priority = 90
	if v, _ := best("alpha", offers, repos); v != "3.0-1" {
		t.Errorf("of equal priority: %q", v)
	}
	if v, ok := best("beta", offers, repos); ok {
		t.Errorf("beta: %q", v)
	}
}

func TestMessages(t *testing.T) {
	text := messages(`<stream><message type="info">Resolving</message><message type="error">Problem: nothing provides beta
 needed by alpha</message></stream>`)
	if text != "Resolving\nError: Problem: nothing provides beta\n  needed by alpha\n" {
		t.Errorf("%q", text)
	}
}

func TestSortMessages(t *testing.T) {
	bad, failed := sortMessages("Retrieving repository 'gone' metadata\nRepository 'gone' is invalid.\n[gone|http://x/] Valid metadata not found at specified URL\n" +
		"Skipping repository 'gone' because of the above error.\nSignature verification failed for file 'repomd.xml' from repository 'bad'.\n" +
		"Skipping repository 'bad' because of the above error.\nThe gpg key signing file 'repomd.xml' has expired.\nThe gpg key signing file 'repomd.xml' will expire in 9 days.\n")
	if len(failed) != 1 || !strings.Contains(failed[0], "gone") || len(bad) != 2 || !strings.Contains(bad[0], "bad") || !strings.Contains(bad[1], "has expired") {
		t.Errorf("bad %q, failed %q", bad, failed)
	}
}

func TestOrder(t *testing.T) {
	db := pkgmgr.Database{}
	for _, p := range []pkgmgr.Package{
		{Name: "alpha", Arch: "noarch", Version: "2.0-1", Status: pkgmgr.Installed},
		{Name: "gamma", Arch: "noarch", Version: "1.0-1", Status: pkgmgr.Installed},
		{Name: "kernel-default-5.14-1", Base: "kernel-default", Arch: "x86_64", Version: "5.14-1", Status: pkgmgr.Installed},
	} {
		db[p.Key()] = p
	}
	for _, one := range []struct {
		req  pkgmgr.Request
		want string
	}{
		{pkgmgr.Request{Install: []pkgmgr.Want{{Name: "alpha", Version: "1.0-1"}}, Remove: []string{"gamma", "nowhere"}}, "install --no-recommends --auto-agree-with-licenses --oldpackage alpha=1.0-1 !gamma"},
		{pkgmgr.Request{Install: []pkgmgr.Want{{Name: "beta:x86_64", Version: "1:1.0-1"}}}, "install --no-recommends --auto-agree-with-licenses beta.x86_64=1:1.0-1"},
		{pkgmgr.Request{Install: []pkgmgr.Want{{Name: "alpha", Version: "2.0-1"}}}, ""},
		{
			pkgmgr.Request{Install: []pkgmgr.Want{{Name: "alpha", Version: "1.0-1"}}, Remove: []string{"gamma"}, Purge: true}, // back to the distribution's
			"install --no-recommends --auto-agree-with-licenses --oldpackage --allow-vendor-change alpha=1.0-1 !gamma",
		},
		{pkgmgr.Request{Remove: []string{"gamma"}}, "remove --no-clean-deps gamma"},
		{pkgmgr.Request{Remove: []string{"kernel-default-5.14-1"}}, "remove --no-clean-deps kernel-default.x86_64=5.14-1"},
	} {
		verb, rest, err := NewSolver(nil).order(one.req, db)
		if err != nil || strings.TrimSpace(verb+" "+strings.Join(rest, " ")) != one.want {
			t.Errorf("%v: %s %v, %v", one.req, verb, rest, err)
		}
	}
	// What is staged is another maker's.
	staged := &Solver{staged: &staged{dir: "/var/lib/rdmactl"}}
	_, rest, err := staged.order(pkgmgr.Request{Install: []pkgmgr.Want{{Name: "mlnx-ofed-all", Version: "24.10-1.1.4.0.sles15sp6"}}}, db)
	if err != nil || !slices.Contains(rest, "--allow-vendor-change") {
		t.Errorf("staged: %v, %v", rest, err)
	}
}
