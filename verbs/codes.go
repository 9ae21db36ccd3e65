package verbs

import "github.com/rdmactl/rdmactl/facts"

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

// codeFacts is what a code always means; its remedy is in the registry of package facts.
type codeFacts struct {
	layer  Layer
	status Status
}

// remedy is the general one of a code; a check may word a closer one.
func (c Code) remedy() string {
	known, _ := facts.LookupCode(string(c)) // a test keeps the registry complete
	return known.Remedy
}

// facts returns layer and status of a code.
func (c Code) facts() codeFacts {
	switch c {
	case CodeNotBuilt:
		return codeFacts{LayerLibrary, NotTestable}
	case CodeNoLibrary:
		return codeFacts{LayerLibrary, NotTestable}
	case CodeABI:
		return codeFacts{LayerLibrary, NotTestable}
	case CodeNoKernelModule:
		return codeFacts{LayerKernel, NotTestable}
	case CodeNoDevice:
		return codeFacts{LayerDevice, NotTestable}
	case CodeNoSuchDevice, CodeNoSuchPort:
		return codeFacts{LayerDevice, NotTestable}
	case CodeNoDeviceNode:
		return codeFacts{LayerPermission, NotTestable}
	case CodeProviderMissing:
		return codeFacts{LayerProvider, NotTestable}
	case CodeProviderCrashed:
		return codeFacts{LayerProvider, Fail}
	case CodeNoPermission:
		return codeFacts{LayerPermission, NotTestable}
	case CodeDeviceBusy:
		return codeFacts{LayerDevice, NotTestable}
	case CodeDeviceGone:
		return codeFacts{LayerDevice, NotTestable}
	case CodeMemlock:
		return codeFacts{LayerMemory, NotTestable}
	case CodePortDown:
		return codeFacts{LayerPort, NotTestable}
	case CodeNoGID:
		return codeFacts{LayerAddress, NotTestable}
	case CodeNoLID:
		return codeFacts{LayerPort, NotTestable}
	case CodeNoPKey:
		return codeFacts{LayerPort, NotTestable}
	case CodeNeedsCM:
		return codeFacts{LayerPort, NotTestable}
	case CodeNoRC:
		return codeFacts{LayerDevice, NotTestable}
	case CodeVerbFailed:
		return codeFacts{LayerProvider, Fail}
	case CodeCompletionError:
		return codeFacts{LayerTraffic, Fail}
	case CodeWrongData:
		return codeFacts{LayerTraffic, Fail}
	case CodeTimeout:
		return codeFacts{LayerTraffic, Fail}
	case CodeTimeLimit:
		return codeFacts{LayerWorker, Warn}
	case CodeSysfsUnreadable:
		return codeFacts{LayerKernel, NotTestable}
	default:
		return codeFacts{LayerWorker, Fail}
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
	return Check{Name: name, Layer: f.layer, Status: f.status, Code: code, Detail: detail, Remedy: code.remedy()}
}

// passed makes a check that passes.
func passed(name string, layer Layer, detail string) Check {
	return Check{Name: name, Layer: layer, Status: Pass, Detail: detail}
}

func (c Check) on(device string, port int) Check {
	c.Device, c.Port = device, port
	return c
}
