package roots

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/test/internal/cache"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// poses are the os-release texts of the distributions that a root poses as.
func poses() map[string]string {
	return map[string]string{
		"rocky": "NAME=\"Rocky Linux\"\nVERSION=\"9.4 (Blue Onyx)\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.4\"\n" +
			"PLATFORM_ID=\"platform:el9\"\nPRETTY_NAME=\"Rocky Linux 9.4 (Blue Onyx)\"\n",
		"leap": "NAME=\"openSUSE Leap\"\nVERSION=\"15.6\"\nID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\nVERSION_ID=\"15.6\"\nPRETTY_NAME=\"openSUSE Leap 15.6\"\n",
	}
}

// treePackages are in every root: Debian's own apt is in it as well.
func treePackages() []string { return []string{"dnf", "zypper", "rpm", "gnupg"} }

// rpmRoot is a root with dnf and zypper and an rpm database that holds the package release.
func rpmRoot(t testing.TB, pose string) *Root {
	t.Helper()
	need(t)
	c, err := cache.Open()
	if err != nil {
		t.Fatal(err)
	}
	from, err := tree(c, "rpm", treePackages()...)
	if err != nil {
		t.Fatal(err)
	}
	repos, err := rpmRepos(c)
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, from, repos)
	dbpath := "/var/lib/rpm"
	if pose == "leap" {
		r.Put("/etc/zypp/zypp.conf", "[main]\nmultiversion = provides:multiversion(kernel)\n") // as SUSE ships it
		dbpath = "/usr/lib/sysimage/rpm"
	}
	r.Put("/etc/os-release", poses()[pose])
	r.Put("/etc/rpm/macros", "%_dbpath "+dbpath+"\n%_install_langs all\n")
	r.must("rm", "-rf", "/var/lib/rpm")
	r.must("mkdir", "-p", dbpath, "/srv/seed")
	if dbpath != "/var/lib/rpm" {
		r.must("ln", "-s", "../.."+dbpath, "/var/lib/rpm") // as the distribution has it
	}
	if err := rootlab.Run(exec.Command("cp", filepath.Join(repos, repoGood, "release-9.4-1.noarch.rpm"), r.Dir+"/srv/seed/")); err != nil {
		t.Fatal(err)
	}
	r.Put("/etc/pki/rpm-gpg/RPM-GPG-KEY-test", readFile(t, filepath.Join(repos, "trusted.asc")))
	r.must("rpmkeys", "--import", "/etc/pki/rpm-gpg/RPM-GPG-KEY-test")
	r.must("rpm", "-i", "--force-debian", "/srv/seed/release-9.4-1.noarch.rpm")
	r.must("rm", "-rf", "/srv/seed")
	return r
}

// must runs a command inside the root that has to succeed.
func (r *Root) must(argv ...string) string {
	r.t.Helper()
	res, err := r.Run(context.Background(), host.Command{Argv: argv})
	if err != nil {
		r.t.Fatal(err)
	}
	if res.Exit != 0 {
		r.t.Fatalf("%s ended with %d: %s", strings.Join(argv, " "), res.Exit, res.Stderr)
	}
	return res.Stdout
}
