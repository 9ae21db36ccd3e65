package facts

// verifyCodes are the ways in which a check of verify does not pass, from the library up.
func verifyCodes() []Code {
	return []Code{
		{"built-without-verbs", "this build of rdmactl has no verbs", "use a build with verbs, for linux on amd64 or arm64"},
		{"no-library", "libibverbs is not installed", "install libibverbs (libibverbs1 and ibverbs-providers, or libibverbs and rdma-core), or another stack with rdmactl install"},
		{"abi-mismatch", "libibverbs is not laid out as its public interface says", "install a libibverbs of rdma-core 15 or newer, or MLNX_OFED 5 or newer; this one is not called any further"},
		{"no-kernel-module", "the kernel has no verbs: ib_uverbs is not loaded", "load the module: modprobe ib_uverbs; if it does not exist, install the kernel's full module package or a stack with rdmactl install"},
		{"no-device", "the kernel has no RDMA device", "load the card's driver (modprobe mlx5_ib or mlx4_ib) and see dmesg; without a card, rdmactl install --profile soft gives a software device"},
		{"no-such-device", "the device that was named does not exist", "name a device and port that exist, or none to test all"},
		{"no-such-port", "the port that was named does not exist", "name a device and port that exist, or none to test all"},
		{"no-device-node", "the device has no node under /dev/infiniband", "let udev make the node (udevadm trigger -s infiniband_verbs); in a container, pass /dev/infiniband in"},
		{"provider-missing", "no provider library serves the device, or those there have another private ABI than libibverbs", "install the provider library that belongs to this libibverbs (ibverbs-providers or rdma-core of the same build) and remove the leftovers of another stack"},
		{"provider-crashed", "the provider library crashed", "reinstall libibverbs and its providers from one stack and one version; if it crashes again, report it to the stack's vendor with the evidence"},
		{"no-permission", "the user may not open the device node", "run as root, or give this user read and write access to the node (udev rule MODE=\"0666\", or the node's group); in a container, allow the device"},
		{"device-busy", "another program holds the device", "end the program that holds the device for itself, then verify again"},
		{"device-gone", "the device went away during the test", "the device went away while it was tested: see dmesg for a reset or a driver that was unloaded"},
		{"memlock-too-low", "the memlock limit is too low to register memory", "raise the limit: 'memlock unlimited' in /etc/security/limits.d for logins, LimitMEMLOCK=infinity for a service"},
		{"port-down", "the port is not active", "connect and enable the port (ip link set up for Ethernet); without a cable it cannot be tested"},
		{"no-gid", "the port has no GID that RoCE traffic could use", "set the port's network interface up and give it an IP address"},
		{"no-lid", "the port has no LID: no subnet manager has configured it", "start a subnet manager (opensm) on this fabric, or see why it does not reach the port"},
		{"no-full-pkey", "the port is a full member of no partition", "have the subnet manager make this port a full member of a partition"},
		{"iwarp-needs-cm", "iWARP connects through rdma_cm only", "test an iWARP device with a program that connects through rdma_cm, such as rping"},
		{"no-reliable-connection", "the device has no reliable connected queue pairs", "this device has no reliable connected queue pairs; test it with its vendor's program"},
		{"verb-failed", "a verb failed that should not", "see dmesg for the device's own message"},
		{"completion-error", "a message ended with an error", "see dmesg for the device's own message; check firmware and driver versions against each other"},
		{"wrong-data", "data arrived that was not sent", "take this host out of service: data arrives wrong without an error; check memory, PCIe errors (dmesg, AER), IOMMU and firmware"},
		{"timeout", "the device did not complete a message in time", "see dmesg for a hung device or driver; verify again after the driver was reloaded"},
		{"time-limit", "the time ran out before everything was measured", "give verify more time, or use --quick"},
		{"worker-failed", "the process that sends the traffic failed", "verify again with -v; if it stays, report it with the evidence"},
		{"sysfs-unreadable", "/sys cannot be read", "run where /sys is mounted and readable"},
	}
}
