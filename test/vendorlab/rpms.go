package vendorlab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// debianLibs is where Debian has its libraries, rpmLibs where the RPMs have them. The path of the providers
// is compiled into libibverbs: it is changed in place, to one of the same length.
const (
	debianLibs = "/usr/lib/x86_64-linux-gnu"
	rpmLibs    = "/usr/lib64"
)

// userRPM is a package of rdma-core as it is split for RHEL, and the packages of Debian that it is made of.
type userRPM struct {
	name      string
	from      []string
	relations []string
	post      string
}

const (
	ldconfig = "/sbin/ldconfig || :"
	reload   = "[ ! -d /run/systemd/system ] || systemctl daemon-reload >/dev/null 2>&1 || :"
)

func (r Release) userRPMs() []userRPM {
	exact := " = " + userVersion
	list := []userRPM{
		{"rdma-core", []string{"rdma-core"}, []string{"Conflicts: mlnx-en-utils", "Recommends: libibverbs" + exact}, reload},
		{"libibverbs", []string{"libibverbs1", "ibverbs-providers"}, []string{
			"Requires: rdma-core" + exact, "Provides: libmlx5" + exact, "Obsoletes: libmlx5 < " + userUpstream,
			"Provides: librxe" + exact, "Obsoletes: librxe < " + userUpstream,
		}, ldconfig},
		{"libibverbs-utils", []string{"ibverbs-utils"}, []string{"Requires: libibverbs" + exact}, ""},
		{"librdmacm", []string{"librdmacm1"}, []string{"Requires: libibverbs" + exact}, ldconfig},
		{"librdmacm-utils", []string{"rdmacm-utils"}, []string{"Requires: librdmacm" + exact}, ""},
		{"libibumad", []string{"libibumad3"}, []string{"Requires: rdma-core" + exact}, ldconfig},
		{"infiniband-diags", []string{"infiniband-diags", "libibmad5", "libibnetdisc5"}, []string{
			"Requires: libibumad" + exact, "Provides: libibmad" + exact, "Obsoletes: libibmad < " + userUpstream,
		}, ldconfig},
		{"perftest", []string{"perftest"}, []string{"Requires: libibverbs", "Requires: librdmacm", "Requires: libibumad"}, ""},
	}
	if r.SUSE() {
		for i, u := range list {
			for _, name := range suseNames()[u.name] {
				list[i].relations = append(list[i].relations, "Provides: "+name+exact, "Obsoletes: "+name+" < "+userUpstream)
			}
		}
	}
	return list
}

// suseNames are SUSE's packages, one a library, of which the vendor's take the place: its packages have the names
// of RHEL's on SLES too.
func suseNames() map[string][]string {
	return map[string][]string{
		"libibverbs":       {"libibverbs1", "libmlx5-1", "libmlx4-1", "libefa1", "libmana1"},
		"librdmacm":        {"librdmacm1"},
		"libibumad":        {"libibumad3"},
		"infiniband-diags": {"libibmad5", "libibnetdisc5"},
	}
}

// kernelRPM is the package with the prebuilt modules: kmod of RHEL, the kernel module package (KMP) of SUSE, whose
// version has the kernel's.
func (r Release) kernelRPM(driver, kernel string) (name, version string) {
	if r.SUSE() {
		base, _, _ := cutLast(kernel, "-") // without the flavour
		return "mlnx-ofa_kernel-kmp-default", r.dkms() + "_k" + strings.ReplaceAll(base, "-", "_") + "-1." + r.dist()
	}
	return "kmod-mlnx-ofa_kernel", driver
}

func (r Release) kernelRelations(driver string) []string {
	if r.SUSE() {
		return []string{"Requires: mlnx-ofa_kernel = " + driver, "Provides: multiversion(kernel)", "Obsoletes: mlnx-en-kmp-default"}
	}
	return []string{"Requires: mlnx-ofa_kernel = " + driver, "Obsoletes: kmod-mlnx-en", "Provides: kmod-mlnx-rdma-rxe = " + driver}
}

func cutLast(text, at string) (before, after string, found bool) {
	if i := strings.LastIndex(text, at); i >= 0 {
		return text[:i], text[i+len(at):], true
	}
	return text, "", false
}

