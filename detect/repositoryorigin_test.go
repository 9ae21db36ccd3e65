package detect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
)

func TestClassify(t *testing.T) {
	ubuntu := facts.Distro{ID: facts.Is("ubuntu", "s"), Family: facts.Is("debian", "s"), Codename: facts.Is("noble", "s")}
	rhel := facts.Distro{ID: facts.Is("rhel", "s"), Family: facts.Is("rhel", "s")}
	sles := facts.Distro{ID: facts.Is("sles", "s"), Family: facts.Is("suse", "s")}
	apt := func(url, suite string, components ...string) facts.Repository {
		return facts.Repository{Kind: "apt", URL: url, Suite: suite, Components: components}
	}
	rpm := func(id, url string) facts.Repository { return facts.Repository{Kind: "rpm", ID: id, URL: url} }
	tests := []struct {
		r    facts.Repository
		d    facts.Distro
		want []string // stack, supplier, role, version, target
	}{
		{apt("http://mirror.example.com/ubuntu/", "noble-security", "main"), ubuntu, []string{"inbox", "", "", "", ""}},
		{apt("http://mirror.example.com/ubuntu/", "jammy", "main"), ubuntu, []string{"unknown", "", "", "", ""}}, // of another release
		{apt("https://apt.example.com/", "noble", "main"), ubuntu, []string{"unknown", "", "", "", ""}},
		{apt("https://ppa.launchpadcontent.net/a/b/ubuntu", "noble", "main"), ubuntu, []string{"unknown", "", "", "", ""}},
		{apt("https://ppa.launchpadcontent.net/canonical-nvidia/doca-stable/ubuntu", "noble", "main"), ubuntu, []string{"doca-ofed", "canonical", "", "", ""}},
		{apt("https://linux.mellanox.com/public/repo/doca/latest-3.2-LTS/ubuntu24.04/x86_64/", "./"), ubuntu, []string{"doca-ofed", "nvidia", "", "latest-3.2-LTS", "ubuntu24.04"}},
		{apt("file:/usr/share/doca-host-2.9.2-012000-24.10-ubuntu2404/repo", "./"), ubuntu, []string{"doca-ofed", "nvidia", "", "2.9.2", "ubuntu2404"}},
		{apt("file:/mnt/MLNX_OFED_LINUX-24.10-1.1.4.0-ubuntu24.04-x86_64/DEBS", "./"), ubuntu, []string{"mlnx-ofed", "nvidia", "", "24.10-1.1.4.0", "ubuntu24.04"}},
		{rpm("x", "https://mirror.example.com/public/repo/mlnx_ofed/4.9-7.1.0.0/rhel8.9/x86_64"), rhel, []string{"mlnx-ofed", "nvidia", "", "4.9-7.1.0.0", "rhel8.9"}},
		{rpm("doca", "https://mirror.example.com/public/repo/doca/..."), rhel, []string{"doca-ofed", "nvidia", "", "", ""}},
		{rpm("hpe", "https://downloads.linux.hpe.com/SDR/repo/doca-ofed/rhel/9.6/x86_64/current"), rhel, []string{"doca-ofed", "hpe", "", "", ""}},
		{rpm("epel-testing", "https://mirror.example.com/pub/epel/9/Everything"), rhel, []string{"unknown", "", "epel", "", ""}},
		{rpm("crb", "https://mirror.example.com/crb"), rhel, []string{"inbox", "", "codeready", "", ""}},
		{rpm("mydoca", "https://mirror.example.com/documentation"), rhel, []string{"unknown", "", "", "", ""}},
		{rpm("SUSE_Package_Hub_15_SP6_x86_64:SUSE-PackageHub-15-SP6-Pool", "https://updates.suse.com/x"), sles, []string{"unknown", "", "package-hub", "", ""}},
		{rpm("Basesystem_Module_15_SP6_x86_64:SLE-Module-Basesystem15-SP6-Updates", "https://updates.suse.com/x"), sles, []string{"inbox", "", "", "", ""}},
	}
	for _, tt := range tests {
		r := tt.r
		classify(&r, tt.d)
		if diff := cmp.Diff(tt.want, []string{r.Stack, r.Supplier, r.Role, r.Version, r.Target}); diff != "" {
			t.Errorf("%s %s %s: %s", r.ID, r.URL, r.Suite, diff)
		}
	}
}

// What is off is listed only where a stack's installation may turn it on.
func TestDisabledRepositories(t *testing.T) {
	got := parseRepoFile("/f", "[a]\nbaseurl = http://a http://b\nenabled = no\nexclude=x y,z\npriority=7\n[main]\nexclude=q\n[b]\nbaseurl=\n  http://c\n")
	want := []facts.Repository{
		{Kind: "rpm", ID: "a", File: "/f", URL: "http://a", Excludes: []string{"x", "y", "z"}, Priority: 7, Signed: facts.Field[bool]{Source: "/f"}},
		{Kind: "rpm", ID: "b", File: "/f", URL: "http://c", Enabled: true, Signed: facts.Field[bool]{Source: "/f"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	sources := parseDeb822Sources("/f", "Types: deb\nURIs: http://a\nSuites: ./\nTrusted: yes\nEnabled: no\n")
	if len(sources) != 1 || sources[0].Enabled || sources[0].Signed.Or(true) {
		t.Errorf("got %+v", sources)
	}
}
