package verbs

import (
	"errors"
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/verbs/internal/ibv"
)

func gidOf(index int, addr, kind string) hostGID {
	return hostGID{index: index, addr: netip.MustParseAddr(addr), kind: kind}
}

func TestChooseGID(t *testing.T) {
	linkLocal, global, mapped := "fe80::1", "2001:db8::1", "::ffff:10.0.0.1"
	for _, tt := range []struct {
		name string
		gids []hostGID
		want int // index; -1 for none
	}{
		{"empty", nil, -1},
		{"IPv4 before IPv6 before link-local", []hostGID{gidOf(1, linkLocal, typeRoCEv2), gidOf(3, global, typeRoCEv2), gidOf(5, mapped, typeRoCEv2)}, 5},
		{"global before link-local", []hostGID{gidOf(1, linkLocal, typeRoCEv2), gidOf(3, global, typeRoCEv2)}, 3},
		{"link-local when there is nothing else", []hostGID{gidOf(0, linkLocal, typeRoCEv1), gidOf(1, linkLocal, typeRoCEv2)}, 1},
		{"v2 of any address before v1", []hostGID{gidOf(2, mapped, typeRoCEv1), gidOf(1, linkLocal, typeRoCEv2)}, 1},
		{"only v1, as on ConnectX-3", []hostGID{gidOf(0, linkLocal, typeRoCEv1), gidOf(1, mapped, typeRoCEv1)}, 1},
		{"kernel that does not tell types", []hostGID{gidOf(0, linkLocal, ""), gidOf(1, mapped, "")}, 1},
		{"lower index among equals", []hostGID{gidOf(9, mapped, typeRoCEv2), gidOf(7, "::ffff:10.0.0.2", typeRoCEv2)}, 7},
		{"an index that no request can name", []hostGID{gidOf(256, mapped, typeRoCEv2)}, -1},
		{"a low v1 does not stand in for a v2 that cannot be named", []hostGID{gidOf(0, mapped, typeRoCEv1), gidOf(300, mapped, typeRoCEv2)}, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := chooseGID(tt.gids)
			if !ok {
				got.index = -1
			}
			if got.index != tt.want {
				t.Errorf("index %d, want %d", got.index, tt.want)
			}
		})
	}
}

func TestPatternIsSeenWherever(t *testing.T) {
	const size = 1099
	fresh := func() ([]byte, []byte) {
		want := make([]byte, size)
		pattern(want, 7)
		dst := make([]byte, size+2*guard)
		prefill(dst, want, 7)
		return dst, want
	}
	dst, want := fresh()
	copy(dst[guard:], want)
	if err := compare(dst, want, 7); err != nil {
		t.Fatal(err)
	}
	for i := range dst { // every single byte counts, the guards too
		dst[i] ^= 0x80
		if compare(dst, want, 7) == nil {
			t.Fatalf("a change at offset %d is not seen", i-guard)
		}
		dst[i] ^= 0x80
	}
	for _, missing := range []int{0, 1, 1024, size - 1} { // a byte that never arrives
		dst, want := fresh()
		copy(dst[guard:], want)
		dst[guard+missing] = ^want[missing]
		if compare(dst, want, 7) == nil {
			t.Errorf("a missing byte %d is not seen", missing)
		}
	}
	dst, want = fresh()
	copy(dst[guard+1:], want)
	if compare(dst, want, 7) == nil {
		t.Error("data one byte too far is not seen")
	}
	other := make([]byte, size)
	pattern(other, 8)
	dst, want = fresh()
	copy(dst[guard:], other)
	if compare(dst, want, 7) == nil {
		t.Error("data of another transfer is not seen")
	}
}

// Two packets of a message in the wrong order must differ somewhere.
func TestPatternDiffersBetweenPackets(t *testing.T) {
	b := make([]byte, 16*1024)
	pattern(b, 1)
	seen := map[string]int{}
	for at := 0; at < len(b); at += 256 {
		if prev, ok := seen[string(b[at:at+256])]; ok {
			t.Errorf("packets at %d and %d are equal", prev, at)
		}
		seen[string(b[at:at+256])] = at
	}
}

