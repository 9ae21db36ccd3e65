package ibv

// The public ABI of libibverbs.so.1: sizes, offsets and constants of <infiniband/verbs.h>.
//
// One set serves amd64 and arm64: the two differ only behind the first pthread_mutex_t of a
// structure, and nothing below lies there. It was compared with rdma-core 44 and 65 and with the
// rdma-core of MLNX_OFED 5.9. The comment at the end of each line is the C expression that the
// constant stands for; the package's ABI test compiles every one of them against the installed
// header and compares. Nothing of the private (provider) ABI is used.

// offset is a distance in bytes from the start of a C structure.
type offset uintptr

// Sizes in bytes.
const (
	sizeSendWR     = 128 // sizeof(struct ibv_send_wr)
	sizeRecvWR     = 32  // sizeof(struct ibv_recv_wr)
	sizeSGE        = 16  // sizeof(struct ibv_sge)
	sizeWC         = 48  // sizeof(struct ibv_wc)
	sizeQPAttr     = 144 // sizeof(struct ibv_qp_attr)
	sizeQPInitAttr = 64  // sizeof(struct ibv_qp_init_attr)
	sizePointer    = 8   // sizeof(void *)
)

// Sizes of the zeroed buffers that the library fills. They are larger than any known version of the
// structure, because the structures grow: ibv_port_attr has 52 bytes in rdma-core 44, 56 in 65.
const (
	roomPortAttr   = 128
	roomDeviceAttr = 512
)

// struct ibv_context. Each operation lies at ops + its place in struct ibv_context_ops.
const (
	offContextDevice   offset = 0   // offsetof(struct ibv_context, device)
	offContextPollCQ   offset = 96  // offsetof(struct ibv_context, ops.poll_cq)
	offContextPostSend offset = 208 // offsetof(struct ibv_context, ops.post_send)
	offContextPostRecv offset = 216 // offsetof(struct ibv_context, ops.post_recv)
)

// struct ibv_device.
const (
	offDeviceDevName offset = 88 // offsetof(struct ibv_device, dev_name)
)

// struct ibv_pd, ibv_cq, ibv_qp, ibv_mr.
const (
	offPDContext offset = 0  // offsetof(struct ibv_pd, context)
	offCQContext offset = 0  // offsetof(struct ibv_cq, context)
	offQPContext offset = 0  // offsetof(struct ibv_qp, context)
	offQPPD      offset = 16 // offsetof(struct ibv_qp, pd)
	offQPNum     offset = 52 // offsetof(struct ibv_qp, qp_num)
	offQPType    offset = 60 // offsetof(struct ibv_qp, qp_type)
	offMRContext offset = 0  // offsetof(struct ibv_mr, context)
	offMRAddr    offset = 16 // offsetof(struct ibv_mr, addr)
	offMRLength  offset = 24 // offsetof(struct ibv_mr, length)
	offMRLKey    offset = 36 // offsetof(struct ibv_mr, lkey)
	offMRRKey    offset = 40 // offsetof(struct ibv_mr, rkey)
)

// struct ibv_device_attr.
const (
	offDeviceAttrFirmware      offset = 0   // offsetof(struct ibv_device_attr, fw_ver)
	offDeviceAttrVendorID      offset = 96  // offsetof(struct ibv_device_attr, vendor_id)
	offDeviceAttrVendorPartID  offset = 100 // offsetof(struct ibv_device_attr, vendor_part_id)
	offDeviceAttrMaxQPWR       offset = 112 // offsetof(struct ibv_device_attr, max_qp_wr)
	offDeviceAttrMaxCQE        offset = 132 // offsetof(struct ibv_device_attr, max_cqe)
	offDeviceAttrMaxQPRdAtom   offset = 144 // offsetof(struct ibv_device_attr, max_qp_rd_atom)
	offDeviceAttrMaxInitRdAtom offset = 156 // offsetof(struct ibv_device_attr, max_qp_init_rd_atom)
	offDeviceAttrAtomicCap     offset = 164 // offsetof(struct ibv_device_attr, atomic_cap)
	offDeviceAttrPhysPortCount offset = 227 // offsetof(struct ibv_device_attr, phys_port_cnt)
	sizeDeviceAttrFirmware            = 64  // sizeof(((struct ibv_device_attr *)0)->fw_ver)
)

