//go:build linux && (amd64 || arm64) && !noverbs

package ibv

import (
	"errors"
	"fmt"
)

// pollBatch is the number of completions that one call of ibv_poll_cq may bring.
const pollBatch = 16

// qp is a struct ibv_qp with a struct ibv_cq for both of its queues.
type qp struct {
	dev     *device
	qp, cq  uintptr
	atomics bool
	inline  int
	num     uint32
	attr    block // struct ibv_qp_attr
	send    block // struct ibv_send_wr, then its struct ibv_sge
	recv    block // struct ibv_recv_wr, then its struct ibv_sge
	bad     block // where a failing post leaves the request
	wc      block // pollBatch times struct ibv_wc
	sendSGE block
	recvSGE block
}

func (d *device) NewQP(cfg QPConfig) (QP, error) {
	q := &qp{dev: d, atomics: cfg.Atomics}
	init, err := q.reserve()
	if err != nil {
		return nil, err
	}
	cq, errno := d.lib.callPtr(d.lib.sym.createCQ, d.ctx, uintptr(cfg.SendDepth+cfg.RecvDepth), 0, 0, 0)
	if cq == 0 {
		return nil, &CallError{Call: "ibv_create_cq", Errno: errno}
	}
	q.cq = cq
	if peekPtr(cq, offCQContext) != d.ctx {
		return nil, fmt.Errorf("%w: the completion queue is not of the opened device", ErrABI)
	}
	// Inline data is a wish: a device that has none refuses the queue pair, so it is tried without.
	inlines := []int{cfg.Inline, 0}
	if cfg.Inline == 0 {
		inlines = inlines[1:]
	}
	for _, inline := range inlines {
		clear(init.mem)
		init.putPtr(offInitAttrSendCQ, cq)
		init.putPtr(offInitAttrRecvCQ, cq)
		init.put32(offInitAttrMaxSendWR, cfg.SendDepth)
		init.put32(offInitAttrMaxRecvWR, cfg.RecvDepth)
		init.put32(offInitAttrMaxSSGE, 1)
		init.put32(offInitAttrMaxRSGE, 1)
		init.put32(offInitAttrMaxInline, inline)
		init.put32(offInitAttrQPType, qpTypeRC)
		q.qp, errno = d.lib.callPtr(d.lib.sym.createQP, d.pd, init.addr)
		if q.qp != 0 {
			break
		}
	}
	if q.qp == 0 {
		return nil, errors.Join(&CallError{Call: "ibv_create_qp", Errno: errno}, q.Close())
	}
	if peekPtr(q.qp, offQPContext) != d.ctx || peekPtr(q.qp, offQPPD) != d.pd || peek32(q.qp, offQPType) != qpTypeRC {
		return nil, fmt.Errorf("%w: the queue pair does not describe what was created", ErrABI)
	}
	q.num = peek32(q.qp, offQPNum)
	q.inline = int(init.u32(offInitAttrMaxInline))
	return q, nil
}

// reserve takes the queue pair's control structures from the arena and returns the initial
// attributes.
func (q *qp) reserve() (init block, err error) {
	for _, want := range []struct {
		to   *block
		size int
	}{
		{&init, sizeQPInitAttr},
		{&q.attr, sizeQPAttr},
		{&q.send, sizeSendWR},
		{&q.sendSGE, sizeSGE},
		{&q.recv, sizeRecvWR},
		{&q.recvSGE, sizeSGE},
		{&q.bad, sizePointer},
		{&q.wc, pollBatch * sizeWC},
	} {
		if *want.to, err = q.dev.lib.arena.alloc(want.size, arenaAlign); err != nil {
			return block{}, err
		}
	}
	q.send.putPtr(offSendSGList, q.sendSGE.addr)
	q.send.put32(offSendNumSGE, 1)
	q.recv.putPtr(offRecvSGList, q.recvSGE.addr)
	q.recv.put32(offRecvNumSGE, 1)
	return init, nil
}

func (q *qp) Num() uint32    { return q.num }
func (q *qp) MaxInline() int { return q.inline }

func (q *qp) modify(mask int) error {
	return result("ibv_modify_qp", call(q.dev.lib.sym.modifyQP, q.qp, q.attr.addr, uintptr(mask)))
}

func (q *qp) Init(port, pkeyIndex int) error {
	clear(q.attr.mem)
	q.attr.put32(offQPAttrState, qpStateInit)
	q.attr.put16(offQPAttrPKeyIndex, pkeyIndex)
	q.attr.put8(offQPAttrPort, uint8(port))
	q.attr.put32(offQPAttrAccess, access(q.atomics))
	return q.modify(maskState | maskPKeyIndex | maskPort | maskAccess)
}

