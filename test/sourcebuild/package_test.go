package sourcebuild

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/test/internal/cache"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// The packages of Debian 13's source are built in an image of Debian 12.
const (
	imageSuite   = "bookworm"
	builtVersion = "56.1-1+rdmactl1"
	builtLibrary = "/usr/lib/x86_64-linux-gnu/libibverbs.so.1"
)

// imagePackages are in the image: the distribution's stack, and the compiler. The rest of what the build needs comes
// from the image's repository, by what debian/control of the source says.
func imagePackages() []string {
	return []string{
		"build-essential", "kmod", "linux-image-amd64", "perl", "procps", "python3", "systemd", "systemd-sysv", "udev", "util-linux",
		"rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "librdmacm1", "rdmacm-utils", "infiniband-diags", "iproute2", "ethtool",
	}
}

// offered are in the image's repository, with all that they need.
func offered() []string {
	return []string{
		"cmake", "debhelper", "dh-python", "dpkg-dev", "ninja-build", "pkg-config", "libnl-3-dev", "libnl-route-3-dev", "libudev-dev", "libsystemd-dev", "python3-docutils", "fakeroot",
		// The way back is kept from these.
		"rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "librdmacm1", "rdmacm-utils", "infiniband-diags", "libibumad3", "libibmad5", "libibnetdisc5",
		"perftest", "mstflint",
	}
}

const (
	smallInitramfs = `mkdir -p "$1/etc/initramfs-tools/conf.d"
echo MODULES=list >"$1/etc/initramfs-tools/conf.d/rdmactl-test"`
	fetchOffered = `set -e
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
mkdir -p "$DEBS/partial"
apt-get install --yes --download-only --no-remove -o Dir::Cache::Archives="$DEBS" -o APT::Sandbox::User=root -o Debug::NoLocking=true $OFFERED
apt-get install --yes --download-only --reinstall -o Dir::Cache::Archives="$DEBS" -o APT::Sandbox::User=root -o Debug::NoLocking=true \
  rdma-core libibverbs1 ibverbs-providers ibverbs-utils librdmacm1 rdmacm-utils infiniband-diags libibumad3 libibmad5 libibnetdisc5
rm -rf "$DEBS/partial" "$DEBS/lock"`
)

var lab = rootlab.New("sourcebuild")

// packagingRoot is a root of Debian 12, which nobody changes, with a signed repository inside.
func packagingRoot(t *testing.T) string {
	t.Helper()
	lab.Need(t, rootlab.WhyNot("set RDMACTL_ROOTS=1 to build in a real root; it takes minutes", "mmdebstrap", "apt-ftparchive"))
	c, err := cache.Open()
	must(t, err)
	hash, err := cache.Key(4, imageSuite, imagePackages(), offered(), smallInitramfs, fetchOffered)
	must(t, err)
	dir, err := c.Get("packaging-"+imageSuite, hash, func(dir string) error {
		t.Logf("making a root of Debian %s to build packages in, about two minutes", imageSuite)
		cmd := exec.Command("nice", "mmdebstrap", "--variant=minbase", "--quiet", "--include="+strings.Join(imagePackages(), ","),
			"--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
			"--essential-hook="+smallInitramfs, "--customize-hook="+fetchOffered, imageSuite, filepath.Join(dir, "root"))
		debs := filepath.Join(dir, "root/srv/repo")
		if err := os.MkdirAll(filepath.Join(dir, "debs"), 0o755); err != nil {
			return err
		}
		cmd.Env = append(os.Environ(), "DEBS="+filepath.Join(dir, "debs"), "OFFERED="+strings.Join(offered(), " "))
		if err := rootlab.Run(cmd); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(debs), 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(dir, "debs"), debs); err != nil {
			return err
		}
		return offer(c, filepath.Join(dir, "root"), debs)
	})
	must(t, err)
	return filepath.Join(dir, "root")
}

