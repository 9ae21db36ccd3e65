package dnf

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/plan"
)

// What dnf 4.14 printed, with rows that go on in the next line.
const table4 = `Last metadata expiration check: 0:00:01 ago on Mon Nov 30 13:20:05 2026.
Dependencies resolved.
================================================================================
 Package          Architecture      Version               Repository       Size
================================================================================
Installing:
 obsolete         noarch            1.0-1                 test            6.3 k
     replacing  gamma.noarch 1.0-1
 a-package-with-a-very-long-name-that-does-not-fit-its-column
                  noarch            1.0.20260101.git0123456789abcdef-1
                                                          test            6.2 k
Installing dependencies:
 beta             noarch            1:2.0-1               test            6.2 k
Upgrading:
 alpha            noarch            2.0-1                 test            6.2 k
Removing:
 delta            noarch            3:1.0-1               @System          16  
Removing dependent packages:
 epsilon          x86_64            1.0-1                 @test            16  

Transaction Summary
================================================================================
Install  3 Packages

Total download size: 12 k
Installed size: 32  
Operation aborted.
`

// What yum 3.4.3 of EL7 prints; it cannot be run here.
const table3 = `Loaded plugins: fastestmirror
Resolving Dependencies
--> Running transaction check
---> Package alpha.noarch 0:1.0-1 will be installed
--> Finished Dependency Resolution

Dependencies Resolved

================================================================================
 Package           Arch        Version                   Repository        Size
================================================================================
Installing:
 alpha             noarch      1.0-1                     test             6.3 k
Installing for dependencies:
 beta              noarch      1:2.0-1                   test             6.2 k
Updating for dependencies:
 libibverbs        x86_64      22.4-6.el7_9              updates          267 k
Removing:
 delta             noarch      3:1.0-1                   @test             16  
Removing for dependencies:
 epsilon           x86_64      1.0-1                     @test             16  

Transaction Summary
================================================================================
Install  1 Package  (+1 Dependent package)
Upgrade             ( 1 Dependent package)
Remove   1 Package  (+1 Dependent package)

Total download size: 280 k
Exiting on user command
`

// dnf5's form by its documentation and sources: no rulers, replaced packages below those that come.
const table5 = `Updating and loading repositories:
Repositories loaded.
Package        Arch   Version   Repository      Size
Installing:
 obsolete      noarch 0:1.0-1   test        16.0   B
   replacing gamma noarch 0:1.0-1 test      16.0   B
Installing dependencies:
 beta          noarch 1:2.0-1   test        16.0   B
Upgrading:
 alpha         noarch 0:2.0-1   test        16.0   B
   replacing alpha noarch 0:1.0-1 test      16.0   B

Transaction Summary:
 Installing:         2 packages
 Upgrading:          1 package
 Replacing:          2 packages

Total size of inbound packages is 12 KiB. Need to download 12 KiB.
After this operation, 32 B extra will be used (install 48 B, remove 16 B).
Operation aborted by the user.
`

func lines(actions []plan.ResolvedPackage) []string {
	out := []string{}
	for _, a := range actions {
		out = append(out, strings.Join([]string{a.Action, a.Name, a.Arch, a.From, a.Version, a.Origin}, " "))
	}
	slices.Sort(out)
	return out
}

