package version

import (
	"os/exec"
	"strings"
	"testing"

	cavaliergopher "github.com/cavaliergopher/rpm"
)

func rpmVersion(t testing.TB, s string) RPM {
	t.Helper()
	v, err := ParseRPM(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// rising are versions in rising order, among them those that trap simpler comparisons.
func rising() []string {
	return []string{
		"1.0~~", "1.0~alpha", "1.0~rc1", "1.0~rc1-1", "1.0~rc1^git1", "1.0", "1.0^", "1.0^20200101", "1.0^20200101.1", "1.0.a", "1.0.1",
		"1.05.1", "1.10", "9.9", "33.2-1.el8", "35.0-1.el8", "48.0-1.el8", "48.0-1.el9", "51.0-1.el9", "51.0-1.el10",
		"54mlnx1-1.54103", "58mlnx43-1.58101", "61.0-2.fc44", "61.1^20260812git975bdaf-1.fc44", "2307mlnx47-1.2310119.rhel9u2",
		"2501mlnx56-1.2501060", "2510.0.11-1.el9", "1:0.1-1", "2:0.0.1-1",
	}
}

func TestRPMOrder(t *testing.T) {
	for i, a := range rising() {
		for j, b := range rising() {
			if got := rpmVersion(t, a).Compare(rpmVersion(t, b)); sign(got) != sign(i-j) {
				t.Errorf("%s against %s: %d, want %d", a, b, got, i-j)
			}
		}
	}
}

func TestRPMEqual(t *testing.T) {
	for _, tc := range [][2]string{
		{"1.0", "1_0"},
		{"1.0", "1.00"},
		{"1.0", "1..0"},
		{"1a", "1.a"},
		{"0:1.0-1", "1.0-1"},
		{"(none):1.0-1", "1.0-1"},
		{":1.0-1", "1.0-1"},
		{"00:1", "1"},
		{" 1.0-1\n", "1.0-1"},
		{"99999999999999999999999999", "099999999999999999999999999"},
	} {
		if got := rpmVersion(t, tc[0]).Compare(rpmVersion(t, tc[1])); got != 0 {
			t.Errorf("%q against %q: %d", tc[0], tc[1], got)
		}
	}
}

func TestRPMParts(t *testing.T) {
	v := rpmVersion(t, "1:5.4-OFED.5.4.1.0.3.1.ol8u4")
	if v.Epoch() != "1" || v.Upstream() != "5.4" || v.Release() != "OFED.5.4.1.0.3.1.ol8u4" || v.String() != "1:5.4-OFED.5.4.1.0.3.1.ol8u4" {
		t.Errorf("got %q %q %q", v.Epoch(), v.Upstream(), v.Release())
	}
	for _, s := range []string{"", " ", "1:", "-1", "1-", "1.0 1", "1/2", "é", "1:2:3"} {
		if v, err := ParseRPM(s); err == nil {
			t.Errorf("%q was read as %q", s, v)
		}
	}
	var zero RPM
	if zero.Compare(rpmVersion(t, "0")) >= 0 || rpmVersion(t, "0").Compare(zero) <= 0 || zero.Compare(zero) != 0 {
		t.Error("a version that was never read must be before all others")
	}
	if err := zero.UnmarshalText([]byte("48.0-1.el9")); err != nil || zero.Release() != "1.el9" {
		t.Errorf("got %+v, %v", zero, err)
	}
	if text, err := zero.MarshalText(); err != nil || string(text) != "48.0-1.el9" {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestRPMTrapIsReal keeps the reason for a comparison of our own true.
func TestRPMTrapIsReal(t *testing.T) {
	if cavaliergopher.CompareVersions("1.0^20200101", "1.0.1") < 0 {
		t.Error("cavaliergopher/rpm now knows the caret; its comparison may do")
	}
}

// oracle asks rpm itself, which compares epoch, version and release since 4.16.
func oracle(t testing.TB, a, b string) int {
	t.Helper()
	out, err := exec.Command("rpm", "--eval", `%{lua: print(rpm.vercmp("`+a+`","`+b+`"))}`).CombinedOutput()
	if err != nil {
		t.Fatalf("cannot ask rpm: %v: %s", err, out)
	}
	switch strings.TrimSpace(string(out)) {
	case "-1":
		return -1
	case "0":
		return 0
	case "1":
		return 1
	}
	t.Fatalf("rpm printed %q for %q and %q", out, a, b)
	return 0
}

func needRPM(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("skipped: rpm is not installed (package rpm)")
	}
}

func TestRPMAgreesWithRPM(t *testing.T) {
	needRPM(t)
	all := rising()
	for i, a := range all {
		for _, b := range all[i:] {
			if got, want := rpmVersion(t, a).Compare(rpmVersion(t, b)), oracle(t, a, b); sign(got) != want {
				t.Errorf("%s against %s: %d, rpm says %d", a, b, got, want)
			}
		}
	}
}

func FuzzRPM(f *testing.F) {
	needRPM(f)
	all := rising()
	for i, a := range all {
		f.Add(a, all[(i*7+3)%len(all)])
	}
	f.Add("1.0^^~", "1.0^~^")
	f.Add("a", "1")
	f.Add("1.a", "1a.")
	f.Fuzz(func(t *testing.T, a, b string) {
		va, errA := ParseRPM(a)
		vb, errB := ParseRPM(b)
		if errA != nil || errB != nil || strings.HasPrefix(va.raw, "(none)") || strings.HasPrefix(vb.raw, "(none)") {
			return
		}
		if got, want := sign(va.Compare(vb)), oracle(t, va.raw, vb.raw); got != want {
			t.Errorf("%q against %q: %d, rpm says %d", va, vb, got, want)
		}
	})
}

func FuzzDebian(f *testing.F) {
	dpkg, err := exec.LookPath("dpkg")
	if err != nil {
		f.Skip("skipped: dpkg is not installed (package dpkg)")
	}
	seeds := []string{"33.2-1", "50.0-2ubuntu0.2", "56.1~rc1-1", "56.1-1", "2404mlnx51-1.2404066", "1:5.9-1", "1:1.2-3~bpo12+1", "0", "1~~", "1~", "1.0-0", "1.0"}
	for i, a := range seeds {
		f.Add(a, seeds[(i*5+2)%len(seeds)])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		va, errA := ParseDebian(a)
		vb, errB := ParseDebian(b)
		if errA != nil || errB != nil {
			return
		}
		for _, v := range []Debian{va, vb} {
			// dpkg warns about what it would not take and compares it all the same.
			if out, err := exec.Command(dpkg, "--validate-version", v.raw).CombinedOutput(); err != nil || len(out) > 0 {
				return
			}
		}
		relation := map[int]string{-1: "lt", 0: "eq", 1: "gt"}[sign(va.Compare(vb))]
		if out, err := exec.Command(dpkg, "--compare-versions", va.raw, relation, vb.raw).CombinedOutput(); err != nil {
			t.Errorf("%q against %q: we say %s, dpkg does not: %s", va, vb, relation, out)
		}
	})
}
