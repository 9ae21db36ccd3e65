package supply

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

func TestMirrorOfAnotherRelease(t *testing.T) {
	host := func(codename string) Host {
		f := hostOf("debian", "12", "x86_64")
		f.Distro.Codename = facts.None[string]("test")
		if codename != "" {
			f.Distro.Codename = facts.Is(codename, "test")
		}
		return Host{Name: "one", Facts: f}
	}
	for _, c := range []struct {
		name, codename, head, says string
	}{
		{"its own", "bookworm", "Origin: Debian\nCodename: bookworm\nVersion: 12.11\n", ""},
		{"its updates", "bookworm", "Origin: Debian\nCodename: bookworm-updates\nVersion: 12-updates\n", ""},
		{"its backports", "bookworm", "Origin: Debian Backports\nCodename: bookworm-backports\n", ""},
		{"the next", "bookworm", "Origin: Debian\nSuite: stable\nCodename: trixie\nVersion: 13.1\n", "Debian trixie"},
		{"the next one's security", "bookworm", "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nOrigin: Debian\nCodename: trixie-security\n", "Debian trixie-security"},
		{"the next by number", "", "Origin: Debian\nVersion: 13.1\n", "Debian 13.1"},
		{"its own by number", "", "Origin: Debian\nVersion: 12.11\n", ""},
		{"a number that begins alike", "", "Origin: Debian\nVersion: 120\n", "Debian 120"},
		{"a site's", "bookworm", "Origin: site\nCodename: everything\n", ""},
		{"one that does not tell", "bookworm", "Suite: bookworm\n", ""},
		{"a name in the checksums", "bookworm", "Origin: Debian\nSHA256:\nCodename: trixie\n", ""},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "mirror.example.com_debian_dists_x_InRelease"), []byte(c.head), 0o600); err != nil {
			t.Fatal(err)
		}
		err := checkDebReleases(host(c.codename), dir)
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Stopped || !strings.Contains(f.Msg, "mirror.example.com/debian/dists/x is of "+c.says) || !strings.Contains(f.Hint, "own release") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestRPMMirrorOfAnotherRelease(t *testing.T) {
	f := hostOf("rocky", "9.4", "x86_64")
	f.Distro.Family = facts.Is("rhel", "test")
	h := Host{Name: "one", Facts: f}
	mirrors := []pkgmgr.Repository{{ID: "mirror-0", URL: "https://me:secret@mirror.example.com/os"}}
	old := plan.ResolvedPackage{Name: "libibverbs", Version: "44.0-2.el8", Origin: "mirror-0"}
	err := checkRPMReleases(h, mirrors, []plan.ResolvedPackage{old})
	if fault.KindOf(err) != fault.Stopped || !strings.Contains(err.Error(), "mirror.example.com/os is of el8 (it has libibverbs 44.0-2.el8)") || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	own, vendors := old, old
	own.Version, vendors.Origin = "46.0-1.el9_4", "vendor"
	if err := checkRPMReleases(h, mirrors, []plan.ResolvedPackage{own, vendors}); err != nil {
		t.Errorf("%v", err)
	}
	h.Facts.Distro.ID = facts.Is("fedora", "test")
	if err := checkRPMReleases(h, mirrors, []plan.ResolvedPackage{old}); err != nil {
		t.Errorf("fedora builds for itself: %v", err)
	}
}

// TestExplained: what fails is the mirror, which is named, with the flags that mend it.
func TestExplained(t *testing.T) {
	mirror, err := ParseMirror("https://me:secret@mirror.example.com/debian bookworm main")
	if err != nil {
		t.Fatal(err)
	}
	h := Host{Name: "one", Facts: hostOf("debian", "12", "x86_64")}
	missing := fault.New(fault.Stopped, "package-not-found", "add a repository that has it, then run `apt-get update`", "cannot install rdma-core: no repository has it")
	unsigned := fault.New(fault.Stopped, "repository-signature", "disable that repository", "cannot trust the repositories: NO_PUBKEY")
	for _, c := range []struct {
		name  string
		c     Collection
		notes []string
		err   *fault.Error
		says  []string
		never []string
	}{
		{
			"not reached",
			Collection{Feeds: []Feed{mirror}},
			[]string{"repository: Could not connect to mirror.example.com", "repository: Could not connect to mirror.example.com", "rdma-core is left out"},
			missing,
			[]string{"one: cannot install", "not reached: Could not connect to mirror.example.com; asked for: https://mirror.example.com/debian bookworm main", "--mirror", "--key", "see that this machine reaches"},
			[]string{"secret", "apt-get", "left out"},
		},
		{
			"what apt says thrice",
			Collection{Feeds: []Feed{mirror}},
			[]string{"repository: Err:1 x", "repository: E: Failed to fetch x", "repository: E: Some index files failed to download."},
			fault.New(fault.Stopped, "package-not-found", "", "cannot install rdma-core: no repository has it (the list of no repository is here: none is configured)"),
			[]string{"no repository has it; not reached: E: Failed to fetch x; asked"},
			[]string{"Err:1", "Some index", "none is configured"},
		},
		{
			"no index",
			Collection{Feeds: []Feed{mirror}},
			nil, fault.New(fault.Stopped, "repository-signature", "", "cannot trust the repositories: E: The repository 'x' does not have a Release file."),
			[]string{"address and the suite"},
			[]string{"--key"},
		},
		{"not in it", Collection{Feeds: []Feed{mirror}}, nil, missing, []string{"asked for: https://mirror.example.com/debian bookworm main", "suite, component"}, []string{"not reached", "apt-get"}},
		{"no mirror", Collection{}, nil, missing, []string{"this machine's own lists"}, []string{"asked for"}},
		{"no key", Collection{Feeds: []Feed{mirror}}, nil, unsigned, []string{"give the public key of who publishes the mirror with --key FILE", "mirror.example.com"}, nil},
		{"another key", Collection{Feeds: []Feed{mirror}, Keys: []string{"x"}}, nil, unsigned, []string{"see that --key has"}, nil},
	} {
		err := c.c.explained(h, "apt", c.notes, c.err)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != c.err.Code || f.Kind != fault.Stopped {
			t.Fatalf("%s: %v", c.name, err)
		}
		said := f.Msg + "\n" + f.Hint
		for _, text := range c.says {
			if !strings.Contains(said, text) {
				t.Errorf("%s: %q is not said: %s", c.name, text, said)
			}
		}
		for _, text := range c.never {
			if strings.Contains(said, text) {
				t.Errorf("%s: %q is said: %s", c.name, text, said)
			}
		}
	}
}
