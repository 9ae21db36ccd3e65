package verbs

// Layer is the part of the stack that a check is about, from the bottom up.
type Layer string

// The layers.
const (
	LayerKernel     Layer = "kernel"
	LayerDevice     Layer = "device"
	LayerLibrary    Layer = "library"
	LayerProvider   Layer = "provider"
	LayerPermission Layer = "permission"
	LayerMemory     Layer = "memory"
	LayerPort       Layer = "port"
	LayerAddress    Layer = "address"
	LayerTraffic    Layer = "traffic"
	LayerWorker     Layer = "worker" // this program's own child process
)

// Code is a stable slug for one way in which a check does not pass.
type Code string

// The codes.
const (
	CodeNotBuilt        Code = "built-without-verbs"
	CodeNoLibrary       Code = "no-library"
	CodeABI             Code = "abi-mismatch"
	CodeNoKernelModule  Code = "no-kernel-module"
	CodeNoDevice        Code = "no-device"
	CodeNoSuchDevice    Code = "no-such-device"
	CodeNoSuchPort      Code = "no-such-port"
	CodeNoDeviceNode    Code = "no-device-node"
	CodeProviderMissing Code = "provider-missing"
	CodeProviderCrashed Code = "provider-crashed"
	CodeNoPermission    Code = "no-permission"
	CodeDeviceBusy      Code = "device-busy"
	CodeDeviceGone      Code = "device-gone"
	CodeMemlock         Code = "memlock-too-low"
	CodePortDown        Code = "port-down"
	CodeNoGID           Code = "no-gid"
	CodeNoLID           Code = "no-lid"
	CodeNoPKey          Code = "no-full-pkey"
	CodeNeedsCM         Code = "iwarp-needs-cm"
	CodeNoRC            Code = "no-reliable-connection"
	CodeVerbFailed      Code = "verb-failed"
	CodeCompletionError Code = "completion-error"
	CodeWrongData       Code = "wrong-data"
	CodeTimeout         Code = "timeout"
	CodeTimeLimit       Code = "time-limit"
	CodeWorkerFailed    Code = "worker-failed"
	CodeSysfsUnreadable Code = "sysfs-unreadable"
)

// codeFacts is what a code always means.
type codeFacts struct {
	layer  Layer
	status Status
	remedy string
}

// facts returns layer, status and the general remedy of a code; a check may word a closer one.
func (c Code) facts() codeFacts {
	switch c {
	case CodeNotBuilt:
		return codeFacts{LayerLibrary, NotTestable, "use a build with verbs, for linux on amd64 or arm64"}
	case CodeNoLibrary:
		return codeFacts{LayerLibrary, NotTestable, "install libibverbs (libibverbs1 and ibverbs-providers, or libibverbs and rdma-core), or another stack with rdmactl install"}
	case CodeABI:
		return codeFacts{LayerLibrary, NotTestable, "install a libibverbs of rdma-core 15 or newer, or MLNX_OFED 5 or newer; this one is not called any further"}
	case CodeNoKernelModule:
		return codeFacts{LayerKernel, NotTestable, "load the module: modprobe ib_uverbs; if it does not exist, install the kernel's full module package or a stack with rdmactl install"}
	case CodeNoDevice:
		return codeFacts{LayerDevice, NotTestable, "load the card's driver (modprobe mlx5_ib or mlx4_ib) and see dmesg; without a card, rdmactl install --profile soft gives a software device"}
	case CodeNoSuchDevice, CodeNoSuchPort:
		return codeFacts{LayerDevice, NotTestable, "name a device and port that exist, or none to test all"}
	case CodeNoDeviceNode:
		return codeFacts{LayerPermission, NotTestable, "let udev make the node (udevadm trigger -s infiniband_verbs); in a container, pass /dev/infiniband in"}
	case CodeProviderMissing:
		return codeFacts{LayerProvider, NotTestable, "install the provider library that belongs to this libibverbs (ibverbs-providers or rdma-core of the same build) and remove the leftovers of another stack"}
	case CodeProviderCrashed:
		return codeFacts{LayerProvider, Fail, "reinstall libibverbs and its providers from one stack and one version; if it crashes again, report it to the stack's vendor with the evidence"}
	case CodeNoPermission:
		return codeFacts{LayerPermission, NotTestable, "run as root, or give this user read and write access to the node (udev rule MODE=\"0666\", or the node's group); in a container, allow the device"}
	case CodeDeviceBusy:
		return codeFacts{LayerDevice, NotTestable, "end the program that holds the device for itself, then verify again"}
	case CodeDeviceGone:
		return codeFacts{LayerDevice, NotTestable, "the device went away while it was tested: see dmesg for a reset or a driver that was unloaded"}
	case CodeMemlock:
		return codeFacts{LayerMemory, NotTestable, "raise the limit: 'memlock unlimited' in /etc/security/limits.d for logins, LimitMEMLOCK=infinity for a service"}
	case CodePortDown:
		return codeFacts{LayerPort, NotTestable, "connect and enable the port (ip link set up for Ethernet); without a cable it cannot be tested"}
	case CodeNoGID:
		return codeFacts{LayerAddress, NotTestable, "set the port's network interface up and give it an IP address"}
	case CodeNoLID:
		return codeFacts{LayerPort, NotTestable, "start a subnet manager (opensm) on this fabric, or see why it does not reach the port"}
	case CodeNoPKey:
		return codeFacts{LayerPort, NotTestable, "have the subnet manager make this port a full member of a partition"}
	case CodeNeedsCM:
		return codeFacts{LayerPort, NotTestable, "test an iWARP device with a program that connects through rdma_cm, such as rping"}
	case CodeNoRC:
		return codeFacts{LayerDevice, NotTestable, "this device has no reliable connected queue pairs; test it with its vendor's program"}
	case CodeVerbFailed:
		return codeFacts{LayerProvider, Fail, "see dmesg for the device's own message"}
	case CodeCompletionError:
		return codeFacts{LayerTraffic, Fail, "see dmesg for the device's own message; check firmware and driver versions against each other"}
	case CodeWrongData:
		return codeFacts{LayerTraffic, Fail, "take this host out of service: data arrives wrong without an error; check memory, PCIe errors (dmesg, AER), IOMMU and firmware"}
	case CodeTimeout:
		return codeFacts{LayerTraffic, Fail, "see dmesg for a hung device or driver; verify again after the driver was reloaded"}
	case CodeTimeLimit:
		return codeFacts{LayerWorker, Warn, "give verify more time, or use --quick"}
	case CodeSysfsUnreadable:
		return codeFacts{LayerKernel, NotTestable, "run where /sys is mounted and readable"}
	default:
		return codeFacts{LayerWorker, Fail, "verify again with -v; if it stays, report it with the evidence"}
	}
}

// The names of the checks.
const (
	checkLibrary  = "library"
	checkDevices  = "devices"
	checkProvider = "provider"
	checkOpen     = "open"
	checkPort     = "port"
	checkAddress  = "address"
	checkMemory   = "memory"
	checkConnect  = "connect"
	checkTraffic  = "traffic"
	checkMeasure  = "measure"
	checkWorker   = "worker"
)

// failed makes a check that does not pass, with what its code always says.
func failed(name string, code Code, detail string) Check {
	f := code.facts()
	return Check{Name: name, Layer: f.layer, Status: f.status, Code: code, Detail: detail, Remedy: f.remedy}
}

// passed makes a check that passes.
func passed(name string, layer Layer, detail string) Check {
	return Check{Name: name, Layer: layer, Status: Pass, Detail: detail}
}

func (c Check) on(device string, port int) Check {
	c.Device, c.Port = device, port
	return c
}
