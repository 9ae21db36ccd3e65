package install

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/openpgpkey"
	"github.com/rdmactl/rdmactl/plan"
)

// vendorPlan adds a repository, replaces packages from it, makes the initramfs anew and awaits the reboot.
func vendorPlan(fingerprint string) plan.Plan {
	return plan.Plan{
		Schema: plan.Schema, Verdict: plan.Install, Summary: "a vendor stack", Warnings: []plan.Reason{}, Reboot: true,
		Steps: []plan.Step{
			{ID: "repository", Kind: plan.KindRepository, Summary: "vendor", Changes: plan.Changes{Repository: &plan.RepositoryChange{
				URL: "https://vendor.example.com/repo/", File: "/etc/repos.d/rdmactl-vendor.list",
				KeyURL: "https://vendor.example.com/key.asc", Fingerprint: fingerprint,
			}}},
			{ID: "packages", Kind: plan.KindPackages, Summary: "install vendor", Changes: plan.Changes{Packages: []plan.PackageChange{
				{Name: "tool", Action: "replace"}, {Name: "vendor", Action: "install"}, {Name: "burner", Action: "exclude"},
			}}},
			{ID: "initramfs", Kind: plan.KindInitramfs, Summary: "initramfs", Changes: plan.Changes{Kernel: "6.1.0-9-amd64"}},
			{ID: "activate", Kind: plan.KindActivate, Summary: "at the next boot", Reboot: true},
		},
	}
}