// offer signs the index of the packages and makes it the root's only source.
func offer(c *cache.Cache, root, debs string) error {
	var packages, release bytes.Buffer
	list := exec.Command("apt-ftparchive", "packages", ".")
	list.Dir, list.Stdout = debs, &packages
	if err := rootlab.Run(list); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(debs, "Packages"), packages.Bytes(), 0o644); err != nil {
		return err
	}
	sums := exec.Command("apt-ftparchive", "-o", "APT::FTPArchive::Release::Suite="+imageSuite, "release", ".")
	sums.Dir, sums.Stdout = debs, &release
	if err := rootlab.Run(sums); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(debs, "Release"), release.Bytes(), 0o644); err != nil {
		return err
	}
	trusted, err := rootlab.NewSigner(c, "packaging-key", "trusted")
	if err != nil {
		return err
	}
	for _, cmd := range []*exec.Cmd{
		trusted.GPG("--clearsign", "--output", filepath.Join(debs, "InRelease"), filepath.Join(debs, "Release")),
		trusted.GPG("--export", "--output", filepath.Join(root, "usr/share/keyrings/rdmactl-test.gpg")),
	} {
		if err := rootlab.Run(cmd); err != nil {
			return err
		}
	}
	if err := trusted.Stop(); err != nil {
		return err
	}
	for _, name := range []string{"etc/apt/sources.list", "etc/apt/sources.list.d"} {
		if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "etc/apt/sources.list.d"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "etc/apt/sources.list.d/test.list"),
		[]byte("deb [signed-by=/usr/share/keyrings/rdmactl-test.gpg] file:/srv/repo ./\n"), 0o644)
}

// packagesWish is what the image is asked for; the card is stated, since none is seen.
func packagesWish() []string {
	return []string{"--stack", "rdma-core", "--version", "56.1", "--card", "connectx-5", "--method", "source-package", "--remove-build-deps", "--yes", "-o", "json"}
}

// guarded is a root without what a rollback leaves: the exceptions, the package manager's own files and the runs
// themselves.
func guarded(t *testing.T, root string) rootlab.Tree {
	t.Helper()
	skip := []string{
		"/var/lib/rdmactl", "/var/log", "/var/cache/apt", "/var/cache/rdmactl", "/var/cache/ldconfig", "/var/cache/debconf", "/var/lib/apt", "/srv",
		"/var/lib/dpkg", "/var/lib/systemd/deb-systemd-helper-*", "/var/backups",
	}
	for _, e := range install.Exceptions() {
		skip = append(skip, e.Path)
	}
	return rootlab.TreeOf(t, root, rootlab.View{Skip: skip, Dated: func(string) bool { return false }})
}

// versions is the package database of a root: name to version and mark, of what is installed whole.
func versions(t *testing.T, root string) rootlab.Tree {
	t.Helper()
	out, err := exec.Command("dpkg-query", "--admindir="+filepath.Join(root, "var/lib/dpkg"), "-W", "-f", "${Package} ${db:Status-Abbrev}${Version}\n").Output()
	must(t, err)
	marks, err := os.ReadFile(filepath.Join(root, "var/lib/apt/extended_states"))
	must(t, err)
	all := rootlab.Tree{}
	for line := range strings.Lines(string(out)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		mark := "manual"
		if strings.Contains(string(marks), "Package: "+name+"\nArchitecture: amd64\nAuto-Installed: 1") {
			mark = "automatic"
		}
		all[name] = rest + " " + mark
	}
	return all
}