func TestLatencyOf(t *testing.T) {
	samples := func(n int) []time.Duration {
		out := make([]time.Duration, n)
		for i := range out {
			out[i] = time.Duration(n-i) * 2 * time.Microsecond // in falling order
		}
		return out
	}
	f := func(v float64) *float64 { return &v }
	for _, tt := range []struct {
		n    int
		want Latency
	}{
		{0, Latency{}},
		{19, Latency{Min: f(1), Max: f(19)}},
		{20, Latency{Min: f(1), P50: f(10), Max: f(20)}},
		{999, Latency{Min: f(1), P50: f(500), Max: f(999)}},
		{1000, Latency{Min: f(1), P50: f(500), P99: f(990), Max: f(1000)}},
		{9999, Latency{Min: f(1), P50: f(5000), P99: f(9900), Max: f(9999)}},
		{10000, Latency{Min: f(1), P50: f(5000), P99: f(9900), P999: f(9990), Max: f(10000)}},
	} {
		tt.want.Kind = OneWay
		if diff := cmp.Diff(&tt.want, latencyOf(samples(tt.n), 2, OneWay)); diff != "" {
			t.Errorf("%d samples: %s", tt.n, diff)
		}
	}
}

func TestVerdict(t *testing.T) {
	traffic := passed(checkTraffic, LayerTraffic, "")
	for _, tt := range []struct {
		name   string
		checks []Check
		want   Status
	}{
		{"nothing", nil, NotTestable},
		{"traffic", []Check{traffic}, Pass},
		{"all but traffic", []Check{passed(checkLibrary, LayerLibrary, ""), passed(checkPort, LayerPort, "")}, NotTestable},
		{"unused port", []Check{traffic, failed(checkPort, CodePortDown, "")}, Pass},
		{"port without subnet manager", []Check{traffic, failed(checkPort, CodeNoLID, "")}, Warn},
		{"second device without provider", []Check{traffic, failed(checkProvider, CodeProviderMissing, "")}, Warn},
		{"one port wrong", []Check{traffic, failed(checkTraffic, CodeWrongData, "")}, Fail},
		{"crash after traffic", []Check{traffic, failed(checkWorker, CodeProviderCrashed, "")}, Fail},
		{"time ran out", []Check{traffic, failed(checkMeasure, CodeTimeLimit, "")}, Warn},
	} {
		if got := verdict(tt.checks); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestEveryCodeHasARemedy(t *testing.T) {
	for _, c := range []Code{
		CodeNotBuilt, CodeNoLibrary, CodeABI, CodeNoKernelModule, CodeNoDevice, CodeNoSuchDevice,
		CodeNoSuchPort, CodeNoDeviceNode, CodeProviderMissing, CodeProviderCrashed, CodeNoPermission,
		CodeDeviceBusy, CodeDeviceGone, CodeMemlock, CodePortDown, CodeNoGID, CodeNoLID, CodeNoPKey, CodeNeedsCM,
		CodeNoRC, CodeVerbFailed, CodeCompletionError, CodeWrongData, CodeTimeout, CodeTimeLimit,
		CodeWorkerFailed, CodeSysfsUnreadable,
	} {
		f := c.facts()
		if c.remedy() == "" || f.layer == "" || f.status == Pass || f.status == "" {
			t.Errorf("%s: %+v", c, f)
		}
		if c != CodeWorkerFailed && c != CodeTimeLimit && f.layer == LayerWorker {
			t.Errorf("%s falls to the default", c)
		}
	}
}

func TestReadMemlock(t *testing.T) {
	for _, tt := range []struct {
		limit, caps string
		need        int
		low         bool
	}{
		{"65536", "0000000000000000", 65537, true},
		{"65536", "0000000000000000", 65536, false},
		{"65536", "0000000000004000", 1 << 30, false},
		{"unlimited", "0000000000000000", math.MaxInt, false},
	} {
		h := newFakeHost()
		h.limits(tt.limit, tt.caps)
		m, err := readMemlock(h)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.tooLow(tt.need); got != tt.low {
			t.Errorf("limit %s, capabilities %s, %d bytes: too low %v", tt.limit, tt.caps, tt.need, got)
		}
	}
	h := newFakeHost()
	h.files["/proc/self/limits"] = "Max open files 1024 1024 files\n"
	if m, err := readMemlock(h); err == nil || m.tooLow(math.MaxInt) {
		t.Errorf("no line: %+v, %v", m, err)
	}
}

func TestWindowFor(t *testing.T) {
	for _, tt := range []struct {
		s     streamed
		depth int
		want  int
	}{
		{streamed{messages: 4, elapsed: 4 * time.Microsecond}, 128, 128},
		{streamed{messages: 4, elapsed: 4 * time.Microsecond}, 64, 64},
		{streamed{messages: 4, elapsed: 40 * time.Millisecond}, 128, 10},
		{streamed{messages: 4, elapsed: 4 * time.Second}, 128, 2},
		{streamed{messages: 1, elapsed: time.Second}, 1, 1},
		{streamed{}, 128, 128},
	} {
		if got := windowFor(tt.s, tt.depth); got != tt.want {
			t.Errorf("windowFor(%+v, %d) = %d, want %d", tt.s, tt.depth, got, tt.want)
		}
	}
}

// A receive that waits learns from the other side's queue why nothing comes, long before it gives up.
func TestAwaitHearsTheOtherSide(t *testing.T) {
	l := newFakeLib()
	l.status[ibv.OpSend] = ibv.WCRetryExcErr
	dev := &fakeDevice{l}
	p := &pair{patience: time.Hour}
	for i, name := range []string{"A", "B"} {
		region, err := dev.Register(8192, false)
		if err != nil {
			t.Fatal(err)
		}
		qp := &fakeQP{lib: l, num: uint32(i), cfg: ibv.QPConfig{SendDepth: 4, RecvDepth: 4}, state: 3}
		p.ends[i] = &endpoint{name: name, qp: qp, region: region, half: 4096}
	}
	a, b := p.ends[0], p.ends[1]
	if err := b.receive(0, 8); err != nil {
		t.Fatal(err)
	}
	wr := ibv.SendWR{Op: ibv.OpSend, Addr: a.srcAddr(0), Length: 8, LKey: a.region.LKey()}
	if err := a.post(&wr); err != nil {
		t.Fatal(err)
	}
	var completion *completionError
	if err := p.awaitRecvs(b, 1); !errors.As(err, &completion) || completion.wc.Status != ibv.WCRetryExcErr {
		t.Errorf("%v", err)
	}
}

// TestStreamWhereSendsAreSlow: a long wait for a send counts the receives of the other side as well, so
// the stream may find that all of them have ended and must not wait for one more.
func TestStreamWhereSendsAreSlow(t *testing.T) {
	l := newFakeLib()
	l.slow = 15 * time.Millisecond // longer than a wait looks at one side only
	dev := &fakeDevice{l}
	p := &pair{patience: 2 * time.Second, depth: 8}
	for i, name := range []string{"A", "B"} {
		region, err := dev.Register(8192, false)
		if err != nil {
			t.Fatal(err)
		}
		qp := &fakeQP{lib: l, num: uint32(i), cfg: ibv.QPConfig{SendDepth: 8, RecvDepth: 8}, state: 3}
		qp.path.DestQPNum = uint32(1 - i)
		l.qps[qp.num] = qp
		p.ends[i] = &endpoint{name: name, qp: qp, region: region, half: 4096}
	}
	for window := 1; window <= 4; window++ {
		out, err := goLoop{p}.stream(ibv.OpSend, 8, window, box{iterations: 9, duration: time.Hour})
		if err != nil || out.messages != 9 {
			t.Fatalf("window %d: %d messages, %v", window, out.messages, err)
		}
	}
}

func TestSignificant(t *testing.T) {
	for in, want := range map[float64]float64{0: 0, 98.76543: 98.77, 0.00123456: 0.001235, 392.04: 392} {
		if got := significant(in); math.Abs(got-want) > 1e-12 {
			t.Errorf("significant(%v) = %v, want %v", in, got, want)
		}
	}
}