func (q *qp) ReadyToReceive(p Path) error {
	const (
		rnrTimer = 12 // 0.64 ms
		hopLimit = 64
	)
	clear(q.attr.mem)
	q.attr.put32(offQPAttrState, qpStateRTR)
	q.attr.putU32(offQPAttrPathMTU, uint32(p.MTU))
	q.attr.putU32(offQPAttrDestQPNum, p.DestQPNum)
	q.attr.putU32(offQPAttrRQPSN, p.PSN)
	q.attr.put8(offQPAttrMaxDestRdAtom, uint8(p.DestRdAtom))
	q.attr.put8(offQPAttrMinRNRTimer, rnrTimer)
	q.attr.put8(offQPAttrAHPort, uint8(p.Port))
	if p.Global {
		q.attr.put8(offQPAttrIsGlobal, 1)
		copy(q.attr.mem[offQPAttrDGID:][:len(p.DGID)], p.DGID[:])
		q.attr.put8(offQPAttrSGIDIndex, uint8(p.SGIDIndex))
		q.attr.put8(offQPAttrHopLimit, hopLimit)
	} else {
		q.attr.put16(offQPAttrDLID, int(p.LID))
	}
	return q.modify(maskState | maskAV | maskPathMTU | maskDestQPNum | maskRQPSN | maskMaxDestRdAtom | maskMinRNRTimer)
}

func (q *qp) ReadyToSend(r Reliability) error {
	clear(q.attr.mem)
	q.attr.put32(offQPAttrState, qpStateRTS)
	q.attr.putU32(offQPAttrSQPSN, r.PSN)
	q.attr.put8(offQPAttrTimeout, uint8(r.Timeout))
	q.attr.put8(offQPAttrRetryCount, uint8(r.Retry))
	q.attr.put8(offQPAttrRNRRetry, uint8(r.RNRRetry))
	q.attr.put8(offQPAttrMaxRdAtomic, uint8(r.RdAtom))
	return q.modify(maskState | maskSQPSN | maskTimeout | maskRetryCount | maskRNRRetry | maskMaxRdAtomic)
}

func (q *qp) PostSend(wr *SendWR) error {
	flags := uint32(sendSignaled)
	if wr.Inline {
		flags |= sendInline
	}
	s := q.send
	s.putU64(offSendID, wr.ID)
	s.putU32(offSendOpcode, uint32(wr.Op))
	s.putU32(offSendFlags, flags)
	switch wr.Op {
	case OpCmpSwap, OpFetchAdd:
		s.putU64(offSendAtomicAddr, wr.RemoteAddr)
		s.putU64(offSendAtomicCmpAdd, wr.CompareAdd)
		s.putU64(offSendAtomicSwap, wr.Swap)
		s.putU32(offSendAtomicRKey, wr.RKey)
	default:
		s.putU64(offSendRDMAAddr, wr.RemoteAddr)
		s.putU32(offSendRDMARKey, wr.RKey)
	}
	putSGE(q.sendSGE, wr.Addr, wr.Length, wr.LKey)
	return result("ibv_post_send", call(q.dev.postSend, q.qp, s.addr, q.bad.addr))
}

func (q *qp) PostRecv(wr *RecvWR) error {
	q.recv.putU64(offRecvID, wr.ID)
	putSGE(q.recvSGE, wr.Addr, wr.Length, wr.LKey)
	return result("ibv_post_recv", call(q.dev.postRecv, q.qp, q.recv.addr, q.bad.addr))
}

func putSGE(b block, addr uint64, length, lkey uint32) {
	b.putU64(offSGEAddr, addr)
	b.putU32(offSGELength, length)
	b.putU32(offSGELKey, lkey)
}

func (q *qp) Poll(wc []WC) (int, error) {
	want := min(len(wc), pollBatch)
	n := int(call(q.dev.pollCQ, q.cq, uintptr(want), q.wc.addr))
	if n < 0 {
		return 0, result("ibv_poll_cq", int32(n))
	}
	if n > want {
		return 0, fmt.Errorf("%w: ibv_poll_cq returned %d completions for %d", ErrABI, n, want)
	}
	for i := range n {
		b := block{mem: q.wc.mem[i*sizeWC:]}
		wc[i] = WC{
			ID:        b.u64(offWCID),
			Status:    WCStatus(b.u32(offWCStatus)),
			Opcode:    WCOpcode(b.u32(offWCOpcode)),
			VendorErr: b.u32(offWCVendorErr),
			ByteLen:   b.u32(offWCByteLen),
			QPNum:     b.u32(offWCQPNum),
		}
	}
	return n, nil
}

func (q *qp) Close() error {
	var err error
	if q.qp != 0 {
		err = result("ibv_destroy_qp", call(q.dev.lib.sym.destroyQP, q.qp))
		q.qp = 0
	}
	if q.cq != 0 {
		err = errors.Join(err, result("ibv_destroy_cq", call(q.dev.lib.sym.destroyCQ, q.cq)))
		q.cq = 0
	}
	return err
}