// struct ibv_port_attr.
const (
	offPortAttrState     offset = 0  // offsetof(struct ibv_port_attr, state)
	offPortAttrActiveMTU offset = 8  // offsetof(struct ibv_port_attr, active_mtu)
	offPortAttrMaxMsgSz  offset = 20 // offsetof(struct ibv_port_attr, max_msg_sz)
	offPortAttrLID       offset = 34 // offsetof(struct ibv_port_attr, lid)
	offPortAttrLinkLayer offset = 46 // offsetof(struct ibv_port_attr, link_layer)
)

// struct ibv_qp_init_attr, with its struct ibv_qp_cap.
const (
	offInitAttrSendCQ    offset = 8  // offsetof(struct ibv_qp_init_attr, send_cq)
	offInitAttrRecvCQ    offset = 16 // offsetof(struct ibv_qp_init_attr, recv_cq)
	offInitAttrMaxSendWR offset = 32 // offsetof(struct ibv_qp_init_attr, cap.max_send_wr)
	offInitAttrMaxRecvWR offset = 36 // offsetof(struct ibv_qp_init_attr, cap.max_recv_wr)
	offInitAttrMaxSSGE   offset = 40 // offsetof(struct ibv_qp_init_attr, cap.max_send_sge)
	offInitAttrMaxRSGE   offset = 44 // offsetof(struct ibv_qp_init_attr, cap.max_recv_sge)
	offInitAttrMaxInline offset = 48 // offsetof(struct ibv_qp_init_attr, cap.max_inline_data)
	offInitAttrQPType    offset = 52 // offsetof(struct ibv_qp_init_attr, qp_type)
)

// struct ibv_qp_attr, with its struct ibv_ah_attr and struct ibv_global_route.
const (
	offQPAttrState         offset = 0   // offsetof(struct ibv_qp_attr, qp_state)
	offQPAttrPathMTU       offset = 8   // offsetof(struct ibv_qp_attr, path_mtu)
	offQPAttrRQPSN         offset = 20  // offsetof(struct ibv_qp_attr, rq_psn)
	offQPAttrSQPSN         offset = 24  // offsetof(struct ibv_qp_attr, sq_psn)
	offQPAttrDestQPNum     offset = 28  // offsetof(struct ibv_qp_attr, dest_qp_num)
	offQPAttrAccess        offset = 32  // offsetof(struct ibv_qp_attr, qp_access_flags)
	offQPAttrDGID          offset = 56  // offsetof(struct ibv_qp_attr, ah_attr.grh.dgid)
	offQPAttrSGIDIndex     offset = 76  // offsetof(struct ibv_qp_attr, ah_attr.grh.sgid_index)
	offQPAttrHopLimit      offset = 77  // offsetof(struct ibv_qp_attr, ah_attr.grh.hop_limit)
	offQPAttrDLID          offset = 80  // offsetof(struct ibv_qp_attr, ah_attr.dlid)
	offQPAttrIsGlobal      offset = 85  // offsetof(struct ibv_qp_attr, ah_attr.is_global)
	offQPAttrAHPort        offset = 86  // offsetof(struct ibv_qp_attr, ah_attr.port_num)
	offQPAttrPKeyIndex     offset = 120 // offsetof(struct ibv_qp_attr, pkey_index)
	offQPAttrMaxRdAtomic   offset = 126 // offsetof(struct ibv_qp_attr, max_rd_atomic)
	offQPAttrMaxDestRdAtom offset = 127 // offsetof(struct ibv_qp_attr, max_dest_rd_atomic)
	offQPAttrMinRNRTimer   offset = 128 // offsetof(struct ibv_qp_attr, min_rnr_timer)
	offQPAttrPort          offset = 129 // offsetof(struct ibv_qp_attr, port_num)
	offQPAttrTimeout       offset = 130 // offsetof(struct ibv_qp_attr, timeout)
	offQPAttrRetryCount    offset = 131 // offsetof(struct ibv_qp_attr, retry_cnt)
	offQPAttrRNRRetry      offset = 132 // offsetof(struct ibv_qp_attr, rnr_retry)
)

