package rpm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/openpgpkey"
	"github.com/rdmactl/rdmactl/plan"
)

func TestNames(t *testing.T) {
	for _, good := range []string{"alpha", "libibverbs:i686", "gcc-c++", "python3.11", "mlnx-ofa_kernel", "kernel-devel-5.14.0-427.el9_4.x86_64", "java-1.8.0-openjdk", "a1"} {
		if err := CheckName(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "-y", "--setopt=x", "!a1", "al*", "al?ha", "a1 b2", "/etc/x", "x.rpm", "@group", "a1;b", "a1\nb", "a1>1", "a1=1", "a1:", ":x86_64", "a1:i6 86", "a1,b2", "$x1", "ä1"} {
		if err := CheckName(bad); err == nil {
			t.Errorf("%q is taken for a name", bad)
		}
	}
	for _, good := range []string{"1.0-1", "1:1.0-1", "44.0-3.el9_4", "5.14.0-427.13.1.el9_4", "24.10.0.6.7.1-1.2410068~rc1", "1.0^git1-1"} {
		if err := CheckVersion(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "1.0", "-1", "1.0-", "x:1.0-1", "1.0-1 ", "1.0-1 b", "1.0-1\n", "1.0-1*", "1.0-1/x", "1-2-3"} {
		if err := CheckVersion(bad); err == nil {
			t.Errorf("%q is taken for a version", bad)
		}
	}
}

func TestDatabase(t *testing.T) {
	read := func(out string, several map[string]bool) pkgmgr.Database {
		t.Helper()
		entries, err := parseDatabase(out)
		if err != nil {
			t.Fatal(err)
		}
		db, err := assemble(entries, several)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	const out = "alpha\t(none)\t1.0\t1\tnoarch\nbeta\t1\t2.0\t1\tx86_64\nbeta\t1\t2.0\t1\ti686\n" +
		"gpg-pubkey\t(none)\tf51cc8ef\t6b0d77ea\t(none)\nkernel-core\t0\t5.14.0\t70.el9\tx86_64\nkernel-core\t0\t5.14.0\t427.el9\tx86_64\n"
	db := read(out, nil)
	if len(db) != 5 || db["beta:i686"].Version != "1:2.0-1" || db["alpha:noarch"].Version != "1.0-1" {
		t.Errorf("%v", db)
	}
	if p, ok := db.Find("kernel-core"); !ok || p.Version != "5.14.0-427.el9" {
		t.Errorf("the newest kernel is %v", p)
	}
	if p, ok := db.Find("kernel-core-5.14.0-70.el9.x86_64"); !ok || p.Version != "5.14.0-70.el9" {
		t.Errorf("the older kernel is %v", p)
	}
	if _, ok := db.Find("kernel-core-5.14.0-71.el9.x86_64"); ok {
		t.Error("a kernel that is not there is found")
	}
	// Two versions of a package that can only be there once are what an interrupted upgrade leaves.
	torn := read("alpha\t0\t1.0\t1\tnoarch\nalpha\t0\t2.0\t1\tnoarch\n", nil)
	if p := torn["alpha:noarch"]; p.Status != pkgmgr.Broken || p.Version != "2.0-1" {
		t.Errorf("torn: %v", torn)
	}
	// Where it says of itself that several may be there, they are several.
	if kmod := read("kmod-x\t0\t1.0\t1\tx86_64\nkmod-x\t0\t2.0\t1\tx86_64\n", map[string]bool{"kmod-x": true}); len(kmod) != 2 || !kmod.Has("kmod-x") {
		t.Errorf("side by side: %v", kmod)
	}
	for _, bad := range []string{"alpha 1.0\n", "alpha\t0\t1.0\tnoarch\n", "\t0\t1.0\t1\tnoarch\n", "alpha\t0\t\t1\tnoarch\n"} {
		if entries, err := parseDatabase(bad); err == nil {
			t.Errorf("%q: %v", bad, entries)
		}
	}
}

func TestSideBySide(t *testing.T) {
	for _, yes := range []string{"kernel", "kernel-core", "kernel-devel", "kernel-modules-extra", "kernel-rt-devel", "kernel-64k-devel", "kernel-uek-devel", "kernel-default", "kernel-default-devel", "kernel-source", "kernel-lt", "kernel-ml-devel"} {
		if !sideBySide(yes) {
			t.Errorf("%s", yes)
		}
	}
	for _, no := range []string{"kernel-headers", "kernel-tools", "kernel-mft", "kernel-mft-dkms", "kernel-firmware-mellanox", "kernel-srpm-macros", "kernelshark", "mlnx-ofa_kernel"} {
		if sideBySide(no) {
			t.Errorf("%s", no)
		}
	}
}

func TestComplete(t *testing.T) {
	db := pkgmgr.Database{}
	for _, p := range []pkgmgr.Package{
		{Name: "alpha", Arch: "noarch", Version: "1.0-1", Status: pkgmgr.Installed},
		{Name: "beta", Arch: "x86_64", Version: "1:1.0-1", Status: pkgmgr.Installed},
		{Name: "gamma", Arch: "noarch", Version: "1.0-1", Status: pkgmgr.Installed},
		{Name: "kernel-core-5.14.0-70.el9", Base: "kernel-core", Arch: "x86_64", Version: "5.14.0-70.el9", Status: pkgmgr.Installed},
	} {
		db[p.Key()] = p
	}
	got, err := Complete([]plan.ResolvedPackage{
		{Name: "alpha", Arch: "noarch", Version: "2.0-1", Action: "install"},
		{Name: "beta", Arch: "x86_64", Version: "2.0-1", Action: "upgrade"}, // the epoch makes it older
		{Name: "delta", Arch: "x86_64", Version: "1.0-1", Action: "install"},
		{Name: "gamma", Arch: "x86_64", Version: "2.0-1", Action: "upgrade"}, // was noarch
		{Name: "kernel-core", Arch: "x86_64", Version: "5.14.0-427.el9", Action: "install"},
	}, db)
	if err != nil {
		t.Fatal(err)
	}
	want := []plan.ResolvedPackage{
		{Name: "alpha", Arch: "noarch", From: "1.0-1", Version: "2.0-1", Action: "upgrade"},
		{Name: "beta", Arch: "x86_64", From: "1:1.0-1", Version: "2.0-1", Action: "downgrade"},
		{Name: "delta", Arch: "x86_64", Version: "1.0-1", Action: "install"},
		{Name: "gamma", Arch: "noarch", From: "1.0-1", Action: "remove"},
		{Name: "gamma", Arch: "x86_64", Version: "2.0-1", Action: "install"},
		{Name: "kernel-core-5.14.0-427.el9", Arch: "x86_64", Version: "5.14.0-427.el9", Action: "install"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ask := func(name, version string, remove ...string) error {
		req := pkgmgr.Request{Remove: remove}
		if name != "" {
			req.Install = []pkgmgr.Want{{Name: name, Version: version}}
		}
		return Answers("dnf", req, got, db)
	}
	for _, one := range []struct {
		err error
		ok  bool
	}{
		{ask("alpha", "2.0-1"), true},
		{ask("alpha", "3.0-1"), false},
		{ask("epsilon", "1.0-1"), false},
		{ask("kernel-core", "5.14.0-427.el9"), true},
		{ask("kernel-core-5.14.0-427.el9.x86_64", "5.14.0-427.el9"), true},
		{ask("", "", "gamma"), true},
		{ask("", "", "alpha"), false},
		{ask("", "", "nowhere"), true},
	} {
		if (one.err == nil) != one.ok {
			t.Errorf("%v, want accepted %v", one.err, one.ok)
		}
	}
}

func TestVerifyLines(t *testing.T) {
	got := parseVerify("S.5....T.  c /etc/rdma/rdma.conf\n.......T.  c /etc/only/time.conf\nmissing     /usr/bin/ibv_devinfo\nmissing   c /etc/gone.conf\n..5......    /usr/lib64/a b.so\nUnsatisfied dependencies for x: y\n")
	want := []verified{
		{path: "/etc/rdma/rdma.conf", config: true, content: true},
		{path: "/etc/only/time.conf", config: true},
		{path: "/usr/bin/ibv_devinfo", missing: true},
		{path: "/etc/gone.conf", config: true, missing: true},
		{path: "/usr/lib64/a b.so", content: true},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(verified{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnsigned(t *testing.T) {
	const good = "/c/a.rpm:\n    Header V4 RSA/SHA512 Signature, key ID f51cc8ef: OK\n    Header SHA256 digest: OK\n    Payload SHA256 digest: OK\n"
	for name, one := range map[string]struct {
		out  string
		exit int
		bad  string
	}{
		"signed":             {good, 0, ""},
		"signed, rpm 6":      {"/c/a.rpm:\n    Header OpenPGP V4 RSA/SHA512 signature, key fingerprint: 0bbbed134e31: OK\n", 0, ""},
		"unsigned":           {"/c/a.rpm:\n    Header SHA256 digest: OK\n    Payload SHA256 digest: OK\n", 0, "is not signed"},
		"unknown key":        {strings.Replace(good, "8ef: OK", "8ef: NOKEY", 1), 1, "NOKEY"},
		"damaged":            {strings.Replace(good, "Payload SHA256 digest: OK", "Payload SHA256 digest: BAD (Expected 1 != 2)", 1), 1, "BAD"},
		"another's block":    {strings.ReplaceAll(good, "/c/a.rpm", "/c/b.rpm"), 0, "is not signed"},
		"no words, bad exit": {good, 1, "could not be verified"},
	} {
		got := strings.Join(unsigned(one.out, []string{"/c/a.rpm"}, one.exit), "; ")
		if (one.bad == "") != (got == "") || !strings.Contains(got, one.bad) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestSignatureLines has what dnf 4.14 said of a package by another key, and of one that was changed on the way.
func TestSignatureLines(t *testing.T) {
	const mirror = "[MIRROR] perftest-4.5-1.el9.x86_64.rpm: Downloading successful, but checksum doesn't match. Calculated: c0(sha256)  Expected: 95(sha256) "
	for _, one := range []struct {
		what, out string
		want      []string
	}{
		{
			"another key", "GPG key at file:///etc/pki/rpm-gpg/KEY (0xA2BBAD91) is already installed\n" +
				"The GPG keys listed for the \"base\" repository are already installed but they are not correct for this package.\n" +
				"Check that the correct key URLs are configured for this repository.. Failing package is: perftest-4.5-1.el9.x86_64\n" +
				" GPG Keys are configured as: file:///etc/pki/rpm-gpg/KEY\nError: GPG check FAILED\n",
			[]string{
				"Check that the correct key URLs are configured for this repository.. Failing package is: perftest-4.5-1.el9.x86_64",
				"Error: GPG check FAILED",
			},
		},
		{"a changed package", mirror + "\n" + mirror + "\n" + mirror + "\n", []string{strings.TrimSpace(mirror)}},
		{"a key that was imported", "Key imported successfully\nComplete!\n", []string{}},
		{"another failure", "Error: Unable to find a match: nowhere\n", []string{}},
	} {
		if diff := cmp.Diff(one.want, SignatureLines(one.out)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", one.what, diff)
		}
	}
}

func TestRepoFiles(t *testing.T) {
	key := []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\n")
	files, err := RepoFiles(pkgmgr.Repository{ID: "rdmactl-doca", Name: "Vendor", URL: "file:/srv/x", Key: key, SignedIndex: true}, "/etc/yum.repos.d", "")
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	want := "[rdmactl-doca]\nname=Vendor\nbaseurl=file:///srv/x\nenabled=1\ngpgcheck=1\nrepo_gpgcheck=1\ngpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-rdmactl-doca\n"
	if diff := cmp.Diff(want, string(files[1].Data)); diff != "" || files[1].Path != "/etc/yum.repos.d/rdmactl-doca.repo" || files[1].Mode != 0o644 {
		t.Error(diff, files[1].Path, files[1].Mode)
	}
	if files, err := RepoFiles(pkgmgr.Repository{ID: "x", URL: "https://user:secret@example.com/", Key: key}, "/etc/yum.repos.d", "", "pkg_gpgcheck=1"); err != nil || files[1].Mode != 0o600 ||
		!strings.Contains(string(files[1].Data), "\nrepo_gpgcheck=0\n") || !strings.HasSuffix(string(files[1].Data), "\npkg_gpgcheck=1\n") {
		t.Errorf("%v, %v", files, err)
	}
}

// keyHost is a host whose rpm trusts keys and has verified one package.
type keyHost struct {
	host.Writer
	keys, verified string
	now            time.Time
}

func (h keyHost) Now() time.Time { return h.now }

func (h keyHost) Run(_ context.Context, c host.Command) (host.Result, error) {
	if c.Argv[0] == "rpmkeys" {
		return host.Result{Argv: c.Argv, Stdout: h.verified}, nil
	}
	return host.Result{Argv: c.Argv, Stdout: h.keys}, nil
}

// TestKeyThatEnded refuses what rpm takes: a package by a key that was valid when it signed.
func TestKeyThatEnded(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	key := func(made time.Time, lifetime uint32, revoked bool) (armored, id string) {
		t.Helper()
		config := &packet.Config{Time: func() time.Time { return made }, KeyLifetimeSecs: lifetime, Algorithm: packet.PubKeyAlgoEdDSA}
		e, err := openpgp.NewEntity("Vendor", "", "vendor@example.com", config)
		if err == nil && revoked {
			err = e.RevokeKey(packet.KeyCompromised, "lost", &packet.Config{Time: func() time.Time { return made.AddDate(0, 1, 0) }})
		}
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		w, err := armor.Encode(&out, openpgp.PublicKeyType, nil)
		if err == nil {
			err = errors.Join(e.Serialize(w), w.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return out.String() + "\n", strings.ToLower(openpgpkey.Fingerprint(e))
	}
	year := uint32(365 * 24 * 3600)
	good, goodID := key(now.AddDate(-2, 0, 0), 0, false)
	lasting, lastingID := key(now.AddDate(-2, 0, 0), 3*year, false)
	old, oldID := key(now.AddDate(-2, 0, 0), year, false)
	lost, lostID := key(now.AddDate(-2, 0, 0), 0, true)
	all := "(none)\n" + good + old + lost + "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nnone that can be read\n-----END PGP PUBLIC KEY BLOCK-----\n" + lasting
	for name, one := range map[string]struct{ id, says string }{
		"in force":            {goodID[32:], ""},
		"valid for a while":   {lastingID[32:], ""},
		"expired":             {oldID[32:], "is expired"},
		"expired, in long":    {oldID, "is expired"},
		"revoked":             {lostID[24:], "is revoked"},
		"not to be read here": {"0123456789abcdef", ""},
	} {
		h := keyHost{keys: all, now: now, verified: "/c/a.rpm:\n    Header V4 RSA/SHA256 Signature, key ID " + one.id + ": OK\n    Header SHA256 digest: OK\n"}
		err := Tool{Host: h, Writer: h}.Signed(t.Context(), []string{"/c/a.rpm"})
		var sig *pkgmgr.SignatureError
		switch {
		case one.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case one.says != "" && (!errors.As(err, &sig) || !strings.Contains(err.Error(), "a.rpm is signed by key ") || !strings.Contains(err.Error(), one.says)):
			t.Errorf("%s: %v, want %q", name, err, one.says)
		}
	}
}
