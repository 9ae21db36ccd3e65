package holdings

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lab makes vendor repositories with the real tools, signed by a throw-away key.
type lab struct {
	t    *testing.T
	home string // of gpg
	env  []string
}

func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
}

func newLab(t *testing.T) *lab {
	t.Helper()
	need(t, "gpg", "gpgconf")
	home, err := os.MkdirTemp("", "gpg") // short: the agent's socket path is bounded
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, home: home, env: append(os.Environ(), "GNUPGHOME="+home, "HOME="+home, "LC_ALL=C", "SOURCE_DATE_EPOCH=1700000000")}
	t.Cleanup(func() {
		stop := exec.Command("gpgconf", "--kill", "all")
		stop.Env = l.env
		if err := stop.Run(); err != nil {
			t.Log(err)
		}
		if err := os.RemoveAll(home); err != nil {
			t.Log(err)
		}
	})
	l.run(home, "gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key", "vendor@example.org", "rsa2048", "sign", "never")
	l.run(home, "gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key", "other@example.org", "rsa2048", "sign", "never")
	return l
}

func (l *lab) run(dir, name string, args ...string) []byte {
	l.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, l.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		l.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return out
}

func (l *lab) key(user string) KeyFile {
	l.t.Helper()
	return KeyFile{user, l.run(l.home, "gpg", "--armor", "--export", user+"@example.org")}
}

func (l *lab) fingerprint(user string) string {
	l.t.Helper()
	for line := range strings.SplitSeq(string(l.run(l.home, "gpg", "--with-colons", "--fingerprint", user+"@example.org")), "\n") {
		if f := strings.Split(line, ":"); f[0] == "fpr" {
			return f[9]
		}
	}
	l.t.Fatal("no fingerprint")
	return ""
}

