package rpm

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

const databaseFormat = `%{NAME}\t%{EPOCH}\t%{VERSION}\t%{RELEASE}\t%{ARCH}\n`

// Installed reads the rpm database. Two versions of one package, where only one can be, are what an
// interrupted transaction leaves: the newer one is there as Broken.
func (t Tool) Installed(ctx context.Context) (pkgmgr.Database, error) {
	res, err := t.Query(ctx, "", "rpm", "-qa", "--qf", databaseFormat)
	if err != nil {
		return nil, err
	}
	// rpm ends with 0 when it could not read a part of its database, and says so.
	if lines := databaseErrors(res.Stderr); res.Exit != 0 || len(lines) > 0 {
		return nil, &pkgmgr.CommandError{Command: "rpm -qa", Exit: res.Exit, Lines: lines}
	}
	entries, err := parseDatabase(res.Stdout)
	if err != nil {
		return nil, err
	}
	several := map[string]bool{}
	for _, name := range twice(entries) {
		out, err := t.Ask(ctx, "rpm", "-q", "--provides", name)
		if err != nil {
			return nil, err
		}
		several[name] = strings.Contains(out, "installonlypkg(") || strings.Contains(out, "multiversion(")
	}
	return assemble(entries, several)
}

func databaseErrors(stderr string) []string {
	lines := []string{}
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "error:") {
			lines = append(lines, line)
		}
	}
	return lines[:min(len(lines), 5)]
}

// parseDatabase reads databaseFormat. Keys, which rpm keeps as packages, are left out.
func parseDatabase(out string) ([]pkgmgr.Package, error) {
	entries := []pkgmgr.Package{}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 5 || f[0] == "" || f[2] == "" || f[3] == "" {
			return nil, fmt.Errorf("cannot read the rpm database: %q", line)
		}
		if f[0] == "gpg-pubkey" {
			continue
		}
		entries = append(entries, pkgmgr.Package{Name: f[0], Arch: f[4], Version: EVR(f[1], f[2], f[3]), Status: pkgmgr.Installed})
	}
	return entries, nil
}

// twice are the names that one architecture has in more than one version, but for kernels.
func twice(entries []pkgmgr.Package) []string {
	seen := map[string]int{}
	names := []string{}
	for _, p := range entries {
		if seen[p.Key()]++; seen[p.Key()] == 2 && !sideBySide(p.Name) {
			names = append(names, p.Name)
		}
	}
	sort.Strings(names)
	return names
}

func assemble(entries []pkgmgr.Package, several map[string]bool) (pkgmgr.Database, error) {
	db := pkgmgr.Database{}
	for _, p := range entries {
		p.Name, p.Base = Named(p.Name, p.Version, several[p.Name])
		other, ok := db[p.Key()]
		if !ok {
			db[p.Key()] = p
			continue
		}
		c, err := Compare(p.Version, other.Version)
		if err != nil {
			return nil, err
		}
		if c < 0 {
			p = other
		}
		p.Status = pkgmgr.Broken
		db[p.Key()] = p
	}
	return db, nil
}

// Duplicates are the packages of which two versions are installed although only one can be: the older
// ones, in full.
func (t Tool) Duplicates(ctx context.Context) ([]string, error) {
	db, err := t.Installed(ctx)
	if err != nil {
		return nil, err
	}
	out, err := t.Ask(ctx, "rpm", "-qa", "--qf", databaseFormat)
	if err != nil {
		return nil, err
	}
	entries, err := parseDatabase(out)
	if err != nil {
		return nil, err
	}
	older := []string{}
	for _, p := range entries {
		if kept := db[p.Key()]; kept.Status == pkgmgr.Broken && kept.Version != p.Version {
			older = append(older, NEVRA(p))
		}
	}
	sort.Strings(older)
	return older, nil
}
