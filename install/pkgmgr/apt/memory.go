package apt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
)

// memory keeps answers for as long as the files that they are made of are the same: a run asks the same questions
// again before and after each of its stages, so that a change by somebody else is seen, and on a host with all lists of
// a distribution each simulation takes half a second. It belongs to one manager and lives as long as that.
type memory struct {
	answers map[string]kept
}

type kept struct {
	state string
	out   string
}

func newMemory() *memory { return &memory{answers: map[string]kept{}} }

// settled is how old a file has to be for its time to tell a later change from this one: more than one tick of the
// kernel's coarse clock (10 ms at 100 Hz), and more than two seconds where a file system keeps whole seconds (ext3,
// vfat).
func settled(changed, now time.Time) bool {
	age := 20 * time.Millisecond
	if changed.Nanosecond() == 0 {
		age = 2 * time.Second
	}
	return now.Sub(changed) > age
}

// remember answers from memory while state is what it was when the answer was given. A state that cannot be told, or
// that is too young to tell changes, has the question asked.
func (m *memory) remember(key string, state func() string, ask func() (string, error)) (string, error) {
	if m == nil {
		return ask()
	}
	before := state()
	if a, ok := m.answers[key]; ok && before != "" && a.state == before {
		return a.out, nil
	}
	out, err := ask()
	if err != nil || before == "" {
		return out, err
	}
	m.answers[key] = kept{before, out}
	return out, nil
}

// databaseState names the state of dpkg's database: it writes the file anew for each change, and keeps changes of a
// transaction that is under way beside it.
func (s *Solver) databaseState() string {
	return s.stateOf([]string{dpkgStatus}, []string{"/var/lib/dpkg/updates"})
}

// solvingState names the state of all that a simulation reads.
func (s *Solver) solvingState() string {
	files := []string{
		dpkgStatus, "/var/lib/apt/extended_states", sourceList, "/etc/apt/preferences", "/etc/apt/apt.conf",
	}
	dirs := []string{"/var/lib/dpkg/updates", sourceParts, "/etc/apt/preferences.d", "/etc/apt/apt.conf.d"}
	if s.staged == nil {
		return s.stateOf(files, append(dirs, "/var/lib/apt/lists"))
	}
	return s.stateOf(files, append(dirs, s.staged.lists(), s.staged.sources()))
}

// stateOf is made of names, times and sizes of files and of what is in directories; empty if that cannot be told, or
// if something is too young.
func (s *Solver) stateOf(files, dirs []string) string {
	for _, d := range dirs {
		names, err := s.Host.ReadDir(d)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		for _, n := range names {
			files = append(files, path.Join(d, n))
		}
	}
	var out strings.Builder
	now := time.Now()
	for _, f := range files {
		info, err := s.Host.Stat(f)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || info.ModTime.IsZero() || !info.Mode.IsDir() && !settled(info.ModTime, now) {
			return ""
		}
		if info.Mode.IsDir() {
			continue // such as partial, which each update makes anew
		}
		fmt.Fprintf(&out, "%s %d %d\n", f, info.ModTime.UnixNano(), info.Size)
	}
	return out.String()
}

// askDatabase asks dpkg about the package database.
func (s *Solver) askDatabase(ctx context.Context) (string, error) {
	ask := func() (string, error) { return s.ask(ctx, "dpkg-query", "-W", "--showformat="+statusFormat) }
	if s.staged.away() {
		return ask()
	}
	return s.memory.remember("database", s.databaseState, ask)
}

// askSimulation has apt simulate, or print what a transaction would fetch as a whole.
func (s *Solver) askSimulation(ctx context.Context, argv []string) (string, error) {
	ask := func() (string, error) { return s.ask(ctx, argv...) }
	if s.staged.away() || s.after != nil {
		return ask()
	}
	return s.memory.remember(strings.Join(argv, "\x00"), s.solvingState, ask)
}