// struct ibv_send_wr, ibv_recv_wr, ibv_sge.
const (
	offSendID           offset = 0  // offsetof(struct ibv_send_wr, wr_id)
	offSendSGList       offset = 16 // offsetof(struct ibv_send_wr, sg_list)
	offSendNumSGE       offset = 24 // offsetof(struct ibv_send_wr, num_sge)
	offSendOpcode       offset = 28 // offsetof(struct ibv_send_wr, opcode)
	offSendFlags        offset = 32 // offsetof(struct ibv_send_wr, send_flags)
	offSendRDMAAddr     offset = 40 // offsetof(struct ibv_send_wr, wr.rdma.remote_addr)
	offSendRDMARKey     offset = 48 // offsetof(struct ibv_send_wr, wr.rdma.rkey)
	offSendAtomicAddr   offset = 40 // offsetof(struct ibv_send_wr, wr.atomic.remote_addr)
	offSendAtomicCmpAdd offset = 48 // offsetof(struct ibv_send_wr, wr.atomic.compare_add)
	offSendAtomicSwap   offset = 56 // offsetof(struct ibv_send_wr, wr.atomic.swap)
	offSendAtomicRKey   offset = 64 // offsetof(struct ibv_send_wr, wr.atomic.rkey)

	offRecvID     offset = 0  // offsetof(struct ibv_recv_wr, wr_id)
	offRecvSGList offset = 16 // offsetof(struct ibv_recv_wr, sg_list)
	offRecvNumSGE offset = 24 // offsetof(struct ibv_recv_wr, num_sge)

	offSGEAddr   offset = 0  // offsetof(struct ibv_sge, addr)
	offSGELength offset = 8  // offsetof(struct ibv_sge, length)
	offSGELKey   offset = 12 // offsetof(struct ibv_sge, lkey)
)

// struct ibv_wc.
const (
	offWCID        offset = 0  // offsetof(struct ibv_wc, wr_id)
	offWCStatus    offset = 8  // offsetof(struct ibv_wc, status)
	offWCOpcode    offset = 12 // offsetof(struct ibv_wc, opcode)
	offWCVendorErr offset = 16 // offsetof(struct ibv_wc, vendor_err)
	offWCByteLen   offset = 20 // offsetof(struct ibv_wc, byte_len)
	offWCQPNum     offset = 28 // offsetof(struct ibv_wc, qp_num)
)

// qpType, qpState and the masks of ibv_modify_qp.
const (
	qpTypeRC = 2 // IBV_QPT_RC

	qpStateInit = 1 // IBV_QPS_INIT
	qpStateRTR  = 2 // IBV_QPS_RTR
	qpStateRTS  = 3 // IBV_QPS_RTS

	maskState          = 1       // IBV_QP_STATE
	maskAccess         = 8       // IBV_QP_ACCESS_FLAGS
	maskPKeyIndex      = 16      // IBV_QP_PKEY_INDEX
	maskPort           = 32      // IBV_QP_PORT
	maskAV             = 128     // IBV_QP_AV
	maskPathMTU        = 256     // IBV_QP_PATH_MTU
	maskTimeout        = 512     // IBV_QP_TIMEOUT
	maskRetryCount     = 1024    // IBV_QP_RETRY_CNT
	maskRNRRetry       = 2048    // IBV_QP_RNR_RETRY
	maskRQPSN          = 4096    // IBV_QP_RQ_PSN
	maskMaxRdAtomic    = 8192    // IBV_QP_MAX_QP_RD_ATOMIC
	maskMinRNRTimer    = 32768   // IBV_QP_MIN_RNR_TIMER
	maskSQPSN          = 65536   // IBV_QP_SQ_PSN
	maskMaxDestRdAtom  = 131072  // IBV_QP_MAX_DEST_RD_ATOMIC
	maskDestQPNum      = 1048576 // IBV_QP_DEST_QPN
	accessLocalWrite   = 1       // IBV_ACCESS_LOCAL_WRITE
	accessRemoteWrite  = 2       // IBV_ACCESS_REMOTE_WRITE
	accessRemoteRead   = 4       // IBV_ACCESS_REMOTE_READ
	accessRemoteAtomic = 8       // IBV_ACCESS_REMOTE_ATOMIC
	sendSignaled       = 2       // IBV_SEND_SIGNALED
	sendInline         = 8       // IBV_SEND_INLINE
)

// Opcode is what a send work request asks for.
type Opcode uint32

// The opcodes.
const (
	OpWrite    Opcode = 0 // IBV_WR_RDMA_WRITE
	OpSend     Opcode = 2 // IBV_WR_SEND
	OpRead     Opcode = 4 // IBV_WR_RDMA_READ
	OpCmpSwap  Opcode = 5 // IBV_WR_ATOMIC_CMP_AND_SWP
	OpFetchAdd Opcode = 6 // IBV_WR_ATOMIC_FETCH_AND_ADD
)

// WCOpcode is what a work completion is about.
type WCOpcode uint32

