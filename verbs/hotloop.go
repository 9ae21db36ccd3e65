package verbs

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/rdmactl/rdmactl/verbs/internal/ibv"
)

// hotLoop moves the messages of one measurement. It is the only part whose own cost is in what is
// measured.
type hotLoop interface {
	// exchange does one exchange at a time and returns how long each took. SEND and WRITE go there
	// and back (two messages); READ and atomics are one request.
	exchange(op ibv.Opcode, size int, b box) ([]time.Duration, error)
	// stream keeps window messages under way from side A to side B.
	stream(op ibv.Opcode, size, window int, b box) (streamed, error)
}

// box bounds a measurement: it ends after a number of iterations or a time, whichever comes first.
type box struct {
	iterations int
	duration   time.Duration
}

// streamed is what a stream moved.
type streamed struct {
	messages int
	elapsed  time.Duration // from the first post to the last completion
}

// goLoop is the hot loop in Go: each call into the library costs a few hundred nanoseconds more than
// it would in C.
type goLoop struct{ p *pair }

func (l goLoop) exchange(op ibv.Opcode, size int, b box) ([]time.Duration, error) {
	step := l.request
	switch op {
	case ibv.OpSend:
		step = l.sendPingPong
	case ibv.OpWrite:
		step = l.writePingPong
	}
	// Room for the samples of two seconds at two microseconds each, so that nothing is allocated
	// between two of them; append grows it where that is not enough.
	const room = 1_000_000
	samples := make([]time.Duration, 0, min(b.iterations, room))
	start := time.Now()
	last := start
	for i := 0; i < b.iterations; i++ {
		if err := step(op, size, i); err != nil {
			return samples, err
		}
		now := time.Now()
		samples = append(samples, now.Sub(last))
		last = now
		if now.Sub(start) >= b.duration {
			break
		}
	}
	return samples, l.drain()
}

// drain waits until nothing is under way.
func (l goLoop) drain() error {
	for _, e := range l.p.ends {
		if err := l.p.awaitSends(e, 0); err != nil {
			return err
		}
	}
	return nil
}

func (l goLoop) wr(op ibv.Opcode, from, to *endpoint, size int) ibv.SendWR {
	wr := ibv.SendWR{
		Op: op, Addr: from.srcAddr(0), Length: uint32(size), LKey: from.region.LKey(),
		RemoteAddr: to.dstAddr(0), RKey: to.region.RKey(),
	}
	wr.Inline = op != ibv.OpRead && size <= from.qp.MaxInline()
	return wr
}

func (l goLoop) sendPingPong(op ibv.Opcode, size, _ int) error {
	for side, from := range l.p.ends {
		to := l.p.ends[1-side]
		if err := to.receive(0, size); err != nil {
			return err
		}
		wr := l.wr(op, from, to, size)
		if err := from.post(&wr); err != nil {
			return err
		}
		if err := l.p.awaitRecvs(to, to.posted); err != nil {
			return err
		}
		if err := l.p.awaitSends(from, l.p.depth/2); err != nil {
			return err
		}
	}
	return nil
}

// writePingPong sees a message arrive by its last byte, as programs that use RDMA WRITE do.
func (l goLoop) writePingPong(op ibv.Opcode, size, i int) error {
	stamp := byte(i%255) + 1 // never equal to the one before
	for side, from := range l.p.ends {
		to := l.p.ends[1-side]
		if i == 0 {
			to.dst()[size-1] = 0
		}
		from.src()[size-1] = stamp
		wr := l.wr(op, from, to, size)
		if err := from.post(&wr); err != nil {
			return err
		}
		if err := l.watch(from, to, size-1, stamp); err != nil {
			return err
		}
		if err := l.p.awaitSends(from, l.p.depth/2); err != nil {
			return err
		}
	}
	return nil
}

// watch waits until the byte at an offset of to's destination is stamp.
func (l goLoop) watch(from, to *endpoint, at int, stamp byte) error {
	const looks = 256 // between two polls for an error
	dst := to.dst()
	aligned := at &^ 3
	word := (*uint32)(unsafe.Pointer(&dst[aligned]))
	shift := uint(at-aligned) * 8 // little-endian: amd64 and arm64 are
	var since time.Time
	for {
		for range looks {
			if byte(atomic.LoadUint32(word)>>shift) == stamp {
				return nil
			}
		}
		if _, err := from.poll(); err != nil {
			return err
		}
		now := time.Now()
		if since.IsZero() {
			since = now
		}
		waited := now.Sub(since)
		giveWay(waited)
		if waited > l.p.patience {
			return &timeoutError{what: "the data of RDMA WRITE from side " + from.name, after: l.p.patience}
		}
	}
}

func (l goLoop) request(op ibv.Opcode, size, _ int) error {
	from, to := l.p.ends[0], l.p.ends[1]
	wr := l.wr(op, from, to, size)
	if err := from.post(&wr); err != nil {
		return err
	}
	return l.p.awaitSends(from, 0)
}

func (l goLoop) stream(op ibv.Opcode, size, window int, b box) (streamed, error) {
	from, to := l.p.ends[0], l.p.ends[1]
	wr := l.wr(op, from, to, size)
	if op == ibv.OpSend {
		for range window {
			if err := to.receive(0, size); err != nil {
				return streamed{}, err
			}
		}
	}
	firstRecv := to.recvDone
	posted := 0
	start := time.Now()
	for posted < b.iterations {
		if posted > 0 && time.Since(start) >= b.duration {
			break
		}
		if op == ibv.OpSend {
			// Each receive has its send already, and one of them is still under way: a long wait for a
			// send looks at this side as well, so all may have been seen to end.
			if to.posted-firstRecv == posted && to.recvDone < to.posted {
				if err := l.p.awaitRecvs(to, to.recvDone+1); err != nil {
					return streamed{}, err
				}
			}
			for to.posted-to.recvDone < window {
				if err := to.receive(0, size); err != nil {
					return streamed{}, err
				}
			}
		}
		if err := from.post(&wr); err != nil {
			return streamed{}, err
		}
		posted++
		if err := l.p.awaitSends(from, window-1); err != nil {
			return streamed{}, err
		}
	}
	if err := l.p.awaitSends(from, 0); err != nil {
		return streamed{}, err
	}
	out := streamed{messages: posted, elapsed: time.Since(start)}
	if op != ibv.OpSend {
		return out, nil
	}
	if err := l.p.awaitRecvs(to, firstRecv+posted); err != nil {
		return streamed{}, err
	}
	out.elapsed = time.Since(start)
	// The receives that are left are used up, so that the next test starts with an empty queue.
	for to.recvDone < to.posted {
		next := to.recvDone + 1 // settled before the waiting, which may count it
		if err := from.post(&wr); err != nil {
			return streamed{}, err
		}
		if err := l.p.awaitSends(from, 0); err != nil {
			return streamed{}, err
		}
		if err := l.p.awaitRecvs(to, next); err != nil {
			return streamed{}, err
		}
	}
	return out, nil
}
