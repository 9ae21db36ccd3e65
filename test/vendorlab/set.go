package vendorlab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Set is one release in all forms that the vendor gives it out. Never write into it.
type Set struct {
	Release Release
	Variant Variant
	// Repo is the repository as it stands on the vendor's server, in a folder that ends in label/arch.
	Repo string
	// Bundle is the unpacked bundle of MLNX_OFED, empty for DOCA.
	Bundle string
	// Packed is the file that is downloaded: the bundle as .tgz, or the local repo package of DOCA.
	Packed string
	// Key is the vendor's public key, armored, and Fingerprint its fingerprint; of ExpiredKey that key's.
	Key, Fingerprint string
	// OldKey is the file of the expired key of ExpiredPackage, empty otherwise.
	OldKey string
	// Kernel is the kernel that its modules are built for, or can be built for in the base's root.
	Kernel string
}

// Make returns a release in a variant, made once for the cache: some ten seconds, and what Base takes.
func (l *Lab) Make(r Release, v Variant) (Set, error) {
	if slices.Contains(RPMFaults(), v.Fault) && !r.RPM() {
		return Set{}, fmt.Errorf("%s is no fault of %s", v.Fault, r)
	}
	base, err := l.Base()
	if err != nil {
		return Set{}, err
	}
	maker := setMaker{lab: l, base: base, release: r, variant: v}
	if err := maker.keys(); err != nil {
		return Set{}, err
	}
	files, err := assetsKey()
	if err != nil {
		return Set{}, err
	}
	hash, err := l.key("set", files, base.Root, r, v, maker.print, maker.trustedPrint)
	if err != nil {
		return Set{}, err
	}
	kind := "labset-" + r.String()
	if v.Fault != Sound {
		kind = "labtwin-" + r.String()
	}
	dir, err := l.cache.Get(kind, hash, func(dir string) error {
		begin := time.Now()
		if err := maker.make(dir); err != nil {
			return err
		}
		l.say("%s %s made in %.1f s", r, v.Fault, time.Since(begin).Seconds())
		return nil
	})
	if err != nil {
		return Set{}, err
	}
	return maker.set(dir), nil
}

// setMaker makes one set.
type setMaker struct {
	lab     *Lab
	base    Base
	release Release
	variant Variant
	// signer signs, trusted is the one whose public key is given out.
	signer, trusted     signer
	print, trustedPrint string
	public              []byte
}

func (m *setMaker) keys() (err error) {
	signs, gives := vendorKey, vendorKey
	switch m.variant.Fault {
	case WrongKey:
		signs = strangerKey
	case ExpiredKey:
		signs, gives = expiredKey, expiredKey
	}
	if m.signer, err = m.lab.signer(signs); err != nil {
		return err
	}
	if m.trusted, err = m.lab.signer(gives); err != nil {
		return err
	}
	if m.print, err = m.signer.fingerprint(); err != nil {
		return err
	}
	if m.trustedPrint, err = m.trusted.fingerprint(); err != nil {
		return err
	}
	m.public, err = m.trusted.public()
	return errors.Join(err, m.signer.close(), m.trusted.close())
}

// folder is the name of the bundle's folder.
func (r Release) folder() string { return "MLNX_OFED_LINUX-" + r.Version + "-" + r.Label + "-x86_64" }

// localRepo is the folder below /usr/share of a local repo package.
func (r Release) localRepo() string {
	return "doca-host-" + r.Version + "-" + r.Build + "-" + r.branch() + "-" + r.plain()
}

// localPackage is doca-host, and the file that it is in.
func (r Release) localPackage() pkg {
	p := pkg{name: "doca-host", version: r.Version + "-" + r.Build + "-" + r.branch() + "-" + r.plain(), arch: "amd64", summary: "local repository of DOCA"}
	if r.RPM() {
		p.version, p.arch = r.Version+"-"+r.Build+"_"+r.branch()+"_"+r.plain(), "x86_64"
	}
	return p
}

