package matrix

import (
	"strings"
	"testing"
)

// A holding of a packed file says where in it what is unpacked by root stands.
func TestHoldingFile(t *testing.T) {
	sum := strings.Repeat("a", 64)
	for fields, says := range map[string]string{
		`sha256: ` + sum + `, folder: b/DEBS, repository: b/DEBS/LIBS, entries: 1, bytes: 2, proof: sha256`: "",
		`sha256: ` + sum + `, folder: ., repository: repo, entries: 1, bytes: 2, whole: true`:               "",
		`sha256: ` + sum + `, folder: ., repository: ., entries: 0, bytes: 0`:                               "",
		`folder: a, repository: a, entries: 1, bytes: 2`:                                                    `key "sha256" is missing`,
		`sha256: ` + sum + `, repository: a, entries: 1, bytes: 2`:                                          `key "folder" is missing`,
		`sha256: ../../etc, folder: a, repository: a, entries: 1, bytes: 2`:                                 "64 lower-case hex digits",
		`sha256: ` + strings.ToUpper(sum) + `, folder: a, repository: a, entries: 1, bytes: 2`:              "64 lower-case hex digits",
		`sha256: ` + sum + `, folder: ../a, repository: ../a, entries: 1, bytes: 2`:                         "is not a path inside",
		`sha256: ` + sum + `, folder: /a, repository: /a, entries: 1, bytes: 2`:                             "is not a path inside",
		`sha256: ` + sum + `, folder: a, repository: a/../../b, entries: 1, bytes: 2`:                       "is not a path inside",
		`sha256: ` + sum + `, folder: a, repository: ab, entries: 1, bytes: 2`:                              `"ab" is not in "a"`,
		`sha256: ` + sum + `, folder: a, repository: a, entries: -1, bytes: 2`:                              "is not a number of files",
		`sha256: ` + sum + `, folder: a, repository: a, entries: 1, bytes: -2`:                              "is not a size",
		`sha256: ` + sum + `, folder: a, repository: a, entries: 1, bytes: 2, proof: trust`:                 "neither sha256 nor signature",
	} {
		text := strings.Replace(sound, "origin: /srv/mirror", "origin: /srv/b.tgz, file: {"+fields+"}", 1)
		m, err := Load("m.yaml", []byte(text))
		switch {
		case says == "" && (err != nil || m.Holdings[0].File == nil || m.Holdings[0].File.SHA256 != sum):
			t.Errorf("%s: %v", fields, err)
		case says != "" && (err == nil || !strings.Contains(err.Error(), says)):
			t.Errorf("%s: %v, want %q", fields, err, says)
		}
	}
}
