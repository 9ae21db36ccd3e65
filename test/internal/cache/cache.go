// Package cache keeps what tests take long to make: file trees, disks, keys and packages.
package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Cache is a directory of things that take long to make. Each is a directory named after what it is
// and a hash of what it was made of; it is made beside and renamed, so it is whole or not there.
type Cache struct {
	Dir string
}

// Open makes the cache directory, root's only: it holds a signing key and disks that boot.
func Open() (*Cache, error) {
	dir := os.Getenv("RDMACTL_CACHE")
	if dir == "" {
		dir = "/var/cache/rdmactl-test"
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the cache %s: %w", dir, err)
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() || fi.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("cannot use the cache %s: not a directory that only its owner writes (mode %v)", dir, fi.Mode())
	}
	return &Cache{Dir: dir}, nil
}

// Key is a short hash of what a thing is made of.
func Key(parts ...any) (string, error) {
	b, err := json.Marshal(parts)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8]), nil
}

// lock takes the named lock, waiting for another run that holds it.
func (c *Cache) lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(c.Dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock %s: %w", f.Name(), err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// Keep is how long a thing stays after its last use. Different states of the source tree (another
// working copy, a changed package list) use the cache side by side, and a machine's disk must not go
// while it runs.
const Keep = 24 * time.Hour

// Get returns the directory kind-hash, made by build when it is not there. build fills the
// directory that it is given. Others of the same kind are removed when they were not used for long.
func (c *Cache) Get(kind, hash string, build func(dir string) error) (string, error) {
	unlock, err := c.lock(kind)
	if err != nil {
		return "", err
	}
	defer unlock()
	final := filepath.Join(c.Dir, kind+"-"+hash)
	now := time.Now()
	err = os.Chtimes(final, now, now) // its last use
	if err == nil {
		return final, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	tmp := filepath.Join(c.Dir, kind+"-tmp")
	if err := os.RemoveAll(tmp); err != nil { // of a run that was killed: we hold the lock
		return "", err
	}
	if err := c.prune(kind, now); err != nil {
		return "", err
	}
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return "", err
	}
	if err := build(tmp); err != nil {
		return "", errors.Join(fmt.Errorf("cannot make %s: %w", kind, err), os.RemoveAll(tmp))
	}
	if err := os.Rename(tmp, final); err != nil {
		return "", err
	}
	return final, nil
}

func (c *Cache) prune(kind string, now time.Time) error {
	all, err := filepath.Glob(filepath.Join(c.Dir, kind+"-*"))
	if err != nil {
		return err
	}
	for _, one := range all {
		fi, err := os.Stat(one)
		if err != nil {
			return err
		}
		if now.Sub(fi.ModTime()) < Keep {
			continue
		}
		if err := os.RemoveAll(one); err != nil {
			return fmt.Errorf("cannot remove the outdated %s: %w", one, err)
		}
	}
	return nil
}
