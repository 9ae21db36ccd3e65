package rpmhosts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
	"github.com/rdmactl/rdmactl/test/vendorlab"
)

// recipe is how an RPM is made of packages of Debian.
type recipe struct {
	name    string
	version string // with the release; empty for that of the first package it is made of
	epoch   string
	from    []string
	// only and except choose files of those packages by their path, as regular expressions; empty for all and none.
	only, except string
	relations    []string
	post         string // scriptlet, after installation and removal
	fill         func(tree string) error
	kernel       string // release, of a package with a kernel
}

// recipeWords is what a recipe is made of, for the key of the cache.
func recipeWords(list []recipe) []string {
	var words []string
	for _, r := range list {
		words = append(words, fmt.Sprint(r.name, r.version, r.epoch, r.from, r.only, r.except, r.relations, r.post))
	}
	return words
}

const (
	ldconfig = "/sbin/ldconfig || :"
	// As the packages of the distributions do.
	udev = "[ ! -d /run/systemd/system ] || systemctl daemon-reload >/dev/null 2>&1 || :\n/sbin/udevadm trigger --subsystem-match=infiniband --action=change || :"
)

// rockyPackages splits rdma-core as RHEL 9 does: providers in libibverbs, libibmad in infiniband-diags.
func rockyPackages() []recipe {
	return []recipe{
		{name: "rdma-core", from: []string{"rdma-core"}, relations: []string{"Conflicts: mlnx-en-utils"}, post: udev},
		{name: "libibverbs", from: []string{"libibverbs1", "ibverbs-providers"}, relations: []string{
			"Requires: rdma-core = %{version}-%{release}", "Provides: libmlx5 = %{version}-%{release}", "Obsoletes: libmlx5 < %{version}-%{release}",
		}, post: ldconfig},
		{name: "libibverbs-utils", from: []string{"ibverbs-utils"}, relations: []string{"Requires: libibverbs = %{version}-%{release}"}},
		{name: "libibumad", from: []string{"libibumad3"}, relations: []string{"Requires: rdma-core = %{version}-%{release}"}, post: ldconfig},
		{name: "librdmacm", from: []string{"librdmacm1"}, relations: []string{"Requires: libibverbs = %{version}-%{release}"}, post: ldconfig},
		{name: "librdmacm-utils", from: []string{"rdmacm-utils"}, relations: []string{"Requires: librdmacm = %{version}-%{release}"}},
		{name: "infiniband-diags", from: []string{"infiniband-diags", "libibmad5", "libibnetdisc5"}, relations: []string{
			"Requires: libibumad = %{version}-%{release}",
		}, post: ldconfig},
		{name: "perftest", from: []string{"perftest"}, relations: []string{"Requires: libibverbs", "Requires: librdmacm", "Requires: libibumad"}},
		{name: "mstflint", from: []string{"mstflint"}},
		{name: "ethtool", from: []string{"ethtool"}, epoch: "2"},
		{name: "iproute", from: []string{"iproute2"}},
	}
}

// leapPackages splits it as SUSE does: a package for each library, the plug-ins in libibverbs.
func leapPackages() []recipe {
	needs := func(names ...string) []string {
		var out []string
		for _, n := range names {
			out = append(out, "Requires: "+n+" = %{version}-%{release}")
		}
		return out
	}
	return []recipe{
		{name: "rdma-core", from: []string{"rdma-core"}, relations: []string{"Conflicts: ofed-kernel-utils"}, post: udev},
		{name: "libibverbs1", from: []string{"libibverbs1"}, relations: []string{"Requires: rdma-core >= %{version}"}, post: ldconfig},
		{name: "libibverbs", from: []string{"ibverbs-providers"}, except: `/lib(mlx[45]|efa|mana)\.so`, relations: needs("libibverbs1", "libmlx4-1", "libmlx5-1", "libefa1", "libmana1")},
		{name: "libmlx5-1", from: []string{"ibverbs-providers"}, only: `/libmlx5\.so`, post: ldconfig},
		{name: "libmlx4-1", from: []string{"ibverbs-providers"}, only: `/libmlx4\.so`, post: ldconfig},
		{name: "libefa1", from: []string{"ibverbs-providers"}, only: `/libefa\.so`, post: ldconfig},
		{name: "libmana1", from: []string{"ibverbs-providers"}, only: `/libmana\.so`, post: ldconfig},
		{name: "libibverbs-utils", from: []string{"ibverbs-utils"}, relations: needs("libibverbs1")},
		{name: "libibumad3", from: []string{"libibumad3"}, post: ldconfig},
		{name: "libibmad5", from: []string{"libibmad5"}, relations: needs("libibumad3"), post: ldconfig},
		{name: "libibnetdisc5", from: []string{"libibnetdisc5"}, relations: needs("libibmad5"), post: ldconfig},
		{name: "librdmacm1", from: []string{"librdmacm1"}, relations: needs("libibverbs1"), post: ldconfig},
		{name: "librdmacm-utils", from: []string{"rdmacm-utils"}, relations: needs("librdmacm1")},
		{name: "infiniband-diags", from: []string{"infiniband-diags"}, relations: needs("libibnetdisc5")},
		{name: "perftest", from: []string{"perftest"}, relations: []string{"Requires: libibverbs1", "Requires: librdmacm1", "Requires: libibumad3"}},
		{name: "mstflint", from: []string{"mstflint"}},
		{name: "ethtool", from: []string{"ethtool"}},
		{name: "iproute2", from: []string{"iproute2"}},
	}
}

