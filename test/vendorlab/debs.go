package vendorlab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// debs are the packages of a release for Debian. Those of user space are repacked beside, by repack.
func (l *Lab) debs(b Base, r Release, v Variant) ([]pkg, error) {
	words := []string{"@VERSION@", r.dkms(), "@KERNEL@", b.Kernel}
	script := func(name string, of ...string) string {
		data, err := asset("scripts/"+name, append(of, words...)...)
		if err != nil {
			panic(err) // an embedded file that is named here and is not there
		}
		return string(data)
	}
	driver := r.dkms() + "-1"
	kernel := "mlnx-ofed-kernel-dkms"
	list := []pkg{
		{
			name: "ofed-scripts", version: r.branch() + "." + r.ofed() + "-1", arch: "amd64", summary: "scripts of MLNX_OFED",
			fill: func(root string) error { return r.scripts(root, `dpkg-query -W | grep -E 'mlnx|ofed|OFED'`) },
		},
		{
			name: "mlnx-tools", version: r.branch() + "-0." + strings.TrimPrefix(userRevision, "1."), arch: "amd64", summary: "tools of the vendor",
			fill: func(root string) error {
				return putAsset(root+"/usr/sbin/ibdev2netdev", "utils/ibdev2netdev", 0o755)
			},
		},
		{
			name: "mlnx-ofed-kernel-utils", version: driver, arch: "amd64", summary: "tools to restart and tune the vendor's modules",
			relations: []string{"Depends: coreutils, pciutils, grep, procps, kmod, lsof, mlnx-tools (>= 5.2.0)", "Conflicts: mlnx-en-utils"},
			conffiles: utilsConffiles(),
			scripts:   map[string]string{"postinst": script("utils.postinst"), "prerm": script("utils.prerm")},
			fill:      func(root string) error { return utils(root, "/lib", "/etc/systemd/system") },
		},
		{
			name: "mlnx-ofed-kernel-dkms", version: driver, arch: "all", summary: "DKMS sources of the vendor's modules",
			relations: []string{
				"Depends: dkms, mlnx-ofed-kernel-utils, libc6-dev, gcc, make",
				"Recommends: linux-headers-amd64 | linux-headers-generic | linux-headers",
				"Provides: mlnx-rdma-rxe-dkms", "Replaces: mlnx-rdma-rxe-dkms",
				"Conflicts: mlnx-rdma-rxe-dkms, mlnx-ofed-kernel-modules",
			},
			scripts: map[string]string{"postinst": script("dkms.postinst"), "prerm": script("dkms.prerm")},
			fill: func(root string) error {
				return errors.Join(
					b.moduleSource(root+"/usr/src/mlnx-ofed-kernel-"+r.dkms(), r, v.Core),
					os.Symlink("mlnx-ofed-kernel-"+r.dkms(), root+"/usr/src/ofa_kernel-"+r.dkms()),
					put(root+"/usr/share/dkms/modules_to_force_install/mlnx-ofed-kernel.force", []byte("mlnx-ofed-kernel\n"), 0o644),
				)
			},
		},
		{
			name: "mlnx-fw-updater", version: r.Driver, arch: "amd64", summary: "firmware images and the program that burns them",
			scripts: map[string]string{"postinst": script("firmware.postinst", "@VERSION@", r.Driver)},
		},
	}
	if v.Prebuilt {
		modules, err := l.modules(b, r, v.Core)
		if err != nil {
			return nil, err
		}
		kernel = "mlnx-ofed-kernel-modules"
		post := script("modules.postinst")
		list = append(list, pkg{
			name: kernel, version: driver + ".kver." + b.Kernel, arch: "amd64", summary: "the vendor's modules for kernel " + b.Kernel,
			relations: []string{"Depends: kmod, mlnx-ofed-kernel-utils", "Conflicts: mlnx-ofed-kernel-dkms"},
			scripts:   map[string]string{"postinst": post, "postrm": post},
			fill: func(root string) error {
				return copyTree(modules, filepath.Join(root, "lib/modules", b.Kernel, "updates"))
			},
		})
	}
	for _, m := range []struct{ name, from, version, file string }{
		{"mlnx-iproute2", "iproute2", "6.10.0-1.2410068", "rdma"},
		{"mlnx-ethtool", "ethtool", "6.9-1.2410068", "ethtool"},
	} {
		p, err := b.tool(m.name, m.from, m.version, m.file)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	if r.Stack == doca {
		list = append(list, pkg{
			name: "doca-extra", version: r.docaVersion(), arch: "amd64", summary: "extras of DOCA",
			fill: func(root string) error {
				return put(root+"/opt/mellanox/doca/tools/doca-kernel-support", []byte("#!/bin/bash\necho 'not in the lab' >&2\nexit 1\n"), 0o755)
			},
		})
	}
	return append(list, r.debMetas(kernel, driver, v)...), nil
}

// docaVersion is the version of the packages of DOCA itself: 2.9.2-012101.
func (r Release) docaVersion() string { return r.Version + "-" + r.Build }

// debMetas are the metapackages, and of those for all packages the ones with exact versions.
func (r Release) debMetas(kernel, driver string, v Variant) []pkg {
	user := []string{
		"rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "librdmacm1", "rdmacm-utils", "libibumad3",
	}
	var list []pkg
	for _, m := range r.metas() {
		depends := []string{"ofed-scripts", "mlnx-tools"}
		var exact []string
		if m.kernel {
			depends = append(depends, "mlnx-ofed-kernel-utils", kernel)
			exact = append(exact, "mlnx-ofed-kernel-utils (= "+driver+")")
		}
		if m.user {
			for _, u := range user {
				depends = append(depends, u+" (>= "+userUpstream+")")
				exact = append(exact, u+" (= "+userVersion+")")
			}
		}
		depends = append(depends, m.more...)
		if v.Firmware && !strings.Contains(m.name, "user") {
			depends = append(depends, "mlnx-fw-updater")
		}
		version := r.Driver
		if strings.HasPrefix(m.name, "doca-") {
			version = r.docaVersion()
		}
		p := pkg{
			name: m.name, version: version, arch: "all", summary: "metapackage " + m.name,
			relations: []string{"Depends: " + strings.Join(depends, ", ")},
		}
		if strings.HasPrefix(m.name, "doca-") {
			p.arch = "amd64"
		}
		list = append(list, p)
		if m.kernel && strings.HasPrefix(m.name, "mlnx-ofed-") && m.user {
			p.name += "-exact"
			p.relations = []string{"Depends: " + strings.Join(append(depends, exact...), ", ")}
			list = append(list, p)
		}
	}
	return list
}

// scripts are the files of ofed-scripts; list is the command that lists the packages.
func (r Release) scripts(root, list string) error {
	return errors.Join(
		putAsset(root+"/usr/bin/ofed_info", "utils/ofed_info", 0o755, "@SHORT@", r.short(), "@NUMBER@", r.Driver, "@OFED@", r.three(), "@LIST@", list),
		putAsset(root+"/usr/sbin/ofed_uninstall.sh", "utils/ofed_uninstall.sh", 0o755),
	)
}

func utilsConffiles() []string {
	return []string{"/etc/infiniband/openib.conf", "/etc/infiniband/mlx5.conf", "/etc/modprobe.d/mlnx.conf", "/etc/modprobe.d/ib_ipoib.conf"}
}

// utils are the files of the package with the service; lib is where udev and systemd have theirs, units where
// the unit for an interface stands.
func utils(root, lib, units string) error {
	var errs []error
	for _, f := range []struct {
		to, asset string
		mode      os.FileMode
	}{
		{"/etc/infiniband/openib.conf", "openib.conf", 0o644},
		{"/etc/infiniband/mlx5.conf", "mlx5.conf", 0o644},
		{"/etc/modprobe.d/mlnx.conf", "mlnx.conf", 0o644},
		{"/etc/modprobe.d/ib_ipoib.conf", "ib_ipoib.conf", 0o644},
		{"/etc/init.d/openibd", "openibd", 0o755},
		{units + "/mlnx_interface_mgr@.service", "mlnx_interface_mgr@.service", 0o644},
		{lib + "/systemd/system/openibd.service", "openibd.service", 0o644},
		{lib + "/udev/rules.d/90-ib.rules", "90-ib.rules", 0o644},
		{"/usr/bin/mlnx_interface_mgr.sh", "mlnx_interface_mgr.sh", 0o755},
	} {
		errs = append(errs, putAsset(root+f.to, "utils/"+f.asset, f.mode))
	}
	info := "#!/bin/bash\n\necho prefix=/usr\necho Kernel=`uname -r`\n"
	return errors.Join(append(errs, put(root+"/etc/infiniband/info", []byte(info), 0o755))...)
}

// tool is one program of Debian's in the vendor's place below /opt/mellanox.
func (b Base) tool(name, from, version, file string) (pkg, error) {
	deb, err := b.inboxDeb(from)
	if err != nil {
		return pkg{}, err
	}
	depends, err := output(exec.Command("dpkg-deb", "--field", deb, "Depends"))
	if err != nil {
		return pkg{}, err
	}
	return pkg{
		name: name, version: version, arch: "amd64", summary: "the vendor's build of " + from,
		relations: []string{"Depends: " + strings.TrimSpace(depends)},
		fill: func(root string) error {
			return extracted(root, deb, func(tree string) error {
				program, err := only(filepath.Join(tree, "*bin", file))
				if errors.Is(err, errNone) {
					program, err = only(filepath.Join(tree, "usr/*bin", file))
				}
				if err != nil {
					return err
				}
				data, err := os.ReadFile(program)
				if err != nil {
					return err
				}
				return put(filepath.Join(root, "opt/mellanox", from, "sbin", file), data, 0o755)
			})
		},
	}, nil
}

// extracted unpacks a package beside root for the time of a call.
func extracted(root, deb string, use func(tree string) error) (err error) {
	tree, err := os.MkdirTemp(filepath.Dir(root), "unpacked")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tree)) }()
	if err := run(exec.Command("dpkg-deb", "--extract", deb, tree)); err != nil {
		return err
	}
	return use(tree)
}