// codeOfPackages is a hash of the code that decides what is in an image with built packages.
func codeOfPackages(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	for _, pattern := range []string{"install/*.go", "install/build/*.go", "install/pkgmgr/apt/*.go", "plan/sourcepackage.go"} {
		files, err := filepath.Glob(filepath.Join("../..", pattern))
		must(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			must(t, err)
			fmt.Fprintf(sum, "%s %d\n%s", file, len(text), text)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// upstream is the archive of the source, which has a debian/ of its own, and its checksum.
func (m material) upstream(t *testing.T) (file, sum string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(m.source, "*.orig.tar.gz"))
	must(t, err)
	data, err := os.ReadFile(found[0])
	must(t, err)
	return found[0], fmt.Sprintf("%x", sha256.Sum256(data))
}

// withPackages is an image with the packages, built once for this state of the code, and the report of that run.
func withPackages(t *testing.T) (dir string, report []byte) {
	t.Helper()
	base, m := packagingRoot(t), prepared(t)
	file, sum := m.upstream(t)
	c, err := cache.Open()
	must(t, err)
	hash, err := cache.Key(1, base, sum, packagesWish(), codeOfPackages(t))
	must(t, err)
	dir, err = c.Get("packaged-"+imageSuite, hash, func(dir string) error {
		root := filepath.Join(dir, "root")
		if err := rootlab.Run(exec.Command("cp", "-a", "--reflink=auto", "--no-target-directory", base, root)); err != nil {
			return err
		}
		t.Log("building the packages, about two minutes")
		var report bytes.Buffer
		cmd := exec.Command(lab.Program(t), append([]string{"install", "--root", root, "--source", file, "--sha256", sum}, packagesWish()...)...)
		cmd.Stdout = &report
		if err := rootlab.Run(cmd); err != nil {
			return fmt.Errorf("%w\n%s", err, report.Bytes())
		}
		return os.WriteFile(filepath.Join(dir, "report"), report.Bytes(), 0o644)
	})
	must(t, err)
	report, err = os.ReadFile(filepath.Join(dir, "report"))
	must(t, err)
	return filepath.Join(dir, "root"), report
}

func TestSourcePackage(t *testing.T) {
	base := packagingRoot(t)
	kept, report := withPackages(t)
	var run rootlab.Report
	must(t, json.Unmarshal(report, &run))
	if run.Verdict != "done" || !run.Changed {
		t.Fatalf("the run ended so: %s", report)
	}
	for _, s := range run.Steps {
		t.Logf("%-16s %-8s %6.1f s", s.ID, s.Status, s.Seconds)
	}
	im := rootlab.Over(t, kept, "run-packaged-")
	before, after := versions(t, base), versions(t, im.Dir)
	for _, name := range []string{"rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "librdmacm1", "rdmacm-utils", "infiniband-diags", "libibumad3", "libibmad5", "libibnetdisc5"} {
		if _, mark, _ := strings.Cut(strings.TrimPrefix(before[name], "ii "), " "); after[name] != "ii "+builtVersion+" "+mark {
			t.Errorf("%s is %q, and was %q", name, after[name], before[name])
		}
	}
	for _, name := range []string{"python3-pyverbs", "cmake", "debhelper", "libnl-3-dev"} { // left out, or removed when all was built
		if after[name] != "" {
			t.Errorf("%s is installed: %q", name, after[name])
		}
	}
	if after["gcc"] == "" {
		t.Error("the compiler is gone, which was here before")
	}
	inside := func(argv ...string) string {
		t.Helper()
		out, err := exec.Command("chroot", append([]string{im.Dir}, argv...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
		return string(out)
	}
	target, err := filepath.EvalSymlinks(filepath.Join(im.Dir, builtLibrary))
	must(t, err)
	if name := filepath.Base(target); name != "libibverbs.so.1.14.56.1" {
		t.Errorf("the library is %s", name)
	}
	if owner := inside("dpkg", "-S", strings.TrimPrefix(target, im.Dir)); !strings.HasPrefix(owner, "libibverbs1:amd64:") {
		t.Errorf("the library belongs to %s", owner)
	}
	if text := inside("ldd", "/usr/bin/ibv_devices"); !strings.Contains(text, "libibverbs.so.1 => /lib/x86_64-linux-gnu/libibverbs.so.1 ") {
		t.Errorf("ldd says %s", text)
	}
	if text := inside("sh", "-c", "LD_DEBUG=versions ibv_devinfo 2>&1 || true"); !strings.Contains(text, "IBVERBS_PRIVATE_34") {
		t.Errorf("the program does not ask for the private ABI of 56.1:\n%s", text)
	}
	inside("dpkg", "--verify", "libibverbs1", "ibverbs-providers", "rdma-core")
	inside("apt-get", "check")
	if _, err := os.Stat(filepath.Join(im.Dir, build.Cache, "..")); err == nil {
		if left, err := filepath.Glob(filepath.Join(im.Dir, build.Cache, "*")); err != nil || len(left) > 0 {
			t.Errorf("the build left %v, %v", left, err)
		}
	}
	sources, err := filepath.Glob(filepath.Join(im.Dir, "etc/apt/sources.list.d/*"))
	must(t, err)
	if len(sources) != 1 {
		t.Errorf("the image has the sources %v", sources)
	}

	m := prepared(t)
	file, sum := m.upstream(t)
	again := lab.Rdmactl(t, 0, append([]string{"install", "--root", im.Dir, "--source", file, "--sha256", sum}, packagesWish()...)...)
	if r := rootlab.Decode[rootlab.Report](t, again); r.Verdict != "nothing-to-do" || r.Changed {
		t.Errorf("the second run: %s", again.Stdout)
	}

	// The distribution's own packages come back in their place, and these again with the rollback of that.
	lab.Rdmactl(t, 0, "uninstall", "--root", im.Dir, "--yes").Says(t, "done")
	for name, was := range before {
		if now := versions(t, im.Dir)[name]; now != was {
			t.Errorf("after uninstall %s is %q, and was %q", name, now, was)
		}
	}
	lab.RollsBack(t, im)
	if diff := cmp.Diff(after, versions(t, im.Dir)); diff != "" {
		t.Errorf("the rollback of uninstall (-before +after):\n%s", diff)
	}
	lab.RollsBack(t, im)
	unchanged(t, base, im)
}

// refused runs an install that must stop.
func refused(t *testing.T, im rootlab.Root, exit int, args []string, says ...string) {
	t.Helper()
	lab.Rdmactl(t, exit, append(append([]string{"install", "--root", im.Dir}, args...), packagesWish()...)...).Says(t, says...)
}

// unchanged checks that an image is as its root is.
func unchanged(t *testing.T, base string, im rootlab.Root) {
	t.Helper()
	before, packages := guarded(t, base), versions(t, base)
	if diff := cmp.Diff(before, guarded(t, im.Dir)); diff != "" {
		t.Errorf("the image changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(packages, versions(t, im.Dir)); diff != "" {
		t.Errorf("the packages changed (-before +after):\n%s", diff)
	}
	if left, err := filepath.Glob(filepath.Join(im.Dir, build.Cache, "*", "[^b]*")); err != nil || len(left) > 0 {
		t.Errorf("the build left %v, %v", left, err)
	}
}

// TestSourcePackageStops: what does not fit stops before anything changes.
func TestSourcePackageStops(t *testing.T) {
	base, m := packagingRoot(t), prepared(t)
	im := rootlab.Over(t, base, "run-packaging-")

	// Debian 13's own packaging needs tools that Debian 12 does not have.
	key, err := openpgp.NewEntity("rdmactl test", "", "test@rdmactl.invalid", nil)
	must(t, err)
	dir := t.TempDir()
	var public bytes.Buffer
	w, err := armor.Encode(&public, openpgp.PublicKeyType, nil)
	must(t, err)
	must(t, key.Serialize(w))
	must(t, w.Close())
	must(t, os.WriteFile(filepath.Join(dir, "key.asc"), public.Bytes(), 0o644))
	text, version := m.paragraph(t)
	var signed bytes.Buffer
	sw, err := clearsign.Encode(&signed, key.PrivateKey, nil)
	must(t, err)
	_, err = sw.Write([]byte(text))
	must(t, err)
	must(t, sw.Close())
	dsc := filepath.Join(dir, "rdma-core_"+version+".dsc")
	must(t, os.WriteFile(dsc, signed.Bytes(), 0o644))
	parts, err := filepath.Glob(filepath.Join(m.source, "rdma-core_*"))
	must(t, err)
	for _, p := range parts {
		must(t, os.Symlink(p, filepath.Join(dir, filepath.Base(p))))
	}
	refused(t, im, 4, []string{"--source", dsc, "--key", filepath.Join(dir, "key.asc")}, "packaging-differs", "librdmacm1")

	// A tree without a packaging of its own.
	bare := tree561(t, "")
	refused(t, im, 4, []string{"--source", bare, "--trust-source"}, "no-packaging", "debian/control")

	// A packaging that asks for what nobody has.
	needy := tree561(t, "#!/bin/sh\nexit 0\n")
	control := filepath.Join(needy, "debian/control")
	have, err := os.ReadFile(control)
	must(t, err)
	must(t, os.WriteFile(control, bytes.Replace(have, []byte("debhelper (>= 10)"), []byte("debhelper (>= 99), no-such-tool"), 1), 0o644))
	refused(t, im, 4, []string{"--source", needy, "--trust-source"}, "build-needs-unmet", "debhelper (", "no-such-tool")

	// Older than what is installed: Debian 12 has 44.
	older := lab.Rdmactl(t, 3, "install", "--root", im.Dir, "--stack", "rdma-core", "--version", "40.0", "--card", "connectx-5", "--method", "source-package", "--yes")
	older.Says(t, "older-than-installed", "44.0-2")
	unchanged(t, base, im)
}

// tree561 is a directory that says that it is rdma-core 56.1, with the real names of packages and rules of the test's;
// without rules it has no debian/.
func tree561(t *testing.T, rules string) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string, mode os.FileMode) {
		must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	put("CMakeLists.txt", "project(rdma-core C)\nset(PACKAGE_NAME \"RDMA\")\nset(PACKAGE_VERSION \"56.1\")\nset(IBVERBS_PABI_VERSION \"34\")\n", 0o644)
	if rules == "" {
		return dir
	}
	control := "Source: rdma-core\nMaintainer: Test <test@rdmactl.invalid>\nBuild-Depends: debhelper (>= 10)\nRules-Requires-Root: no\n"
	for _, name := range []string{"rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "librdmacm1", "rdmacm-utils", "infiniband-diags", "libibumad3", "libibmad5", "libibnetdisc5"} {
		control += "\nPackage: " + name + "\nArchitecture: any\nDescription: test\n"
	}
	put("debian/control", control, 0o644)
	put("debian/changelog", "rdma-core (56.1-1) unstable; urgency=low\n\n  * Test.\n\n -- Test <test@rdmactl.invalid>  Thu, 03 Apr 2025 08:44:30 +0200\n", 0o644)
	put("debian/rules", rules, 0o755)
	return dir
}

// TestHostilePackaging: rules that reach for what is not theirs find nothing, and the host is as it was.
func TestHostilePackaging(t *testing.T) {
	base := packagingRoot(t)
	im := rootlab.Over(t, base, "run-packaging-")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close() // nobody waits for it
	reached := make(chan struct{}, 1)
	go func() {
		if c, err := listener.Accept(); err == nil {
			reached <- struct{}{}
			_ = c.Close()
		}
	}()
	// Where something is reached, the file says so on the host, or the word in the log.
	rules := fmt.Sprintf(`#!/bin/bash
case "$1" in clean|build) exit 0;; esac
id -u
for f in /etc/escape /usr/escape /var/lib/dpkg/escape /var/lib/rdmactl/escape /root/escape; do (echo hello >"$f") 2>/dev/null && echo "ESCAPED to $f"; done
for d in /tmp /var/tmp /dev/shm /run/lock /dev; do (echo hello >"$d/rdmactl-escape") 2>/dev/null; done
(exec 3<>/dev/tcp/127.0.0.1/%d) 2>/dev/null && echo "ESCAPED to the network"
setpriv --reuid 0 true 2>/dev/null && echo "ESCAPED to root"
unshare --map-root-user --net --mount sh -c 'mount --bind / /mnt && echo hello >/mnt/etc/escape' 2>/dev/null && echo "ESCAPED by a namespace"
cp /bin/sh sh && chmod u+s sh && ./sh -p -c 'echo hello >/etc/escape' 2>/dev/null && echo "ESCAPED by set-user-id"
ls /proc | grep -c '^[0-9]' | sed 's/^/processes seen: /'
setsid sleep 91919 >/dev/null 2>&1 </dev/null &
ln -s /etc/shadow ../libibverbs1_56.1-1+rdmactl1_amd64.deb
echo "the rules ran to their end"
exit 3
`, listener.Addr().(*net.TCPAddr).Port)
	source := tree561(t, rules)
	outside := func() []string {
		found, err := filepath.Glob("/tmp/rdmactl-escape")
		must(t, err)
		for _, dir := range []string{"tmp", "var/tmp", "dev/shm", "run/lock", "dev", "etc", "usr", "root"} {
			for _, name := range []string{"rdmactl-escape", "escape"} {
				if _, err := os.Lstat(filepath.Join(im.Dir, dir, name)); err == nil {
					found = append(found, filepath.Join(dir, name))
				}
			}
		}
		return found
	}
	refused(t, im, 6, []string{"--source", source, "--trust-source"}, "build-failed", "rolled back")
	logs, err := filepath.Glob(filepath.Join(im.Dir, build.Cache, "rdma-core-56.1-*/build.log"))
	must(t, err)
	if len(logs) != 1 {
		t.Fatalf("the logs of the build are %v", logs)
	}
	text, err := os.ReadFile(logs[0])
	must(t, err)
	if !strings.Contains(string(text), "the rules ran to their end") || !strings.Contains(string(text), fmt.Sprint(build.BuildUser)) {
		t.Errorf("the rules did not run as they should have:\n%s", text)
	}
	if strings.Contains(string(text), "\nESCAPED") {
		t.Errorf("the rules got out:\n%s", text)
	}
	unchanged(t, base, im)
	if found := outside(); len(found) > 0 {
		t.Errorf("the rules wrote %v", found)
	}
	select {
	case <-reached:
		t.Error("the rules reached the network")
	default:
	}
	if left := running(t, "sleep", "91919"); len(left) > 0 {
		t.Errorf("processes of the build are left: %v", left)
	}
	entries, err := os.ReadDir(filepath.Dir(logs[0]))
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("beside the log the build left %v", entries)
	}
}

// running are the processes of this machine that were started with some words.
func running(t *testing.T, words ...string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	want := strings.Join(words, "\x00") + "\x00"
	return slices.DeleteFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err != nil || string(text) != want // it has ended
	})
}
