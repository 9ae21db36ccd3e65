package rpmhosts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/cache"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// suite is the Debian release that the programs come from.
const suite = "bookworm"

// version changes when something else is made of the same inputs.
const version = 2

// rootPackages are the programs of a root, and the libraries that the offered packages are linked with.
func rootPackages() []string {
	return []string{
		"dbus", "dnf", "gnupg", "kmod", "procps", "python3", "rpm", "systemd", "systemd-sysv", "udev", "util-linux", "zypper",
		"libboost-filesystem1.74.0", "libbpf1", "libbsd0", "libcap2", "libelf1", "libjsoncpp25", "libmnl0", "libmuparser2v5",
		"libnl-3-200", "libnl-route-3-200", "libpci3", "libtirpc3", "libxtables12",
	}
}

// offeredPackages are built into RPMs.
func offeredPackages() []string {
	return []string{
		"rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "librdmacm1", "rdmacm-utils", "libibumad3", "libibmad5",
		"libibnetdisc5", "infiniband-diags", "perftest", "mstflint", "ethtool", "iproute2",
	}
}

// fetch runs outside of the root with apt configured for it, while the package lists are there.
const fetch = `export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
mkdir -p "$DEBS/partial"
apt-get install --yes --download-only --no-remove --no-install-recommends \
  -o Dir::Cache::Archives="$DEBS" -o APT::Sandbox::User=root -o Debug::NoLocking=true linux-image-amd64 $OFFERED
rm -rf "$DEBS/partial" "$DEBS/lock"`

// programs is a directory with root/, the programs that all roots have, and debs/, what is built into RPMs.
func programs(t *testing.T, c *cache.Cache) string {
	t.Helper()
	hash, err := cache.Key(1, suite, rootPackages(), offeredPackages(), fetch)
	must(t, err)
	dir, err := c.Get("rpmprograms-"+suite, hash, func(dir string) error {
		t.Logf("making a root of Debian %s, about two minutes", suite)
		args := []string{"mmdebstrap", "--variant=minbase", "--quiet", "--include=" + strings.Join(rootPackages(), ","), "--customize-hook=" + fetch}
		for _, glob := range []string{"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/lintian/*"} {
			args = append(args, "--dpkgopt=path-exclude="+glob)
		}
		cmd := exec.Command("nice", append(args, suite, filepath.Join(dir, "root"))...)
		cmd.Env = append(os.Environ(), "DEBS="+filepath.Join(dir, "debs"), "OFFERED="+strings.Join(offeredPackages(), " "))
		return rootlab.Run(cmd)
	})
	must(t, err)
	return dir
}

// system is a distribution that a root poses as.
type system struct {
	name    string // of the scenario, and of the repository
	manager string
	other   []string // programs of another manager, which it does not have
	release string   // /etc/os-release
	dbpath  string   // where its rpm has the database
	// suffix makes a release of the distribution of one of Debian's: 2 is 2.el9 there.
	suffix  func(revision string) string
	vendor  string   // as its packages name their maker
	repos   string   // directory of its repository files
	kernel  string   // package of the kernel
	offers  []recipe // what its repository has
	want    []string // packages that the profile inbox brings for ConnectX-5
	library string   // package with libibverbs.so.1
}

