package build

import (
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// Machine is what the machine that builds has: for an image it is this one.
type Machine struct {
	CPUs int
	// Memory is what can be taken without swapping, in bytes; 0 when not known.
	Memory int64
}

// ThisMachine reads the processors that this process may use, and the memory that is left, for a container
// within its own bound.
func ThisMachine() Machine {
	m := Machine{CPUs: runtime.NumCPU()}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		m.Memory = memAvailable(string(text))
	}
	group, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return m
	}
	for line := range strings.Lines(string(group)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			if left, ok := cgroupLeft(path.Join("/sys/fs/cgroup", name)); ok && (m.Memory == 0 || left < m.Memory) {
				m.Memory = left
			}
		}
	}
	return m
}

// memAvailable reads /proc/meminfo. Kernels before 3.14 have no MemAvailable.
func memAvailable(text string) int64 {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "MemAvailable:" && f[2] == "kB" {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil && n < 1<<40 {
				return n << 10
			}
		}
	}
	return 0
}

// cgroupLeft is what a control group (version 2) may still take.
func cgroupLeft(dir string) (int64, bool) {
	number := func(name string) (int64, bool) {
		text, err := os.ReadFile(path.Join(dir, name))
		if err != nil {
			return 0, false
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		return n, err == nil // "max" is no bound
	}
	most, ok := number("memory.max")
	if !ok {
		return 0, false
	}
	now, ok := number("memory.current")
	return max(most-now, 1), ok
}

// Jobs is how many compilers run at once: as many as ninja takes by itself, a little more than there are
// processors so that none waits for the disk, as far as the memory reaches.
func (m Machine) Jobs() int {
	jobs := max(m.CPUs, 1) + 2
	if m.CPUs <= 2 {
		jobs = max(m.CPUs, 1) + 1
	}
	if m.Memory > 0 {
		jobs = min(jobs, max(int(m.Memory/memory), 1))
	}
	return jobs
}