func (l *lab) options() Options {
	return Options{Keys: []KeyFile{l.key("vendor")}, Now: soon()}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func slurp(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// deb builds a package with files below root, which may be empty.
func (l *lab) deb(dir, name, version, arch string, files map[string]string) {
	l.t.Helper()
	l.debWith("", dir, name, version, arch, files)
}

// debWith has more lines of the control file.
func (l *lab) debWith(lines, dir, name, version, arch string, files map[string]string) {
	l.t.Helper()
	need(l.t, "dpkg-deb")
	root := l.t.TempDir()
	write(l.t, root+"/DEBIAN/control", "Package: "+name+"\nVersion: "+version+"\nArchitecture: "+arch+"\n"+lines+"Maintainer: Vendor <vendor@example.org>\nDescription: for tests\n a second line\n")
	for path, text := range files {
		write(l.t, root+"/"+path, text)
	}
	l.run(root, "dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, filepath.Join(dir, name+"_"+strings.ReplaceAll(version, ":", "%3a")+"_"+arch+".deb"))
}

// index makes a flat apt repository's indexes and signs them.
func (l *lab) index(dir string, release map[string]string) {
	l.t.Helper()
	need(l.t, "apt-ftparchive", "xz", "zstd", "bzip2", "gzip")
	packages := l.run(dir, "apt-ftparchive", "packages", ".")
	write(l.t, dir+"/Packages", string(packages))
	l.run(dir, "gzip", "-kf", "Packages")
	l.run(dir, "xz", "-kf", "Packages")
	l.run(dir, "zstd", "-qkf", "Packages")
	l.run(dir, "bzip2", "-kf", "Packages")
	l.release(dir, release)
}

func (l *lab) release(dir string, fields map[string]string) {
	l.t.Helper()
	args := []string{}
	for k, v := range fields {
		args = append(args, "-o", "APT::FTPArchive::Release::"+k+"="+v)
	}
	for _, old := range []string{"InRelease", "Release", "Release.gpg"} {
		if err := os.RemoveAll(dir + "/" + old); err != nil {
			l.t.Fatal(err)
		}
	}
	write(l.t, dir+"/Release", string(l.run(dir, "apt-ftparchive", append(args, "release", ".")...)))
	l.sign(dir, "vendor")
}

func (l *lab) sign(dir, user string) {
	l.t.Helper()
	l.run(dir, "gpg", "--batch", "--yes", "-u", user+"@example.org", "--clearsign", "-o", "InRelease", "Release")
	l.run(dir, "gpg", "--batch", "--yes", "-u", user+"@example.org", "--armor", "--detach-sign", "-o", "Release.gpg", "Release")
}

// rpm builds a signed package.
func (l *lab) rpm(dir, name, version, release, arch string, files []string, source string) {
	l.t.Helper()
	l.rpmWith("", dir, name, version, release, arch, files, source)
}

// rpmWith has more lines of the spec.
func (l *lab) rpmWith(lines, dir, name, version, release, arch string, files []string, source string) {
	l.t.Helper()
	need(l.t, "rpmbuild", "rpmsign")
	top := l.t.TempDir()
	var spec strings.Builder
	spec.WriteString("Name: " + name + "\nVersion: " + version + "\nRelease: " + release + "\nSummary: for tests\nLicense: GPL\n" + lines)
	if arch == "noarch" {
		spec.WriteString("BuildArch: noarch\n")
	}
	spec.WriteString("%global debug_package %{nil}\n%global __os_install_post %{nil}\n%global _build_id_links none\n%description\nx\n%install\n")
	if source != "" {
		spec.WriteString("mkdir -p %{buildroot}\ncp -a " + source + "/. %{buildroot}/\n")
	}
	for _, f := range files {
		spec.WriteString("mkdir -p %{buildroot}$(dirname " + f + ")\necho module > %{buildroot}" + f + "\n")
	}
	spec.WriteString("%files\n" + strings.Join(files, "\n") + "\n")
	if source != "" {
		spec.WriteString("/usr/share\n")
	}
	write(l.t, top+"/p.spec", spec.String())
	args := []string{"-bb", "--quiet", "--define", "_topdir " + top, "--define", "_rpmdir " + dir, "--define", "_rpmfilename %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm", "--define", "_dbpath " + top + "/db"}
	if arch != "noarch" {
		args = append(args, "--target", arch+"-linux")
	}
	l.run(top, "rpmbuild", append(args, "p.spec")...)
	l.signRPM(filepath.Join(dir, name+"-"+version+"-"+release+"."+arch+".rpm"), "vendor")
}

func (l *lab) signRPM(file, user string) {
	l.t.Helper()
	gpg, err := exec.LookPath("gpg")
	if err != nil {
		l.t.Fatal(err)
	}
	l.run(filepath.Dir(file), "rpmsign", "--define", "__gpg "+gpg, "--define", "_gpg_name "+user+"@example.org", "--define", "_gpg_path "+l.home, "--addsign", file)
}

func (l *lab) createrepo(dir, user string) {
	l.t.Helper()
	need(l.t, "createrepo_c")
	l.run(dir, "createrepo_c", "-q", ".")
	if user != "" {
		l.run(dir, "gpg", "--batch", "--yes", "-u", user+"@example.org", "--armor", "--detach-sign", "-o", "repodata/repomd.xml.asc", "repodata/repomd.xml")
	}
}

const (
	debKernel = "5.15.0-25-generic"
	rpmKernel = "5.14.0-427.13.1.el9_4.x86_64"
)

// docaApt is a DOCA repository for Ubuntu 22.04.
func (l *lab) docaApt() string {
	l.t.Helper()
	dir := l.t.TempDir() + "/doca/2.9.1/ubuntu22.04/x86_64"
	write(l.t, dir+"/pool/README", "")
	l.deb(dir+"/pool", "doca-ofed", "2.9.1-0.1.6", "amd64", nil)
	l.deb(dir+"/pool", "mlnx-ofed-all", "24.10-1.1.4.0", "all", nil)
	l.deb(dir+"/pool", "mlnx-ofed-kernel-dkms", "24.10.OFED.24.10.1.1.4.1-1", "all", nil)
	l.deb(dir+"/pool", "mlnx-ofed-kernel-modules", "24.10.OFED.24.10.1.1.4.1-1", "amd64", map[string]string{"lib/modules/" + debKernel + "/updates/mlx5_core.ko": "module"})
	l.index(dir, map[string]string{"Label": "DOCA-HOST 2.9.1", "Suite": "jammy"})
	return dir
}

// mlnxRPMs puts the packages of a MLNX_OFED repository for RHEL 9.4 into a folder.
func (l *lab) mlnxRPMs(dir string) {
	l.t.Helper()
	write(l.t, dir+"/README", "")
	l.rpm(dir, "mlnx-ofed-all", "24.10", "1.1.4.0.rhel9.4", "noarch", nil, "")
	l.rpm(dir, "kmod-mlnx-ofa_kernel", "24.10", "OFED.24.10.1.1.4.1.rhel9u4", "x86_64", []string{"/lib/modules/" + rpmKernel + "/extra/mlnx-ofa_kernel/mlx5_core.ko"}, "")
}
