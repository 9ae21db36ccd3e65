package verbs

import (
	"encoding/binary"
	"errors"
	"syscall"
	"time"

	"github.com/rdmactl/rdmactl/verbs/internal/ibv"
)

// fakeLib is a libibverbs in memory. Its traffic is real, byte for byte, between its queue pairs; its
// fields inject failures.
type fakeLib struct {
	info      ibv.Info
	names     []string
	loadErr   error
	listErr   error
	openErr   error
	regErr    error
	qpErr     error
	rtrErr    error
	closeErr  error
	attr      ibv.DeviceAttr
	portAttrs map[int]ibv.PortAttr
	// status is how each request ends that op selects.
	status map[ibv.Opcode]ibv.WCStatus
	// silent requests never complete.
	silent map[ibv.Opcode]bool
	// damage changes the destination after a transfer.
	damage func(op ibv.Opcode, dst []byte)
	// misplace moves where a transfer writes to, in bytes.
	misplace int
	// recvLen is added to the length that a receive reports.
	recvLen int
	// slow is how long the completion of a send stays away.
	slow time.Duration
	// lost transfers complete without moving a byte.
	lost map[ibv.Opcode]bool
	// scribble makes a transfer change its source.
	scribble bool
	// wrongOpcode makes sends complete as receives.
	wrongOpcode bool
	// skipID makes completions name another request.
	skipID uint64

	nextQP  uint32
	nextKey uint32
	qps     map[uint32]*fakeQP
	regions map[uint32]*fakeRegion
	paths   []ibv.Path
	pkeys   []int // indexes that queue pairs were set up with
	open    int   // objects that were not closed
}

func newFakeLib() *fakeLib {
	return &fakeLib{
		info:  ibv.Info{Path: "/usr/lib64/libibverbs.so.1.14.44.0", PrivateABI: 34},
		names: []string{"rxe0"},
		attr: ibv.DeviceAttr{
			Firmware: "0.0.0", MaxQPWR: 64, MaxCQE: 1024, MaxQPRdAtom: 4, MaxInitRdAtom: 4,
			AtomicCap: ibv.AtomicHCA, Ports: 1,
		},
		portAttrs: map[int]ibv.PortAttr{1: rocePort(ibv.PortActive)},
		status:    map[ibv.Opcode]ibv.WCStatus{},
		silent:    map[ibv.Opcode]bool{},
		lost:      map[ibv.Opcode]bool{},
		nextQP:    16,
		nextKey:   0x100,
		qps:       map[uint32]*fakeQP{},
		regions:   map[uint32]*fakeRegion{},
	}
}

func rocePort(state ibv.PortState) ibv.PortAttr {
	return ibv.PortAttr{State: state, ActiveMTU: ibv.MTU1024, MaxMsgSz: 1 << 30, LinkLayer: ibv.LinkEthernet}
}

func ibPort(state ibv.PortState, lid uint16) ibv.PortAttr {
	return ibv.PortAttr{State: state, ActiveMTU: ibv.MTU4096, MaxMsgSz: 1 << 30, LinkLayer: ibv.LinkInfiniBand, LID: lid}
}

func (l *fakeLib) load(int) (ibv.Lib, error) {
	if l.loadErr != nil {
		return nil, l.loadErr
	}
	return l, nil
}

func (l *fakeLib) Info() ibv.Info             { return l.info }
func (l *fakeLib) Devices() ([]string, error) { return l.names, l.listErr }
func (l *fakeLib) Close() error               { return nil }

func (l *fakeLib) Open(name string) (ibv.Device, error) {
	if l.openErr != nil {
		return nil, &ibv.CallError{Call: "ibv_open_device", Errno: errno(l.openErr)}
	}
	l.open++
	return &fakeDevice{l}, nil
}

func errno(err error) syscall.Errno {
	var e syscall.Errno
	if !errors.As(err, &e) {
		panic("not an errno")
	}
	return e
}

type fakeDevice struct{ *fakeLib }

func (d *fakeDevice) Attr() (ibv.DeviceAttr, error) { return d.attr, nil }

