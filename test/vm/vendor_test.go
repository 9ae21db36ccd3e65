package vm_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/test/vendorlab"
	"github.com/rdmactl/rdmactl/test/vm"
)

// TestVendorStack boots an image into which rdmactl has installed the vendor's stack from a bundle, its modules built by
// DKMS, and proves that traffic goes through the vendor's library and that the vendor's module is the one in memory.
// From there the running host goes to the distribution's stack, and back.
func TestVendorStack(t *testing.T) {
	t.Parallel()
	m, set := bootVendor(t)
	onVendor(t, m, set)
	vendorStays(t, m, set)

	packages, before := packagesOf(m), manifest(m)
	report := toInbox(t, m)
	m.Reboot()
	closesItself(t, m, report)
	onInbox(t, m)

	back := decode[runReport](t, rdmactl(t, m, 0, "rollback", "-o", "json"))
	if back.Verdict != "rolled-back" || len(back.Kept) > 0 || !back.RebootRequired {
		t.Errorf("the rollback: %+v", back)
	}
	if diff := packageDiff(packages, packagesOf(m)); len(diff) > 0 {
		t.Errorf("the package set is not as before: %q", diff)
	}
	signed := 0
	for _, line := range vm.Diff(before, manifest(m)) {
		// The key that signed them stayed out of the image, so DKMS signs them with one of this host's now.
		if strings.HasPrefix(line, "~ ") && strings.Contains(line, "/updates/dkms/mlx") && strings.Contains(line, ".ko file ") {
			signed++
			continue
		}
		t.Errorf("not as before: %s", line)
	}
	if signed == 0 {
		t.Error("the modules were not signed anew")
	}
	m.Must("modprobe", "-r", "mlx5_ib", "mlx5_core", "mlxfw") // of the distribution, which a boot would not load any more
	m.Must("modprobe", "mlx5_ib")
	onVendor(t, m, set)
}

// vendorWish is what the image is asked for; the card is stated, since none is seen.
func vendorWish(set vendorlab.Set) []string {
	return []string{"--stack", set.Release.Stack, "--source", set.Packed, "--key", set.Key, "--card", "connectx-5"}
}

// bootVendor boots an image with the distribution's stack, and then the vendor's.
func bootVendor(t *testing.T) (*vm.Machine, vendorlab.Set) {
	t.Helper()
	vm.Need(t, vm.Bookworm(), vendorlab.Missing())
	lab, err := vendorlab.Open(os.Stderr)
	must(t, err)
	base, err := lab.Base()
	must(t, err)
	set, err := lab.Make(vendorlab.MLNXDebian(), vendorlab.Variant{})
	must(t, err)
	inbox, wish, offers := []string{"--profile", "inbox", "--card", "connectx-5"}, vendorWish(set), vm.Bookworm()
	m := vm.BootForeign(t, vm.Foreign{
		Name: "bookworm-vendor", Key: []any{2, filepath.Base(filepath.Dir(base.Root)), sumOf(t, set.Packed), inbox, wish, codeOf(t, vendorCode()...)},
		Build:  base.CopyRoot,
		Offers: &offers,
		Prepare: func(root string) error {
			if err := softAtBoot(root); err != nil {
				return err
			}
			if err := installInto(t, root, inbox); err != nil {
				return err
			}
			return installInto(t, root, wish)
		},
	})
	file, err := buildOnce()
	must(t, err)
	m.Put(file, onPath, 0o755)
	return m, set
}

// softAtBoot has each boot make a Soft-RoCE device, as the card is there at each boot of a host that has one.
func softAtBoot(root string) error {
	const unit = `[Unit]
Description=Soft-RoCE device of the test
After=systemd-networkd.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -ec 'modprobe rdma_rxe; for i in $(seq 60); do test -e /sys/class/net/en* && break; sleep 1; done; rdma link add rxe0 type rxe netdev $(basename /sys/class/net/en*)'
`
	dir := filepath.Join(root, "etc/systemd/system")
	wants := filepath.Join(dir, "multi-user.target.wants")
	return errors.Join(
		os.MkdirAll(wants, 0o755),
		os.WriteFile(filepath.Join(dir, "test-rxe0.service"), []byte(unit), 0o644),
		os.Symlink("/etc/systemd/system/test-rxe0.service", filepath.Join(wants, "test-rxe0.service")),
	)
}

// vendorCode is the code that decides what is in the image.
func vendorCode() []string {
	return []string{"install/*.go", "install/pkgmgr/*.go", "install/pkgmgr/apt/*.go", "internal/holdings/*.go", "plan/*.go", "plan/rules/*.go", "profiles/*.yaml", "profiles/matrix/*.yaml"}
}

// sumOf is the checksum of a file.
func sumOf(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	must(t, err)
	return hex.EncodeToString(sum.Sum(nil))
}

