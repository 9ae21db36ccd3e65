// Package verbs proves with real traffic that a host's RDMA devices work, and measures them.
//
// Run re-executes this program as a worker and hands it one Request; Worker is the other end. Only
// the worker loads libibverbs: a provider that crashes or hangs takes down the worker and becomes a
// finding, and a fresh process sees a library that was installed a moment ago. The traffic is a
// loopback: two queue pairs of one port connected to each other. It exercises library, provider,
// kernel, device and memory; it says nothing about the cable or the fabric.
package verbs

// Schema names the form of Report.
const Schema = "rdmactl.verify/v1"

// Status is the outcome of a report, a check or a test.
type Status string

// The outcomes. NotTestable says that something else must be put right before traffic can say
// anything: it is neither a pass nor a fault of the RDMA stack's data path.
const (
	Pass        Status = "pass"
	Warn        Status = "warn"
	Fail        Status = "fail"
	NotTestable Status = "not-testable"
)

// Report is what verify found out.
type Report struct {
	Schema  string       `json:"schema"`
	Verdict Status       `json:"verdict"`
	Library *Library     `json:"library,omitempty"`
	Checks  []Check      `json:"checks"`
	Devices []DevicePort `json:"devices"`
}

// Library is the libibverbs that was loaded.
type Library struct {
	Path string `json:"path"`
	// PrivateABI is the version that its providers must be built for; 0 when it cannot be told.
	PrivateABI int `json:"private_abi"`
}

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	Layer  Layer  `json:"layer"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	// Code is set when the status is not pass; Remedy says what to do about it.
	Code   Code   `json:"code,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	Device string `json:"device,omitempty"`
	Port   int    `json:"port,omitempty"`
	// Evidence is what other programs said, such as libibverbs' own warnings.
	Evidence []string `json:"evidence,omitempty"`
}

// DevicePort is one port of one device, with the tests that ran on it.
type DevicePort struct {
	Device    string  `json:"device"`
	Port      int     `json:"port"`
	State     string  `json:"state"`      // DOWN, INIT, ARMED, ACTIVE; empty when not told
	LinkLayer string  `json:"link_layer"` // InfiniBand, Ethernet; empty when not told
	Rate      string  `json:"rate"`       // as the kernel words it, such as "100 Gb/sec (4X EDR)"
	GID       *GID    `json:"gid"`        // the one that was used; null where paths go by LID
	LID       *uint16 `json:"lid"`        // null on Ethernet
	MTU       int     `json:"mtu"`        // active path MTU in bytes; 0 when not told
	Firmware  string  `json:"firmware,omitempty"`
	Tests     []Test  `json:"tests"`
}

// GID is the address that RoCE traffic was sent from and to.
type GID struct {
	Index   int    `json:"index"`
	Type    string `json:"type"` // as the kernel words it, such as "RoCE v2"
	Address string `json:"address"`
	Netdev  string `json:"netdev,omitempty"`
}

// Measure is what a test is about.
type Measure string

// The measures.
const (
	Integrity Measure = "integrity" // every byte compared, in both directions
	LatencyOf Measure = "latency"
	Bandwidth Measure = "bandwidth"
)

// Test is one operation at one size.
type Test struct {
	Op         string   `json:"op"` // send, write, read, cmp-swap, fetch-add
	Measure    Measure  `json:"measure"`
	Size       int      `json:"size"`       // bytes of a message
	Iterations int      `json:"iterations"` // messages compared or exchanges measured
	Latency    *Latency `json:"latency_us"` // null where it is not measured
	// Gbps counts payload, 10^9 bits; Mpps counts 10^6 messages a second.
	Gbps   *float64 `json:"bandwidth_gbps"`
	Mpps   *float64 `json:"message_rate_mpps"`
	CPU    *float64 `json:"cpu_us_per_message"` // user and system time of both ends
	Window int      `json:"window,omitempty"`   // messages under way at a time
	// Expected is null when nothing is known to compare with.
	Expected *Expected `json:"expected"`
	Status   Status    `json:"status"`
	Detail   string    `json:"detail"`
}

// Expected is what a healthy port of this kind reaches.
type Expected struct {
	Gbps  *float64 `json:"bandwidth_gbps,omitempty"`
	P50   *float64 `json:"latency_p50_us,omitempty"`
	Basis string   `json:"basis"`
}

// Latency is made of order statistics in microseconds. A percentile is null unless at least ten
// samples lie beyond it: with fewer it would tell of single events.
type Latency struct {
	// Kind is "one-way" (half of an exchange) or "round-trip".
	Kind string   `json:"kind"`
	Min  *float64 `json:"min"`
	P50  *float64 `json:"p50"`
	P99  *float64 `json:"p99"`
	P999 *float64 `json:"p999"`
	Max  *float64 `json:"max"`
}

// The kinds of latency.
const (
	OneWay    = "one-way"
	RoundTrip = "round-trip"
)

// verdict sums up a report. Anything failed is a failure. Without a port that passed its traffic,
// nothing is proved: not testable. With one, a port that is down does not matter, for cards have
// ports that nobody uses; anything else that kept a port from being tested, or a warning, is a
// warning.
func verdict(checks []Check) Status {
	passed, warned := false, false
	for _, c := range checks {
		switch c.Status {
		case Fail:
			return Fail
		case Warn:
			warned = true
		case NotTestable:
			warned = warned || c.Code != CodePortDown
		case Pass:
			passed = passed || c.Name == checkTraffic
		}
	}
	switch {
	case !passed:
		return NotTestable
	case warned:
		return Warn
	default:
		return Pass
	}
}

func newReport() Report {
	return Report{Schema: Schema, Verdict: NotTestable, Checks: []Check{}, Devices: []DevicePort{}}
}
