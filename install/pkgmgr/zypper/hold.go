package zypper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
)

// locksFile has libzypp's locks, a paragraph each. `zypper addlock` and `zypper removelock` write it.
const locksFile = "/etc/zypp/locks"

// CanHold is nil: locks are part of libzypp.
func (s *Solver) CanHold() error { return nil }

// HoldsOn are locks on names: libzypp then neither replaces nor removes what is there.
func (m *Manager) HoldsOn(_ context.Context, packages []pkgmgr.Package) ([]pkgmgr.Hold, error) {
	holds := []pkgmgr.Hold{}
	for _, p := range packages {
		h := pkgmgr.Hold{Name: p.Name}
		if p.Base != "" {
			h.Name = p.Base
		}
		if !slices.Contains(holds, h) { // of two architectures
			holds = append(holds, h)
		}
	}
	return holds, nil
}

func (m *Manager) locks() (string, error) {
	text, err := m.Host.ReadFile(locksFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot read %s: %w", locksFile, err)
	}
	return string(text), nil
}

// Holds reads the locks on packages.
func (m *Manager) Holds(context.Context) ([]pkgmgr.Hold, error) {
	text, err := m.locks()
	if err != nil {
		return nil, err
	}
	holds := []pkgmgr.Hold{}
	for _, p := range paragraphs(text) {
		holds = append(holds, holdsOf(p)...)
	}
	return holds, nil
}

// paragraphs are the parts of a locks file; together they are the file.
func paragraphs(text string) []string {
	return strings.SplitAfter(text, "\n\n")
}

// holdsOf are the packages that a paragraph locks.
func holdsOf(paragraph string) []pkgmgr.Hold {
	var names []string
	version, kind := "", ""
	for line := range strings.Lines(paragraph) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		switch value = strings.TrimSpace(value); key {
		case "type":
			kind = value
		case "solvable_name":
			names = append(names, strings.Fields(value)...)
		case "version":
			version = value
		}
	}
	if kind != "" && kind != "package" {
		return nil
	}
	var out []pkgmgr.Hold
	for _, n := range names {
		out = append(out, pkgmgr.Hold{Name: n, Version: version})
	}
	return out
}

// HoldFiles are the locks.
func (m *Manager) HoldFiles() ([]string, error) { return []string{locksFile}, nil }

// Hold adds locks.
func (m *Manager) Hold(ctx context.Context, holds []pkgmgr.Hold) error {
	return m.lock(ctx, "addlock", holds, true)
}

// Release removes locks.
func (m *Manager) Release(ctx context.Context, holds []pkgmgr.Hold) error {
	return m.lock(ctx, "removelock", holds, false)
}

// lock runs a verb for the locks whose state is another one.
func (m *Manager) lock(ctx context.Context, verb string, holds []pkgmgr.Hold, set bool) error {
	now, err := m.Holds(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, h := range holds {
		if err := rpm.CheckName(h.Name); err != nil {
			return err
		}
		if slices.Contains(now, h) != set {
			names = append(names, h.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	res, err := m.Run(ctx, "", m.command(verb, append([]string{"--type", "package"}, names...)...)...)
	if err != nil && res.Exit != 0 {
		return failure(res)
	}
	return err
}

// Released returns a manager whose libzypp reads other locks, by a configuration of its own (ZYPP_CONF).
func (m *Manager) Released(_ context.Context, dir string, holds []pkgmgr.Hold) (pkgmgr.Manager, error) {
	if !path.IsAbs(dir) || strings.ContainsAny(dir, " \t\n") {
		return nil, fmt.Errorf("cannot foresee packages in %q: not an absolute path without blanks", dir)
	}
	text, err := m.locks()
	if err != nil {
		return nil, err
	}
	left := withoutLocks(text, holds)
	if left == text {
		return m, nil
	}
	conf := ""
	for _, file := range []string{"/etc/zypp/zypp.conf", "/usr/etc/zypp/zypp.conf"} {
		data, err := m.Host.ReadFile(file)
		if err == nil {
			conf = string(data)
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot read %s: %w", file, err)
		}
	}
	if err := pkgmgr.WriteFiles(m.Writer, []pkgmgr.File{
		{Path: dir + "/locks", Data: []byte(left), Mode: 0o644},
		{Path: dir + "/zypp.conf", Data: []byte(withLocksFile(conf, dir+"/locks")), Mode: 0o644},
	}); err != nil {
		return nil, err
	}
	out := *m
	out.Env = append(slices.Clone(out.Env), "ZYPP_CONF="+dir+"/zypp.conf")
	return &out, nil
}

// withLocksFile is a zypp.conf that names another file of locks.
func withLocksFile(conf, file string) string {
	const key = "locksfile.path"
	var out strings.Builder
	done := false
	for line := range strings.Lines(conf) {
		if name, _, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) == key {
			continue
		}
		out.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		if strings.TrimSpace(line) == "[main]" && !done {
			out.WriteString(key + " = " + file + "\n")
			done = true
		}
	}
	if !done {
		out.WriteString("[main]\n" + key + " = " + file + "\n")
	}
	return out.String()
}

// withoutLocks are locks without those that are exactly the ones named. A paragraph that locks more than one package
// is a person's.
func withoutLocks(text string, holds []pkgmgr.Hold) string {
	var out strings.Builder
	for _, p := range paragraphs(text) {
		if h := holdsOf(p); len(h) == 1 && slices.Contains(holds, h[0]) {
			continue
		}
		out.WriteString(p)
	}
	return out.String()
}