// vendorKey makes the vendor's key.
func vendorKey(t *testing.T, at time.Time, lifetime time.Duration) (armored, fingerprint string) {
	t.Helper()
	e, err := openpgp.NewEntity("Vendor", "", "vendor@example.com", &packet.Config{
		Time: func() time.Time { return at }, KeyLifetimeSecs: uint32(lifetime.Seconds()), Algorithm: packet.PubKeyAlgoEdDSA,
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := armor.Encode(&out, openpgp.PublicKeyType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Serialize(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String(), openpgpkey.Fingerprint(e)
}

// vendorBench has a vendor's key to give and its packages to offer.
func vendorBench(t *testing.T, key string) *bench {
	t.Helper()
	b := newBootBench(t)
	b.opts.Keys = []string{key}
	b.m.repo["vendor"] = fakeRepo{version: "24.10", needs: []string{"driver"}, conflicts: []string{"tool"}, vendor: true}
	b.m.repo["driver"] = fakeRepo{version: "24.10", vendor: true}
	b.m.repo["burner"] = fakeRepo{version: "24.10", vendor: true}
	b.h.put("/boot/initrd.img-6.1.0-9-amd64", "old initramfs\n")
	b.h.put("/usr/sbin/update-initramfs", "")
	b.h.put("/etc/repos.d/.keep", "")
	b.h.put("/etc/security/limits.conf", "# none\n")
	if err := os.Mkdir(b.h.path("/opt"), 0o755); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) startVendor(fingerprint string) (RunReport, error) {
	return Start(context.Background(), b.env, vendorPlan(fingerprint), b.opts)
}

func TestVendorStackAndBack(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	b := vendorBench(t, key)
	before := b.h.tree()
	rep, err := b.startVendor(fingerprint)
	if err != nil || rep.Verdict != VerdictDone || !rep.RebootRequired {
		t.Fatalf("%+v, %v", rep, err)
	}
	db := b.m.load()
	for name, want := range map[string]pkgmgr.Status{"vendor": pkgmgr.Installed, "driver": pkgmgr.Installed, "tool": "", "burner": ""} {
		if got := db.Packages[name+":amd64"].Status; got != want {
			t.Errorf("package %s is %q, want %q", name, got, want)
		}
	}
	if got := b.h.text("/etc/keys/rdmactl-vendor.asc"); !strings.Contains(got, "PUBLIC KEY") {
		t.Errorf("the key on the host is %q", got)
	}
	if got := b.h.text("/boot/initrd.img-6.1.0-9-amd64"); !strings.Contains(got, "vendor") {
		t.Errorf("the initramfs is %q", got)
	}
	again, err := b.startVendor(fingerprint)
	if err != nil || again.Changed {
		t.Errorf("a second run: %+v, %v", again, err)
	}
	if _, err := b.rollback(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("rolled back (-before +after):\n%s", diff)
	}
}

// What scripts changed and someone changed again since is someone's.
func TestScriptedFilesThatWereEditedSince(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	b := vendorBench(t, key)
	before := b.h.tree()
	if _, err := b.startVendor(fingerprint); err != nil {
		t.Fatal(err)
	}
	const edited = "* hard memlock 1024\n"
	b.h.put("/etc/security/limits.conf", edited)
	b.h.put("/etc/own.conf", "mine\n")
	rep, err := b.rollback()
	if err != nil || len(rep.Kept) != 1 || rep.Kept[0] != "/etc/security/limits.conf" {
		t.Fatalf("%+v, %v", rep, err)
	}
	if got := b.h.text("/etc/security/limits.conf"); got != edited {
		t.Errorf("limits.conf is %q", got)
	}
	b.h.put("/etc/security/limits.conf", "# none\n")
	if err := os.Remove(b.h.path("/etc/own.conf")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("all else (-before +after):\n%s", diff)
	}
}

func TestKeyOfARepository(t *testing.T) {
	now := time.Now()
	good, fingerprint := vendorKey(t, now.AddDate(-1, 0, 0), 0)
	other, _ := vendorKey(t, now.AddDate(-1, 0, 0), 0)
	old, oldFingerprint := vendorKey(t, now.AddDate(-2, 0, 0), 24*time.Hour)
	served := func(text string, code int) http.RoundTripper {
		return roundTrip(func(r *http.Request) *http.Response {
			w := httptest.NewRecorder()
			w.WriteHeader(code)
			_, _ = w.WriteString(text)
			if r.URL.String() != "https://vendor.example.com/key.asc" {
				w = httptest.NewRecorder()
				w.WriteHeader(http.StatusNotFound)
			}
			return w.Result()
		})
	}
	for name, c := range map[string]struct {
		given       []string
		served      http.RoundTripper
		fingerprint string
		says        string // empty: it is taken
	}{
		"given, as a source names it":            {given: []string{good}, fingerprint: fingerprint},
		"given, and none else names it":          {given: []string{good}},
		"given among others":                     {given: []string{other, good}, fingerprint: fingerprint},
		"fetched, as a source names it":          {served: served(good, 200), fingerprint: fingerprint},
		"given, another one":                     {given: []string{other}, fingerprint: fingerprint, says: "not " + fingerprint},
		"fetched, another one":                   {served: served(other, 200), fingerprint: fingerprint, says: "not " + fingerprint},
		"fetched, and nothing names it":          {served: served(good, 200), says: "no source tells the fingerprint"},
		"fetched, expired":                       {served: served(old, 200), fingerprint: oldFingerprint, says: "is expired"},
		"given, expired":                         {given: []string{old}, fingerprint: oldFingerprint, says: "is expired"},
		"fetched, a page of a portal":            {served: served("<html>log in</html>", 200), fingerprint: fingerprint, says: "no public key"},
		"the server has none":                    {served: served("", 404), fingerprint: fingerprint, says: "cannot get the key"},
		"the server is broken":                   {served: served("", 500), fingerprint: fingerprint, says: "cannot get the key"},
		"fetched, larger than any key can be":    {served: served(strings.Repeat("x", keyLimit+1), 200), fingerprint: fingerprint, says: "larger than"},
		"given as a file that is no key":         {given: []string{"hello"}, fingerprint: fingerprint, says: "no public key"},
		"given, and what it is not is not asked": {given: []string{good}, served: served(other, 200), fingerprint: fingerprint},
	} {
		t.Run(name, func(t *testing.T) {
			b := vendorBench(t, "")
			b.opts.Keys, b.env.transport = c.given, c.served
			before := b.h.tree()
			rep, err := b.startVendor(c.fingerprint)
			if c.says == "" {
				if err != nil || rep.Verdict != VerdictDone {
					t.Fatalf("%+v, %v", rep, err)
				}
				return
			}
			wantKind(t, err, fault.Stopped, c.says)
			if diff := cmp.Diff(before, b.h.tree()); diff != "" {
				t.Errorf("something changed (-before +after):\n%s", diff)
			}
		})
	}
}

type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// What the plan keeps out must not come as somebody's dependency either.
func TestFirmwareUpdaterStaysOut(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	b := vendorBench(t, key)
	b.m.repo["driver"] = fakeRepo{version: "24.10", needs: []string{"burner"}, vendor: true}
	before := b.h.tree()
	_, err := b.startVendor(fingerprint)
	wantKind(t, err, fault.Stopped, "burner would come with them")
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("something changed (-before +after):\n%s", diff)
	}
}

func TestReplacedPackagesOnlyAsPlanned(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	b := vendorBench(t, key)
	p := vendorPlan(fingerprint)
	p.Steps[1].Changes.Packages = p.Steps[1].Changes.Packages[1:] // tool is not named
	_, err := Start(context.Background(), b.env, p, b.opts)
	wantKind(t, err, fault.Stopped, "remove tool")
}

func TestInitramfsThatCannotBeMade(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	b := vendorBench(t, key)
	before := b.h.tree()
	b.h.fails["update-initramfs -u -k 6.1.0-9-amd64"] = "mkinitramfs: failure writing to /boot"
	_, err := b.startVendor(fingerprint)
	wantKind(t, err, fault.RolledBack, "failure writing to /boot")
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestCrashOfAVendorInstallAtEveryPoint(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	crashEverywhere(t, 100, func() *bench { return vendorBench(t, key) },
		func(b *bench) (RunReport, error) { return b.startVendor(fingerprint) }, journal.AwaitingReboot)
}
