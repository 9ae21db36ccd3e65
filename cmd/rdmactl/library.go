package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/profiles"
)

// newLibrary has the built-in profiles and those of the configuration below etc.
func newLibrary(etc string) profiles.Library {
	if etc == "" {
		return profiles.Library{}
	}
	return profiles.Library{Own: profileDir(filepath.Join(etc, "profiles.d"))}
}

// openProfile finds a profile by name, or reads it from a file when the name has a slash or ends in
// .yaml.
func openProfile(library profiles.Library, name string) (profiles.Resolved, error) {
	if isFileName(name) {
		return readProfile(library, name)
	}
	return library.Load(name)
}

func readProfile(library profiles.Library, file string) (profiles.Resolved, error) {
	data, err := readRegular(file, maxSmall)
	if err != nil {
		return profiles.Resolved{}, fault.New(fault.Usage, "faulty-profile", "name a profile or a file that you may read",
			"cannot read profile %s: %w", file, err)
	}
	return library.LoadFile(file, data)
}

// profileDir is a directory of profiles, NAME.yaml each.
type profileDir string

// Names are the files' names without .yaml.
func (d profileDir) Names() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d, cause(err))
	}
	var names []string
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), ".yaml")
		if !ok || strings.HasPrefix(name, ".") { // an editor's file
			continue
		}
		if err := profiles.CheckName(name); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(string(d), entry.Name()), err)
		}
		names = append(names, name)
	}
	return names, nil
}

// Read gives one file. What root reads there decides what root writes, so no one else may write it.
func (d profileDir) Read(name string) (string, []byte, error) {
	file := filepath.Join(string(d), name+".yaml")
	data, err := readRegular(file, maxSmall)
	if err != nil {
		return file, nil, fmt.Errorf("%s: %w", file, err)
	}
	if os.Geteuid() != 0 {
		return file, data, nil
	}
	for _, path := range []string{string(d), file} {
		info, err := os.Stat(path)
		if err != nil {
			return file, nil, fmt.Errorf("%s: %w", path, cause(err))
		}
		if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Uid != 0 || info.Mode().Perm()&0o022 != 0 {
			return file, nil, fmt.Errorf("%s can be written by others than root", path)
		}
	}
	return file, data, nil
}