func systems() []system {
	return []system{
		{
			name: "rocky9", manager: "dnf", other: []string{"usr/bin/zypper"},
			release: "NAME=\"Rocky Linux\"\nVERSION=\"9.4 (Blue Onyx)\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.4\"\n" +
				"PLATFORM_ID=\"platform:el9\"\nPRETTY_NAME=\"Rocky Linux 9.4 (Blue Onyx)\"\n",
			dbpath: "/var/lib/rpm", repos: "etc/yum.repos.d", kernel: "kernel-core",
			suffix: func(revision string) string { return revision + ".el9" },
			vendor: "Rocky Enterprise Software Foundation",
			offers: rockyPackages(), library: "libibverbs",
			want: []string{
				"rdma-core", "libibverbs", "libibverbs-utils", "librdmacm", "librdmacm-utils", "infiniband-diags", "perftest", "mstflint", "ethtool", "iproute",
			},
		},
		{
			name: "leap156", manager: "zypper", other: []string{"usr/bin/dnf", "usr/bin/dnf-3", "usr/bin/yum"},
			release: "NAME=\"openSUSE Leap\"\nVERSION=\"15.6\"\nID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\nVERSION_ID=\"15.6\"\nPRETTY_NAME=\"openSUSE Leap 15.6\"\n",
			dbpath:  "/usr/lib/sysimage/rpm", repos: "etc/zypp/repos.d", kernel: "kernel-default",
			suffix: func(revision string) string { return "150600." + revision },
			vendor: "SUSE LLC <https://www.suse.com/>",
			offers: leapPackages(), library: "libibverbs1",
			want: []string{
				"rdma-core", "libibverbs1", "libibverbs", "libmlx5-1", "libibverbs-utils", "librdmacm1", "librdmacm-utils", "infiniband-diags",
				"perftest", "mstflint", "ethtool", "iproute2",
			},
		},
	}
}

// material is what is made once and kept, and nobody changes.
type material struct {
	system
	kept   string // root of the host, with its kernel
	repos  string // directory with a directory for each repository, and the key
	kernel string // release
}

// release is the package that stands for the distribution.
func (s system) releasePackage() recipe {
	name, provides := "rocky-release", []string{"Provides: system-release = 9.4", "Provides: system-release(releasever) = 9", "Provides: redhat-release = 9.4"}
	if s.manager == "zypper" {
		name, provides = "openSUSE-release", []string{"Provides: distribution-release", "Provides: product(Leap) = 15.6"}
	}
	return recipe{name: name, version: "1-1", relations: append(provides, "Provides: /bin/sh"), fill: func(tree string) error {
		return put(tree+"/usr/share/"+name+"/release", s.release)
	}}
}

// prepared makes the material of a system.
func prepared(t *testing.T, s system) material {
	t.Helper()
	lab.Need(t, rootlab.WhyNot("set RDMACTL_ROOTS=1 to install with dnf and zypper; making the first root takes minutes",
		"mmdebstrap", "rpmbuild", "rpmsign", "createrepo_c", "gpg", "dpkg-deb", "depmod"))
	c, err := cache.Open()
	must(t, err)
	base := programs(t, c)
	trusted, err := rootlab.NewSigner(c, "rpmhostkey", "trusted")
	must(t, err)
	stranger, err := rootlab.NewSigner(c, "rpmhostkey", "stranger")
	must(t, err)
	hash, err := cache.Key(version, filepath.Base(base), s.name, s.release, s.dbpath, s.vendor, s.kernel, recipeWords(s.offers), trusted.Home, stranger.Home)
	must(t, err)
	dir, err := c.Get("rpmhost-"+s.name, hash, func(dir string) error {
		t.Logf("making the packages and the root of %s, about a minute", s.name)
		return errors.Join(s.make(dir, base, trusted, stranger), trusted.Stop(), stranger.Stop())
	})
	must(t, err)
	m := material{system: s, kept: filepath.Join(dir, "root"), repos: filepath.Join(dir, "repos")}
	found, err := filepath.Glob(m.kept + "/usr/lib/modules/*")
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("the root has the kernels %v", found)
	}
	m.kernel = filepath.Base(found[0])
	return m
}

