package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Holder is who holds the lock.
type Holder struct {
	Run string `json:"run"`
	PID int    `json:"pid"`
}

// HeldError says that another process holds the lock.
type HeldError struct{ Holder Holder }

func (e *HeldError) Error() string {
	return fmt.Sprintf("run %s (pid %d) holds the lock", e.Holder.Run, e.Holder.PID)
}

// Lock is a held lock. It goes with the process, so a crash never leaves one behind.
type Lock struct{ file *os.File }

// Acquire takes the lock file for a run, or says in a HeldError who has it. It is an open file
// description lock: others can look at it without taking it, unlike with flock.
func Acquire(path string, h Holder) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("cannot make lock %s: %w", path, err)
	}
	if err := checkOwned(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := openLock(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("cannot open lock %s: %w", path, err)
	}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		f.Close()
		return nil, &HeldError{readHolder(path)}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot take lock %s: %w", path, err)
	}
	data, err := json.Marshal(h)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(data, '\n'), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot write lock %s: %w", path, err)
	}
	return &Lock{f}, nil
}

// openLock opens a lock file, without waiting for the other end of what is none.
func openLock(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("it is a link: %w", ErrNotOurs)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("it is not a regular file: %w", ErrNotOurs)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// maxHolder bounds what is read of a lock file in bytes.
const maxHolder = 4 << 10

// readHolder reads who wrote the lock; the holder writes a moment after it locks.
func readHolder(path string) Holder {
	for range 20 {
		if f, err := openLock(path, os.O_RDONLY); err == nil {
			data, err := io.ReadAll(io.LimitReader(f, maxHolder))
			var h Holder
			if err = errors.Join(err, f.Close()); err == nil && json.Unmarshal(data, &h) == nil && h.Run != "" {
				return h
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return Holder{Run: "unknown"}
}

// Release gives the lock back.
func (l *Lock) Release() error {
	if err := l.file.Truncate(0); err != nil {
		l.file.Close()
		return fmt.Errorf("cannot release lock: %w", err)
	}
	return l.file.Close()
}

// LockHolder says who holds the lock now; false if nobody does. It does not touch the lock.
func LockHolder(path string) (Holder, bool, error) {
	f, err := openLock(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return Holder{}, false, nil
	}
	if err != nil {
		return Holder{}, false, fmt.Errorf("cannot look at lock %s: %w", path, err)
	}
	defer f.Close()
	lk := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lk); err != nil {
		return Holder{}, false, fmt.Errorf("cannot look at lock %s: %w", path, err)
	}
	if lk.Type == unix.F_UNLCK {
		return Holder{}, false, nil
	}
	return readHolder(path), true, nil
}
