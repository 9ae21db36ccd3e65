package host

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

const (
	tempMark   = ".rdmactl-"
	tempRandom = 12 // characters of base 32
)

// tempName is the name under which a file is written before it gets its own.
func tempName(base string) string {
	return "." + base + tempMark + strings.ToLower(rand.Text()[:tempRandom]) + "~"
}

// isTemp says whether name is one that tempName gives for base.
func isTemp(base, name string) bool {
	random, ok := strings.CutPrefix(name, "."+base+tempMark)
	if !ok {
		return false
	}
	random, ok = strings.CutSuffix(random, "~")
	return ok && len(random) == tempRandom && strings.Trim(random, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// Tidy removes what a WriteFile of this path that was killed has left beside it. The caller sees to it that
// nobody is writing the path now.
func Tidy(w Writer, file string) error {
	dir, base := path.Split(path.Clean(file))
	names, err := w.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot look into %s: %w", dir, err)
	}
	for _, name := range names {
		if !isTemp(base, name) {
			continue
		}
		info, err := w.Lstat(dir + name)
		if err != nil {
			return fmt.Errorf("cannot look at %s: %w", dir+name, err)
		}
		if !info.Mode.IsRegular() {
			continue
		}
		if err := w.Remove(dir + name); err != nil {
			return fmt.Errorf("cannot remove %s: %w", dir+name, err)
		}
	}
	return nil
}