// onVendor checks that the host is the vendor's: in facts, in memory, on the way of its traffic.
func onVendor(t *testing.T, m *vm.Machine, set vendorlab.Set) {
	t.Helper()
	detected := decode[facts.Facts](t, rdmactl(t, m, 0, "detect", "-o", "json"))
	if v, known := detected.Packages.Vendor.Get(); !known || v.Stack != set.Release.Stack || v.Version != set.Release.Version {
		t.Errorf("detect names the stack %+v, known %v", v, known)
	}
	const file = "/updates/dkms/mlxfw.ko"
	if path, version := inMemory(t, m, "mlxfw"); !strings.HasSuffix(path, file) || !strings.HasPrefix(set.Release.Driver, version) {
		t.Errorf("mlxfw in memory is of %s, version %q", path, version)
	}
	trafficOver(t, m, `\.54\.0$`, "mlnx")
}

// inMemory is the file that a loaded module is of, told by its checksum, and the version that it tells. Debian's own
// modules have neither (CONFIG_MODULE_SRCVERSION_ALL is off), those that tell a version have both.
func inMemory(t *testing.T, m *vm.Machine, module string) (file, version string) {
	t.Helper()
	m.Must("test", "-d", "/sys/module/"+module)
	loaded := strings.TrimSpace(m.Run("cat", "/sys/module/"+module+"/srcversion").Stdout)
	dir := "/lib/modules/" + strings.TrimSpace(m.Must("uname", "-r"))
	for file := range strings.FieldsSeq(m.Must("find", dir+"/", "-name", module+".ko*")) {
		if strings.TrimSpace(m.Must("modinfo", "-F", "srcversion", file)) == loaded {
			return file, strings.TrimSpace(m.Run("cat", "/sys/module/"+module+"/version").Stdout)
		}
	}
	t.Errorf("%s in memory (%s) is of no file below %s", module, loaded, dir)
	return "", ""
}

// trafficOver checks that verify passes, and that ibv_rc_pingpong has traffic, through files of a name that packages of
// a version own.
func trafficOver(t *testing.T, m *vm.Machine, name, version string) {
	t.Helper()
	for _, file := range carriers(t, m) {
		owner := m.Run("dpkg", "-S", file)
		owned, _, _ := strings.Cut(owner.Stdout, ": ")
		has := strings.TrimSpace(m.Run("dpkg-query", "-W", "-f", "${Version}", owned).Stdout)
		if !strings.Contains(has, version) {
			t.Errorf("%s is of %s %s, want %s", file, owned, has, version)
		}
		if strings.Contains(file, "libibverbs.so") && !regexp.MustCompile(name).MatchString(file) {
			t.Errorf("the library is %s, want %s", file, name)
		}
		t.Logf("traffic through %s of %s %s", file, owned, has)
	}
}

// vendorStays: what was installed in the image is what a running host is asked for.
func vendorStays(t *testing.T, m *vm.Machine, set vendorlab.Set) {
	t.Helper()
	again := decode[runReport](t, rdmactl(t, m, 0, "install", "--stack", set.Release.Stack, "--card", "connectx-5", "--yes", "-o", "json"))
	if again.Verdict != "nothing-to-do" || again.Changed {
		t.Errorf("the second install: %+v", again)
	}
}

// toInbox leaves the vendor's stack.
func toInbox(t *testing.T, m *vm.Machine) runReport {
	t.Helper()
	wish := []string{"--profile", "inbox", "--card", "connectx-5"}
	p := decode[plan.Plan](t, rdmactl(t, m, 0, append([]string{"plan", "-o", "json"}, wish...)...))
	if p.Verdict != plan.Install || !p.Reboot {
		t.Fatalf("the plan: %s, reboot %v", p.Summary, p.Reboot)
	}
	args := append([]string{"install", "--yes", "-o", "json"}, wish...)
	r := rdmactl(t, m, 0, args...)
	report := decode[runReport](t, r)
	if report.Verdict != "done" || !report.Changed || !report.RebootRequired {
		t.Fatalf("report %+v\n%s\n%s", report, r, m.Run("cat", report.Log))
	}
	t.Log(m.ReadFile(report.Log))
	return report
}

// onInbox checks that nothing of the vendor's is on the host or in memory, and the way of its traffic.
func onInbox(t *testing.T, m *vm.Machine) {
	t.Helper()
	detected := decode[facts.Facts](t, rdmactl(t, m, 0, "detect", "-o", "json"))
	if v, known := detected.Packages.Vendor.Get(); known && v.Stack != "" {
		t.Errorf("detect names the stack %+v", v)
	}
	m.Must("modprobe", "mlx5_ib") // what the vendor's service does at each boot, udev does for a card
	if path, version := inMemory(t, m, "mlxfw"); !strings.Contains(path, "/kernel/drivers/") || version != "" {
		t.Errorf("mlxfw in memory is of %s, version %q", path, version)
	}
	trafficOver(t, m, `\.44\.0$`, "44.0-2")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
