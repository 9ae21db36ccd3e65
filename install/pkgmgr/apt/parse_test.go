package apt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/plan"
)

// answer is what one command printed in a recorded session.
type answer struct{ command, text, exit string }

// session reads testdata/apt-VERSION.txt: what apt of Debian 11 (2.2.4) and 13 (3.0.4) printed for a
// repository in /repo with alpha 1.0 (needs beta), alpha 2.0 (needs beta, delta) and conf (conflicts
// with alpha).
func session(t *testing.T, version string) []answer {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "apt-"+version+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	answers := []answer{}
	for line := range strings.Lines(string(data)) {
		if c, ok := strings.CutPrefix(line, "$ "); ok {
			answers = append(answers, answer{command: strings.TrimSpace(c)})
			continue
		}
		last := &answers[len(answers)-1]
		if e, ok := strings.CutPrefix(line, "= "); ok {
			last.exit = strings.TrimSpace(e)
			continue
		}
		last.text += line
	}
	return answers
}

func find(t *testing.T, answers []answer, words ...string) answer {
	t.Helper()
	for _, a := range answers {
		ok := true
		for _, w := range words {
			ok = ok && strings.Contains(" "+a.command+" ", " "+w+" ")
		}
		if ok {
			return a
		}
	}
	t.Fatalf("no command with %q", words)
	return answer{}
}

func versions() []string { return []string{"2.2.4", "3.0.4"} }

