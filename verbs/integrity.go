package verbs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"github.com/rdmactl/rdmactl/verbs/internal/ibv"
)

// The names of the operations in a report.
const (
	opSend     = "send"
	opWrite    = "write"
	opRead     = "read"
	opCmpSwap  = "cmp-swap"
	opFetchAdd = "fetch-add"
)

const maxShift = 16 // bytes by which source and destination are moved off their alignment

// integritySizes are a single byte, a small message, one on either side of a packet's end, and one
// of many packets.
func integritySizes(mtu int) []int {
	return []int{1, 64, mtu - 1, mtu + 1, bandwidthSize}
}

// transfer moves size bytes from side to side with op and compares every byte.
func (p *pair) transfer(op ibv.Opcode, from, to *endpoint, size, iteration int) error {
	seed := seedOf(op, from.name, size, iteration)
	want := make([]byte, size)
	pattern(want, seed)
	srcAt := int(seed % maxShift)
	dstAt := int(seed / maxShift % maxShift)
	src := from.src()[srcAt : srcAt+size]
	dst := to.dst()[dstAt : dstAt+size+2*guard]
	copy(src, want)
	prefill(dst, want, seed)

	var err error
	switch op {
	case ibv.OpSend:
		err = p.sendOnce(from, to, srcAt, dstAt+guard, size)
	case ibv.OpRead: // the receiving side fetches
		err = p.requestOnce(to, &ibv.SendWR{
			Op: op, Addr: to.dstAddr(dstAt + guard), Length: uint32(size), LKey: to.region.LKey(),
			RemoteAddr: from.srcAddr(srcAt), RKey: from.region.RKey(),
		})
	default:
		err = p.requestOnce(from, &ibv.SendWR{
			Op: op, Addr: from.srcAddr(srcAt), Length: uint32(size), LKey: from.region.LKey(),
			RemoteAddr: to.dstAddr(dstAt + guard), RKey: to.region.RKey(),
		})
	}
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s of %d bytes from side %s to %s, pass %d", op, size, from.name, to.name, iteration+1)
	if op == ibv.OpSend && int(to.lastRecvLen) != size {
		return &dataError{fmt.Sprintf("%s: %d bytes were reported as received", what, to.lastRecvLen)}
	}
	if err := compare(dst, want, seed); err != nil {
		return &dataError{what + ": " + err.Error()}
	}
	if !bytes.Equal(src, want) {
		return &dataError{what + ": the source was changed"}
	}
	return nil
}

// seedOf is different for each operation, direction, size and pass.
func seedOf(op ibv.Opcode, side string, size, iteration int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d %d", op, side, size, iteration)
	return h.Sum64()
}

func (p *pair) sendOnce(from, to *endpoint, srcAt, dstAt, size int) error {
	if err := to.receive(dstAt, size); err != nil {
		return err
	}
	wr := ibv.SendWR{Op: ibv.OpSend, Addr: from.srcAddr(srcAt), Length: uint32(size), LKey: from.region.LKey()}
	if err := p.requestOnce(from, &wr); err != nil {
		return err
	}
	return p.awaitRecvs(to, to.posted)
}

func (p *pair) requestOnce(e *endpoint, wr *ibv.SendWR) error {
	if err := e.post(wr); err != nil {
		return err
	}
	return p.awaitSends(e, 0)
}

const atomicSize = 8 // bytes

// atomic does one atomic operation of side from on a word of side to, and checks the word and the
// old value that comes back. A compare-and-swap is done twice: once with the right value to compare,
// once with a wrong one, which must change nothing.
func (p *pair) atomic(op ibv.Opcode, from, to *endpoint, iteration int) error {
	seed := seedOf(op, from.name, atomicSize, iteration)
	word := func(salt uint64) uint64 {
		var b [8]byte
		pattern(b[:], seed+salt)
		return binary.NativeEndian.Uint64(b[:])
	}
	before, operand := word(1), word(2)
	if op == ibv.OpFetchAdd {
		return p.atomicStep(from, to, iteration, ibv.SendWR{Op: op, CompareAdd: operand}, before, before+operand)
	}
	if err := p.atomicStep(from, to, iteration, ibv.SendWR{Op: op, CompareAdd: before, Swap: operand}, before, operand); err != nil {
		return err
	}
	return p.atomicStep(from, to, iteration, ibv.SendWR{Op: op, CompareAdd: ^before, Swap: operand}, before, before)
}

func (p *pair) atomicStep(from, to *endpoint, iteration int, wr ibv.SendWR, before, after uint64) error {
	target := to.dst()[:2*guard+atomicSize]
	want := make([]byte, atomicSize)
	binary.NativeEndian.PutUint64(want, after)
	prefill(target, want, before)
	binary.NativeEndian.PutUint64(target[guard:], before)
	result := from.src()[:atomicSize]
	binary.NativeEndian.PutUint64(result, ^before)

	wr.Addr, wr.Length, wr.LKey = from.srcAddr(0), atomicSize, from.region.LKey()
	wr.RemoteAddr, wr.RKey = to.dstAddr(guard), to.region.RKey()
	if err := p.requestOnce(from, &wr); err != nil {
		return err
	}
	what := fmt.Sprintf("%s from side %s on %s, pass %d", wr.Op, from.name, to.name, iteration+1)
	if got := binary.NativeEndian.Uint64(result); got != before {
		return &dataError{fmt.Sprintf("%s: the old value came back as 0x%016x instead of 0x%016x", what, got, before)}
	}
	if err := compare(target, want, before); err != nil {
		return &dataError{what + ": " + err.Error()}
	}
	return nil
}

// bothWays runs one operation at one size in both directions and returns the test's row.
func (p *pair) bothWays(name string, op ibv.Opcode, size, passes int) (Test, error) {
	t := Test{Op: name, Measure: Integrity, Size: size, Status: Fail}
	for i := range passes {
		for side := range p.ends {
			from, to := p.ends[side], p.ends[1-side]
			var err error
			if op == ibv.OpCmpSwap || op == ibv.OpFetchAdd {
				err = p.atomic(op, from, to, i)
			} else {
				err = p.transfer(op, from, to, size, i)
			}
			if err != nil {
				t.Detail = err.Error()
				return t, err
			}
			t.Iterations++
		}
	}
	t.Status, t.Detail = Pass, "every byte compared, in both directions"
	return t, nil
}
