package pkgmgr

import (
	"fmt"
	"sort"

	"github.com/rdmactl/rdmactl/plan"
)

// Difference compares the change of the package database with what the solver announced. Each line
// it returns names one package that changed without being announced, or was announced and did not.
func Difference(before, after Database, announced []plan.ResolvedPackage) []string {
	want := map[string]plan.ResolvedPackage{}
	for _, a := range announced {
		want[a.Name+":"+a.Arch] = a
	}
	out := []string{}
	keys := map[string]bool{}
	for k := range before {
		keys[k] = true
	}
	for k := range after {
		keys[k] = true
	}
	for k := range want {
		keys[k] = true
	}
	for k := range keys {
		b, a := before[k], after[k]
		had, has := b.Status == Installed, a.Status == Installed
		w, told := want[k]
		switch {
		case a.Status == Broken && b.Status != Broken:
			out = append(out, fmt.Sprintf("%s is not installed whole", k))
		case told && w.Version != "" && (!has || a.Version != w.Version):
			out = append(out, fmt.Sprintf("%s %s was announced, but is %s", k, w.Version, shown(a)))
		case told && w.Version == "" && has:
			out = append(out, fmt.Sprintf("the removal of %s was announced, but it is %s", k, shown(a)))
		case !told && (had != has || (has && a.Version != b.Version)):
			out = append(out, fmt.Sprintf("%s was %s and is %s, which was not announced", k, shown(b), shown(a)))
		}
	}
	sort.Strings(out)
	return out
}

func shown(p Package) string {
	if p.Status == Installed {
		return p.Version
	}
	return "not installed"
}
