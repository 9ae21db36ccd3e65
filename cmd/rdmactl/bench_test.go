package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/rdmactl/rdmactl/host"
)

// BenchmarkPlan is what a person waits for: the whole process, wall time and peak memory, on this
// machine. BenchmarkAptDryRun beside it is the package manager's solver for the same packages, which
// plan leaves out.
func BenchmarkPlan(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "rdmactl")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	benchmarkProcess(b, binary, "plan", "--profile", "soft", "--netdev", "lo")
}

func BenchmarkAptDryRun(b *testing.B) {
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		b.Skip("apt-get is not on this machine")
	}
	benchmarkProcess(b, apt, "install", "--dry-run", "--no-install-recommends", "rdma-core", "ibverbs-providers", "ibverbs-utils", "iproute2")
}

// benchmarkProcess runs a command b.N times and reports the largest resident size.
func benchmarkProcess(b *testing.B, name string, args ...string) {
	var peak int64
	for b.Loop() {
		cmd := exec.Command(name, args...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			b.Fatalf("%v\n%s", err, out)
		}
		// A refusal (exit 3) is an answer too; anything else is not.
		if code := cmd.ProcessState.ExitCode(); code != 0 && code != 3 {
			b.Fatalf("exit %d\n%s", code, out)
		}
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peak = max(peak, usage.Maxrss)
		}
	}
	b.ReportMetric(float64(peak)/1024, "peak-MiB")
}

// BenchmarkFleet plans a fleet as `plan --evidence DIR -o json` does: each host is another document, read,
// detected and planned in one process. The figures are per host; heap-MiB is what is held after all of them,
// and must not grow with their number (compare -benchtime 1000x with 10000x).
func BenchmarkFleet(b *testing.B) {
	benchmarkHosts(b, func(n int) []byte { return []byte(fleetHost(n)) })
}

// BenchmarkTickets is BenchmarkFleet with what people wrote in reports, one after another.
func BenchmarkTickets(b *testing.B) {
	files, err := filepath.Glob("../../test/cases/testdata/*.yaml")
	if err != nil || len(files) == 0 {
		b.Fatalf("no evidence: %v", err)
	}
	texts := make([][]byte, len(files))
	for i, file := range files {
		if texts[i], err = os.ReadFile(file); err != nil {
			b.Fatal(err)
		}
	}
	benchmarkHosts(b, func(n int) []byte { return texts[n%len(texts)] })
}

func benchmarkHosts(b *testing.B, text func(n int) []byte) {
	opts := planOptions{}
	known, err := opts.loadMatrix()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // as hostList does
	n := 0
	for b.Loop() {
		docs, err := host.ParseEvidence("fleet", text(n))
		n++
		if err != nil {
			b.Fatal(err)
		}
		for _, doc := range docs {
			src := opts.detect(b.Context(), "fleet", host.NewReplay(doc))
			p, err := opts.make(src, known, "")
			if err != nil {
				b.Fatal(err)
			}
			if _, err := json.Marshal(p); err != nil {
				b.Fatal(err)
			}
		}
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "heap-MiB")
}

// fleetHost is the n-th host: name, distribution, kernel and card differ.
func fleetHost(n int) string {
	systems := [][3]string{
		{"rhel", "9.4", "5.14.0-427.%d.1.el9_4.x86_64"},
		{"ubuntu", "22.04", "5.15.0-%d-generic"},
		{"debian", "12", "6.1.0-%d-amd64"},
		{"rocky", "8.10", "4.18.0-553.%d.1.el8_10.x86_64"},
		{"sles", "15.5", "5.14.21-150500.%d-default"},
	}
	cards := []string{"1015", "1017", "101b", "101d", "1021", "a2dc", "1003"}
	s := systems[n%len(systems)]
	return fmt.Sprintf("apiVersion: rdmactl/v1\nkind: Evidence\nfiles:\n  /etc/hostname: \"node%d\\n\"\n  /etc/os-release: |\n    ID=%s\n    VERSION_ID=\"%s\"\n"+
		"commands:\n  uname -s: {stdout: \"Linux\\n\"}\n  uname -m: {stdout: \"x86_64\\n\"}\n  uname -r: {stdout: \""+s[2]+"\\n\"}\n"+
		"  lspci -nn: {stdout: \"0000:3b:00.0 Infiniband controller [0207]: Mellanox Technologies ConnectX [15b3:%s]\\n\"}\n",
		n, s[0], s[1], 11+n%50, cards[n%len(cards)])
}
