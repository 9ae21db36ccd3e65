package detect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

func TestParseOSRelease(t *testing.T) {
	got := parseOSRelease(`# comment
NAME="Name with \"quotes\", a \$ and a \\"
ID=rocky
  VERSION_ID='9.4'
PRETTY_NAME=Bare\ words
EMPTY=
EMPTY_QUOTED=""
OPEN="never closed
OPEN_SINGLE='never closed
KEEP="a\nb"
TRAILING=word # comment
not an assignment
=value
A B=c
ID=alma
`)
	want := map[string]string{
		"NAME": `Name with "quotes", a $ and a \`, "ID": "alma", "VERSION_ID": "9.4", "PRETTY_NAME": "Bare words",
		"EMPTY": "", "EMPTY_QUOTED": "", "KEEP": `a\nb`, "TRAILING": "word",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDistro(t *testing.T) {
	tests := []struct {
		name, text           string
		id, family, errorHas string
	}{
		{"debian", "ID=debian\n", "debian", "debian", ""},
		{"derived", "ID=proxcloud\nID_LIKE=\"ubuntu debian\"\n", "proxcloud", "debian", ""},
		{"oracle", "ID=\"ol\"\n", "ol", "rhel", ""},
		{"openEuler has a capital", "ID=\"openEuler\"\n", "openEuler", "rhel", ""},
		{"leap", "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n", "opensuse-leap", "suse", ""},
		{"arch is its own", "ID=arch\n", "arch", "arch", ""},
		{"empty id", "ID=\"\"\n", "", "", "no ID"},
		{"empty file", "", "", "", "no ID"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Host(t.Context(), host.NewReplay(&host.Evidence{Files: map[string]string{"/etc/os-release": tt.text}}))
			if f.Distro.ID.Value != tt.id || f.Distro.Family.Value != tt.family || !strings.Contains(f.Distro.Family.Error, tt.errorHas) {
				t.Errorf("id %+v, family %+v", f.Distro.ID, f.Distro.Family)
			}
			if tt.errorHas != "" && f.Distro.Family.Error == "" {
				t.Error("an empty ID gave no reason")
			}
		})
	}
	f := Host(t.Context(), host.NewReplay(&host.Evidence{}))
	if !f.Distro.ID.IsUnknown() || !f.Distro.Family.IsUnknown() {
		t.Errorf("without os-release the distribution is %+v", f.Distro)
	}
	f = Host(t.Context(), host.NewReplay(&host.Evidence{Commands: map[string]host.Answer{"uname -s": {Stdout: "FreeBSD\n"}}}))
	if f.Distro.ID.Or("") != "freebsd" {
		t.Errorf("a FreeBSD host is %+v", f.Distro.ID)
	}
}

func FuzzOSRelease(f *testing.F) {
	f.Add("ID=\"\"\n")
	f.Add("ID=debian\nVERSION_ID=\"12\"\n")
	f.Add("NAME='a\nID=\\")
	f.Add("A=\"\\")
	f.Fuzz(func(t *testing.T, text string) {
		values := parseOSRelease(text)
		for key := range values {
			if key == "" || strings.ContainsAny(key, "=\n \t") {
				t.Errorf("key %q", key)
			}
		}
		family := distroFamily(values["ID"], strings.Fields(values["ID_LIKE"]))
		if values["ID"] == "" && values["ID_LIKE"] == "" && family != "" {
			t.Errorf("family %q of nothing", family)
		}
	})
}