func TestTransactionTable(t *testing.T) {
	long := "a-package-with-a-very-long-name-that-does-not-fit-its-column"
	for name, one := range map[string]struct {
		out                 string
		want                []string
		download, installed int64
	}{
		"dnf 4": {table4, []string{
			"install " + long + " noarch  1.0.20260101.git0123456789abcdef-1 test", "install beta noarch  1:2.0-1 test", "install obsolete noarch  1.0-1 test",
			"remove delta noarch 3:1.0-1  ", "remove epsilon x86_64 1.0-1  ", "remove gamma noarch 1.0-1  ", "upgrade alpha noarch  2.0-1 test",
		}, 12 << 10, 32},
		"yum 3": {table3, []string{
			"install alpha noarch  1.0-1 test", "install beta noarch  1:2.0-1 test", "remove delta noarch 3:1.0-1  ", "remove epsilon x86_64 1.0-1  ",
			"upgrade libibverbs x86_64  22.4-6.el7_9 updates",
		}, 280 << 10, -1},
		"dnf5": {table5, []string{
			"install beta noarch  1:2.0-1 test", "install obsolete noarch  1.0-1 test", "remove gamma noarch 1.0-1  ", "upgrade alpha noarch  2.0-1 test",
		}, 12 << 10, 32},
	} {
		actions, told, err := parseTransaction(one.out)
		if err != nil || !told {
			t.Errorf("%s: told %v, %v", name, told, err)
		}
		slices.Sort(one.want)
		if diff := cmp.Diff(one.want, lines(actions)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if d, i := parseSizes(one.out); d != one.download || i != one.installed {
			t.Errorf("%s: sizes %d, %d", name, d, i)
		}
	}
	for name, out := range map[string]string{
		"a row cut short":          strings.Replace(table4, "beta             noarch            1:2.0-1               test            6.2 k", "beta noarch", 1),
		"a replacement cut short":  strings.Replace(table4, "gamma.noarch 1.0-1", "gamma", 1),
		"a replacement of nothing": strings.Replace(table4, "gamma.noarch 1.0-1", ".noarch 1.0-1", 1),
	} {
		if actions, _, err := parseTransaction(out); err == nil {
			t.Errorf("%s: %v", name, actions)
		}
	}
	if actions, told, err := parseTransaction("Error: \n Problem: nothing provides beta needed by alpha-1.0-1.noarch\n"); told || err != nil || len(actions) != 0 {
		t.Errorf("an error is taken for an answer: %v, %v, %v", actions, told, err)
	}
}

func TestYumList(t *testing.T) {
	out := "Available Packages\n" +
		"alpha.noarch                            1.0-1                              test\n" +
		"alpha.noarch                            2.0-1                              test\n" +
		"a-package-with-a-very-long-name.x86_64\n                                        1:1.0-1                            test\n" +
		"libibverbs.i686                         22.4-6.el7                         base\n" +
		"libibverbs.x86_64                       22.4-5.el7                         base\n"
	offers := parseList(out)
	if len(offers) != 5 {
		t.Errorf("offers: %v", offers)
	}
	for word, want := range map[string]string{
		"alpha": "2.0-1", "a-package-with-a-very-long-name": "1:1.0-1", "libibverbs": "22.4-5.el7", "libibverbs:i686": "22.4-6.el7", "nowhere": "",
		"alpha-1.0-1.noarch": "1.0-1",
	} {
		if v, ok := newest(word, offers); v != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", word, v, ok)
		}
	}
	if offers := parseList("Loaded plugins: fastestmirror\nError: No matching Packages to list\n"); len(offers) != 0 {
		t.Errorf("an error has packages: %v", offers)
	}
}

