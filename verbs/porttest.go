package verbs

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rdmactl/rdmactl/verbs/internal/ibv"
)

// portTest tests one port of an open device.
type portTest struct {
	*worker
	dev    ibv.Device
	attr   ibv.DeviceAttr
	device hostDevice
	port   hostPort

	portAttr ibv.PortAttr
	path     ibv.Path // without what differs between the two sides
	pkey     hostPKey
	out      DevicePort
}

func (t *portTest) run() {
	t.out = DevicePort{
		Device: t.device.name, Port: t.port.num, Firmware: t.attr.Firmware,
		State: t.port.stateName(), LinkLayer: t.port.linkLayer, Rate: t.port.rate, Tests: []Test{},
	}
	if c, ok := t.reachable(); !ok {
		t.found(c)
	} else {
		t.traffic()
	}
	t.tested(t.out)
}

func (t *portTest) found(c Check) { t.check(c.on(t.device.name, t.port.num)) }

func (t *portTest) at(s Stage) { t.stage(s, t.device.name, t.port.num) }

// reachable says whether the port can send to itself, and how. When it cannot, the check says why.
func (t *portTest) reachable() (Check, bool) {
	t.at(StageQuery)
	attr, err := t.dev.Port(t.port.num)
	if err != nil {
		return failed(checkPort, callCode(err), "cannot query port: "+err.Error()), false
	}
	t.portAttr = attr
	t.out.State = attr.State.String()
	t.out.MTU = attr.ActiveMTU.Bytes()
	infiniband := attr.LinkLayer == ibv.LinkInfiniBand || attr.LinkLayer == ibv.LinkUnspecified && t.port.linkLayer != "Ethernet"
	t.out.LinkLayer = "Ethernet"
	if infiniband {
		t.out.LinkLayer = "InfiniBand"
		t.out.LID = &attr.LID
	}
	if t.device.iwarp() {
		return failed(checkPort, CodeNeedsCM, "iWARP connects through rdma_cm only; queue pairs cannot be connected directly"), false
	}
	switch attr.State {
	case ibv.PortActive, ibv.PortActiveDefer:
	case ibv.PortInit, ibv.PortArmed:
		if infiniband {
			return failed(checkPort, CodeNoLID, fmt.Sprintf("the link is up but the port is %s with LID %d: no subnet manager has brought it up", attr.State, attr.LID)), false
		}
		fallthrough
	default:
		return failed(checkPort, CodePortDown, fmt.Sprintf("the port is %s, physical state %s", attr.State, cmp.Or(t.port.physState, "not told"))), false
	}
	if t.out.MTU == 0 {
		return failed(checkPort, CodeABI, fmt.Sprintf("the active MTU has the unknown code %d", attr.ActiveMTU)), false
	}
	t.path = ibv.Path{Port: t.port.num, MTU: attr.ActiveMTU}
	if infiniband {
		if attr.LID == 0 {
			return failed(checkPort, CodeNoLID, "the port is ACTIVE but has LID 0: no subnet manager has given it one"), false
		}
		t.path.LID = attr.LID
		if c, ok := t.partition(); !ok {
			return c, false
		}
		t.found(passed(checkPort, LayerPort, fmt.Sprintf("%s, %s, LID %d, MTU %d, P_Key index %d", attr.State, t.out.LinkLayer, attr.LID, t.out.MTU, t.pkey.index)))
		return Check{}, true
	}
	t.found(passed(checkPort, LayerPort, fmt.Sprintf("%s, %s, MTU %d", attr.State, t.out.LinkLayer, t.out.MTU)))
	return t.address()
}

// partition chooses the first partition that the port is a full member of. Where the table is not told,
// it is the first entry.
func (t *portTest) partition() (Check, bool) {
	if len(t.port.pkeys) == 0 {
		return Check{}, true
	}
	i := slices.IndexFunc(t.port.pkeys, hostPKey.full)
	if i < 0 {
		return failed(checkPort, CodeNoPKey, "the port is only a limited member of its partitions, and limited members cannot talk to themselves"), false
	}
	t.pkey = t.port.pkeys[i]
	return Check{}, true
}

