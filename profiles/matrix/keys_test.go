package matrix

import (
	"strings"
	"testing"
)

// TestFingerprintWhereRead: the key was read from the bundle of 4.9-7.1.0.0. Later releases are not said to
// be signed with it.
func TestFingerprintWhereRead(t *testing.T) {
	m, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewIndex(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range []string{"debian", "rhel", "suse"} {
		for version, want := range map[string]string{"4.9-7.1.0.0": "CAE649B3B3929F8470D4D33BA024F6F0E6D6A281", "5.0-2.1.8.0": "", "5.8-1.0.1.1": "", "24.10-1.1.4.0": ""} {
			r, ok := x.Find("mlnx-ofed", version)
			if !ok {
				t.Fatalf("no release %s", version)
			}
			l, ok := x.Layout("mlnx-ofed", x.VersionOf(r), family)
			if !ok {
				t.Fatalf("no layout of %s for %s", version, family)
			}
			got, sha256 := "", false
			for _, k := range l.Keys {
				if k.Kind == "packages" {
					got += k.Fingerprint
					sha256 = sha256 || strings.HasSuffix(k.File, "SHA256")
				}
			}
			if got != want || sha256 != (want == "") {
				t.Errorf("%s on %s: fingerprint %q, SHA256 key %v", version, family, got, sha256)
			}
		}
	}
}