// of completes a recipe: its version, as the distribution writes it, and its files.
func (r recipe) of(s system, debs string) (recipe, error) {
	files := []string{}
	for _, name := range r.from {
		file, err := only(filepath.Join(debs, name+"_*.deb"))
		if err != nil {
			return r, err
		}
		files = append(files, file)
	}
	if r.version == "" {
		v := strings.Split(filepath.Base(files[0]), "_")[1]
		if _, rest, has := strings.Cut(v, "%3a"); has {
			v = rest
		}
		upstream, revision, _ := strings.Cut(v, "-")
		r.version = upstream + "-" + s.suffix(regexp.MustCompile(`^\d+`).FindString(revision))
	}
	r.fill = func(tree string) error {
		for _, file := range files {
			if err := rootlab.Run(exec.Command("dpkg-deb", "--extract", file, tree)); err != nil {
				return err
			}
		}
		if err := vendorlab.RPMPlaces(tree); err != nil {
			return err
		}
		return r.choose(tree)
	}
	return r, nil
}

// choose takes away what the package does not have.
func (r recipe) choose(tree string) error {
	return filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel := strings.TrimPrefix(path, tree)
		if r.only != "" && !regexp.MustCompile(r.only).MatchString(rel) || r.except != "" && regexp.MustCompile(r.except).MatchString(rel) {
			return os.Remove(path)
		}
		return nil
	})
}

// kernelRecipe is the package with Debian's kernel, without the modules that no server needs.
func (s system) kernelRecipe(debs string) (recipe, error) {
	file, err := only(filepath.Join(debs, "linux-image-[0-9]*.deb"))
	if err != nil {
		return recipe{}, err
	}
	release := strings.TrimPrefix(strings.Split(filepath.Base(file), "_")[0], "linux-image-")
	return recipe{
		name: s.kernel, version: strings.ReplaceAll(release, "-", ".") + "-" + s.suffix("1"), kernel: release,
		relations: []string{"Provides: installonlypkg(kernel)", "Provides: multiversion(kernel)", "Provides: kernel-uname-r = " + strings.ReplaceAll(release, "-", ".")},
		fill: func(tree string) error {
			if err := rootlab.Run(exec.Command("dpkg-deb", "--extract", file, tree)); err != nil {
				return err
			}
			modules := filepath.Join(tree, "lib/modules", release)
			errs := []error{os.RemoveAll(tree + "/usr")}
			for _, sub := range []string{"sound", "drivers/gpu", "drivers/media", "drivers/staging", "drivers/net/wireless", "drivers/iio", "drivers/hid", "drivers/input"} {
				errs = append(errs, os.RemoveAll(filepath.Join(modules, "kernel", sub)))
			}
			errs = append(errs, os.MkdirAll(tree+"/usr/lib", 0o755), os.Rename(tree+"/lib/modules", tree+"/usr/lib/modules"), os.Remove(tree+"/lib"))
			return errors.Join(errs...)
		},
	}, nil
}

// build makes the package, not signed, in dir. It owns the directories that the root does not have.
func (r recipe) build(dir, root, vendor string) (err error) {
	top, err := os.MkdirTemp("", "rdmactl-rpmbuild-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	tree := filepath.Join(top, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return err
	}
	if err := r.fill(tree); err != nil {
		return err
	}
	if err := rootlab.Run(exec.Command("find", tree, "-mindepth", "1", "-type", "d", "-empty", "-delete")); err != nil {
		return err
	}
	files := []string{}
	err = filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(path, tree)
		switch {
		case rel == "":
		case d.IsDir():
			if _, err := os.Lstat(root + rel); errors.Is(err, fs.ErrNotExist) {
				files = append(files, `%dir "`+rel+`"`)
			}
		case strings.HasPrefix(rel, "/etc/"):
			files = append(files, `%config(noreplace) "`+rel+`"`)
		default:
			files = append(files, `"`+rel+`"`)
		}
		return nil
	})
	if err != nil {
		return err
	}
	v, release, _ := strings.Cut(r.version, "-")
	var s strings.Builder
	fmt.Fprintf(&s, "Name: %s\nVersion: %s\nRelease: %s\nSummary: %s\nLicense: GPL-2.0-only\nVendor: %s\n", r.name, v, release, r.name, vendor)
	if r.epoch != "" {
		s.WriteString("Epoch: " + r.epoch + "\n")
	}
	// What glibc and the shell bring is not asked for: the root has them without an RPM of them.
	s.WriteString("AutoReqProv: no\n" + strings.Join(r.relations, "\n") + "\n%global debug_package %{nil}\n%global __os_install_post %{nil}\n%global _build_id_links none\n")
	s.WriteString("%description\nMade for tests of rdmactl.\n%install\nmkdir -p %{buildroot}\ncp -a '" + tree + "'/. %{buildroot}/\n")
	if r.post != "" {
		s.WriteString("%post\n" + r.post + "\n%postun\n" + r.post + "\n")
	}
	s.WriteString("%files\n" + strings.Join(files, "\n") + "\n")
	spec := filepath.Join(top, "p.spec")
	if err := put(spec, s.String()); err != nil {
		return err
	}
	return rootlab.Run(exec.Command("rpmbuild", "-bb", "--quiet", "-D", "_topdir "+top, "-D", "_rpmdir "+dir, "-D", "_dbpath "+top+"/db", "-D", "_binary_payload w1.gzdio",
		"-D", "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm", "-D", "_buildhost localhost", "--target", "x86_64-linux", spec))
}

// only is the one file that a pattern matches.
func only(pattern string) (string, error) {
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		return "", errors.Join(err, fmt.Errorf("%d files match %s, not one", len(found), pattern))
	}
	return found[0], nil
}
