package udev

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/rdmactl/rdmactl/host"
)

// namingRules is rdma-core's file since v24.0.
const namingRules = "60-rdma-persistent-naming.rules"

// Naming is the policy for names of RDMA devices.
type Naming struct {
	// File is the effective file.
	File string
	// Masked says that the file is empty or a link to /dev/null: devices keep the kernel's names.
	Masked bool
	// Policy is the mode that holds for every device: NAME_FALLBACK, NAME_KERNEL, NAME_PCI,
	// NAME_GUID, NAME_ONBOARD; NAME_KERNEL if no rule renames.
	Policy string
	// Fixed are names given to single devices (NAME_FIXED, since v34), with the rule's matches.
	Fixed []FixedName
	// Unread are stronger files of which is not known whether they exist: they would override this.
	Unread []error
}

// FixedName is a name that a rule gives to the devices that it matches.
type FixedName struct {
	Name  string
	Match string // `ATTR{board_id}=="MT_0000000010"`
	Line  int
}

// NamingPolicy finds the effective file of names. fs.ErrNotExist: no such file, so nothing renames
// and the kernel's names stay; host.ErrUnknown: not told.
func NamingPolicy(r host.Reader) (Naming, error) {
	var unread []error
	for _, file := range rulesFiles(namingRules) {
		if target, err := r.Readlink(file); err == nil && path.Clean(target) == "/dev/null" {
			return Naming{File: file, Masked: true, Policy: "NAME_KERNEL", Unread: unread}, nil
		}
		text, err := r.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			unread = append(unread, fmt.Errorf("cannot read %s: %w", file, err))
			continue
		}
		n := ParseNaming(string(text))
		n.File, n.Unread = file, unread
		return n, nil
	}
	if len(unread) > 0 {
		return Naming{}, fmt.Errorf("cannot find the naming policy: %w", errors.Join(unread...))
	}
	return Naming{}, fmt.Errorf("cannot find the naming policy: no %s: %w", namingRules, fs.ErrNotExist)
}

// ParseNaming reads the rules that call rdma_rename.
func ParseNaming(text string) Naming {
	n := Naming{Policy: "NAME_KERNEL", Masked: strings.TrimSpace(text) == ""}
	for _, line := range logicalLines(text) {
		// A line that udev refuses does nothing.
		tokens, problem := line.scan()
		if problem != nil {
			continue
		}
		n.read(tokens)
	}
	return n
}

func (n *Naming) read(tokens []token) {
	var matches []string
	for _, t := range tokens {
		if t.match() && t.Key != "ACTION" && t.Key != "SUBSYSTEM" && t.Key != "PROGRAM" {
			matches = append(matches, t.name()+t.Op+`"`+t.Value+`"`)
		}
	}
	for _, t := range tokens {
		if t.Key != "PROGRAM" && t.Key != "IMPORT" && t.Key != "RUN" {
			continue
		}
		words := strings.Fields(t.Value)
		if len(words) < 3 || path.Base(words[0]) != "rdma_rename" {
			continue
		}
		switch {
		case words[2] == "NAME_FIXED":
			if len(words) > 3 {
				n.Fixed = append(n.Fixed, FixedName{Name: words[3], Match: strings.Join(matches, ", "), Line: t.at.line})
			}
		case len(matches) == 0:
			n.Policy = words[2] // the last rule for all devices is the one that renames last
		}
	}
}
