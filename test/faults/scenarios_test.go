package faults

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/rdmactl/rdmactl/test/vendorlab"
)

// soft is Soft-RoCE: packages, which are held, and files of our own.
func soft(t *testing.T) *scenario {
	b := base(t)
	const rules, unit = "/etc/udev/rules.d/91-rdmactl-soft-roce.rules", "/etc/systemd/system/rdmactl-rxe@.service"
	s := &scenario{
		name: "soft", start: bare(t), look: &looker{kept: b.Root}, argv: rooted(t),
		args: []string{"--profile", "soft", "--netdev", "eth0", "--hold", "--kernel", b.Kernel},
		points: []point{
			{"packages", "before", logged("staged", ""), false},
			{"packages", "begun", logged("step-started", "packages"), false},
			{"packages", "inside, unpacking", opened("packages", by("dpkg", "/libibverbs.so.1.14.44.0.dpkg-new")), false},
			{"packages", "inside, before a script", opened("packages", file("/info/rdma-core.postinst")), false},
			{"packages", "inside, after dpkg unpacked all", opened("packages", both(by("apt-get", ""), having("/usr/bin/ib_write_bw"))), true},
			{"packages", "after", logged("step-done", "packages"), false},
			{"hold", "before", logged("step-done", "packages"), true}, // as after packages
			{"hold", "begun", logged("step-started", "hold"), true},
			{"hold", "inside, before dpkg writes it", opened("hold", by("dpkg", "/var/lib/dpkg/status-new")), false},
			{"hold", "after", logged("step-done", "hold"), false},
			{"files", "before", logged("step-done", "memlock"), true},
			{"files", "begun", logged("step-started", "udev-rules"), false},
			{"files", "inside, before it is written", opened("udev-rules", temporary(rules)), false},
			{"files", "inside, moved to its name", moved("udev-rules", rules), false},
			{"files", "after", logged("step-done", "udev-rules"), false},
			{"files", "inside the last", moved("soft-roce-unit", unit), true},
		},
	}
	s.twin(t)
	return s
}

// released is a vendor's release on a web server, where the vendor's own server has it: the path tells for which
// system it is.
func released(t *testing.T, v vendorlab.Variant) (set vendorlab.Set, flags []string) {
	t.Helper()
	need(t)
	lab, err := vendorlab.Open(os.Stderr)
	must(t, err)
	release := vendorlab.MLNXDebian()
	set, err = lab.Make(release, v)
	must(t, err)
	at := "/public/repo/mlnx_ofed/" + release.Version + "/" + release.Label + "/x86_64/"
	server := httptest.NewServer(http.StripPrefix(at, http.FileServer(http.Dir(set.Repo))))
	t.Cleanup(server.Close)
	return set, []string{"--stack", "mlnx-ofed", "--source", server.URL + at, "--key", set.Key, "--card", "connectx-5", "--kernel", set.Kernel}
}

// inbox is an image with the distribution's stack.
func inbox(t testing.TB) image {
	t.Helper()
	im := bare(t)
	im.chroot(t, "apt-get -q update && apt-get -q -y --no-install-recommends install rdma-core ibverbs-providers ibverbs-utils rdmacm-utils infiniband-diags perftest")
	return im
}

// vendor replaces the distribution's stack by a vendor's, from a repository that the image does not have yet.
func vendor(t *testing.T) *scenario {
	b := base(t)
	set, flags := released(t, vendorlab.Variant{Prebuilt: true})
	initrd := "/boot/initrd.img-" + set.Kernel
	s := &scenario{
		name: "vendor", start: inbox(t), look: &looker{kept: b.Root}, argv: rooted(t), args: flags,
		points: []point{
			{"repository", "before", logged("staged", ""), false},
			{"repository", "begun", logged("step-started", "repository"), true},
			{"repository", "inside, before the second file", opened("repository", temporary("/etc/apt/sources.list.d/rdmactl-mlnx-ofed.list")), false},
			{"repository", "inside, moved to its name", moved("repository", "/etc/apt/sources.list.d/rdmactl-mlnx-ofed.list"), true},
			{"repository", "after", logged("step-done", "repository"), false},
			{"packages", "inside, replacing", opened("packages", by("dpkg", "/libibverbs.so.1.14.54.0.dpkg-new")), false},
			{"packages", "inside, before a script", opened("packages", file("/info/mlnx-ofed-kernel-utils.postinst")), true},
			{"initramfs", "before", logged("step-done", "packages"), false}, // after packages
			{"initramfs", "begun", logged("step-started", "initramfs"), true},
			{"initramfs", "inside, before it is made", opened("initramfs", file("/usr/sbin/mkinitramfs")), true},
			{"initramfs", "inside, half written", opened("initramfs", by("cpio", "/conf/initramfs.conf")), false},
			{"initramfs", "inside, moved to its name", moved("initramfs", initrd), false},
			{"initramfs", "after", logged("step-done", "initramfs"), false},
		},
	}
	s.twin(t)
	return s
}
