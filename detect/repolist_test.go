package detect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
)

// What the programs print of their repositories tells the same as the files, as far as it goes.
func TestRepositoryTexts(t *testing.T) {
	silent := func(line string) facts.Field[bool] { return facts.Field[bool]{Source: line} }
	tests := []struct {
		line, os, text string
		want           []facts.Repository
	}{
		{
			"dnf repolist --all", "ID=rocky\nVERSION_ID=\"9.4\"\n",
			"Last metadata expiration check: 0:00:01 ago.\nrepo id                repo name                         status\nbaseos                 Rocky Linux 9 - BaseOS            enabled\nepel                   Extra Packages                    disabled\nmedia                  Media                             disabled\n",
			[]facts.Repository{
				{Kind: "rpm", ID: "baseos", File: "dnf repolist --all", Enabled: true, Stack: inbox, Signed: silent("dnf repolist --all")},
				{Kind: "rpm", ID: "epel", File: "dnf repolist --all", Stack: other, Role: "epel", Signed: silent("dnf repolist --all")},
			},
		},
		{
			"yum repolist", "ID=centos\nVERSION_ID=\"7\"\n", "repo id              repo name          status\n!base/7/x86_64       CentOS-7 - Base    10,072\nmlnx_ofed/x86_64     OFED               100\nrepolist: 10,172\n",
			[]facts.Repository{
				{Kind: "rpm", ID: "base", File: "yum repolist", Enabled: true, Stack: inbox, Signed: silent("yum repolist")},
				{Kind: "rpm", ID: "mlnx_ofed", File: "yum repolist", Enabled: true, Stack: mlnxOFED, Supplier: nvidia, Signed: silent("yum repolist")},
			},
		},
		{
			"zypper lr -u", "ID=sles\nVERSION_ID=\"15.6\"\n",
			"Repository priorities are without effect.\n\n# | Alias | Name | Enabled | GPG Check | Refresh | URI\n--+-------+------+---------+-----------+---------+----\n1 | doca  | doca | Yes     | (  ) No   | No      | https://u:p@mirror.example.com/public/repo/doca/2.9.2/sles15sp6/x86_64\n" +
				"2 | x     | x    | No      | ----      | ----    | http://x\n",
			[]facts.Repository{{
				Kind: "rpm", ID: "doca", File: "zypper lr -u", URL: "https://mirror.example.com/public/repo/doca/2.9.2/sles15sp6/x86_64", Enabled: true, Stack: docaOFED, Supplier: nvidia,
				Version: "2.9.2", Target: "sles15sp6", Signed: facts.Is(false, "zypper lr -u"),
			}},
		},
		{
			"apt-cache policy", "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n",
			"Package files:\n 100 /var/lib/dpkg/status\n     release a=now\n 500 http://mirror.example.com/debian bookworm/main amd64 Packages\n     origin mirror.example.com\n 500 http://mirror.example.com/debian bookworm/contrib amd64 Packages\n" +
				" 600 https://linux.mellanox.com/public/repo/doca/3.2.1/debian12/x86_64 ./ Packages\n 500 file:/srv/flat  Packages\nPinned packages:\n",
			[]facts.Repository{
				{Kind: "apt", URL: "http://mirror.example.com/debian", Suite: "bookworm", Components: []string{"main", "contrib"}, File: "apt-cache policy", Enabled: true, Stack: inbox, Signed: silent("apt-cache policy")},
				{
					Kind: "apt", URL: "https://linux.mellanox.com/public/repo/doca/3.2.1/debian12/x86_64", Suite: "./", File: "apt-cache policy", Enabled: true, Stack: docaOFED, Supplier: nvidia,
					Version: "3.2.1", Target: "debian12", Signed: silent("apt-cache policy"),
				},
				{Kind: "apt", URL: "file:/srv/flat", Suite: "/", File: "apt-cache policy", Enabled: true, Stack: other, Signed: silent("apt-cache policy")},
			},
		},
	}
	for _, tt := range tests {
		e := asked(map[string]string{tt.line: tt.text})
		e.Files["/etc/os-release"] = tt.os
		got := detected(t, e).Packages.RepositoryList
		if diff := cmp.Diff(tt.want, got.Or(nil)); diff != "" || got.Source != tt.line {
			t.Errorf("%s: %s %s", tt.line, got.Source, diff)
		}
		// A text without the table tells nothing.
		e = asked(map[string]string{tt.line: "Error: no such command\n"})
		if f := detected(t, e).Packages.RepositoryList; !f.IsUnknown() {
			t.Errorf("%s: an error gave %+v", tt.line, f)
		}
	}
}