func (b Base) inboxDeb(name string) (string, error) {
	return only(filepath.Join(b.Inbox, name+"_*.deb"))
}

// userDebs are the packages of rdma-core that the vendor has under the same names, perftest with a version of
// its own.
func userDebs() []string {
	return []string{
		"rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "librdmacm1", "rdmacm-utils", "libibumad3",
		"libibmad5", "libibnetdisc5", "infiniband-diags", "perftest",
	}
}

// repack makes the vendor's package of one of Debian's: its version, its libraries' files under the vendor's
// names, everything else as Debian has it.
func (b Base) repack(dir, name string) (err error) {
	deb, err := b.inboxDeb(name)
	if err != nil {
		return err
	}
	root, err := os.MkdirTemp(dir, "tree")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	tree := filepath.Join(root, "tree")
	if err := run(exec.Command("dpkg-deb", "--raw-extract", deb, tree)); err != nil {
		return err
	}
	if err := vendorLibraries(tree); err != nil {
		return err
	}
	file := filepath.Join(tree, "DEBIAN/control")
	control, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	version := userVersion
	if name == "perftest" {
		version = perftestVersion
	}
	text := string(control)
	old := regexp.MustCompile(`(?m)^Version: (.*)$`).FindStringSubmatch(text)
	if old == nil {
		return fmt.Errorf("%s tells no version", deb)
	}
	text = strings.Replace(text, old[0], "Version: "+version, 1)
	text = strings.ReplaceAll(text, "(= "+old[1]+")", "(= "+version+")")
	text = regexp.MustCompile(`(?m)^Maintainer: .*$`).ReplaceAllString(text, "Maintainer: "+maintainer)
	if err := errors.Join(replace(file, []byte(text)), sums(tree)); err != nil {
		return err
	}
	return buildDeb(tree, filepath.Join(dir, name+"_"+version+"_amd64.deb"))
}

const perftestVersion = "24.10.0-0.95.g370212b.2410325"

// vendorLibraries gives the files of libraries the vendor's names, and other bytes at their end, so that
// which one a process has loaded can be told.
func vendorLibraries(tree string) error {
	return walkFiles(tree, func(path string, link string) error {
		switch {
		case link != "" && vendorFile(link) != link:
			return errors.Join(os.Remove(path), os.Symlink(vendorFile(link), path))
		case link == "" && isLibrary(path):
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("\n" + userVersion + "\n")
			return errors.Join(err, f.Close(), os.Rename(path, vendorFile(path)))
		}
		return nil
	})
}

func isLibrary(path string) bool {
	return strings.Contains(filepath.Base(path), ".so") && strings.Contains(path, "/lib/")
}
