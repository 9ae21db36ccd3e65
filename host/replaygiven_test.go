package host

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
)

// A file that is given is in its directory, whatever the listing says; a directory without a listing stays untold.
func TestGivenFilesAreListed(t *testing.T) {
	docs, err := ParseEvidence("e.yaml", []byte(`apiVersion: rdmactl/v1
kind: Evidence
files:
  /etc/modules-load.d/mine.conf: "mlx5_ib"
  /etc/security/limits.d/rdma.conf: "* soft memlock unlimited"
  /etc/udev/rules.d/sub/deep.rules: ""
dirs:
  /etc/modules-load.d: [a.conf, z.conf]
  /etc/udev/rules.d: []
`))
	if err != nil {
		t.Fatal(err)
	}
	r := NewReplay(docs[0])
	if names, err := r.ReadDir("/etc/modules-load.d"); err != nil || !slices.Equal(names, []string{"a.conf", "mine.conf", "z.conf"}) {
		t.Errorf("%q, %v", names, err)
	}
	if names, err := r.ReadDir("/etc/udev/rules.d"); err != nil || len(names) != 0 {
		t.Errorf("what is deeper is listed: %q, %v", names, err)
	}
	if names, err := r.ReadDir("/etc/security/limits.d"); !errors.Is(err, ErrUnknown) {
		t.Errorf("a listing is made up: %q, %v", names, err)
	}
	if _, err := r.ReadFile("/etc/modules-load.d/b.conf"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