// rpms are the packages of a release for RHEL or SLES.
func (l *Lab) rpms(b Base, r Release, v Variant) ([]pkg, error) {
	modules, err := l.modules(b, r, v.Core)
	if err != nil {
		return nil, err
	}
	driver := r.branch() + "-" + r.ofed() + ".1." + r.dist()
	kernelName, kernelVersion := r.kernelRPM(driver, b.Kernel)
	const x86 = "x86_64"
	post, err := asset("scripts/utils.post")
	if err != nil {
		return nil, err
	}
	preun, err := asset("scripts/utils.preun")
	if err != nil {
		return nil, err
	}
	firmware, err := asset("scripts/firmware.postinst", "@VERSION@", r.Driver)
	if err != nil {
		return nil, err
	}
	depmod := "/sbin/depmod " + b.Kernel + " || :"
	list := []pkg{
		{
			name: "ofed-scripts", version: r.branch() + "-" + r.ofed(), arch: x86, summary: "scripts of MLNX_OFED",
			fill: func(root string) error { return r.scripts(root, `rpm -qa | grep -E 'mlnx|ofed|OFED' | sort`) },
		},
		{
			name: "mlnx-tools", version: r.branch() + "-0." + strings.TrimPrefix(userRevision, "1."), arch: x86, summary: "tools of the vendor",
			fill: func(root string) error {
				return putAsset(root+"/usr/sbin/ibdev2netdev", "utils/ibdev2netdev", 0o755)
			},
		},
		{
			name: "mlnx-ofa_kernel", version: driver, arch: x86, summary: "tools to restart and tune the vendor's modules",
			relations: []string{"Requires: mlnx-tools >= 5.2.0", "Obsoletes: kernel-ib", "Obsoletes: mlnx-en", "Obsoletes: mlnx-en-utils"},
			scripts:   map[string]string{"post": string(post), "preun": string(preun)},
			fill:      func(root string) error { return utils(root, "/usr/lib", "/usr/lib/systemd/system") },
		},
		{
			name: kernelName, version: kernelVersion, arch: x86, summary: "the vendor's modules for kernel " + b.Kernel,
			relations: r.kernelRelations(driver),
			scripts:   map[string]string{"post": depmod, "postun": depmod},
			fill: func(root string) error {
				if r.SUSE() {
					return copyTree(modules, filepath.Join(root, "lib/modules", b.Kernel, "updates"))
				}
				return kmod(root, modules, b.Kernel)
			},
		},
		{
			name: "mlnx-fw-updater", version: r.Driver, arch: x86, summary: "firmware images and the program that burns them",
			scripts: map[string]string{"post": shebangless(firmware)},
		},
	}
	for _, u := range r.userRPMs() {
		p := pkg{
			name: u.name, version: userVersion, arch: x86, summary: "the vendor's " + u.name, relations: u.relations, scripts: map[string]string{},
			fill: func(root string) error { return b.relocate(root, u.from) },
		}
		if u.name == "perftest" {
			p.version = perftestVersion
		}
		if u.post != "" {
			p.scripts = map[string]string{"post": u.post, "postun": u.post}
		}
		list = append(list, p)
	}
	for _, m := range []struct{ name, from, version, file string }{
		{"mlnx-iproute2", "iproute2", "6.10.0-1.2410068", "rdma"},
		{"mlnx-ethtool", "ethtool", "6.9-1.2410068", "ethtool"},
	} {
		p, err := b.tool(m.name, m.from, m.version, m.file)
		if err != nil {
			return nil, err
		}
		p.arch, p.relations = x86, nil
		list = append(list, p)
	}
	if r.Stack == doca {
		list = append(list, pkg{
			name: "doca-extra", version: r.docaVersion(), arch: x86, summary: "extras of DOCA",
			fill: func(root string) error {
				return put(root+"/opt/mellanox/doca/tools/doca-kernel-support", []byte("#!/bin/bash\necho 'not in the lab' >&2\nexit 1\n"), 0o755)
			},
		})
	}
	return append(list, r.rpmMetas(kernelName, v)...), nil
}

