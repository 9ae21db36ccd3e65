package main

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
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