func TestParseRecordedSimulations(t *testing.T) {
	tests := []struct {
		words []string
		want  []plan.ResolvedPackage
	}{
		{[]string{"-s", "alpha=1.0"}, []plan.ResolvedPackage{
			{Name: "beta", Arch: "all", Version: "1.0", Origin: "stable", Action: "install"},
			{Name: "alpha", Arch: "all", Version: "1.0", Origin: "stable", Action: "install"},
		}},
		{[]string{"-s", "alpha=2.0"}, []plan.ResolvedPackage{
			{Name: "delta", Arch: "all", Version: "1.0", Origin: "stable", Action: "install"},
			{Name: "alpha", Arch: "all", From: "1.0", Version: "2.0", Origin: "stable", Action: "upgrade"},
		}},
		{[]string{"-s", "conf=1.0"}, []plan.ResolvedPackage{
			{Name: "alpha", Arch: "amd64", From: "1.0", Action: "remove"}, // a removal does not tell "all"
			{Name: "conf", Arch: "all", Version: "1.0", Origin: "stable", Action: "install"},
		}},
		{[]string{"-s", "purge"}, []plan.ResolvedPackage{
			{Name: "alpha", Arch: "amd64", From: "1.0", Action: "remove"},
			{Name: "beta", Arch: "amd64", From: "1.0", Action: "remove"},
		}},
		{[]string{"-s", "--allow-downgrades"}, []plan.ResolvedPackage{
			{Name: "alpha", Arch: "all", From: "2.0", Version: "1.0", Origin: "stable", Action: "downgrade"},
			{Name: "delta", Arch: "amd64", From: "1.0", Action: "remove"},
		}},
	}
	for _, v := range versions() {
		answers := session(t, v)
		for _, tt := range tests {
			got, unauthenticated, err := ParseSimulation(find(t, answers, tt.words...).text, "amd64")
			if err != nil || len(unauthenticated) > 0 {
				t.Errorf("apt %s %v: %v, %v", v, tt.words, unauthenticated, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("apt %s %v (-want +got):\n%s", v, tt.words, diff)
			}
		}
		if download, installed := parseSizes(find(t, answers, "--print-uris").text); download != 668+676 || installed != 20500 {
			t.Errorf("apt %s: sizes %d, %d", v, download, installed)
		}
		if got := parsePolicy(find(t, answers, "policy", "alpha").text); len(got) != 1 || got["alpha"] != (pkgmgr.Candidate{Installed: "2.0", Version: "2.0"}) {
			t.Errorf("apt %s: candidates %v", v, got)
		}
		db, err := parseDatabase(find(t, answers, "dpkg-query").text)
		if err != nil || len(db) != 2 || !db.Has("alpha") {
			t.Errorf("apt %s: database %v, %v", v, db, err)
		}
	}
}

func TestRecordedUpdates(t *testing.T) {
	for _, v := range versions() {
		updates := []answer{}
		for _, a := range session(t, v) {
			if strings.HasPrefix(a.command, "apt-get update") {
				updates = append(updates, a)
			}
		}
		if len(updates) != 6 {
			t.Fatalf("%d updates", len(updates))
		}
		for i, a := range updates {
			bad, failed, other := sortMessages(a.text)
			if i == 0 {
				if len(bad)+len(failed)+len(other) > 0 || a.exit != "0" {
					t.Errorf("apt %s: a good update is blamed: %v %v %v", v, bad, failed, other)
				}
				continue
			}
			if len(bad) == 0 {
				t.Errorf("apt %s: nothing bad in update %d:\n%s", v, i, a.text)
			}
		}
		// The trap: without Error-Mode=any a bad signature ends with 0.
		if updates[2].exit != "0" {
			t.Errorf("apt %s: the exit code of an update with a bad signature is %s", v, updates[2].exit)
		}
	}
}

func TestMessages(t *testing.T) {
	tests := map[string]struct {
		line               string
		bad, failed, other bool
	}{
		"expired key":       {"W: GPG error: https://r.example.org ./ InRelease: The following signatures were invalid: EXPKEYSIG 0123456789ABCDEF Vendor", true, false, false},
		"unsigned":          {"E: The repository 'https://r.example.org ./ Release' is not signed.", true, false, false},
		"expired release":   {"E: Release file for https://r.example.org/InRelease is expired (invalid since 3d 2h). Updates for this repository will not be applied.", true, false, false},
		"clock in the past": {"E: Release file for https://r.example.org/InRelease is not valid yet (invalid for another 3h). Updates for this repository will not be applied.", true, false, false},
		"hash":              {"E: Failed to fetch https://r.example.org/Packages.gz  Hash Sum mismatch", true, false, false},
		"apt 3 wording":     {"Error: The repository 'https://r.example.org ./ Release' is not signed.", true, false, false},
		"sqv":               {"Warning: OpenPGP signature verification failed: https://r.example.org ./ InRelease: Sub-process /usr/bin/sqv returned an error code (1)", true, false, false},
		"no network":        {"W: Failed to fetch http://r.example.org/InRelease  Temporary failure resolving 'r.example.org'", false, true, false},
		"error line":        {"Err:1 http://r.example.org stable InRelease", false, true, false},
		"lock":              {"E: Could not get lock /var/lib/apt/lists/lock. It is held by process 123 (apt-get)", false, false, true},
		"malformed source":  {"E: Malformed entry 1 in list file /etc/apt/sources.list (URI)", false, false, true},
		"weak algorithm":    {"W: https://r.example.org/InRelease: Signature by key 0123 uses weak algorithm (rsa1024)", false, false, false},
		"legacy keyring":    {"W: https://r.example.org/InRelease: Key is stored in legacy trusted.gpg keyring (/etc/apt/trusted.gpg), see the DEPRECATION section in apt-key(8) for details.", false, false, false},
		"next year":         {"Warning: https://r.example.org/InRelease: Policy will reject signature within a year, see --audit for details", false, false, false},
		"twice":             {"W: Target Packages (Packages) is configured multiple times in /etc/apt/sources.list:1 and /etc/apt/sources.list:2", false, false, false},
		"unsandboxed":       {"W: Download is performed unsandboxed as root as file '/x' couldn't be accessed by user '_apt'. - pkgAcquire::Run (13: Permission denied)", false, false, false},
		"notice":            {"N: Skipping acquire of configured file: the repository is not signed for architecture 'i386'", false, false, false},
		"ordinary":          {"Get:1 http://r.example.org stable InRelease [151 kB]", false, false, false},
	}
	for name, tt := range tests {
		bad, failed, other := sortMessages(tt.line + "\n")
		if len(bad) > 0 != tt.bad || len(failed) > 0 != tt.failed || len(other) > 0 != tt.other {
			t.Errorf("%s: bad %v, failed %v, other %v", name, bad, failed, other)
		}
	}
	bad, _, _ := sortMessages("E: The repository 'https://user:secret@r.example.org ./ Release' is not signed.\n")
	if len(bad) != 1 || strings.Contains(bad[0], "secret") {
		t.Errorf("a password is shown: %v", bad)
	}
}

func TestParseSimulationDetails(t *testing.T) {
	// apt 2.6, Debian 12: several origins, a second architecture, what the new version breaks.
	out := `Inst libc6:i386 [2.36-9] (2.36-9+deb12u10 Debian:12.9/stable, Debian-Security:12/stable-security [i386]) []
Inst mlx [24.10-1] (24.10-1 local-deb [all])
Inst plain (1:2.0-1 [amd64])
Remv gone:i386 [1.0] [other:i386 ]
WARNING: The following packages cannot be authenticated!
  plain mlx
Conf plain (1:2.0-1 [amd64])
`
	got, unauthenticated, err := ParseSimulation(out, "amd64")
	if err != nil {
		t.Fatal(err)
	}
	want := []plan.ResolvedPackage{
		{Name: "libc6", Arch: "i386", From: "2.36-9", Version: "2.36-9+deb12u10", Origin: "Debian:12.9/stable, Debian-Security:12/stable-security", Action: "upgrade"},
		{Name: "mlx", Arch: "all", From: "24.10-1", Version: "24.10-1", Origin: "local-deb", Action: "reinstall"},
		{Name: "plain", Arch: "amd64", Version: "1:2.0-1", Action: "install"},
		{Name: "gone", Arch: "i386", From: "1.0", Action: "remove"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"plain", "mlx"}, unauthenticated); diff != "" {
		t.Errorf("unauthenticated (-want +got):\n%s", diff)
	}
	for _, line := range []string{"Inst", "Inst x", "Inst x 1.0", "Inst x (1.0)", "Inst x [1.0 (2.0 o [amd64])", "Inst x (1.0 o [amd64]", "Inst x ([amd64])", "Inst x [%%] (1.0 o [amd64])", "Remv", "Inst x [] (1.0 o ]a[)"} {
		if got, _, err := ParseSimulation(line+"\n", "amd64"); err == nil {
			t.Errorf("%q was read as %+v", line, got)
		}
	}
}

func TestParseSizes(t *testing.T) {
	for line, want := range map[string]int64{
		"After this operation, 17.9 MB of additional disk space will be used.":  17900000,
		"After this operation, 3,456 kB of additional disk space will be used.": 3456000,
		"After this operation, 0 B of additional disk space will be used.":      0,
		"After this operation, 30.7 kB disk space will be freed.":               -30700,
		"  Space needed: 1.2 GB / 20.1 GB available":                            1200000000,
		"After this operation, 1e999 kB of additional disk space will be used.": -1,
		"After this operation, much of additional disk space will be used.":     -1,
		"0 upgraded": -1,
	} {
		if _, got := parseSizes(line + "\n"); got != want {
			t.Errorf("%q: %d, want %d", line, got, want)
		}
	}
}

func TestParseDatabase(t *testing.T) {
	db, err := parseDatabase("ii \ta\tamd64\t1\nhi \theld\tall\t1\nrc \tb\tamd64\t1\nun \tc\t\t\niU \td\tamd64\t1\niF \te\tamd64\t1\niHR\tf\tamd64\t1\niH \tg\tamd64\t1\nit \th\tamd64\t1\n")
	if err != nil {
		t.Fatal(err)
	}
	want := pkgmgr.Database{
		"a:amd64":  {Name: "a", Arch: "amd64", Version: "1", Status: pkgmgr.Installed},
		"held:all": {Name: "held", Arch: "all", Version: "1", Status: pkgmgr.Installed},
		"b:amd64":  {Name: "b", Arch: "amd64", Version: "1", Status: pkgmgr.ConfigFiles},
		"d:amd64":  {Name: "d", Arch: "amd64", Version: "1", Status: pkgmgr.Broken},
		"e:amd64":  {Name: "e", Arch: "amd64", Version: "1", Status: pkgmgr.Broken},
		"f:amd64":  {Name: "f", Arch: "amd64", Version: "1", Status: pkgmgr.Broken, Torn: true},
		"g:amd64":  {Name: "g", Arch: "amd64", Version: "1", Status: pkgmgr.Broken, Torn: true},
		"h:amd64":  {Name: "h", Arch: "amd64", Version: "1", Status: pkgmgr.Broken},
	}
	if diff := cmp.Diff(want, db); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, text := range []string{"ii \ta\n", "\ta\tb\tc\n", "garbage\n"} {
		if _, err := parseDatabase(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestNamesThatAreNoNames(t *testing.T) {
	for _, n := range []string{"rdma-core", "libstdc++6", "g++", "libc6:i386", "0ad"} {
		if err := checkName(n); err != nil {
			t.Errorf("%s: %v", n, err)
		}
	}
	for _, n := range []string{"", "a", "++", "-o", "--force-all", "rdma-core-", "rdma-core+", "rdma-core+++", "rdma-core-++", "g++-", "rdma-core.", "libc6:i386-", "rdma^", "rdm?", "x$", "a b", "Upper", "a/stable", "./x.deb", "a=1", "a;b", "a:", "^kde", "lib*"} {
		if err := checkName(n); err == nil {
			t.Errorf("%q is taken for a name", n)
		}
		if _, err := words(pkgmgr.Request{Remove: []string{n}}, nil); err == nil {
			t.Errorf("%q would be removed", n)
		}
	}
	for _, v := range []string{"1.0", "1:2.0~rc1+dfsg-1ubuntu0.1", "33.2-1", "24.10.1.1.4.0-1.2404RC1"} {
		if err := checkVersion(v); err != nil {
			t.Errorf("%s: %v", v, err)
		}
	}
	for _, v := range []string{"", "1.0-", "-1", "1 2", "1;2", "1/../2", "$(x)"} {
		if err := checkVersion(v); err == nil {
			t.Errorf("%q is taken for a version", v)
		}
	}
}

func TestParseConffiles(t *testing.T) {
	got := parseConffiles("\n /etc/a.conf b9a771b420047cfaa3543e66c78f44f6\n /etc/with blank.conf b9a771b420047cfaa3543e66c78f44f6\n" +
		" /etc/old.conf b9a771b420047cfaa3543e66c78f44f6 obsolete\n /etc/new.conf newconffile\n\n")
	want := []string{"/etc/a.conf", "/etc/with blank.conf", "/etc/old.conf"}
	paths := []string{}
	for _, c := range got {
		paths = append(paths, c.path)
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzParseSimulation(f *testing.F) {
	f.Add("Inst a [1] (2 o [amd64])\nRemv b [1]\n")
	f.Add("WARNING: The following packages cannot be authenticated!\n  a b\n")
	f.Fuzz(func(t *testing.T, out string) {
		actions, _, err := ParseSimulation(out, "amd64")
		if err != nil {
			return
		}
		for _, a := range actions {
			if a.Name == "" || a.Arch == "" || a.Action == "" {
				t.Errorf("%+v", a)
			}
		}
		parseSizes(out)
		parsePolicy(out)
		parseSources(out)
		parseConffiles(out)
		sortMessages(out)
	})
}
