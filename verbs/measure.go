package verbs

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/verbs/internal/ibv"
)

// The default sizes are those of the common tools: ib_send_lat and ib_write_lat use 2 bytes, the
// bandwidth tests 64 KiB.
const (
	smallSize     = 2
	inlineSize    = 64
	bandwidthSize = 64 << 10
	// maxWindow is the transmit depth of ib_write_bw.
	maxWindow = 128
	// windowTime bounds what is under way on a slow device: a full window must not take so long
	// that requests run into their retry timeout.
	windowTime = 100 * time.Millisecond
)

// measurement is one planned measurement.
type measurement struct {
	name    string
	op      ibv.Opcode
	measure Measure
	size    int
}

func planMeasurements(q Request) []measurement {
	if q.NoMeasure {
		return nil
	}
	var out []measurement
	add := func(m Measure, sizes []int, ops ...string) {
		for _, op := range ops {
			for _, s := range sizes {
				out = append(out, measurement{op, opcodes(op), m, s})
			}
		}
	}
	switch {
	case len(q.Sizes) > 0:
		add(LatencyOf, q.Sizes, opSend, opWrite, opRead)
		add(Bandwidth, q.Sizes, opWrite, opRead, opSend)
	case q.Quick:
		add(LatencyOf, []int{smallSize}, opSend, opWrite, opRead)
		add(Bandwidth, []int{bandwidthSize}, opWrite)
	default:
		add(LatencyOf, []int{smallSize, inlineSize}, opSend, opWrite)
		add(LatencyOf, []int{smallSize}, opRead)
		add(Bandwidth, []int{smallSize}, opWrite)
		add(Bandwidth, []int{bandwidthSize}, opWrite, opRead, opSend)
	}
	return out
}

func opcodes(op string) ibv.Opcode {
	switch op {
	case opWrite:
		return ibv.OpWrite
	case opRead:
		return ibv.OpRead
	case opCmpSwap:
		return ibv.OpCmpSwap
	case opFetchAdd:
		return ibv.OpFetchAdd
	default:
		return ibv.OpSend
	}
}

// box bounds one measurement, which must end within left.
func (q Request) box(left time.Duration) box {
	b := box{iterations: maxIterations, duration: 2 * time.Second}
	if q.Quick {
		b.duration = 500 * time.Millisecond
	}
	if q.Iterations > 0 {
		// The iterations asked for decide; the time is only a guard.
		b = box{iterations: q.Iterations, duration: time.Minute}
	}
	b.duration = min(b.duration, left)
	return b
}

// run does one measurement.
func (m measurement) run(loop hotLoop, q Request, b box, depth int) (Test, error) {
	t := Test{Op: m.name, Measure: m.measure, Size: m.size, Status: Fail}
	var err error
	if m.measure == LatencyOf {
		err = m.latency(&t, loop, b)
	} else {
		err = m.bandwidth(&t, loop, q.MaxBytes, b, depth)
	}
	if err != nil {
		t.Detail = err.Error()
		return t, err
	}
	t.Status = Pass
	return t, nil
}

func (m measurement) latency(t *Test, loop hotLoop, b box) error {
	// The first exchanges fill caches and page tables.
	if _, err := loop.exchange(m.op, m.size, box{iterations: min(100, b.iterations), duration: b.duration / 10}); err != nil {
		return err
	}
	before, err := cpuTime()
	if err != nil {
		return err
	}
	samples, err := loop.exchange(m.op, m.size, b)
	if err != nil {
		return err
	}
	after, err := cpuTime()
	if err != nil {
		return err
	}
	kind, messages := RoundTrip, 1.0
	if m.op == ibv.OpSend || m.op == ibv.OpWrite {
		kind, messages = OneWay, 2
	}
	t.Iterations = len(samples)
	t.Latency = latencyOf(samples, messages, kind)
	t.CPU = perMessage(after-before, float64(len(samples))*messages)
	t.Detail = fmt.Sprintf("%d exchanges, %s", len(samples), kind)
	return nil
}

func (m measurement) bandwidth(t *Test, loop hotLoop, maxBytes int64, b box, depth int) error {
	if maxBytes > 0 {
		b.iterations = max(1, min(b.iterations, int(min(maxBytes/int64(m.size), maxIterations))))
	}
	// One message at a time tells how long one takes, and with it how many may be under way.
	const calibration = 4
	first, err := loop.stream(m.op, m.size, 1, box{iterations: min(calibration, b.iterations), duration: b.duration})
	if err != nil {
		return err
	}
	t.Window = windowFor(first, depth)
	before, err := cpuTime()
	if err != nil {
		return err
	}
	s, err := loop.stream(m.op, m.size, t.Window, b)
	if err != nil {
		return err
	}
	after, err := cpuTime()
	if err != nil {
		return err
	}
	t.Iterations = s.messages
	t.CPU = perMessage(after-before, float64(s.messages))
	if secs := s.elapsed.Seconds(); secs > 0 {
		gbps := significant(float64(s.messages) * float64(m.size) * 8 / secs / 1e9)
		mpps := significant(float64(s.messages) / secs / 1e6)
		t.Gbps, t.Mpps = &gbps, &mpps
	}
	t.Detail = fmt.Sprintf("%d messages, %d under way at a time", s.messages, t.Window)
	return nil
}

// windowFor is the number of messages to keep under way, from a calibration that had one.
func windowFor(s streamed, depth int) int {
	most := min(maxWindow, depth)
	if s.messages == 0 || s.elapsed <= 0 {
		return most
	}
	each := s.elapsed / time.Duration(s.messages)
	if each <= 0 {
		return most
	}
	return max(min(2, most), min(most, int(windowTime/each)))
}

func perMessage(d time.Duration, messages float64) *float64 {
	if messages == 0 {
		return nil
	}
	v := round(float64(d.Nanoseconds())/1e3/messages, 3)
	return &v
}

// significant keeps four digits, so that slow devices do not show as zero.
func significant(v float64) float64 {
	if v == 0 {
		return 0
	}
	return round(v, 3-int(math.Floor(math.Log10(math.Abs(v)))))
}

// cpuTime is the user and system time that this process has used.
func cpuTime() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("cannot read own CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