func (m *setMaker) set(dir string) Set {
	r := m.release
	s := Set{Release: r, Variant: m.variant, Key: filepath.Join(dir, "key.asc"), Fingerprint: m.trustedPrint, Kernel: m.base.Kernel}
	if m.variant.Fault == ExpiredPackage {
		s.OldKey = filepath.Join(dir, "expired.asc")
	}
	if r.Stack == doca {
		s.Repo = filepath.Join(dir, "doca", r.Version, r.Label, "x86_64")
		p := r.localPackage()
		s.Packed = filepath.Join(dir, p.debFile())
		if r.RPM() {
			s.Packed = filepath.Join(dir, p.rpmFile())
		}
		return s
	}
	s.Repo = filepath.Join(dir, "mlnx_ofed", r.Version, r.Label, "x86_64")
	s.Bundle = filepath.Join(dir, r.folder())
	s.Packed = s.Bundle + ".tgz"
	return s
}

func (m *setMaker) make(dir string) error {
	s := m.set(dir)
	if err := put(s.Key, m.public, 0o644); err != nil {
		return err
	}
	if s.OldKey != "" {
		old, err := m.lab.signer(expiredKey)
		if err != nil {
			return err
		}
		public, err := old.public()
		if err := errors.Join(err, old.close(), put(s.OldKey, public, 0o644)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(s.Repo, 0o755); err != nil {
		return err
	}
	if err := m.repository(s.Repo); err != nil {
		return err
	}
	if m.release.Stack == doca {
		return m.local(dir, s)
	}
	return m.bundle(s)
}

// repository fills the vendor's repository: packages, index, signatures, key file.
func (m *setMaker) repository(dir string) error {
	v := m.variant
	packages := dir
	if m.release.Stack == doca {
		packages = filepath.Join(dir, "pool")
		if m.release.RPM() {
			packages = filepath.Join(dir, "Packages")
		}
		if err := os.Mkdir(packages, 0o755); err != nil {
			return err
		}
	}
	if err := m.packages(packages); err != nil {
		return err
	}
	key := "RPM-GPG-KEY-Mellanox"
	if m.release.Stack == doca {
		key = "GPG-KEY-Mellanox.pub"
	}
	if err := put(filepath.Join(dir, key), m.public, 0o644); err != nil {
		return err
	}
	index := m.aptIndex
	if m.release.RPM() {
		index = m.rpmIndex
	}
	if err := index(dir); err != nil {
		return err
	}
	switch v.Fault {
	case Tampered:
		return flipAll(packages)
	case Truncated:
		return m.truncate(dir)
	}
	return nil
}

// packages makes all packages of the release in a folder.
func (m *setMaker) packages(dir string) error {
	if m.variant.Fault != Sound && m.variant.Fault != FailingScript && m.variant.Fault != LateScript {
		return m.soundPackages(dir)
	}
	recipes := m.lab.debs
	build := pkg.deb
	if m.release.RPM() {
		recipes, build = m.lab.rpms, pkg.rpm
	}
	list, err := recipes(m.base, m.release, m.variant)
	if err != nil {
		return err
	}
	if m.variant.Fault != Sound {
		i := slices.IndexFunc(list, func(p pkg) bool { return p.name == "ofed-scripts" })
		list[i].scripts = failing(m.release.RPM(), m.variant.Fault == LateScript)
	}
	for _, p := range list {
		if err := build(p, dir); err != nil {
			return fmt.Errorf("cannot build package %s: %w", p.name, err)
		}
	}
	if !m.release.RPM() {
		for _, name := range userDebs() {
			if err := m.base.repack(dir, name); err != nil {
				return fmt.Errorf("cannot repack %s: %w", name, err)
			}
		}
		return nil
	}
	return m.signPackages(dir)
}

// failing is a script that fails. A failing %post is only a warning of rpm, a failing %pre stops the transaction.
func failing(rpm, late bool) map[string]string {
	const configured, installed = "echo 'ofed-scripts: cannot be configured' >&2\nexit 1\n", "echo 'ofed-scripts: cannot be installed' >&2\nexit 1\n"
	switch {
	case rpm && late:
		return map[string]string{"post": configured}
	case rpm:
		return map[string]string{"pre": installed}
	case late:
		return map[string]string{"preinst": "#!/bin/sh\n" + installed}
	}
	return map[string]string{"postinst": "#!/bin/sh\n" + configured}
}

// soundPackages links the packages of the sound set, and signs them as the variant has it.
func (m *setMaker) soundPackages(dir string) error {
	v := m.variant
	v.Fault = Sound
	sound, err := m.lab.Make(m.release, v)
	if err != nil {
		return err
	}
	found, err := packageFiles(sound.Repo)
	if err != nil {
		return err
	}
	for _, f := range found {
		if err := os.Link(f, filepath.Join(dir, filepath.Base(f))); err != nil {
			return err
		}
	}
	switch {
	case !m.release.RPM():
		return nil
	case m.variant.Fault == WrongKey, m.variant.Fault == ExpiredKey:
		return m.signPackages(dir)
	case m.variant.Fault == Unsigned:
		return m.unsignPackages(dir)
	}
	return m.spoilOne(dir)
}

// spoilOne makes one package faulty.
func (m *setMaker) spoilOne(dir string) error {
	key := map[Fault]string{StrangerPackage: strangerKey, ExpiredPackage: expiredKey}[m.variant.Fault]
	if key == "" && m.variant.Fault != UnsignedPackage {
		return nil
	}
	file, err := only(filepath.Join(dir, Victim+"-*.rpm"))
	if err != nil {
		return err
	}
	if key == "" {
		return errors.Join(unlink(file), run(exec.Command("rpmsign", "--delsign", file)))
	}
	other, err := m.lab.signer(key)
	if err != nil {
		return err
	}
	return other.signRPMs(file)
}

// packageFiles are the packages of a repository.
func packageFiles(repo string) ([]string, error) {
	var all []string
	for _, pattern := range []string{"*.deb", "*.rpm", "pool/*.deb", "Packages/*.rpm"} {
		found, err := filepath.Glob(filepath.Join(repo, pattern))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no packages", repo)
	}
	return all, nil
}

func (m *setMaker) signPackages(dir string) error {
	found, err := packageFiles(dir)
	if err != nil {
		return err
	}
	return m.signer.signRPMs(found...)
}

func (m *setMaker) unsignPackages(dir string) error {
	found, err := packageFiles(dir)
	if err != nil {
		return err
	}
	for _, f := range found {
		if err := unlink(f); err != nil {
			return err
		}
	}
	return run(exec.Command("rpmsign", append([]string{"--delsign"}, found...)...))
}

// aptIndex makes the index of a flat apt repository and signs it.
func (m *setMaker) aptIndex(dir string) error {
	if err := writePackages(dir); err != nil {
		return err
	}
	if err := run(in(dir, "gzip", "--keep", "--no-name", "Packages")); err != nil {
		return err
	}
	fields := map[string]string{"Origin": "MLNX_OFED", "Label": "MLNX_OFED_LINUX", "Suite": m.release.Version}
	if m.release.Stack == doca {
		fields = map[string]string{"Origin": "DOCA", "Label": "DOCA-HOST " + m.release.Version, "Suite": "stable"}
	}
	args := []string{"-o", "APT::FTPArchive::Release::Architectures=amd64"}
	for _, name := range []string{"Origin", "Label", "Suite"} {
		args = append(args, "-o", "APT::FTPArchive::Release::"+name+"="+fields[name])
	}
	text, err := output(in(dir, "apt-ftparchive", append(args, "release", ".")...))
	if err != nil {
		return err
	}
	if err := put(filepath.Join(dir, "Release"), []byte(text), 0o644); err != nil {
		return err
	}
	if m.variant.Fault == Unsigned {
		return nil
	}
	return m.signer.signRelease(dir)
}

// rpmIndex makes the index of an rpm repository.
func (m *setMaker) rpmIndex(dir string) error {
	if err := run(in(dir, "createrepo_c", "--quiet", "--general-compress-type=gz", ".")); err != nil {
		return err
	}
	if !m.variant.signedIndex() {
		return nil
	}
	if err := m.signer.signRepomd(dir); err != nil || m.variant.Fault != EditedIndex {
		return err
	}
	file := filepath.Join(dir, "repodata/repomd.xml")
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return replace(file, bytes.Replace(data, []byte("<revision>"), []byte("<revision>1"), 1))
}

// flipAll changes one byte of each package's payload: in the middle of a deb, near the end of an RPM, which
// starts with headers.
func flipAll(dir string) error {
	found, err := packageFiles(dir)
	if err != nil {
		return err
	}
	for _, f := range found {
		data, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		at := len(data) / 2
		if strings.HasSuffix(f, ".rpm") {
			at = len(data) - 10
		}
		data[at] ^= 0xff
		if err := replace(f, data); err != nil {
			return err
		}
	}
	return nil
}

// truncate cuts the lists of packages, in each compression.
func (m *setMaker) truncate(dir string) error {
	patterns := []string{"Packages", "Packages.gz"}
	if m.release.RPM() {
		patterns = []string{"repodata/*primary.xml.gz"}
	}
	for _, pattern := range patterns {
		file, err := only(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := replace(file, data[:len(data)/2]); err != nil {
			return err
		}
	}
	return nil
}

// bundle makes the folder and the .tgz.
func (m *setMaker) bundle(s Set) error {
	repo := filepath.Join(s.Bundle, "DEBS")
	if m.release.RPM() {
		repo = filepath.Join(s.Bundle, "RPMS")
	}
	if err := linkTree(s.Repo, repo); err != nil {
		return err
	}
	line := func(text string) []byte { return []byte(text + "\n") }
	kernels := []byte{} // of bundles for DKMS nothing is prebuilt
	if m.release.RPM() || m.variant.Prebuilt {
		kernels = line(m.base.Kernel)
	}
	errs := []error{
		removeAll(repo, "RPM-GPG-KEY-Mellanox"),
		put(s.Bundle+"/RPM-GPG-KEY-Mellanox", m.public, 0o644),
		put(s.Bundle+"/distro", line(m.release.Label), 0o644),
		put(s.Bundle+"/.mlnx", line(m.release.Version), 0o644),
		put(s.Bundle+"/.arch", line("x86_64"), 0o644),
		put(s.Bundle+"/.supported_kernels", kernels, 0o644),
		put(s.Bundle+"/.def_option", line("all"), 0o644),
		put(s.Bundle+"/LICENSE", line("Made for tests of rdmactl."), 0o644),
		put(s.Bundle+"/src/README", line("The sources for mlnx_add_kernel_support.sh are not in the lab."), 0o644),
	}
	for _, name := range []string{"mlnxofedinstall", "uninstall.sh", "mlnx_add_kernel_support.sh"} {
		errs = append(errs, putAsset(filepath.Join(s.Bundle, name), "utils/mlnxofedinstall", 0o755))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	dir, name := filepath.Split(s.Bundle)
	return run(in(dir, "tar", "--create", "--gzip", "--owner=0", "--group=0", "--sort=name", "--file", s.Packed, name))
}

// local makes the local repo package of DOCA.
func (m *setMaker) local(dir string, s Set) error {
	p := m.release.localPackage()
	share := "/usr/share/" + m.release.localRepo() + "/repo"
	p.fill = func(root string) error {
		if err := linkTree(s.Repo, root+share); err != nil {
			return err
		}
		if m.release.RPM() {
			text := "[doca]\nname=DOCA\nbaseurl=file://" + share + "\nenabled=1\ngpgcheck=1\ngpgkey=file://" + share + "/GPG-KEY-Mellanox.pub\n"
			dir := "/etc/yum.repos.d"
			if m.release.SUSE() {
				dir = "/etc/zypp/repos.d"
			}
			return put(root+dir+"/doca.repo", []byte(text), 0o644)
		}
		// apt takes an armored key only from a file that ends in .asc.
		keyring := share + "/doca_keyring.gpg"
		line := "deb [signed-by=" + keyring + "] file:" + share + " ./\n"
		return errors.Join(
			run(exec.Command("gpg", "--batch", "--dearmor", "--output", root+keyring, s.Key)),
			put(root+"/etc/apt/sources.list.d/doca.list", []byte(line), 0o644),
		)
	}
	if !m.release.RPM() {
		p.conffiles = []string{"/etc/apt/sources.list.d/doca.list"}
		return p.deb(dir)
	}
	if err := p.rpm(dir); err != nil {
		return err
	}
	if m.variant.Fault == Unsigned {
		return nil
	}
	return m.signer.signRPMs(s.Packed)
}

// Names are the names of all packages in the set, without repetition, sorted.
func (s Set) Names() ([]string, error) {
	found, err := packageFiles(s.Repo)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range found {
		base := filepath.Base(f)
		if name, _, ok := strings.Cut(base, "_"); ok && strings.HasSuffix(base, ".deb") {
			names = append(names, name)
			continue
		}
		for range 2 { // version and release
			base = base[:strings.LastIndexByte(base, '-')]
		}
		names = append(names, base)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
