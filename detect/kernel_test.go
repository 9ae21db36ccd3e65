package detect

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

func TestKernelFlavour(t *testing.T) {
	for release, want := range map[string]string{
		"6.12.117+deb13-amd64": "amd64", "6.12.117+deb13-cloud-amd64": "cloud-amd64", "6.1.0-50-amd64": "amd64", "6.1.0-50-rt-amd64": "rt-amd64",
		"5.15.0-1081-azure": "azure", "6.8.0-90-generic": "generic", "6.11.0-1003-nvidia-64k": "nvidia-64k", "6.8.12-9-pve": "pve",
		"5.4.17-2136.314.6.3.el7uek.x86_64": "uek", "4.18.0-348.el8.0.2.x86_64": "", "5.14.0-427.el9.x86_64+rt": "rt", "5.14.0-427.el9.aarch64+64k": "64k",
		"5.14.21-150400.24.100-default": "default", "5.14.0-rc5": "", "4.4.302+": "", "5.10.35": "", "4.19.0-1.0.1.6.aarch64": "", "": "", "-": "",
		"5.14.0-rc5-custom": "custom",
	} {
		if got := kernelFlavour(release); got != want {
			t.Errorf("flavour of %q is %q, want %q", release, got, want)
		}
	}
}

// TestRedactCmdline holds what is shown of a command line, live and from what was saved of it.
func TestRedactCmdline(t *testing.T) {
	in := "root=/dev/vda1 ks=http://user:pw@h/ks.cfg?a=1&token=xyz rd.iscsi.password=secret netroot=iscsi:me:pw@192.0.2.1::3260 " +
		"API_TOKEN=t inst.repo=https://h/r quiet keyboardtype=pc password= module.sig_enforce=1 iommu.passthrough=1 " +
		"wifi.psk=xyz luks.passphrase=\"two secret\" user=bob,pass=secret"
	want := "root=/dev/vda1 ks=http://REDACTED@h/ks.cfg?a=1&token=REDACTED rd.iscsi.password=REDACTED netroot=REDACTED@192.0.2.1::3260 " +
		"API_TOKEN=REDACTED inst.repo=https://h/r quiet keyboardtype=pc password= module.sig_enforce=1 iommu.passthrough=1 " +
		"wifi.psk=REDACTED luks.passphrase=REDACTED user=bob,pass=REDACTED"
	shown := func(text string) string {
		return detected(t, &host.Evidence{Files: map[string]string{"/proc/cmdline": text}}).Kernel.Cmdline.Or("")
	}
	got := shown(in + "\n")
	saved := &host.Evidence{Files: map[string]string{"/proc/cmdline": in + "\n"}}
	if err := host.Redact(saved, true); err != nil {
		t.Fatal(err)
	}
	if again := shown(saved.Files["/proc/cmdline"]); again != got {
		t.Errorf("live  %s\nsaved %s", got, again)
	}
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, secret := range []string{"pw", "secret", "xyz", "=t "} {
		if strings.Contains(got, secret) {
			t.Errorf("%q is still there", secret)
		}
	}
}

func TestKernelConfig(t *testing.T) {
	text := "CONFIG_INFINIBAND=m\n# CONFIG_RDMA_SIW is not set\nCONFIG_MLX5_CORE_EN=y\nCONFIG_EXT4_FS=y\nCONFIG_INFINIBAND_X=\"text\"\n#CONFIG_RDMA_RXE=y\n"
	want := map[string]string{"INFINIBAND": "m", "RDMA_SIW": "n", "MLX5_CORE_EN": "y"}
	if diff := cmp.Diff(want, parseKernelConfig(text)); diff != "" {
		t.Error(diff)
	}
	if got := grepConfig(text); got != "CONFIG_INFINIBAND=m\n# CONFIG_RDMA_SIW is not set\nCONFIG_MLX5_CORE_EN=y\nCONFIG_INFINIBAND_X=\"text\"\n" {
		t.Errorf("filtered to %q", got)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := filterGzipConfig(bytes.NewReader(packed.Bytes()), 0)
	if err != nil || got != grepConfig(text) {
		t.Errorf("unpacked to %q, %v", got, err)
	}
	if _, err := filterGzipConfig(strings.NewReader("no gzip"), 0); err == nil {
		t.Error("what is no gzip was read")
	}
}

func TestOtherKernel(t *testing.T) {
	e := evidence(t, "no-card")
	f := HostWithKernel(t.Context(), host.NewReplay(e), "6.1.0-50-amd64")
	if f.Kernel.Release.Or("") != "6.1.0-50-amd64" || f.Kernel.Running || f.Kernel.Flavour.Or("") != "amd64" || f.Kernel.Config.IsKnown() {
		t.Errorf("got %+v", f.Kernel)
	}
}

// An image's kernel is the only one installed in it, and the machine that it is on tells nothing.
func TestImage(t *testing.T) {
	e := evidence(t, "no-card")
	e.Dirs["/lib64"] = []string{"ld-linux-x86-64.so.2"}
	f := Host(t.Context(), posing{Reader: host.NewReplay(e), kind: "root"})
	if f.Kernel.Release.Or("") != "6.12.117+deb13-cloud-amd64" || f.Kernel.Running || f.Kernel.Arch.Or("") != "x86_64" {
		t.Errorf("kernel %+v", f.Kernel)
	}
	if !f.PCI.IsUnknown() || !f.RDMA.IsUnknown() || !f.Netdevs.IsUnknown() || !f.Modules.Loaded.IsUnknown() || !f.Nodes.IsUnknown() ||
		!f.SecureBoot.Enabled.IsUnknown() || !f.Platform.Virtualization.IsUnknown() || !f.Access.DefaultRouteNetdev.IsUnknown() || !f.Memlock.Soft.IsUnknown() {
		t.Error("an image was given facts of the machine that it is on")
	}
	e.Dirs["/lib/modules"] = append(e.Dirs["/lib/modules"], "6.1.0-50-amd64")
	if f = Host(t.Context(), posing{Reader: host.NewReplay(e), kind: "root"}); f.Kernel.Release.IsKnown() {
		t.Errorf("one of two kernels was chosen: %+v", f.Kernel.Release)
	}
}