// address chooses the GID of a RoCE port.
func (t *portTest) address() (Check, bool) {
	gid, ok := chooseGID(t.port.gids)
	if !ok {
		detail := "the GID table holds no usable address"
		if len(t.port.gids) > 0 {
			detail = fmt.Sprintf("none of the %d addresses in the GID table can be used", len(t.port.gids))
		}
		return failed(checkAddress, CodeNoGID, detail), false
	}
	t.path.Global, t.path.DGID, t.path.SGIDIndex = true, gid.addr.As16(), gid.index
	t.out.GID = &GID{Index: gid.index, Type: gid.kind, Address: gid.text(), Netdev: gid.netdev}
	detail := fmt.Sprintf("GID %d, %s, %s", gid.index, cmp.Or(gid.kind, "type not told"), gid.text())
	if gid.kind != typeRoCEv2 {
		detail += "; the table holds no RoCE v2 address"
	}
	t.found(passed(checkAddress, LayerAddress, detail))
	return Check{}, true
}

// traffic sets up a pair, compares data and measures.
func (t *portTest) traffic() {
	p := &pair{patience: t.opts.patience}
	if c, ok := t.setUp(p); !ok {
		t.found(c)
	} else if t.compare(p) {
		t.measure(p)
	}
	if err := p.close(); err != nil {
		t.found(failed(checkConnect, CodeVerbFailed, "cannot release the test's resources: "+err.Error()))
	}
}

func (t *portTest) atomics() bool { return t.attr.AtomicCap != ibv.AtomicNone }

// setUp registers memory and connects two queue pairs to each other.
func (t *portTest) setUp(p *pair) (Check, bool) {
	need, half := t.request.registered(), t.request.half()
	t.at(StageRegister)
	for i, name := range []string{"A", "B"} {
		p.ends[i] = &endpoint{name: name, half: half}
		region, err := t.dev.Register(2*half, t.atomics())
		if err != nil {
			return t.memoryFailed(err, need), false
		}
		p.ends[i].region = region
	}
	if t.memlock.tooLow(need) {
		c := failed(checkMemory, CodeMemlock, fmt.Sprintf("%s, less than the %d KiB that were registered; this kernel does not enforce it here, others do", t.memlock, need>>10))
		c.Status = Warn
		t.found(c)
	} else {
		t.found(passed(checkMemory, LayerMemory, fmt.Sprintf("%d KiB registered; %s", need>>10, t.memlock)))
	}

	t.at(StageCreateQP)
	p.depth = maxWindow
	for _, limit := range []int{t.attr.MaxQPWR, t.attr.MaxCQE / 2} {
		if limit > 0 {
			p.depth = min(p.depth, limit)
		}
	}
	for _, e := range p.ends {
		qp, err := t.dev.NewQP(ibv.QPConfig{SendDepth: p.depth, RecvDepth: p.depth, Inline: inlineSize, Atomics: t.atomics()})
		if err != nil {
			return t.qpFailed(err, need), false
		}
		e.qp = qp
	}

	t.at(StageConnect)
	for i, e := range p.ends {
		if err := t.connect(e, p.ends[1-i], i); err != nil {
			return connectFailed(err, t.out.GID), false
		}
	}
	t.found(passed(checkConnect, LayerTraffic, fmt.Sprintf("queue pairs %d and %d, %d requests deep", p.ends[0].qp.Num(), p.ends[1].qp.Num(), p.depth)))
	return Check{}, true
}