// shebangless is a script without its first line, as the body of a scriptlet.
func shebangless(script []byte) string {
	_, body, _ := strings.Cut(string(script), "\n")
	return body
}

func (r Release) rpmMetas(kernel string, v Variant) []pkg {
	var list []pkg
	for _, m := range r.metas() {
		needs := []string{"ofed-scripts", "mlnx-tools"}
		if m.kernel {
			needs = append(needs, "mlnx-ofa_kernel", kernel)
		}
		if m.user {
			for _, u := range []string{"rdma-core", "libibverbs", "libibverbs-utils", "librdmacm", "librdmacm-utils", "libibumad"} {
				needs = append(needs, u+" >= "+userUpstream)
			}
		}
		needs = append(needs, m.more...)
		if v.Firmware && !strings.Contains(m.name, "user") {
			needs = append(needs, "mlnx-fw-updater")
		}
		p := pkg{name: m.name, version: r.Driver + "." + r.Label, arch: "noarch", summary: "metapackage " + m.name}
		if strings.HasPrefix(m.name, "doca-") {
			p.version, p.arch = r.docaVersion(), "x86_64"
		}
		for _, n := range needs {
			p.relations = append(p.relations, "Requires: "+n)
		}
		list = append(list, p)
	}
	return list
}

// kmod puts modules where RHEL's packages have them, with what makes depmod prefer them.
func kmod(root, modules, kernel string) error {
	const dir = "extra/mlnx-ofa_kernel"
	if err := copyTree(modules, filepath.Join(root, "lib/modules", kernel, dir)); err != nil {
		return err
	}
	found, err := filepath.Glob(modules + "/*.ko")
	if err != nil {
		return err
	}
	for _, f := range found {
		name := strings.TrimSuffix(filepath.Base(f), ".ko")
		text := fmt.Sprintf("override %s * weak-updates/mlnx-ofa_kernel\noverride %s * %s\n", name, name, dir)
		if err := put(filepath.Join(root, "etc/depmod.d/zz01-mlnx-ofa_kernel-"+name+".conf"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// relocate unpacks Debian's packages with their libraries where RHEL has them.
func (b Base) relocate(root string, names []string) error {
	for _, name := range names {
		deb, err := b.inboxDeb(name)
		if err != nil {
			return err
		}
		if err := run(exec.Command("dpkg-deb", "--extract", deb, root)); err != nil {
			return err
		}
	}
	if err := vendorLibraries(root); err != nil {
		return err
	}
	return RPMPlaces(root)
}

// RPMPlaces moves what Debian's packages were unpacked to below root to where packages for RHEL and SUSE have
// it: libraries and providers of verbs below /usr/lib64, nothing below /lib, /bin and /sbin.
func RPMPlaces(root string) error {
	if err := walkFiles(root, samePath); err != nil {
		return err
	}
	errs := []error{
		moveInto(root+debianLibs, root+rpmLibs),
		moveInto(root+"/lib", root+"/usr/lib"), moveInto(root+"/bin", root+"/usr/bin"), moveInto(root+"/sbin", root+"/usr/sbin"),
		removeAll(root, "usr/share/doc", "usr/share/lintian", "usr/share/bug", "etc/init.d"),
	}
	return errors.Join(errs...)
}

// samePath changes the compiled-in path of the providers in a library or program.
func samePath(path, link string) error {
	if link != "" {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(data, []byte("\x7fELF")) || !bytes.Contains(data, []byte(debianLibs+"/libibverbs/")) {
		return err
	}
	same := rpmLibs + strings.Repeat("/", len(debianLibs)-len(rpmLibs))
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, bytes.ReplaceAll(data, []byte(debianLibs+"/libibverbs/"), []byte(same+"/libibverbs/")), info.Mode().Perm())
}

// moveInto moves what is in one directory into another, which may be there.
func moveInto(from, to string) error {
	if _, err := os.Stat(from); err != nil {
		return nil // nothing to move
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	return errors.Join(run(exec.Command("cp", "--archive", "--no-target-directory", from, to)), os.RemoveAll(from))
}
