package apt

import (
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

func TestRepositoryFiles(t *testing.T) {
	key := []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\n")
	for want, r := range map[string]pkgmgr.Repository{
		"deb [signed-by=/etc/apt/keyrings/rdmactl-x.asc] https://example.com/doca/debian12/ ./\n":          {URL: "https://example.com/doca/debian12/"},
		"deb [signed-by=/etc/apt/keyrings/rdmactl-x.asc] https://example.com/debian trixie main contrib\n": {URL: "https://example.com/debian", Suite: "trixie", Components: []string{"main", "contrib"}},
		"deb [signed-by=/etc/apt/keyrings/rdmactl-x.asc] https://u:p@example.com/ ./\n":                    {URL: "https://u:p@example.com/"},
	} {
		r.ID, r.Key = "rdmactl-x", key
		files, err := (&Manager{}).Files([]pkgmgr.Repository{r})
		if err != nil || len(files) != 2 {
			t.Fatalf("%v, %v", files, err)
		}
		if files[0].Path != "/etc/apt/keyrings/rdmactl-x.asc" || string(files[0].Data) != string(key) || files[0].Mode != 0o644 {
			t.Errorf("key: %v", files[0])
		}
		mode := 0o644
		if strings.Contains(r.URL, "@") {
			mode = 0o600
		}
		if string(files[1].Data) != want || files[1].Path != "/etc/apt/sources.list.d/rdmactl-x.list" || int(files[1].Mode) != mode {
			t.Errorf("list: %q, %s, %o", files[1].Data, files[1].Path, files[1].Mode)
		}
	}
	for _, r := range []pkgmgr.Repository{
		{ID: "x", URL: "https://example.com/ ./\ndeb [trusted=yes] http://evil/ ./", Key: key},
		{ID: "x", URL: "https://example.com/"},
		{ID: "../x", URL: "https://example.com/", Key: key},
	} {
		if files, err := (&Manager{}).Files([]pkgmgr.Repository{r}); err == nil {
			t.Errorf("%v", files)
		}
	}
}

// TestStagedOptions: every command of apt gets them, dpkg's none.
func TestStagedOptions(t *testing.T) {
	s := &Solver{staged: &staged{dir: "/run/x"}}
	for _, argv := range [][]string{{"apt-get", "-s", "install", "a=1"}, {"apt-cache", "policy"}, {"env", "-C", "/d", "apt-get", "download", "a=1"}} {
		line := strings.Join(s.with(argv), " ")
		if !strings.Contains(line, "Dir::Etc::SourceParts=/run/x/sources.list.d") || !strings.Contains(line, "Dir::State::Lists=/run/x/lists") {
			t.Error(line)
		}
	}
	if line := strings.Join(s.with([]string{"dpkg", "--configure", "-a"}), " "); line != "dpkg --configure -a" {
		t.Error(line)
	}
	if line := strings.Join((&Solver{}).with([]string{"apt-get", "update"}), " "); line != "apt-get update" {
		t.Error(line)
	}
}
