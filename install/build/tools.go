package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// Tools are what a build was made with.
type Tools struct {
	CMake     string `json:"cmake"`     // version
	Generator string `json:"generator"` // Ninja or Unix Makefiles
	Compiler  string `json:"compiler,omitempty"`
}

// tools are the programs to build with.
type tools struct {
	Tools
	cmake  string // cmake or cmake3
	python string // empty when it is not at its place
}

var cmakeVersion = regexp.MustCompile(`(?m)^cmake3? version ([0-9]+)\.([0-9]+)\S*`)

// findTools looks for cmake and a program that runs its builds. EPEL 7 has cmake3 and ninja-build beside an
// old cmake, which is enough for rdma-core.
func findTools(ctx context.Context, h Host) (tools, error) {
	var t tools
	for _, name := range []string{"cmake", "cmake3"} {
		text, err := says(ctx, h, name, "--version")
		if errors.Is(err, host.ErrNotInstalled) {
			continue
		}
		if err != nil {
			return t, err
		}
		v := cmakeVersion.FindStringSubmatch(text)
		if v == nil {
			return t, fault.New(fault.Stopped, "bad-tools", "see what it prints", "cannot build: %s --version tells no version", name)
		}
		t.cmake, t.CMake = name, strings.Fields(v[0])[2]
		break
	}
	if t.cmake == "" {
		return t, missingTool("cmake")
	}
	t.Generator = "Unix Makefiles"
	for _, name := range []string{"ninja", "ninja-build", "make"} {
		_, err := says(ctx, h, name, "--version")
		if err == nil {
			if name != "make" {
				t.Generator = "Ninja"
			}
			break
		}
		if !errors.Is(err, host.ErrNotInstalled) {
			return t, err
		}
		if name == "make" {
			return t, missingTool("ninja or make")
		}
	}
	text, err := says(ctx, h, "cc", "--version")
	switch {
	case err == nil:
		t.Compiler, _, _ = strings.Cut(text, "\n")
	case errors.Is(err, host.ErrNotInstalled):
		return t, missingTool("a C compiler (cc)")
	default:
		return t, err
	}
	// The first python3 of a PATH may be of pyenv or conda; the distribution's knows the distribution.
	const python = "/usr/bin/python3"
	switch _, err := h.Stat(python); {
	case err == nil:
		t.python = python
	case !errors.Is(err, fs.ErrNotExist):
		return t, fmt.Errorf("cannot look at %s: %w", python, err)
	}
	return t, nil
}

func missingTool(name string) error {
	return stop("no-build-tools", "install what the build needs; the plan's step build-tools does it", "cannot build rdma-core: %s is not installed", name)
}

// says is what a program prints about itself.
func says(ctx context.Context, h Host, argv ...string) (string, error) {
	result, err := h.Run(ctx, host.Command{Argv: argv})
	if err != nil {
		return "", err
	}
	if result.Exit != 0 {
		return "", fault.New(fault.Stopped, "bad-tools", "see what it prints", "cannot build: %s ended with %d: %s", strings.Join(argv, " "), result.Exit, oneLine(result.Stdout+" "+result.Stderr))
	}
	return result.Stdout, nil
}

// policy is the option that a cmake from 4.0 on needs for trees before v35, which ask for the behaviour of
// versions that it no longer has.
func (t tools) policy(version string) []string {
	number, _, _ := strings.Cut(t.CMake, ".")
	n, err := strconv.Atoi(number)
	if err == nil && n >= 4 && major(version) < 35 {
		return []string{"-DCMAKE_POLICY_VERSION_MINIMUM=3.5"}
	}
	return nil
}
