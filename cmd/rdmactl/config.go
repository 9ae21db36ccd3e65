package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/strictyaml"
	"github.com/rdmactl/rdmactl/profiles"
)

// The header of the configuration.
const (
	configAPIVersion = "rdmactl/v1"
	configKind       = "Config"
)

// maxConfig bounds the configuration in bytes.
const maxConfig = 64 << 10

// faultyConfig is the code of what is wrong with the configuration.
const faultyConfig = "faulty-configuration"

// config is config.yaml in the directory of the configuration: what the administrator of this machine wants
// where a command is not told. It is about the machine that runs rdmactl, so an answer for evidence never
// depends on it.
type config struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	// Profile is the name of a profile, for plan and install without --profile and --stack.
	Profile *string `yaml:"profile"`

	file      string
	profileAt strictyaml.Pos
}

// readConfig reads the configuration below etc. Without a file, or without a directory, nothing is wanted.
func readConfig(etc string) (config, error) {
	if etc == "" {
		return config{}, nil
	}
	file := filepath.Join(etc, "config.yaml")
	data, err := readAdministrators(etc, file, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return config{}, nil
	}
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return config{}, err
	case err != nil:
		return config{}, fault.New(fault.Usage, faultyConfig, "make it a file that you may read, or name the profile with --profile",
			"cannot read the configuration %s: %w", file, err)
	}
	return parseConfig(file, data)
}

func parseConfig(file string, data []byte) (config, error) {
	var c config
	documents := 0
	err := strictyaml.DecodeAll(file, data, func(one config, at strictyaml.Place) error {
		c = one
		if documents++; documents > 1 {
			return errors.New("a second document starts here; only one is allowed")
		}
		c.file, c.profileAt = file, at.Value("profile")
		var problems strictyaml.Problems
		if c.APIVersion != configAPIVersion {
			problems = append(problems, strictyaml.Problem{Pos: at.Value("apiVersion"), Text: fmt.Sprintf("apiVersion must be %q, not %q", configAPIVersion, c.APIVersion)})
		}
		if c.Kind != configKind {
			problems = append(problems, strictyaml.Problem{Pos: at.Value("kind"), Text: fmt.Sprintf("kind must be %q, not %q", configKind, c.Kind)})
		}
		if c.Profile != nil {
			// A name and no file: those of the administrator are in profiles.d, where their owner is looked at.
			if err := profiles.CheckName(*c.Profile); err != nil {
				problems = append(problems, strictyaml.Problem{Pos: c.profileAt, Text: "profile: " + err.Error()})
			}
		}
		if len(problems) > 0 {
			return problems
		}
		return nil
	})
	if err != nil {
		return config{}, fault.New(fault.Usage, faultyConfig, "correct the lines named above", "cannot read the configuration %s:\n%w", file, err)
	}
	return c, nil
}

// profile is the profile that is wanted, empty for none.
func (c config) profile() string {
	if c.Profile == nil {
		return ""
	}
	return *c.Profile
}

// unusable says that the profile that the configuration names cannot be used.
func (c config) unusable(err error) error {
	return fault.New(fault.Usage, faultyConfig, "`rdmactl profiles list` names the profiles", "cannot use the configuration: %s: %w", c.profileAt, err)
}

// readAdministrators reads a file of dir that no one else may write than root, or than the user who runs this:
// what others can write does not decide about what root installs. The file that is read is the one that was
// looked at.
func readAdministrators(dir, file string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, cause(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is " + kindOf(info.Mode()))
	}
	above, err := os.Stat(dir)
	if err != nil {
		return nil, cause(err)
	}
	for _, one := range []struct {
		path string
		info fs.FileInfo
	}{{dir, above}, {file, info}} {
		st, ok := one.info.Sys().(*syscall.Stat_t)
		if !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() || one.info.Mode().Perm()&0o022 != 0 {
			return nil, fault.New(fault.Usage, faultyConfig, fmt.Sprintf("chown root %s; chmod go-w %s", one.path, one.path),
				"cannot use the configuration %s: %s is not root's alone to write", file, one.path)
		}
	}
	return readLimited(f, limit)
}
