package detect

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/host"
)

func TestListName(t *testing.T) {
	for _, c := range []struct{ url, suite, want string }{
		{"http://deb.example.com/debian", "bookworm", "deb.example.com_debian_dists_bookworm_"},
		{"http://deb.example.com/debian/", "bookworm/updates", "deb.example.com_debian_dists_bookworm_updates_"},
		{"http://mirror.example.com:8080/a_b/", "./", "mirror.example.com:8080_a%5fb_._"},
		{"file:/srv/mirror", "./", "_srv_mirror_._"},
		{"file:///srv/mirror", "/", "_srv_mirror_"},
		{"https://mirror.example.com/x~y=z", "stable", "mirror.example.com_x%7ey%3dz_dists_stable_"},
	} {
		if got := listName(c.url, c.suite); got != c.want {
			t.Errorf("%s %s is %s, want %s", c.url, c.suite, got, c.want)
		}
	}
}

// TestReleaseOrigin: a vendor's repository behind an address that tells nothing is known by what it says of itself, and
// so it is in evidence.
func TestReleaseOrigin(t *testing.T) {
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n")
	put("etc/apt/sources.list.d/site.list", "deb http://repo.corp.internal/one ./\ndeb http://repo.corp.internal/two stable main\ndeb http://repo.corp.internal/three ./\n"+
		"deb http://repo.corp.internal/four ./\ndeb http://repo.corp.internal/unread ./\ndeb http://10.20.30.40/five ./\ndeb http://repo.corp.internal/debian bookworm main\n")
	const lists = "var/lib/apt/lists/repo.corp.internal_"
	put(lists+"one_._InRelease", "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\nOrigin: MLNX_OFED\nLabel: MLNX_OFED_LINUX\nSuite: 24.10-1.1.4.0\nSHA256:\n"+strings.Repeat(" 00 1 x\n", 9000))
	put(lists+"two_dists_stable_Release", "Origin: DOCA\nLabel: DOCA-HOST 2.9.2\n")
	put(lists+"three_._InRelease", "Origin: site\nLabel: DOCAMENTS\n")
	put(lists+"four_._InRelease", "Suite: MLNX_OFED\n")
	put("var/lib/apt/lists/10.20.30.40_five_._InRelease", "Origin: DOCA\n")
	put(lists+"debian_dists_bookworm_InRelease", "Origin: MLNX_OFED\n")

	stacks := func(r host.Reader) map[string]string {
		out := map[string]string{}
		for _, one := range Host(context.Background(), r).Packages.RepositoryList.Or(nil) {
			out[path.Base(one.URL)] = one.Stack
		}
		return out
	}
	rooted, err := host.NewRooted(root)
	if err != nil {
		t.Fatal(err)
	}
	defer rooted.Close()
	recorder := host.NewRecorder(rooted)
	live := stacks(recorder)
	evidence, err := recorder.Evidence(host.RecordOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for of, got := range map[string]map[string]string{"live": live, "evidence": stacks(host.NewReplay(evidence))} {
		for name, want := range map[string]string{"one": mlnxOFED, "two": docaOFED, "three": other, "four": other, "unread": other, "five": docaOFED, "debian": inbox} {
			if stack := got[name]; stack != want {
				t.Errorf("%s: %s is of %q, want %s", of, name, stack, want)
			}
		}
	}
	for line := range evidence.Commands {
		if strings.Contains(line, "debian_dists") {
			t.Errorf("the distribution's own was asked: %s", line)
		}
		if strings.Contains(line, "corp.internal") || strings.Contains(line, "10.20.30.40") {
			t.Errorf("whose it is stands in %s", line)
		}
	}
}
