package apt

import "testing"

func TestParseRecords(t *testing.T) {
	out := "Package: a\nVersion: 1\nArchitecture: amd64\nDescription: one\n two\nFilename: pool/a.deb\n strange\nSize: 12\nSHA256: AB\n\n" +
		"Package: b\nStatus: install ok installed\nSize: x\nno field\nPackage: c\n\n\n"
	got := parseRecords(out)
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	a, b := got[0], got[1]
	if a.text != "Package: a\nVersion: 1\nArchitecture: amd64\nDescription: one\n two\nSize: 12\nSHA256: AB\n" || a.fields["filename"] != "pool/a.deb" || a.bytes() != 12 || a.fields["sha256"] != "AB" {
		t.Errorf("%+v", a)
	}
	if b.fields["package"] != "b" || b.bytes() != -1 || b.fields["sha256"] != "" {
		t.Errorf("%+v", b)
	}
}
