package version

import (
	"os/exec"
	"testing"

	goversion "github.com/hashicorp/go-version"
)

func stack(t *testing.T, s string) StackVersion {
	t.Helper()
	v, err := ParseStack(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func constraint(t *testing.T, s string) Constraint {
	t.Helper()
	c, err := ParseConstraint(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStackConstraints(t *testing.T) {
	for _, tc := range []struct {
		version, constraint string
		want                bool
	}{
		// The traps: go-version alone says false to the first three.
		{"23.10-2.1.3.1", ">= 23.10", true},
		{"24.10-1.1.4.0", ">= 23.10", true},
		{"24.10-1.1.4.0", ">= 23.10-0.5.5.0", true},
		{"23.07-0.5.0.0", ">= 23.10", false},
		{"24.10-1.1.4.0", "~> 24.10.0", true},
		{"24.04-0.6.6.0", "~> 24.10.0", false},
		{"25.01-0.6.0.0", "~> 24.10.0", false},
		{"24.10-1.1.4.0", "= 24.10", false}, // documented: exactly this number
		{"24.10", "= 24.10", true},
		{"24.10-1.1.4.0", ">= 23.10, < 24.10", false},
		{"23.10-2.1.3.1", ">= 23.10, < 24.10", true},
		{"4.9-7.1.0.0", "< 5.0", true},
		{"4.17-1", "!= 4.17-1", false},
		{"4.17-1", "= 4.17.1", true},
	} {
		if got := stack(t, tc.version).Satisfies(constraint(t, tc.constraint)); got != tc.want {
			t.Errorf("%s %s: got %v, want %v", tc.version, tc.constraint, got, tc.want)
		}
	}
}

// TestTrapsAreReal keeps the reasons for the normaliser true: if go-version changes, this tells.
func TestTrapsAreReal(t *testing.T) {
	c, err := goversion.NewConstraint(">= 23.10")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := goversion.NewVersion("24.10-1.1.4.0"); err != nil || c.Check(v) {
		t.Errorf("go-version now reads 24.10-1.1.4.0 as at least 23.10 (%v); the normaliser may go", err)
	}
	if _, err := goversion.NewVersion("4.18.0-553.el8_10.x86_64"); err == nil {
		t.Error("go-version now parses an el8 kernel release")
	}
	if v, err := goversion.NewVersion("22.03.5"); err != nil || v.String() == "22.03.5" {
		t.Errorf("go-version now prints 22.03.5 as written (%v)", err)
	}
}

func TestPrintsAsWritten(t *testing.T) {
	for _, s := range []string{"22.03.5", "24.10-1.1.4.0", "5.4-3.5.8.0", "4.17-1"} {
		if got := stack(t, " "+s+"\n").String(); got != s {
			t.Errorf("%q prints as %q", s, got)
		}
	}
}

func TestKernelParts(t *testing.T) {
	for _, tc := range []struct {
		in, suffix string
		rc         int
	}{
		{"4.18.0-553.el8_10.x86_64", ".el8_10.x86_64", 0},
		{"5.15.0-101-generic", "-generic", 0},
		{"6.1.0-50-cloud-amd64", "-cloud-amd64", 0},
		{"6.12.117+deb13-amd64", "+deb13-amd64", 0},
		{"5.4.17-2136.330.7.1.el8uek.x86_64", ".el8uek.x86_64", 0},
		{"5.10.0-60.18.0.50.oe2203", ".oe2203", 0},
		{"6.11.0-1007-nvidia-64k", "-nvidia-64k", 0},
		{"5.14.0-427.13.1.el9_4.x86_64", ".el9_4.x86_64", 0},
		{"6.9.0-rc3", "", 3},
		{"5.14.0-rc5-custom", "-custom", 5},
		{"6.9~rc3-1~exp1", "-1~exp1", 3},
		{"6.6.35.1-5.azl3", ".azl3", 0},
		{"3.10.0", "", 0},
	} {
		v, err := ParseKernel(tc.in)
		if err != nil {
			t.Error(err)
			continue
		}
		if v.Suffix() != tc.suffix || v.RC() != tc.rc || v.String() != tc.in {
			t.Errorf("%s: suffix %q rc %d prints %q", tc.in, v.Suffix(), v.RC(), v)
		}
	}
}

func TestCompareKernels(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"5.15.0-101-generic", "5.15.0-25-generic", 1}, // go-version says less
		{"4.18.0-553.el8_10.x86_64", "4.18.0-477.el8_8.x86_64", 1},
		{"5.10.0-32-amd64", "6.1.0-50-amd64", -1},
		{"6.9.0-rc3", "6.9.0", 0}, // the candidate is a field of its own
		{"6.9.0-rc3", "6.10.0", -1},
		{"5.4.17-2136.300.7.el8uek", "5.4.17-2102.201.3.el8uek", 1},
		{"6.12.117+deb13-amd64", "6.12.9+deb13-amd64", 1},
	} {
		a, errA := ParseKernel(tc.a)
		b, errB := ParseKernel(tc.b)
		if errA != nil || errB != nil {
			t.Error(errA, errB)
			continue
		}
		if got := a.Compare(b); got != tc.want {
			t.Errorf("%s against %s: %d, want %d", tc.a, tc.b, got, tc.want)
		}
		if got := b.Compare(a); got != -tc.want {
			t.Errorf("%s against %s: %d, want %d", tc.b, tc.a, got, -tc.want)
		}
	}
}

func TestFirmware(t *testing.T) {
	v, err := ParseFirmware("28.39.3560")
	if err != nil {
		t.Fatal(err)
	}
	if !v.Satisfies(constraint(t, ">= 28.39")) || v.Satisfies(constraint(t, ">= 28.40")) {
		t.Error("28.39.3560 must be at least 28.39 and below 28.40")
	}
	newer, err := ParseFirmware("28.39.3580")
	if err != nil {
		t.Fatal(err)
	}
	if v.Compare(newer) >= 0 {
		t.Error("28.39.3560 must be older than 28.39.3580")
	}
}

func TestRefuses(t *testing.T) {
	for _, s := range []string{"", " ", "latest", "v5.4", "-1", "99999999999999999999.1"} {
		if v, err := ParseStack(s); err == nil {
			t.Errorf("%q was read as %q", s, v)
		}
	}
	for _, s := range []string{"", ">=", ">= latest", ">= 24.10,", "=> 5", ">= 6.9-rc3", ">= 1 || < 2"} {
		if c, err := ParseConstraint(s); err == nil {
			t.Errorf("constraint %q was read as %q", s, c)
		}
	}
}

func TestZeroValuesSatisfyNothing(t *testing.T) {
	var v StackVersion
	if v.Satisfies(constraint(t, ">= 0")) || v.Compare(stack(t, "0")) >= 0 {
		t.Error("a version that was never read must not pass")
	}
	if stack(t, "1").Satisfies(Constraint{}) {
		t.Error("a constraint that was never read must not pass")
	}
}

func TestTextRoundTrip(t *testing.T) {
	var v StackVersion
	if err := v.UnmarshalText([]byte("24.10-1.1.4.0")); err != nil {
		t.Fatal(err)
	}
	if text, err := v.MarshalText(); err != nil || string(text) != "24.10-1.1.4.0" {
		t.Errorf("got %q, %v", text, err)
	}
	if err := v.UnmarshalText([]byte("none")); err == nil {
		t.Error("text that is no version was read")
	}
}

func TestDebian(t *testing.T) {
	// In rising order.
	rising := []string{
		"33.2-1", "44.0-2", "50.0-2build2", "50.0-2ubuntu0.2", "56.1~rc1-1", "56.1-1",
		"2404mlnx51-1.2404066", "2410mlnx54-1.2410068", "1:5.9-1", "1:6.1-1",
	}
	dpkg, lookErr := exec.LookPath("dpkg")
	for i, a := range rising {
		for j, b := range rising {
			va, errA := ParseDebian(a)
			vb, errB := ParseDebian(b)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			got := va.Compare(vb)
			if sign(got) != sign(i-j) {
				t.Errorf("%s against %s: %d", a, b, got)
			}
			if lookErr == nil && i < j && exec.Command(dpkg, "--compare-versions", a, "lt", b).Run() != nil {
				t.Errorf("dpkg does not put %s below %s", a, b)
			}
		}
	}
	trailing, err := ParseDebian("44.0-2 ")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := ParseDebian("44.0-2")
	if err != nil {
		t.Fatal(err)
	}
	if trailing.Compare(plain) != 0 || trailing.String() != "44.0-2" {
		t.Error("a trailing blank takes part in the version")
	}
	if plain.Upstream() != "44.0" {
		t.Errorf("upstream is %q", plain.Upstream())
	}
	for _, s := range []string{"", "a b", "abc"} {
		if v, err := ParseDebian(s); err == nil {
			t.Errorf("%q was read as %q", s, v)
		}
	}
}

func sign(i int) int {
	switch {
	case i < 0:
		return -1
	case i > 0:
		return 1
	}
	return 0
}

func FuzzVersions(f *testing.F) {
	for _, s := range []string{"24.10-1.1.4.0", "4.18.0-553.el8_10.x86_64", "6.9.0-rc3", "", "1-", "~rc1", "1:5.9-1", ">= 23.10, < 25"} {
		f.Add(s, "5.15.0-101-generic")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		va, errA := ParseKernel(a)
		vb, errB := ParseKernel(b)
		if errA == nil && errB == nil {
			if va.Compare(vb) != -vb.Compare(va) {
				t.Errorf("comparing %q and %q depends on the order", a, b)
			}
			if va.Compare(va) != 0 {
				t.Errorf("%q differs from itself", a)
			}
		}
		if errA == nil {
			again, err := ParseKernel(va.String())
			if err != nil || again.Compare(va) != 0 || again.Suffix() != va.Suffix() || again.RC() != va.RC() {
				t.Errorf("%q does not read back: %v", a, err)
			}
		}
		if c, err := ParseConstraint(a); err == nil && errB == nil {
			_ = vb.Satisfies(c)
		}
		if d, err := ParseDebian(a); err == nil && d.Compare(d) != 0 {
			t.Errorf("%q differs from itself", a)
		}
	})
}
