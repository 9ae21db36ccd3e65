package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Known holds the content hashes of files as they were when a disk was made. An emulated machine
// takes a minute to hash its own; whatever changed since has a later change time (which no program
// sets) and is hashed anew.
type Known struct {
	before int64 // change times from this second on are not trusted
	sums   map[string]string
}

// Catalogue hashes all regular files below root, named as they will be when root is /. Only
// changes after now (Unix seconds) will be noticed.
func Catalogue(root string, now int64) (Known, error) {
	k := Known{before: now + 1, sums: map[string]string{}}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		sum, err := hash(p)
		k.sums[known(p[len(root):], fi)] = sum
		return err
	})
	return k, err
}

// known names a state of a file.
func known(p string, fi fs.FileInfo) string {
	return p + " " + strconv.FormatInt(fi.Size(), 10) + " " + strconv.FormatInt(fi.ModTime().Unix(), 10)
}

// sum returns the hash of the file p, which is real when links on the way are resolved.
func (k Known) sum(p, real string, fi fs.FileInfo) (string, error) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && st.Ctim.Sec < k.before {
		if sum, ok := k.sums[known(real, fi)]; ok {
			return sum, nil
		}
	}
	return hash(p)
}

// Save writes the catalogue to a file.
func (k Known) Save(file string) error {
	b := strconv.AppendInt(nil, k.before, 10)
	for name, sum := range k.sums {
		b = append(b, 0)
		b = append(b, sum...)
		b = append(b, ' ')
		b = append(b, name...)
	}
	return os.WriteFile(file, b, 0o600)
}

// Load reads what Save wrote.
func Load(file string) (Known, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return Known{}, err
	}
	head, rest, _ := strings.Cut(string(b), "\x00")
	k := Known{sums: map[string]string{}}
	if k.before, err = strconv.ParseInt(head, 10, 64); err != nil {
		return Known{}, fmt.Errorf("cannot read the catalogue %s: %w", file, err)
	}
	for entry := range strings.SplitSeq(rest, "\x00") {
		sum, name, ok := strings.Cut(entry, " ")
		if !ok && entry != "" {
			return Known{}, errors.New("cannot read the catalogue " + file + ": an entry has no name")
		}
		k.sums[name] = sum
	}
	return k, nil
}
