package rpm

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/plan"
)

// Replaced are the packages that actions take the place of, or take away, by key.
func Replaced(actions []plan.ResolvedPackage) []string {
	keys := []string{}
	for _, a := range actions {
		if a.Action != "install" {
			keys = append(keys, a.Name+":"+a.Arch)
		}
	}
	return keys
}

// Afterwards keeps the administrator's configuration files after a transaction, and tells what lies beside them.
func (t Tool) Afterwards(ctx context.Context, beside *Leftovers, note func(string)) error {
	files, err := beside.Keep(ctx, true)
	if err != nil {
		return err
	}
	for _, f := range files {
		if note != nil {
			note(fmt.Sprintf("%s: the configuration file that was edited is kept, this one lies beside its place", f))
		}
	}
	return t.Saved(files)
}

// FailedScripts are the scripts of packages that came and whose script failed, by the lines of an output: such a package
// is installed, and the manager may end with 0. Those of packages that go (%preun, %postun) and triggers are only noted
// by rpm, and cannot be helped.
func FailedScripts(out string) []string {
	form := regexp.MustCompile(`%(?:pre|post|posttrans|pretrans)\(.*scriptlet failed`)
	lines := []string{}
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); form.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return lines[:min(len(lines), 5)]
}

// CheckUndo refuses an undo that cannot be said on a command line.
func CheckUndo(u pkgmgr.Undo) error {
	for _, b := range u.Back {
		if !path.IsAbs(b.File) || strings.ContainsAny(b.File, " \t\n") {
			return fmt.Errorf("cannot put back %s: its file %q is not an absolute path without blanks", b.Name, b.File)
		}
	}
	for _, n := range slices.Concat(u.Purge, u.Remove) {
		if err := CheckName(n); err != nil {
			return err
		}
	}
	return nil
}

// SortOffers sorts what repositories have of a package, the newest first.
func SortOffers(offers []pkgmgr.Offer) {
	slices.SortStableFunc(offers, func(a, b pkgmgr.Offer) int {
		c, err := Compare(b.Version, a.Version)
		if err != nil {
			return strings.Compare(b.Version, a.Version)
		}
		return c
	})
}
