// Package kmod reads, finds, loads and persists Linux kernel modules.
//
// What a module file says (.modinfo) is read without kmod's own programs, but laid out as modinfo(8)
// prints it: so a recorded host, a live one and a ticket with pasted text go through one parser.
// Loading is left to modprobe(8), which alone knows softdeps, install commands and options.
package kmod

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/rdmactl/rdmactl/host"
)

// modulesRoot is where depmod and modprobe look. /lib is a link to /usr/lib on a merged-/usr system,
// and both names lead to the same place there.
const modulesRoot = "/lib/modules"

// maxNameLen is MODULE_NAME_LEN of the kernel (64 - sizeof(unsigned long)), without the NUL.
const maxNameLen = 55

// Normalize returns the name as the kernel has it: '-' and '_' are one character to modprobe, and
// /proc/modules shows '_' (nvme-rdma.ko is nvme_rdma).
func Normalize(name string) string { return strings.ReplaceAll(name, "-", "_") }

// Same says whether two names mean one module.
func Same(a, b string) bool { return Normalize(a) == Normalize(b) }

// CheckName refuses what cannot be a module's name: it goes on command lines and into files that
// root's programs read.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("module name is empty")
	case len(name) > maxNameLen:
		return fmt.Errorf("module name %.20q... is longer than %d characters", name, maxNameLen)
	case name[0] == '-':
		return fmt.Errorf("module name %q starts with a dash", name)
	}
	for _, c := range []byte(name) {
		if !isNameByte(c) {
			return fmt.Errorf("module name %q has a character other than A-Z a-z 0-9 _ -", name)
		}
	}
	return nil
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// checkKernel refuses a kernel release that would lead out of /lib/modules.
func checkKernel(release string) error {
	if release == "" || release == "." || release == ".." || strings.ContainsAny(release, "/\x00\n \t") || release[0] == '-' {
		return fmt.Errorf("kernel release %q is not a directory name", release)
	}
	return nil
}

// Running returns the release of the running kernel, from /proc/sys/kernel/osrelease or `uname -r`.
// For an image it is the build host's kernel or unknown: name the target's kernel instead.
func Running(ctx context.Context, r host.Reader) (string, error) {
	text, err := r.ReadFile("/proc/sys/kernel/osrelease")
	if err == nil {
		if release := strings.TrimSpace(string(text)); release != "" {
			return release, nil
		}
	} else if !isUnknown(err) {
		return "", fmt.Errorf("cannot read the kernel's release: %w", err)
	}
	res, err := r.Query(ctx, "uname", "-r")
	if err != nil {
		return "", fmt.Errorf("cannot read the kernel's release: %w", err)
	}
	release := strings.TrimSpace(res.Stdout)
	if res.Exit != 0 || release == "" {
		return "", fmt.Errorf("cannot read the kernel's release: uname -r ended with %d: %w", res.Exit, host.ErrUnknown)
	}
	return release, nil
}

// isUnknown says that another source may still tell: silence, a /proc that is not there (an image, an
// excerpt), or a recorded host without kmod's programs.
func isUnknown(err error) bool {
	return errors.Is(err, host.ErrUnknown) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, host.ErrNotInstalled)
}
