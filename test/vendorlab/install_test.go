package vendorlab_test

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/test/vendorlab"
)

// root is a test's own copy of the base's root, with a set and the inbox packages in it.
type root struct {
	t    *testing.T
	base vendorlab.Base
	dir  string
	set  vendorlab.Set
}

func newRoot(t *testing.T, l *vendorlab.Lab, s vendorlab.Set) root {
	t.Helper()
	base, err := l.Base()
	must(t, err)
	parent, err := l.Scratch()
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(parent)) })
	r := root{t, base, filepath.Join(parent, "root"), s}
	must(t, base.CopyRoot(r.dir))
	return r
}

// try runs a script in the root, and gives its exit status and all that it wrote.
func (r root) try(script string) (int, string) {
	r.t.Helper()
	cmd := vendorlab.Chroot(
		r.dir, script, vendorlab.Bind{From: r.base.Inbox, To: "/srv/inbox"}, vendorlab.Bind{From: r.set.Repo, To: "/srv/vendor"},
		vendorlab.Bind{From: filepath.Dir(r.set.Packed), To: "/srv/packed"},
	)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		r.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

func (r root) run(script string) string {
	r.t.Helper()
	code, out := r.try(script)
	if code != 0 {
		r.t.Fatalf("%s ended with %d:\n%s", script, code, out)
	}
	return strings.TrimSpace(out)
}

func (r root) put(path, text string) {
	r.t.Helper()
	must(r.t, os.MkdirAll(filepath.Dir(r.dir+path), 0o755))
	must(r.t, os.WriteFile(r.dir+path, []byte(text), 0o644))
}

// want compares what a command prints.
func (r root) want(script, want string) {
	r.t.Helper()
	if got := r.run(script); got != want {
		r.t.Errorf("%s prints %q, want %q", script, got, want)
	}
}

// clean wants neither the firmware updater nor the vendor's installer to have run.
func (r root) clean() {
	r.t.Helper()
	for _, mark := range []string{vendorlab.FirmwareMark, vendorlab.ScriptMark} {
		if text, err := os.ReadFile(r.dir + mark); err == nil {
			r.t.Errorf("%s is there: %s", mark, text)
		}
	}
}

const (
	aptInstall = "apt-get install --yes -qq -o Dpkg::Use-Pty=0 "
	aptUpdate  = "apt-get update -qq -o APT::Update::Error-Mode=any"
)

// apt sets the sources up: the inbox packages, and the vendor's by its key.
func (r root) apt() {
	r.t.Helper()
	key, err := os.ReadFile(r.set.Key)
	must(r.t, err)
	r.put("/usr/share/keyrings/vendor.asc", string(key))
	must(r.t, os.RemoveAll(r.dir+"/etc/apt/sources.list"))
	r.put("/etc/apt/sources.list.d/inbox.list", "deb [trusted=yes] file:/srv/inbox ./\n")
	r.put("/etc/apt/sources.list.d/vendor.list", "deb [signed-by=/usr/share/keyrings/vendor.asc] file:/srv/vendor ./\n")
}

// tree is what stands in the places that packages change.
func (r root) tree() map[string]string {
	r.t.Helper()
	state := map[string]string{}
	for _, top := range []string{"/etc", "/usr", "/lib/modules", "/opt"} {
		err := filepath.WalkDir(r.dir+top, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && path == r.dir+top || err == nil && d.IsDir() {
				return nil
			}
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(path, r.dir)
			if name == "/etc/ld.so.cache" || strings.HasPrefix(name, "/usr/src/linux-") || strings.Contains(name, "__pycache__") {
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			text := info.Mode().String()
			if info.Mode()&fs.ModeSymlink != 0 {
				target, err := os.Readlink(path)
				state[name] = text + " " + target
				return err
			}
			// What packages bring has the time that it has in the package.
			if !strings.HasPrefix(name, "/etc/") && !strings.HasPrefix(filepath.Base(name), "modules.") {
				state[name] = fmt.Sprintf("%s %d bytes of %v", text, info.Size(), info.ModTime())
				return nil
			}
			data, err := os.ReadFile(path)
			state[name] = fmt.Sprintf("%s %x", text, sha256.Sum256(data))
			return err
		})
		must(r.t, err)
	}
	return state
}

// changed are the names that differ.
func changed(a, b map[string]string) []string {
	var names []string
	for name, text := range a {
		if b[name] != text {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// modules wants the vendor's mlxfw to be built for the kernel, to be the one that modprobe takes, and to serve
// the kernel's own mlx5_core: its symbol has the checksum that mlx5_core asks for.
func (r root) modules(dir string) {
	r.t.Helper()
	k := r.set.Kernel
	file := "/lib/modules/" + k + "/" + dir + "/mlxfw.ko"
	r.want("modinfo -k "+k+" -F filename mlxfw", file)
	vermagic := r.run("modinfo -k " + k + " -F vermagic mlx5_core")
	if !strings.HasPrefix(vermagic, k+" ") {
		r.t.Fatalf("vermagic %q of the kernel's own mlx5_core", vermagic)
	}
	r.want("modinfo -k "+k+" -F vermagic mlxfw", vermagic)
	r.want("modinfo -k "+k+" -F depends mlxfw", "mlx_compat")
	driver := r.set.Release.Driver
	r.want("modinfo -k "+k+" -F version mlxfw", driver[:strings.LastIndexByte(driver, '.')])
	if got := r.run("modprobe -S " + k + " --show-depends mlx5_core"); !strings.Contains(got, "insmod "+file) {
		r.t.Errorf("mlx5_core is loaded with\n%s", got)
	}
	r.serves(file, "/lib/modules/"+k+"/kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko", 1)
}

// serves wants a module of the kernel to be loadable with one of the vendor's in the place of the kernel's own:
// the symbols that both know, at least so many, have the checksums that the kernel's module asks for.
func (r root) serves(vendor, kernel string, least int) {
	r.t.Helper()
	compareSymbols(r.t, r.dir+vendor, r.dir+kernel, least)
}

func compareSymbols(t *testing.T, vendor, kernel string, least int) {
	t.Helper()
	gives := exported(t, vendor)
	out, err := exec.Command("modprobe", "--dump-modversions", kernel).Output()
	must(t, err)
	common := 0
	for line := range strings.Lines(string(out)) {
		crc, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if have, ok := gives[name]; ok {
			common++
			if fmt.Sprintf("0x%08x", have) != crc {
				t.Errorf("%s gives %s with the checksum 0x%08x, %s asks for %s", filepath.Base(vendor), name, have, filepath.Base(kernel), crc)
			}
		}
	}
	if common < least {
		t.Errorf("%s takes %d symbols of %s, at least %d wanted", filepath.Base(kernel), common, filepath.Base(vendor), least)
	}
}

// exported are the checksums of the symbols that a module gives, read from its sections as the kernel does.
func exported(t *testing.T, file string) map[string]uint32 {
	t.Helper()
	f, err := elf.Open(file)
	must(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	must(t, err)
	all := map[string]uint32{}
	for _, s := range symbols {
		name, ok := strings.CutPrefix(s.Name, "__crc_")
		if !ok || int(s.Section) >= len(f.Sections) {
			continue
		}
		data, err := f.Sections[s.Section].Data()
		must(t, err)
		all[name] = f.ByteOrder.Uint32(data[s.Value:])
	}
	return all
}

// library is the file of libibverbs that a program is started with.
func (r root) library() string {
	r.t.Helper()
	return r.run(`readlink -f "$(ldd /usr/bin/ibv_devices | sed -n 's/.*libibverbs.so.1 => \([^ ]*\) .*/\1/p')"`)
}

const inbox = "rdma-core libibverbs1 ibverbs-providers ibverbs-utils librdmacm1 rdmacm-utils libibumad3 "

// TestInstallAndBack installs a release with apt over the inbox packages, and goes back.
func TestInstallAndBack(t *testing.T) {
	l := lab(t)
	for _, tt := range []struct {
		release vendorlab.Release
		variant vendorlab.Variant
		meta    string
		modules string
		info    string
	}{
		{vendorlab.MLNXDebian(), vendorlab.Variant{}, "mlnx-ofed-basic", "updates/dkms", "MLNX_OFED_LINUX-24.10-2.1.8.0:"},
		{vendorlab.DOCADebian(), vendorlab.Variant{Prebuilt: true}, "doca-ofed", "updates", "OFED-internal-24.10-2.1.8:"},
	} {
		t.Run(tt.release.String(), func(t *testing.T) {
			s, err := l.Make(tt.release, tt.variant)
			must(t, err)
			r := newRoot(t, l, s)
			r.apt()
			r.run(aptUpdate)
			var versions []string
			for name := range strings.FieldsSeq(inbox) {
				versions = append(versions, name+"=44.*")
			}
			back := aptInstall + "--no-install-recommends --allow-downgrades " + strings.Join(versions, " ")
			r.run(back)
			before := r.tree()
			distribution := r.library()
			if !strings.HasSuffix(distribution, ".44.0") {
				t.Fatalf("the inbox library is %s", distribution)
			}
			packages := r.run("dpkg-query -W")

			if tt.release.Stack == "doca-ofed" { // as the local repo package sets it up
				must(t, os.Remove(r.dir+"/etc/apt/sources.list.d/vendor.list"))
				r.run("dpkg -i /srv/packed/" + filepath.Base(s.Packed) + " && " + aptUpdate)
			}
			r.run(aptInstall + tt.meta)
			r.clean()
			r.want("dpkg-query -W -f '${Version} ${db:Status-Abbrev}' libibverbs1", "2410mlnx54-1.2410068 ii")
			if got := r.run("dpkg --audit"); got != "" {
				t.Errorf("dpkg --audit: %s", got)
			}
			if got := r.library(); got == distribution || !strings.HasSuffix(got, ".54.0") {
				t.Errorf("ibv_devices is started with %s", got)
			}
			r.want("ofed_info -s", tt.info)
			if _, state := r.try("systemctl is-enabled openibd.service"); strings.TrimSpace(state) != "disabled" { // systemd does not run here
				t.Errorf("openibd.service is %s", state)
			}
			r.modules(tt.modules)
			if tt.modules == "updates/dkms" {
				r.want("dkms status", "mlnx-ofed-kernel/24.10.OFED.24.10.2.1.8.1, "+s.Kernel+", x86_64: installed")
			}

			r.run(back)
			r.run(`apt-get purge --yes -qq $(dpkg-query -W -f '${Package} ${Version}\n' | awk '$2 ~ /24\.10|mlnx|2410/ || $1 ~ /^doca-/ { print $1 }')`)
			r.run(back)
			if got := r.library(); got != distribution {
				t.Errorf("after all ibv_devices is started with %s", got)
			}
			if diff := cmp.Diff(packages, r.run("dpkg-query -W")); diff != "" {
				t.Errorf("packages (-before +after):\n%s", diff)
			}
			r.want("modinfo -k "+s.Kernel+" -F filename mlxfw", "/lib/modules/"+s.Kernel+"/kernel/drivers/net/ethernet/mellanox/mlxfw/mlxfw.ko")
			// The vendor's scriptlets leave the limits that they wrote.
			left := []string{"/etc/security/limits.conf"}
			if tt.release.Stack == "doca-ofed" {
				left = append([]string{"/etc/apt/sources.list.d/vendor.list"}, left...)
			}
			if diff := cmp.Diff(left, changed(before, r.tree())); diff != "" {
				t.Errorf("the files that are not as before (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTwinsWithApt wants apt to refuse what is not sound, and to leave the root as it was.
func TestTwinsWithApt(t *testing.T) {
	l := lab(t)
	sound, err := l.Make(vendorlab.MLNXDebian(), vendorlab.Variant{})
	must(t, err)
	r := newRoot(t, l, sound)
	for _, tt := range []struct {
		variant vendorlab.Variant
		step    string // that fails
		cause   string
	}{
		{vendorlab.Variant{Fault: vendorlab.Unsigned}, "update", "is not signed"},
		{vendorlab.Variant{Fault: vendorlab.WrongKey}, "update", "NO_PUBKEY"},
		{vendorlab.Variant{Fault: vendorlab.ExpiredKey}, "update", "EXPKEYSIG"},
		{vendorlab.Variant{Fault: vendorlab.Truncated}, "update", "Hash Sum mismatch"},
		{vendorlab.Variant{Fault: vendorlab.Tampered}, "install", "Hash Sum mismatch"},
		{vendorlab.Variant{Fault: vendorlab.FailingScript}, "configure", "ofed-scripts: cannot be configured"},
		{vendorlab.Variant{Firmware: true}, "firmware", "Inst mlnx-fw-updater "},
	} {
		t.Run(string(tt.variant.Fault)+tt.step, func(t *testing.T) {
			s, err := l.Make(vendorlab.MLNXDebian(), tt.variant)
			must(t, err)
			r := r
			r.t, r.set = t, s
			r.apt()
			r.run("rm -rf /var/lib/apt/lists/*")
			code, out := r.try(aptUpdate)
			if tt.step == "update" {
				if code != 100 || !strings.Contains(out, tt.cause) {
					t.Errorf("update ended with %d, want 100 and %q:\n%s", code, tt.cause, out)
				}
				return
			}
			if code != 0 {
				t.Fatalf("update ended with %d: %s", code, out)
			}
			if tt.step == "firmware" {
				if out := r.run("apt-get install --simulate mlnx-ofed-all"); !strings.Contains(out, tt.cause) {
					t.Errorf("the solver does not take the firmware updater:\n%s", out)
				}
				return
			}
			before := r.run("dpkg-query -W")
			code, out = r.try(aptInstall + "mlnx-ofed-basic-user-only")
			if code != 100 || !strings.Contains(out, tt.cause) {
				t.Errorf("install ended with %d, want 100 and %q:\n%s", code, tt.cause, out)
			}
			if tt.step == "install" {
				if diff := cmp.Diff(before, r.run("dpkg-query -W")); diff != "" {
					t.Errorf("packages:\n%s", diff)
				}
				return
			}
			r.want("dpkg-query -W -f '${db:Status-Abbrev}' ofed-scripts", "iF")
			r.run("dpkg --purge mlnx-ofed-basic-user-only ofed-scripts && apt-get purge -qq --yes mlnx-tools '~i~V2410mlnx'")
		})
	}
	r.clean()
	t.Run("marks", func(t *testing.T) { // of the sound set, to show that the absence of one tells something
		r := r
		r.t = t
		r.apt()
		r.run("rm -rf /var/lib/apt/lists/*; " + aptUpdate + " && " + aptInstall + "mlnx-fw-updater")
		if _, err := os.Stat(r.dir + vendorlab.FirmwareMark); err != nil {
			t.Error(err)
		}
		if code, out := r.try("/srv/packed/" + filepath.Base(sound.Bundle) + "/mlnxofedinstall --all"); code == 0 {
			t.Errorf("the installer succeeds: %s", out)
		}
		if _, err := os.Stat(r.dir + vendorlab.ScriptMark); err != nil {
			t.Error(err)
		}
	})
}

// TestCore compares the vendor's core modules with what the kernel's own RDMA modules ask for.
func TestCore(t *testing.T) {
	l := lab(t)
	base, err := l.Base()
	must(t, err)
	s, err := l.Make(vendorlab.MLNXDebian(), vendorlab.Variant{Prebuilt: true, Core: true})
	must(t, err)
	debs, err := filepath.Glob(s.Repo + "/mlnx-ofed-kernel-modules_*.deb")
	must(t, err)
	if len(debs) != 1 {
		t.Fatalf("module packages: %v", debs)
	}
	tree := t.TempDir()
	must(t, exec.Command("dpkg-deb", "--extract", debs[0], tree).Run())
	vendor := tree + "/lib/modules/" + s.Kernel + "/updates/"
	kernel := base.Root + "/lib/modules/" + s.Kernel + "/kernel/drivers/infiniband/"
	for _, tt := range []struct {
		vendor, kernel string
		least          int
	}{
		{"ib_core.ko", "sw/rxe/rdma_rxe.ko", 10},
		{"ib_core.ko", "hw/mlx5/mlx5_ib.ko", 30},
		{"ib_uverbs.ko", "sw/rxe/rdma_rxe.ko", 1},
		{"ib_cm.ko", "ulp/ipoib/ib_ipoib.ko", 3},
		{"rdma_cm.ko", "ulp/iser/ib_iser.ko", 5},
	} {
		compareSymbols(t, vendor+tt.vendor, kernel+tt.kernel, tt.least)
		version, err := exec.Command("modinfo", "-F", "version", vendor+tt.vendor).Output()
		must(t, err)
		if got := strings.TrimSpace(string(version)); got != "24.10-2.1.8" {
			t.Errorf("%s has the version %q", tt.vendor, got)
		}
	}
}

// TestDNF installs the RPMs with dnf, in a root that poses as Rocky Linux 9.4, and removes them.
func TestDNF(t *testing.T) {
	l := lab(t)
	for _, release := range []vendorlab.Release{vendorlab.MLNXRHEL(), vendorlab.DOCARHEL()} {
		t.Run(release.String(), func(t *testing.T) {
			s, err := l.Make(release, vendorlab.Variant{})
			must(t, err)
			r := newRoot(t, l, s)
			must(t, r.base.Pose(r.dir))
			before := r.tree()
			meta, dnf := "mlnx-ofed-all", "dnf --quiet --assumeyes --setopt=keepcache=0 "
			key, err := os.ReadFile(s.Key)
			must(t, err)
			r.put("/etc/pki/vendor.asc", string(key))
			repo := "[vendor]\nname=vendor\nbaseurl=file:///srv/vendor\ngpgcheck=1\ngpgkey=file:///etc/pki/vendor.asc\n"
			r.put("/etc/yum.repos.d/vendor.repo", repo)
			if release.Stack == "doca-ofed" {
				meta = "doca-ofed"
			}
			r.run(dnf + "install " + meta)
			r.clean()
			r.want("rpm -q --qf '%{VERSION}-%{RELEASE}' libibverbs", "2410mlnx54-1.2410068")
			r.want("ldconfig; ldd /usr/bin/ibv_devices | sed -n 's/.*libibverbs.so.1 => \\([^ ]*\\) .*/\\1/p'", "/usr/lib64/libibverbs.so.1")
			r.want("rpm -qf /usr/lib64/libibverbs.so.1.14.54.0", "libibverbs-2410mlnx54-1.2410068.x86_64")
			r.want("ibv_devices 2>&1 | grep -c 'loading shared libraries' || true", "0")
			// Where the library looks for the provider of rxe, there it is.
			place := r.run("grep -aom1 '/usr/lib64/*/libibverbs/lib%s-rdmav34.so' /usr/lib64/libibverbs.so.1")
			r.run("ldd " + strings.Replace(place, "%s", "rxe", 1))
			r.modules("extra/mlnx-ofa_kernel")
			r.want("rpm -V kmod-mlnx-ofa_kernel libibverbs rdma-core", "")
			r.want("systemctl is-enabled openibd.service", "enabled")

			r.run(dnf + "remove " + meta + " '*mlnx*' ofed-scripts rdma-core libibverbs")
			r.want("rpm -qa | grep -v gpg-pubkey", "rocky-release-9.4-1.7.el9.noarch")
			r.want("modinfo -k "+s.Kernel+" -F filename mlxfw", "/lib/modules/"+s.Kernel+"/kernel/drivers/net/ethernet/mellanox/mlxfw/mlxfw.ko")
			left := []string{"/etc/modprobe.d/ib_ipoib.conf.rpmsave", "/etc/pki/vendor.asc", "/etc/security/limits.conf", "/etc/yum.repos.d/vendor.repo"}
			if diff := cmp.Diff(left, changed(before, r.tree())); diff != "" {
				t.Errorf("the files that are not as before (-want +got):\n%s", diff)
			}
			if release.Stack == "mlnx-ofed" {
				r.twinsWithDNF(l, dnf)
			}
		})
	}
}

// twinsWithDNF wants dnf to refuse what is not sound. A key that has expired is no reason for it: rpm judges
// a signature by the time at which it was made.
func (r root) twinsWithDNF(l *vendorlab.Lab, dnf string) {
	r.t.Helper()
	for _, tt := range []struct {
		fault vendorlab.Fault
		cause string
	}{
		{vendorlab.Unsigned, "is not signed"},
		{vendorlab.WrongKey, "GPG"},
		{vendorlab.Truncated, "repo"},
		{vendorlab.Tampered, "hecksum"},
		{vendorlab.FailingScript, "PREIN scriptlet in rpm package ofed-scripts"},
		{vendorlab.ExpiredKey, ""},
	} {
		twin, err := l.Make(r.set.Release, vendorlab.Variant{Fault: tt.fault})
		must(r.t, err)
		r.set = twin
		key, err := os.ReadFile(twin.Key)
		must(r.t, err)
		r.put("/etc/pki/vendor.asc", string(key))
		code, out := r.try("rm -rf /var/cache/dnf; " + dnf + "install ofed-scripts")
		if tt.cause == "" {
			if code != 0 {
				r.t.Errorf("%s: dnf ended with %d:\n%s", tt.fault, code, out)
			}
			continue
		}
		if code == 0 || !strings.Contains(out, tt.cause) {
			r.t.Errorf("%s: dnf ended with %d, want %q:\n%s", tt.fault, code, tt.cause, out)
		}
		r.want("rpm -qa '*ofed*'", "")
	}
}