func (d *fakeDevice) Port(n int) (ibv.PortAttr, error) {
	p, ok := d.portAttrs[n]
	if !ok {
		return ibv.PortAttr{}, &ibv.CallError{Call: "ibv_query_port", Errno: syscall.EINVAL}
	}
	return p, nil
}

func (d *fakeDevice) Register(size int, _ bool) (ibv.Region, error) {
	if d.regErr != nil {
		return nil, &ibv.CallError{Call: "ibv_reg_mr", Errno: errno(d.regErr)}
	}
	d.nextKey++
	r := &fakeRegion{lib: d.fakeLib, mem: make([]byte, size), key: d.nextKey, base: uint64(d.nextKey) << 32}
	d.regions[r.key] = r
	d.open++
	return r, nil
}

func (d *fakeDevice) NewQP(cfg ibv.QPConfig) (ibv.QP, error) {
	if d.qpErr != nil {
		return nil, &ibv.CallError{Call: "ibv_create_qp", Errno: errno(d.qpErr)}
	}
	d.nextQP++
	q := &fakeQP{lib: d.fakeLib, num: d.nextQP, cfg: cfg}
	d.qps[q.num] = q
	d.open++
	return q, nil
}

func (d *fakeDevice) Close() error {
	d.open--
	if d.closeErr != nil {
		return &ibv.CallError{Call: "ibv_close_device", Errno: errno(d.closeErr)}
	}
	return nil
}

type fakeRegion struct {
	lib  *fakeLib
	mem  []byte
	key  uint32
	base uint64
}

func (r *fakeRegion) Bytes() []byte { return r.mem }
func (r *fakeRegion) Addr() uint64  { return r.base }
func (r *fakeRegion) LKey() uint32  { return r.key }
func (r *fakeRegion) RKey() uint32  { return r.key }

func (r *fakeRegion) Close() error {
	r.lib.open--
	delete(r.lib.regions, r.key)
	return nil
}

// fakeQP executes a request when it is posted.
type fakeQP struct {
	lastSend time.Time
	lib      *fakeLib
	num      uint32
	cfg      ibv.QPConfig
	state    int // 0 reset, 1 init, 2 ready to receive, 3 ready to send
	path     ibv.Path
	recvs    []ibv.RecvWR
	wcs      []ibv.WC
	sends    int // not yet polled
}

func (q *fakeQP) Num() uint32    { return q.num }
func (q *fakeQP) MaxInline() int { return q.cfg.Inline }

func (q *fakeQP) step(from int) error {
	if q.state != from {
		return &ibv.CallError{Call: "ibv_modify_qp", Errno: syscall.EINVAL}
	}
	q.state++
	return nil
}

func (q *fakeQP) Init(_, pkeyIndex int) error {
	q.lib.pkeys = append(q.lib.pkeys, pkeyIndex)
	return q.step(0)
}

func (q *fakeQP) ReadyToReceive(p ibv.Path) error {
	if q.lib.rtrErr != nil {
		return &ibv.CallError{Call: "ibv_modify_qp", Errno: errno(q.lib.rtrErr)}
	}
	q.path = p
	q.lib.paths = append(q.lib.paths, p)
	return q.step(1)
}

func (q *fakeQP) ReadyToSend(ibv.Reliability) error { return q.step(2) }

func (q *fakeQP) PostRecv(wr *ibv.RecvWR) error {
	if len(q.recvs) >= q.cfg.RecvDepth {
		return &ibv.CallError{Call: "ibv_post_recv", Errno: syscall.ENOMEM}
	}
	q.recvs = append(q.recvs, *wr)
	return nil
}

// at is the memory that a key and an address name.
func (l *fakeLib) at(key uint32, addr uint64, n uint32) ([]byte, bool) {
	r, ok := l.regions[key]
	if !ok || addr < r.base || addr+uint64(n) > r.base+uint64(len(r.mem)) {
		return nil, false
	}
	return r.mem[addr-r.base:][:n], true
}

