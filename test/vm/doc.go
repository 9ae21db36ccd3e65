// Package vm runs scenarios on real machines: Debian 11, 12 and 13 with their own kernel, systemd
// and apt, emulated by qemu, with a signed apt repository on the disk and no RDMA package installed.
//
//	func TestSomething(t *testing.T) {
//		m := vm.Boot(t, vm.Bookworm())
//		m.Put(local, "/usr/local/bin/rdmactl", 0o755)
//		r := m.Run("rdmactl", "plan")
//		if r.Exit != 0 { t.Fatal(r) }
//	}
//
// Everything that takes long (root, disk, booted machine) is kept in a cache outside the repository
// and made again when what it is made of changes. A machine belongs to one test and ends with it.
//
// Tests that boot machines run when RDMACTL_VM=1, as root on a Debian-like machine; otherwise they
// are skipped and the skip is counted. TestMain must call Main, which prints the seconds of each
// scenario and the counts of retries and skips.
package vm
