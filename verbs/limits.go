package verbs

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/host"
)

// memlock is how much memory this process may pin.
type memlock struct {
	known     bool
	soft      uint64 // bytes; math.MaxUint64 for unlimited
	unlimited bool   // by the limit itself or by CAP_IPC_LOCK
}

const capIPCLock = 14

// readMemlock reads the limit of the calling process and whether it is bound by it.
func readMemlock(r host.Reader) (memlock, error) {
	limits, err := r.ReadFile("/proc/self/limits")
	if err != nil {
		return memlock{}, fmt.Errorf("cannot read own limits: %w", err)
	}
	m := memlock{}
	for line := range strings.Lines(string(limits)) {
		rest, ok := strings.CutPrefix(line, "Max locked memory")
		if !ok {
			continue
		}
		f := strings.Fields(rest)
		if len(f) == 0 {
			break
		}
		m.known = true
		if f[0] == "unlimited" {
			m.soft, m.unlimited = math.MaxUint64, true
			break
		}
		if m.soft, err = strconv.ParseUint(f[0], 10, 64); err != nil {
			return memlock{}, fmt.Errorf("cannot read own limits: %w", err)
		}
	}
	if !m.known {
		return memlock{}, errors.New("cannot read own limits: no line Max locked memory")
	}
	status, err := r.ReadFile("/proc/self/status")
	if err != nil {
		return memlock{}, fmt.Errorf("cannot read own capabilities: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "CapEff:"); ok {
			caps, err := strconv.ParseUint(strings.TrimSpace(rest), 16, 64)
			if err != nil {
				return memlock{}, fmt.Errorf("cannot read own capabilities: %w", err)
			}
			m.unlimited = m.unlimited || caps>>capIPCLock&1 == 1
		}
	}
	return m, nil
}

// tooLow says that pinning need bytes exceeds the limit.
func (m memlock) tooLow(need int) bool {
	return m.known && !m.unlimited && m.soft < uint64(need)
}

func (m memlock) String() string {
	switch {
	case !m.known:
		return "RLIMIT_MEMLOCK is not known"
	case m.soft == math.MaxUint64:
		return "RLIMIT_MEMLOCK is unlimited"
	case m.unlimited:
		return fmt.Sprintf("RLIMIT_MEMLOCK is %d KiB, but CAP_IPC_LOCK lifts it", m.soft>>10)
	default:
		return fmt.Sprintf("RLIMIT_MEMLOCK is %d KiB", m.soft>>10)
	}
}