func (q *fakeQP) PostSend(wr *ibv.SendWR) error {
	if q.state != 3 {
		return &ibv.CallError{Call: "ibv_post_send", Errno: syscall.EINVAL}
	}
	if q.sends >= q.cfg.SendDepth {
		return &ibv.CallError{Call: "ibv_post_send", Errno: syscall.ENOMEM}
	}
	if q.lib.silent[wr.Op] {
		return nil
	}
	wc := ibv.WC{ID: wr.ID, QPNum: q.num, Status: q.lib.status[wr.Op]}
	if wc.Status == ibv.WCSuccess {
		wc.Status, wc.Opcode = q.execute(wr)
	}
	if q.lib.wrongOpcode {
		wc.Opcode = ibv.WCRecv
	}
	wc.ID += q.lib.skipID
	q.sends++
	q.lastSend = time.Now()
	q.wcs = append(q.wcs, wc)
	return nil
}

func (q *fakeQP) execute(wr *ibv.SendWR) (ibv.WCStatus, ibv.WCOpcode) {
	l := q.lib
	local, ok := l.at(wr.LKey, wr.Addr, wr.Length)
	if !ok {
		return ibv.WCLocProtErr, 0
	}
	peer := l.qps[q.path.DestQPNum]
	if wr.Op == ibv.OpSend {
		if len(peer.recvs) == 0 {
			return ibv.WCRNRRetryExcErr, 0
		}
		recv := peer.recvs[0]
		peer.recvs = peer.recvs[1:]
		dst, ok := l.at(recv.LKey, recv.Addr+uint64(l.misplace), wr.Length)
		if !ok || recv.Length < wr.Length {
			return ibv.WCRemOpErr, 0
		}
		l.move(wr.Op, dst, local)
		peer.wcs = append(peer.wcs, ibv.WC{ID: recv.ID, Opcode: ibv.WCRecv, ByteLen: wr.Length + uint32(l.recvLen), QPNum: peer.num})
		return ibv.WCSuccess, ibv.WCSend
	}
	remote, ok := l.at(wr.RKey, wr.RemoteAddr, wr.Length)
	if !ok {
		return ibv.WCRemAccessErr, 0
	}
	switch wr.Op {
	case ibv.OpWrite:
		if l.misplace != 0 {
			remote, _ = l.at(wr.RKey, wr.RemoteAddr+uint64(l.misplace), wr.Length)
		}
		l.move(wr.Op, remote, local)
		return ibv.WCSuccess, ibv.WCWrite
	case ibv.OpRead:
		l.move(wr.Op, local, remote)
		return ibv.WCSuccess, ibv.WCRead
	}
	old := binary.NativeEndian.Uint64(remote)
	binary.NativeEndian.PutUint64(local, old)
	opcode := ibv.WCFetchAdd
	if wr.Op == ibv.OpCmpSwap {
		opcode = ibv.WCCompSwap
		if old == wr.CompareAdd {
			binary.NativeEndian.PutUint64(remote, wr.Swap)
		}
	} else {
		binary.NativeEndian.PutUint64(remote, old+wr.CompareAdd)
	}
	if l.damage != nil {
		l.damage(wr.Op, remote)
	}
	return ibv.WCSuccess, opcode
}

func (l *fakeLib) move(op ibv.Opcode, dst, src []byte) {
	if !l.lost[op] {
		copy(dst, src)
	}
	if l.scribble {
		src[0] ^= 1
	}
	if l.damage != nil {
		l.damage(op, dst)
	}
}

func (q *fakeQP) Poll(wc []ibv.WC) (int, error) {
	if len(q.wcs) > 0 && q.wcs[0].ID>>idKind != kindRecv && time.Since(q.lastSend) < q.lib.slow {
		return 0, nil
	}
	n := copy(wc, q.wcs)
	for _, c := range q.wcs[:n] {
		if c.ID>>idKind != kindRecv {
			q.sends--
		}
	}
	q.wcs = q.wcs[n:]
	return n, nil
}

func (q *fakeQP) Close() error {
	q.lib.open--
	delete(q.lib.qps, q.num)
	return nil
}
