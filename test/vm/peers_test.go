package vm_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/test/vm"
)

// TestBesidePeers measures with perftest and ibv_rc_pingpong in the same boot, on the same device and
// GID, and prints the ratios. There is no limit: what the figures mean is decided elsewhere.
func TestBesidePeers(t *testing.T) {
	m := bootWith(t, vm.Bookworm().Measuring())
	if r := rdmactl(t, m, 0, "install", "--profile", "soft", "--yes"); r.Exit != 0 {
		t.Fatal(r)
	}
	r := rdmactl(t, m, 0, "verify", "-o", "json")
	v := decode[verifyReport](t, r)
	if len(v.Devices) != 1 {
		t.Fatalf("devices: %s", r)
	}
	gid := strconv.Itoa(v.Devices[0].GID.Index)
	for _, test := range v.Devices[0].Tests {
		size := strconv.Itoa(test.Size)
		op := strings.ToLower(test.Op)
		switch {
		case test.BandwidthGbps != nil && strings.Contains(op, "write"):
			// Column 4 is the average in Gb/s.
			peer := pair(t, m, []string{"ib_write_bw", "-d", "rxe0", "-x", gid, "-s", size, "-n", "100", "--report_gbits"}, ":4853", columns(size, 3))
			ratio(t, "bandwidth", test.Op+" "+size, "ib_write_bw", *test.BandwidthGbps, peer)
		case test.LatencyUS != nil && test.LatencyUS.P50 != nil && strings.Contains(op, "send"):
			// Column 5 is t_typical, the median of half round trips in us.
			peer := pair(t, m, []string{"ib_send_lat", "-d", "rxe0", "-x", gid, "-s", size, "-n", "200"}, ":4853", columns(size, 4))
			ratio(t, "latency", test.Op+" "+size, "ib_send_lat", *test.LatencyUS.P50, peer)
			peer = pair(t, m, []string{"ibv_rc_pingpong", "-d", "rxe0", "-g", gid, "-s", size, "-n", "200"}, ":4853", regexp.MustCompile(`= ([0-9.]+) usec/iter`))
			ratio(t, "latency", test.Op+" "+size, "ibv_rc_pingpong (half of its round trip)", *test.LatencyUS.P50, peer/2)
		}
	}
}

// columns finds the figure in column n (from 0) of perftest's line for a size.
func columns(size string, n int) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*` + size + `(?:\s+[0-9.]+){` + strconv.Itoa(n-1) + `}\s+([0-9.]+)`)
}

// pair runs a server and its client and reads one figure of the client's output.
func pair(t *testing.T, m *vm.Machine, argv []string, port string, figure *regexp.Regexp) float64 {
	t.Helper()
	server := m.Start(vm.Cmd{Argv: argv, Timeout: 3 * time.Minute})
	m.Shell("for i in $(seq 200); do grep -qi '" + port + " ' /proc/net/tcp /proc/net/tcp6 && exit 0; sleep 0.1; done; exit 1")
	client := m.Exec(vm.Cmd{Argv: append(argv, "127.0.0.1"), Timeout: 3 * time.Minute})
	if _, done := server.Wait(time.Minute); !done {
		t.Errorf("%s: the server does not end", argv[0])
		server.Signal(9)
	}
	match := figure.FindStringSubmatch(client.Stdout)
	if match == nil {
		t.Errorf("no figure in %s", client)
		return 0
	}
	f, err := strconv.ParseFloat(match[1], 64)
	if err != nil {
		t.Errorf("%v in %s", err, client)
	}
	return f
}

func ratio(t *testing.T, what, ours, theirs string, our, their float64) {
	t.Helper()
	if their == 0 {
		t.Errorf("%s: %s measured nothing", what, theirs)
		return
	}
	t.Logf("RATIO %s: ours %s %.4g / %s %.4g = %.3f", what, ours, our, theirs, their, our/their)
}

// TestPlanCost prints what a plan costs on the machine, beside the package manager's own dry run of the
// same packages.
func TestPlanCost(t *testing.T) {
	m := bootWith(t, vm.Bookworm())
	m.Must("apt-get", "update")
	apt := []string{"apt-get", "install", "--dry-run", "--no-install-recommends", "rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "rdmacm-utils", "perftest", "iproute2"}
	for _, argv := range [][]string{{onPath, "plan", "--profile", "soft"}, apt} {
		m.Run(argv...) // warm
		r := m.Run(argv...)
		if r.Exit != 0 {
			t.Error(r)
		}
		t.Logf("COST %s %s: %.2f s, peak %.1f MiB", argv[0], argv[1], r.Seconds, float64(r.PeakKiB)/1024)
	}
}