func TestReasons(t *testing.T) {
	got := parseReasons("alpha\tuser\nbeta\tdependency\n\ngamma\tWeak Dependency\ndelta\tDependency\nepsilon\tExternal User\nzeta\tgroup\neta\tunknown\n")
	if diff := cmp.Diff([]string{"beta", "gamma", "delta"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOffers(t *testing.T) {
	offers, err := parseOffers("alpha\t0\t1.0\t1\tnoarch\ttest\n\nbeta\t1\t2.0\t1\tx86_64\ttest\n")
	if diff := cmp.Diff([]offer{{"alpha", "noarch", "1.0-1", "test"}, {"beta", "x86_64", "1:2.0-1", "test"}}, offers, cmp.AllowUnexported(offer{})); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if offers, err := parseOffers("alpha 1.0\n"); err == nil {
		t.Errorf("another format: %v", offers)
	}
}

func TestWords(t *testing.T) {
	install, remove, err := words(pkgmgr.Request{
		Install: []pkgmgr.Want{{Name: "alpha", Version: "1:1.0-1"}, {Name: "libibverbs:i686", Version: "44.0-1.el9"}, {Name: "kernel-devel-5.14.0-427.el9.x86_64", Version: "5.14.0-427.el9"}},
		Remove:  []string{"beta", "gamma:x86_64"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"alpha-1:1.0-1", "libibverbs-44.0-1.el9.i686", "kernel-devel-5.14.0-427.el9.x86_64"}, install); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"beta", "gamma.x86_64"}, remove); diff != "" {
		t.Error(diff)
	}
}

func TestOrder(t *testing.T) {
	both := orderOf(dnf4, []string{"/kept/a-1-1.x86_64.rpm", "/kept/b-1-1.x86_64.rpm"}, []string{"c", "d"})
	if !slices.Equal(both.verb, []string{"shell"}) || both.stdin != "install /kept/a-1-1.x86_64.rpm /kept/b-1-1.x86_64.rpm\nremove c\nremove d\nrun\nexit\n" {
		t.Errorf("dnf 4: %v", both)
	}
	if o := orderOf(dnf5, []string{"a-1-1"}, []string{"b"}); o.stdin != "" || strings.Join(o.verb, " ") != "do --action=install a-1-1 --action=remove b" {
		t.Errorf("dnf5: %v", o)
	}
	if o := orderOf(yum3, []string{"a-1-1"}, nil); strings.Join(o.verb, " ") != "install a-1-1" {
		t.Errorf("yum 3: %v", o)
	}
}

func TestNothingIsForced(t *testing.T) {
	for d, name := range map[dialect]string{dnf4: "dnf", dnf5: "dnf5", yum3: "yum"} {
		line := strings.Join((&Solver{}).command(d, []string{"-y"}, "install", "alpha-1.0-1"), " ")
		if !strings.HasPrefix(line, name+" -y ") || !strings.Contains(line, "gpgcheck=1") || !strings.Contains(line, "clean_requirements_on_remove=0") {
			t.Error(line)
		}
		for _, word := range []string{"nogpgcheck", "gpgcheck=0", "allowerasing", "skip-broken", "nodeps", "autoremove"} {
			if strings.Contains(line, word) {
				t.Errorf("%s: %s", word, line)
			}
		}
	}
}

func TestSortMessages(t *testing.T) {
	bad, failed := sortMessages("Errors during downloading metadata for repository 'gone':\n  - Curl error (7): Couldn't connect to server for http://127.0.0.1:9/repodata/repomd.xml\n" +
		"Error: Failed to download metadata for repo 'gone': Cannot download repomd.xml: All mirrors were tried\n" +
		"Error: Failed to download metadata for repo 'bad': repomd.xml GPG signature verification error: Bad GPG signature\n" +
		"Ignoring repositories: bad, gone\n")
	if len(bad) != 1 || !strings.Contains(bad[0], "'bad'") || len(failed) != 1 || !strings.Contains(failed[0], "Couldn't connect") {
		t.Errorf("bad %q, failed %q", bad, failed)
	}
}

func TestNotFound(t *testing.T) {
	if got := notFound(host.Result{Stderr: "No match for argument: nowhere\n", Stdout: "Installing:\n"}); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// TestShellFailed has what dnf 4's shell says of a transaction that it does not carry out, and ends with 0.
func TestShellFailed(t *testing.T) {
	shell := orderOf(dnf4, []string{"/kept/a.rpm"}, []string{"b"})
	for name, one := range map[string]struct {
		d           dialect
		o           order
		out, stderr string
		says        string
	}{
		"carried out":      {dnf4, shell, "> Removed:\n  b-1-1.x86_64\nComplete!\n> Leaving Shell\n", "", ""},
		"not in the cache": {dnf4, shell, "> Leaving Shell\n", "Error: Some packages have invalid cache, but cannot be downloaded due to \"--cacheonly\" option\n", "--cacheonly"},
		"a second file":    {dnf4, shell, "> Leaving Shell\n", "Error: Cannot add local packages, because transaction job already exists\n", "Cannot add local packages"},
		"without a word":   {dnf4, shell, "> Leaving Shell\n", "", "does not say why"},
		"no shell":         {dnf4, orderOf(dnf4, []string{"a-1-1"}, nil), "", "", ""},
		"another dialect":  {yum3, shell, "", "", ""},
	} {
		err := shellFailed(one.d, one.o, host.Result{Argv: []string{"dnf", "-y", "shell"}, Stdout: one.out, Stderr: one.stderr})
		if (one.says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), one.says) {
			t.Errorf("%s: %v, want %q", name, err, one.says)
		}
	}
}
