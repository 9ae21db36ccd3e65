package holdings

import (
	"fmt"
	"testing"
)

// TestInstalledSizes: a deb tells KiB, an rpm bytes; what does not tell, or tells nonsense, is 0, which is none.
func TestInstalledSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"Installed-Size: 189\n": 189 << 10, "": 0, "Installed-Size: -1\n": 0, "Installed-Size: much\n": 0, "Installed-Size: 9223372036854775807\n": 0,
	} {
		list, err := parsePackages("Packages", []byte("Package: a\nVersion: 1\nArchitecture: all\n"+text+"Filename: ./a.deb\nSize: 3\nSHA256: 00\n"))
		if err != nil || len(list) != 1 || list[0].Installed != want || list[0].Bytes != 3 {
			t.Errorf("%q: %+v, %v; want %d", text, list, err, want)
		}
	}
	for text, want := range map[string]int64{`installed="300000"`: 300000, "": 0, `installed="-5"`: 0} {
		data := fmt.Sprintf(`<metadata><package type="rpm"><name>a</name><arch>noarch</arch><version epoch="0" ver="1" rel="2"/><checksum type="sha256">00</checksum><size package="3" %s/><location href="a.rpm"/></package></metadata>`, text)
		list, err := parsePrimary("primary.xml", []byte(data))
		if err != nil || len(list) != 1 || list[0].Installed != want || list[0].Bytes != 3 {
			t.Errorf("%q: %+v, %v; want %d", text, list, err, want)
		}
	}
}