// make makes the root and the repositories.
func (s system) make(dir, base string, trusted, stranger rootlab.Signer) error {
	root, repos := filepath.Join(dir, "root"), filepath.Join(dir, "repos")
	if err := rootlab.Run(exec.Command("cp", "--archive", "--no-target-directory", filepath.Join(base, "root"), root)); err != nil {
		return err
	}
	// dpkg is not on such a host: its programs and its database go, apt's too.
	for _, pattern := range append([]string{
		"usr/bin/dpkg*", "usr/bin/apt*", "usr/lib/dpkg", "usr/lib/apt", "usr/share/dpkg", "etc/dpkg", "etc/apt", "etc/debian_version", "etc/os-release",
		"usr/lib/os-release", "var/lib/dpkg", "var/lib/apt", "var/cache/apt", "var/cache/debconf", "etc/kernel",
	}, s.other...) {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, f := range found {
			if err := os.RemoveAll(f); err != nil {
				return err
			}
		}
	}
	key, err := trusted.Public()
	if err != nil {
		return err
	}
	errs := []error{
		put(root+"/etc/os-release", s.release),
		put(root+"/etc/rpm/macros", "%_dbpath "+s.dbpath+"\n%_install_langs all\n"),
		put(root+"/etc/ld.so.conf.d/00-lib64.conf", "/usr/lib64\n"),
		put(root+"/etc/pki/rpm-gpg/RPM-GPG-KEY-test", string(key)),
		os.RemoveAll(root + "/var/lib/rpm"), os.MkdirAll(root+s.dbpath, 0o755), os.MkdirAll(filepath.Join(root, s.repos), 0o755),
	}
	if s.manager == "zypper" {
		errs = append(errs, os.Symlink("../.."+s.dbpath, root+"/var/lib/rpm"),
			put(root+"/etc/zypp/zypp.conf", "[main]\nmultiversion = provides:multiversion(kernel)\n")) // as SUSE ships it
	} else {
		errs = append(errs, put(root+"/etc/dnf/dnf.conf", "[main]\ngpgcheck=1\ninstallonly_limit=3\nclean_requirements_on_remove=True\nbest=True\n"),
			put(root+"/etc/redhat-release", "Rocky Linux release 9.4 (Blue Onyx)\n"))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	seed := filepath.Join(root, "seed")
	kernel, err := s.kernelRecipe(filepath.Join(base, "debs"))
	if err != nil {
		return err
	}
	for _, p := range []recipe{s.releasePackage(), kernel} {
		if err := p.build(seed, root, s.vendor); err != nil {
			return err
		}
	}
	if err := rootlab.Run(chroot(root, "rpmkeys --import /etc/pki/rpm-gpg/RPM-GPG-KEY-test && rpm --install --force-debian /seed/*.rpm && depmod "+kernel.kernel+" && ldconfig")); err != nil {
		return err
	}
	if err := os.RemoveAll(seed); err != nil {
		return err
	}
	return s.repositories(repos, root, filepath.Join(base, "debs"), trusted, stranger)
}

// chroot runs a script in a root that is being made.
func chroot(root, script string) *exec.Cmd {
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-ec", `mount -t proc proc "$1/proc"; exec chroot "$1" /bin/sh -ec "$2"`, "sh", root, script)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C"}
	return cmd
}

// image is one root of one test.
type image struct {
	material
	rootlab.Root
}

// newImage makes a host whose only package source is the named repository, at url.
func newImage(t *testing.T, s system, repository string) image {
	t.Helper()
	m := prepared(t, s)
	im := image{material: m, Root: rootlab.Over(t, m.kept, "run-rpmhost-")}
	im.uses(t, serve(t, m.repos)+"/"+repository)
	return im
}

// uses configures the only repository, as the distribution's files do.
func (im image) uses(t *testing.T, url string) {
	t.Helper()
	must(t, im.source(url))
}

func (im image) source(url string) error {
	const key = "gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-test\n"
	text := "[base]\nname=the distribution\nbaseurl=" + url + "\nenabled=1\ngpgcheck=1\nrepo_gpgcheck=1\n" + key
	if im.manager == "zypper" {
		text += "autorefresh=1\ntype=rpm-md\n"
	}
	return put(im.Path(im.system.repos+"/base.repo"), text)
}

// put writes a file and the directories above it.
func put(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
