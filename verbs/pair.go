package verbs

import (
	"errors"
	"fmt"
	"time"

	"github.com/rdmactl/rdmactl/verbs/internal/ibv"
)

// pair is two queue pairs of one port that are connected to each other.
type pair struct {
	ends  [2]*endpoint
	depth int // work requests that each queue holds
	// patience is how long a completion may stay away.
	patience time.Duration
}

// endpoint is one side of a pair. The counters only grow; a request is done when the counter of its
// queue has passed it, since completions of a queue come in order.
type endpoint struct {
	name   string // "A" or "B"
	qp     ibv.QP
	region ibv.Region
	half   int // bytes; the first half of the region is the source, the second the destination

	sent, sendsDone  int
	posted, recvDone int
	lastRecvLen      uint32
	wc               [16]ibv.WC
}

func (e *endpoint) src() []byte { return e.region.Bytes()[:e.half] }
func (e *endpoint) dst() []byte { return e.region.Bytes()[e.half:] }

func (e *endpoint) srcAddr(at int) uint64 { return e.region.Addr() + uint64(at) }
func (e *endpoint) dstAddr(at int) uint64 { return e.region.Addr() + uint64(e.half+at) }

// completionError is a work request that the device ended with an error.
type completionError struct {
	what string
	wc   ibv.WC
}

func (e *completionError) Error() string {
	return fmt.Sprintf("%s ended with %s, vendor error 0x%x", e.what, e.wc.Status, e.wc.VendorErr)
}

// timeoutError is a work request that did not end.
type timeoutError struct {
	what  string
	after time.Duration
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("%s did not complete within %s", e.what, e.after)
}

// dataError is a transfer that ended well and brought something else than was sent.
type dataError struct{ msg string }

func (e *dataError) Error() string { return e.msg }

// The work request ID tells the kind of request, which a failed completion does not.
const (
	idKind    = 56
	kindRecv  = 0xff
	idCounter = 1<<idKind - 1
)

func (e *endpoint) describe(id uint64) string {
	if id>>idKind == kindRecv {
		return "a receive on side " + e.name
	}
	return fmt.Sprintf("%s from side %s", ibv.Opcode(id>>idKind), e.name)
}

// post sends a request.
func (e *endpoint) post(wr *ibv.SendWR) error {
	wr.ID = uint64(wr.Op)<<idKind | uint64(e.sent)&idCounter
	if err := e.qp.PostSend(wr); err != nil {
		return fmt.Errorf("cannot post %s on side %s: %w", wr.Op, e.name, err)
	}
	e.sent++
	return nil
}

// receive posts a receive of up to size bytes into the destination at an offset.
func (e *endpoint) receive(at, size int) error {
	wr := ibv.RecvWR{
		ID:     kindRecv<<idKind | uint64(e.posted)&idCounter,
		Addr:   e.dstAddr(at),
		Length: uint32(size),
		LKey:   e.region.LKey(),
	}
	if err := e.qp.PostRecv(&wr); err != nil {
		return fmt.Errorf("cannot post a receive on side %s: %w", e.name, err)
	}
	e.posted++
	return nil
}

// poll takes the completions that are there.
func (e *endpoint) poll() (int, error) {
	n, err := e.qp.Poll(e.wc[:])
	if err != nil {
		return 0, fmt.Errorf("cannot poll the completion queue of side %s: %w", e.name, err)
	}
	for i := range n {
		wc := &e.wc[i]
		if wc.Status != ibv.WCSuccess {
			return n, &completionError{what: e.describe(wc.ID), wc: *wc}
		}
		recv := wc.ID>>idKind == kindRecv
		if recv != (wc.Opcode&ibv.WCRecv != 0) {
			return n, &dataError{fmt.Sprintf("%s completed as opcode %d", e.describe(wc.ID), wc.Opcode)}
		}
		done := &e.sendsDone
		if recv {
			done = &e.recvDone
			e.lastRecvLen = wc.ByteLen
		}
		if wc.ID&idCounter != uint64(*done)&idCounter {
			return n, &dataError{fmt.Sprintf("%s: request %d completed where %d was due", e.describe(wc.ID), wc.ID&idCounter, *done)}
		}
		*done++
	}
	return n, nil
}

// await polls until a counter of e has reached target. Polling never blocks in the library, so a
// completion that stays away ends as a timeout.
func (p *pair) await(e *endpoint, counter *int, target int, what string) error {
	var since time.Time
	for *counter < target {
		n, err := e.poll()
		if err != nil {
			return err
		}
		if n > 0 {
			since = time.Time{}
			continue
		}
		now := time.Now()
		if since.IsZero() {
			since = now
		}
		waited := now.Sub(since)
		giveWay(waited)
		// What keeps a receive from completing is told to the side that sends.
		const slow = 10 * time.Millisecond
		if waited > slow {
			if _, err := p.other(e).poll(); err != nil {
				return err
			}
			if waited > p.patience {
				return &timeoutError{what: what, after: p.patience}
			}
		}
	}
	return nil
}

// awaitSends waits until all that e sent is done, up to leave requests.
func (p *pair) awaitSends(e *endpoint, leave int) error {
	if e.sent-leave <= e.sendsDone {
		return nil
	}
	return p.await(e, &e.sendsDone, e.sent-leave, "a request from side "+e.name)
}

func (p *pair) awaitRecvs(e *endpoint, target int) error {
	return p.await(e, &e.recvDone, target, "a receive on side "+e.name)
}

func (p *pair) other(e *endpoint) *endpoint {
	if e == p.ends[0] {
		return p.ends[1]
	}
	return p.ends[0]
}

func (p *pair) close() error {
	var errs []error
	for _, e := range p.ends {
		if e != nil && e.qp != nil {
			errs = append(errs, e.qp.Close())
		}
	}
	for _, e := range p.ends {
		if e != nil && e.region != nil {
			errs = append(errs, e.region.Close())
		}
	}
	return errors.Join(errs...)
}
