package version

import (
	"testing"

	goversion "github.com/hashicorp/go-version"
)

// The own comparison of digits agrees with go-version's.
func FuzzConstraintOracle(f *testing.F) {
	for _, s := range [][2]string{{"24.10-1.1.4.0", ">= 23.10, < 25"}, {"24.10", "= 24.10.0"}, {"5.4-3.1.0.0", "!= 5.4"}, {"24.10-1.1", "~> 24.10.0"}, {"1", "<= 1.0.0.1"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, v, c string) {
		pv, errV := ParseStack(v)
		pc, errC := ParseConstraint(c)
		if errV != nil || errC != nil {
			return
		}
		if got, want := pv.Satisfies(pc), pc.parsed.Check(pv.parsed); got != want {
			t.Errorf("%q %q: %v, go-version says %v", v, c, got, want)
		}
		other, err := goversion.NewVersion("3.2.1")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := pv.compare(number{parsed: other, segments: other.Segments64()}), pv.parsed.Compare(other); got != want {
			t.Errorf("%q against 3.2.1: %d, go-version says %d", v, got, want)
		}
	})
}
