// Package ibv calls libibverbs, loaded at run time, through its public ABI.
//
// Its interfaces are what a loopback needs and no more, so that a test can stand in for the library
// and inject every failure. Nothing here may run outside the verbs worker: listing devices changes
// the host (it autoloads ib_core) and a faulty provider can crash the process.
package ibv

import (
	"errors"
	"fmt"
	"syscall"
)

// ErrNoLibrary says that libibverbs.so.1 could not be loaded; the loader's words are in the error.
var ErrNoLibrary = errors.New("libibverbs.so.1 cannot be loaded")

// ErrNotBuilt says that this binary holds no verbs support (build tag noverbs, or another platform).
var ErrNotBuilt = errors.New("built without verbs")

// ErrABI says that the library does not have the public ABI that this package knows, so calling it
// further could corrupt memory.
var ErrABI = errors.New("libibverbs does not have the expected public ABI")

// CallError is a verb that failed.
type CallError struct {
	Call  string        // such as "ibv_open_device"
	Errno syscall.Errno // 0 when the library gave none
}

func (e *CallError) Error() string {
	if e.Errno == 0 {
		return e.Call + ": failed without an errno"
	}
	return fmt.Sprintf("%s: %s", e.Call, e.Errno.Error())
}

// Unwrap makes errors.Is(err, syscall.EPERM) and the like work.
func (e *CallError) Unwrap() error { return e.Errno }

// Info describes the loaded library.
type Info struct {
	Path string // file that is mapped; empty when it cannot be told
	// PrivateABI is NN of the symbol version IBVERBS_PRIVATE_NN: the version that a provider must
	// have been built for. 0 when the file does not tell.
	PrivateABI int
}

// Lib is one loaded libibverbs.
type Lib interface {
	Info() Info
	// Devices returns the names of the devices that the library offers. It is a CallError with
	// ENOSYS when the kernel side (ib_uverbs) is missing.
	Devices() ([]string, error)
	// Open opens a device that Devices named.
	Open(name string) (Device, error)
	Close() error
}

// Device is an opened device (struct ibv_context) and its protection domain.
type Device interface {
	Attr() (DeviceAttr, error)
	Port(port int) (PortAttr, error)
	// Register sets up size bytes that the device may read and write, also on behalf of a peer;
	// with atomics it may also do atomic operations on them.
	Register(size int, atomics bool) (Region, error)
	// NewQP creates a reliable connected queue pair with its own completion queue.
	NewQP(cfg QPConfig) (QP, error)
	// Close frees what the device still holds. Regions and queue pairs go first.
	Close() error
}

// Region is registered memory (struct ibv_mr).
type Region interface {
	Bytes() []byte
	Addr() uint64 // address of the first byte, as the device knows it
	LKey() uint32
	RKey() uint32
	Close() error
}

// QP is a queue pair with its completion queue. It may be used by one goroutine at a time.
type QP interface {
	Num() uint32
	MaxInline() int // bytes that a send work request may carry in itself
	// Init, ReadyToReceive and ReadyToSend take the queue pair through its states.
	Init(port, pkeyIndex int) error
	ReadyToReceive(path Path) error
	ReadyToSend(rel Reliability) error
	PostSend(wr *SendWR) error
	PostRecv(wr *RecvWR) error
	// Poll takes up to len(wc) completions, without waiting.
	Poll(wc []WC) (int, error)
	Close() error
}

// QPConfig is what a queue pair is created with.
type QPConfig struct {
	SendDepth, RecvDepth int  // work requests
	Inline               int  // bytes of inline data wished for; less may be given
	Atomics              bool // allow a peer's atomic operations
}

// Path is where the peer of a queue pair is and how it is reached.
type Path struct {
	Port       int
	MTU        MTU
	DestQPNum  uint32
	PSN        uint32 // of the first packet to receive
	DestRdAtom int    // reads and atomics that this side answers at a time
	// Global paths (RoCE) go by GID, others by LID.
	Global    bool
	DGID      [16]byte
	SGIDIndex int
	LID       uint16
}

// Reliability is how a queue pair insists.
type Reliability struct {
	PSN      uint32 // of the first packet to send
	Timeout  int    // 4.096 us << Timeout
	Retry    int    // 0 to 7
	RNRRetry int    // 0 to 7, 7 without end
	RdAtom   int    // reads and atomics under way at a time
}

