package rpm

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/plan"
)

// Complete fills in what a solver's answer leaves out, from the package database: the version before
// and with it the exact action. Packages that are kept side by side get their full name, so that a
// kernel that comes and one that goes are two packages. The answer is in order of name.
func Complete(actions []plan.ResolvedPackage, db pkgmgr.Database) ([]plan.ResolvedPackage, error) {
	out := []plan.ResolvedPackage{}
	several := map[string]bool{}
	for _, p := range db {
		if p.Base != "" {
			several[p.Base] = true
		}
	}
	for _, a := range actions {
		v := a.Version
		if a.Action == "remove" {
			v = a.From
		}
		full, base := Named(a.Name, v, several[a.Name])
		a.Name = full
		old, has := db[full+":"+a.Arch]
		switch {
		case a.Action == "remove":
			if has {
				a.From = old.Version
			}
			a.Version = ""
		case base != "" && !has:
			if a.Action == "upgrade" || a.Action == "downgrade" {
				// The manager does not keep this one side by side.
				for _, p := range db {
					if p.Base == base && p.Arch == a.Arch {
						out = append(out, plan.ResolvedPackage{Name: p.Name, Arch: p.Arch, From: p.Version, Action: "remove"})
					}
				}
			}
			a.Action, a.From = "install", ""
		case has:
			c, err := Compare(a.Version, old.Version)
			if err != nil {
				return nil, err
			}
			a.From = old.Version
			a.Action = map[int]string{-1: "downgrade", 0: "reinstall", 1: "upgrade"}[sign(c)]
		default:
			a.Action, a.From = "install", ""
		}
		out = append(out, a)
		out = append(out, otherArch(a, db, actions)...)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Name != out[j].Name {
			return out[i].Name < out[j].Name
		}
		return out[i].Arch < out[j].Arch
	})
	return out, nil
}

// otherArch is the removal that goes unsaid when a package turns from noarch to an architecture, or
// back: to rpm that is one package, to the database two.
func otherArch(a plan.ResolvedPackage, db pkgmgr.Database, actions []plan.ResolvedPackage) []plan.ResolvedPackage {
	if a.Action != "install" {
		return nil
	}
	out := []plan.ResolvedPackage{}
	for _, p := range db {
		if p.Name != a.Name || p.Base != "" || p.Arch == a.Arch || p.Arch != "noarch" && a.Arch != "noarch" {
			continue
		}
		if !slices.ContainsFunc(actions, func(o plan.ResolvedPackage) bool { return o.Name == p.Name && o.Arch == p.Arch }) {
			out = append(out, plan.ResolvedPackage{Name: p.Name, Arch: p.Arch, From: p.Version, Action: "remove"})
		}
	}
	return out
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// Answers makes sure that a solver's answer is about the very packages of the request: dnf and zypper
// also take globs, provides and paths for names.
func Answers(manager string, req pkgmgr.Request, actions []plan.ResolvedPackage, db pkgmgr.Database) error {
	acted := func(word string, is func(plan.ResolvedPackage) bool) bool {
		return slices.ContainsFunc(actions, func(a plan.ResolvedPackage) bool {
			v := a.Version
			if a.Action == "remove" {
				v = a.From
			}
			base := strings.TrimSuffix(a.Name, "-"+WithoutEpoch(v))
			if base == a.Name {
				base = ""
			}
			return (Means(word, a.Name, base, a.Arch) || word == a.Name+"-"+WithoutEpoch(v)+"."+a.Arch) && is(a)
		})
	}
	for _, w := range req.Install {
		comes := acted(w.Name, func(a plan.ResolvedPackage) bool { return a.Action != "remove" && a.Version == Normal(w.Version) })
		if p, ok := db.Find(w.Name); !comes && (!ok || p.Version != Normal(w.Version)) {
			return fmt.Errorf("cannot use %s's answer: it does not install %s %s, which was asked for", manager, w.Name, w.Version)
		}
	}
	for _, n := range req.Remove {
		if db.Has(n) && !acted(n, func(a plan.ResolvedPackage) bool { return a.Action == "remove" }) {
			return fmt.Errorf("cannot use %s's answer: it does not remove %s, which was asked for", manager, n)
		}
	}
	return nil
}