// connect takes a queue pair to the state in which it can send.
func (t *portTest) connect(e, peer *endpoint, side int) error {
	const (
		// 4.096 us << 16 is 268 ms: seven retries outlast a software device under load.
		timeout = 16
		retry   = 7
		// Receives are posted before they are sent to, so a peer that is not ready is a fault:
		// 7 would try for ever.
		rnrRetry = 6
		rdAtom   = 16
	)
	psn := func(side int) uint32 { return 0x1000 + uint32(side)*0x1000 }
	path := t.path
	path.DestQPNum, path.PSN = peer.qp.Num(), psn(1-side)
	path.DestRdAtom = atMost(rdAtom, t.attr.MaxQPRdAtom)
	if err := e.qp.Init(t.port.num, t.pkey.index); err != nil {
		return fmt.Errorf("to INIT: %w", err)
	}
	if err := e.qp.ReadyToReceive(path); err != nil {
		return fmt.Errorf("to RTR: %w", err)
	}
	// A side asks for no more at a time than the other, of the same device, answers.
	rel := ibv.Reliability{PSN: psn(side), Timeout: timeout, Retry: retry, RNRRetry: rnrRetry}
	rel.RdAtom = min(atMost(rdAtom, t.attr.MaxInitRdAtom), path.DestRdAtom)
	if err := e.qp.ReadyToSend(rel); err != nil {
		return fmt.Errorf("to RTS: %w", err)
	}
	return nil
}

// atMost is want, or the device's limit where it tells one that is lower.
func atMost(want, limit int) int {
	if limit > 0 {
		return min(want, limit)
	}
	return want
}

// compare runs every operation in both directions and says whether all data was right.
func (t *portTest) compare(p *pair) bool {
	t.at(StageIntegrity)
	passes := 4
	if t.request.Quick {
		passes = 2
	}
	transfers, ops := 0, "SEND, RDMA WRITE, RDMA READ"
	one := func(name string, size int) bool {
		if t.timeLeft() <= 0 {
			t.found(failed(checkTraffic, CodeTimeLimit, fmt.Sprintf("%d transfers were right, then the time limit was reached", transfers)))
			return false
		}
		row, err := p.bothWays(name, opcodes(name), size, passes)
		t.out.Tests = append(t.out.Tests, row)
		transfers += row.Iterations
		if err != nil {
			t.found(trafficFailed(checkTraffic, err))
		}
		return err == nil
	}
	for _, op := range []string{opSend, opWrite, opRead} {
		for _, size := range integritySizes(t.out.MTU) {
			if !one(op, size) {
				return false
			}
		}
	}
	if t.atomics() {
		ops += ", CMP_AND_SWP, FETCH_AND_ADD"
		if !one(opCmpSwap, atomicSize) || !one(opFetchAdd, atomicSize) {
			return false
		}
	}
	detail := fmt.Sprintf("%d transfers (%s) in both directions, every byte right", transfers, ops)
	if !t.atomics() {
		detail += "; the device has no atomic operations"
	}
	t.found(passed(checkTraffic, LayerTraffic, detail))
	return true
}

// measure takes the numbers. Data is compared once more at the end: a device may only go wrong when
// it is busy.
func (t *portTest) measure(p *pair) {
	planned := planMeasurements(t.request)
	if len(planned) == 0 {
		return
	}
	t.at(StageMeasure)
	loop, done := goLoop{p}, 0
	for i, m := range planned {
		left := t.timeLeft()
		if left <= 0 {
			t.found(failed(checkMeasure, CodeTimeLimit, fmt.Sprintf("%d of %d measurements were not begun within the time limit", len(planned)-i, len(planned))))
			break
		}
		row, err := m.run(loop, t.request, t.request.box(left), p.depth)
		t.out.Tests = append(t.out.Tests, row)
		if err != nil {
			t.found(trafficFailed(checkMeasure, err))
			return
		}
		done++
	}
	for _, op := range []string{opSend, opWrite, opRead} {
		row, err := p.bothWays(op, opcodes(op), bandwidthSize, 1)
		if err != nil {
			t.out.Tests = append(t.out.Tests, row)
			t.found(trafficFailed(checkMeasure, err))
			return
		}
	}
	t.found(passed(checkMeasure, LayerTraffic, fmt.Sprintf("%d measurements, and every byte right after them", done)))
}