// The completion opcodes. They are valid only in a successful completion.
const (
	WCSend     WCOpcode = 0   // IBV_WC_SEND
	WCWrite    WCOpcode = 1   // IBV_WC_RDMA_WRITE
	WCRead     WCOpcode = 2   // IBV_WC_RDMA_READ
	WCCompSwap WCOpcode = 3   // IBV_WC_COMP_SWAP
	WCFetchAdd WCOpcode = 4   // IBV_WC_FETCH_ADD
	WCRecv     WCOpcode = 128 // IBV_WC_RECV
)

// PortState is the logical state of a port.
type PortState uint32

// The port states.
const (
	PortDown        PortState = 1 // IBV_PORT_DOWN
	PortInit        PortState = 2 // IBV_PORT_INIT
	PortArmed       PortState = 3 // IBV_PORT_ARMED
	PortActive      PortState = 4 // IBV_PORT_ACTIVE
	PortActiveDefer PortState = 5 // IBV_PORT_ACTIVE_DEFER
)

// LinkLayer is what runs on the wire.
type LinkLayer uint8

// The link layers.
const (
	LinkUnspecified LinkLayer = 0 // IBV_LINK_LAYER_UNSPECIFIED
	LinkInfiniBand  LinkLayer = 1 // IBV_LINK_LAYER_INFINIBAND
	LinkEthernet    LinkLayer = 2 // IBV_LINK_LAYER_ETHERNET
)

// MTU is the coded path MTU: 256 bytes shifted left by MTU - 1.
type MTU uint32

// The MTUs.
const (
	MTU256  MTU = 1 // IBV_MTU_256
	MTU512  MTU = 2 // IBV_MTU_512
	MTU1024 MTU = 3 // IBV_MTU_1024
	MTU2048 MTU = 4 // IBV_MTU_2048
	MTU4096 MTU = 5 // IBV_MTU_4096
)

// AtomicCap is the scope within which a device's atomics are atomic.
type AtomicCap uint32

// The atomic capabilities.
const (
	AtomicNone AtomicCap = 0 // IBV_ATOMIC_NONE
	AtomicHCA  AtomicCap = 1 // IBV_ATOMIC_HCA
	AtomicGlob AtomicCap = 2 // IBV_ATOMIC_GLOB
)

// WCStatus tells how a work request ended.
type WCStatus uint32

// The completion statuses.
const (
	WCSuccess        WCStatus = 0  // IBV_WC_SUCCESS
	WCLocLenErr      WCStatus = 1  // IBV_WC_LOC_LEN_ERR
	WCLocQPOpErr     WCStatus = 2  // IBV_WC_LOC_QP_OP_ERR
	WCLocEECOpErr    WCStatus = 3  // IBV_WC_LOC_EEC_OP_ERR
	WCLocProtErr     WCStatus = 4  // IBV_WC_LOC_PROT_ERR
	WCWRFlushErr     WCStatus = 5  // IBV_WC_WR_FLUSH_ERR
	WCMWBindErr      WCStatus = 6  // IBV_WC_MW_BIND_ERR
	WCBadRespErr     WCStatus = 7  // IBV_WC_BAD_RESP_ERR
	WCLocAccessErr   WCStatus = 8  // IBV_WC_LOC_ACCESS_ERR
	WCRemInvReqErr   WCStatus = 9  // IBV_WC_REM_INV_REQ_ERR
	WCRemAccessErr   WCStatus = 10 // IBV_WC_REM_ACCESS_ERR
	WCRemOpErr       WCStatus = 11 // IBV_WC_REM_OP_ERR
	WCRetryExcErr    WCStatus = 12 // IBV_WC_RETRY_EXC_ERR
	WCRNRRetryExcErr WCStatus = 13 // IBV_WC_RNR_RETRY_EXC_ERR
	WCLocRDDViolErr  WCStatus = 14 // IBV_WC_LOC_RDD_VIOL_ERR
	WCRemInvRDReqErr WCStatus = 15 // IBV_WC_REM_INV_RD_REQ_ERR
	WCRemAbortErr    WCStatus = 16 // IBV_WC_REM_ABORT_ERR
	WCInvEECNErr     WCStatus = 17 // IBV_WC_INV_EECN_ERR
	WCInvEECStateErr WCStatus = 18 // IBV_WC_INV_EEC_STATE_ERR
	WCFatalErr       WCStatus = 19 // IBV_WC_FATAL_ERR
	WCRespTimeoutErr WCStatus = 20 // IBV_WC_RESP_TIMEOUT_ERR
	WCGeneralErr     WCStatus = 21 // IBV_WC_GENERAL_ERR
)
