package rpmhosts

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
	"github.com/rdmactl/rdmactl/test/vendorlab"
)

// TestVendorBundles installs from the files that a vendor gives out to be downloaded, and takes it back. Of what nobody
// signed, such as bundles of mlnx_add_kernel_support.sh, a checksum proves the file.
func TestVendorBundles(t *testing.T) {
	eachVendor(t, vendorBundles)
}

func vendorBundles(t *testing.T, v vendorSystem) {
	for _, c := range []struct {
		name    string
		release vendorlab.Release
		fault   vendorlab.Fault
	}{
		{"tgz", v.mlnx, vendorlab.Sound},
		{"local repo package", v.doca, vendorlab.Sound},
		{"not signed, with a checksum", v.mlnx, vendorlab.Unsigned},
	} {
		if c.release != v.doca && v.fewer(t, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			h := newVendorHost(t, v, c.release)
			s := h.serves(t, vendorlab.Variant{Fault: c.fault})
			s.address = s.Packed
			var more []string
			if c.fault == vendorlab.Unsigned {
				lab.Rdmactl(t, 2, h.args("install", s, "--yes")...).Says(t, "is not signed", "--sha256")
				data, err := os.ReadFile(s.Packed)
				must(t, err)
				more = []string{"--sha256", fmt.Sprintf("%x", sha256.Sum256(data))}
			}
			args := h.args("install", s, append(more, "--yes", "-o", "json")...)
			r := rootlab.Decode[rootlab.Report](t, lab.Rdmactl(t, 0, args...))
			if r.Verdict != "done" || !r.Changed {
				t.Errorf("the report is %+v", r)
			}
			h.serving(t, s)
			text, err := os.ReadFile(h.repositoryFile())
			must(t, err)
			if !strings.Contains(string(text), "baseurl=file:///var/cache/rdmactl/sources/") {
				t.Errorf("the repository is configured as %q", text)
			}
			again := rootlab.Decode[rootlab.Report](t, lab.Rdmactl(t, 0, args...))
			if again.Verdict != "nothing-to-do" || again.Changed {
				t.Errorf("another run is %+v", again)
			}
			lab.RollsBack(t, h.Root)
			h.same(t)
			if left, err := filepath.Glob(h.Path("var/cache/rdmactl*")); err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}