// SendWR is a send work request with one gather element.
type SendWR struct {
	ID         uint64
	Op         Opcode
	Addr       uint64
	Length     uint32
	LKey       uint32
	RemoteAddr uint64
	RKey       uint32
	CompareAdd uint64
	Swap       uint64
	Inline     bool
}

// RecvWR is a receive work request with one scatter element.
type RecvWR struct {
	ID     uint64
	Addr   uint64
	Length uint32
	LKey   uint32
}

// WC is a work completion. After a failure only ID, Status, VendorErr and QPNum have a meaning.
type WC struct {
	ID        uint64
	Status    WCStatus
	Opcode    WCOpcode
	VendorErr uint32
	ByteLen   uint32
	QPNum     uint32
}

// DeviceAttr is the part of struct ibv_device_attr that a loopback needs.
type DeviceAttr struct {
	Firmware      string
	VendorID      uint32
	VendorPartID  uint32
	MaxQPWR       int
	MaxCQE        int
	MaxQPRdAtom   int
	MaxInitRdAtom int
	AtomicCap     AtomicCap
	Ports         int
}

// PortAttr is the part of struct ibv_port_attr that a loopback needs.
type PortAttr struct {
	State     PortState
	ActiveMTU MTU
	MaxMsgSz  uint32
	LID       uint16
	LinkLayer LinkLayer
}

// Bytes returns the MTU in bytes, 0 for a code that is not known.
func (m MTU) Bytes() int {
	if m < MTU256 || m > MTU4096 {
		return 0
	}
	return 256 << (m - MTU256)
}

// String returns the state as sysfs writes it.
func (s PortState) String() string {
	switch s {
	case PortDown:
		return "DOWN"
	case PortInit:
		return "INIT"
	case PortArmed:
		return "ARMED"
	case PortActive:
		return "ACTIVE"
	case PortActiveDefer:
		return "ACTIVE_DEFER"
	default:
		return fmt.Sprintf("state %d", uint32(s))
	}
}

// String returns the opcode's name in the specification's words.
func (o Opcode) String() string {
	switch o {
	case OpWrite:
		return "RDMA WRITE"
	case OpSend:
		return "SEND"
	case OpRead:
		return "RDMA READ"
	case OpCmpSwap:
		return "CMP_AND_SWP"
	case OpFetchAdd:
		return "FETCH_AND_ADD"
	default:
		return fmt.Sprintf("opcode %d", uint32(o))
	}
}

// String returns what ibv_wc_status_str says, with the name of the constant.
func (s WCStatus) String() string {
	names := [...]string{
		"success (IBV_WC_SUCCESS)",
		"local length error (IBV_WC_LOC_LEN_ERR)",
		"local QP operation error (IBV_WC_LOC_QP_OP_ERR)",
		"local EE context operation error (IBV_WC_LOC_EEC_OP_ERR)",
		"local protection error (IBV_WC_LOC_PROT_ERR)",
		"Work Request Flushed Error (IBV_WC_WR_FLUSH_ERR)",
		"memory management operation error (IBV_WC_MW_BIND_ERR)",
		"bad response error (IBV_WC_BAD_RESP_ERR)",
		"local access error (IBV_WC_LOC_ACCESS_ERR)",
		"remote invalid request error (IBV_WC_REM_INV_REQ_ERR)",
		"remote access error (IBV_WC_REM_ACCESS_ERR)",
		"remote operation error (IBV_WC_REM_OP_ERR)",
		"transport retry counter exceeded (IBV_WC_RETRY_EXC_ERR)",
		"RNR retry counter exceeded (IBV_WC_RNR_RETRY_EXC_ERR)",
		"local RDD violation error (IBV_WC_LOC_RDD_VIOL_ERR)",
		"remote invalid RD request (IBV_WC_REM_INV_RD_REQ_ERR)",
		"aborted error (IBV_WC_REM_ABORT_ERR)",
		"invalid EE context number (IBV_WC_INV_EECN_ERR)",
		"invalid EE context state (IBV_WC_INV_EEC_STATE_ERR)",
		"fatal error (IBV_WC_FATAL_ERR)",
		"response timeout error (IBV_WC_RESP_TIMEOUT_ERR)",
		"general error (IBV_WC_GENERAL_ERR)",
	}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("status %d", uint32(s))
}
