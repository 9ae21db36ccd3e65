package vendorlab_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/holdings"
	"github.com/rdmactl/rdmactl/test/vendorlab"
)

func lab(t *testing.T) *vendorlab.Lab {
	t.Helper()
	if why := vendorlab.Missing(); why != "" {
		t.Skip("vendor repositories not made: " + why)
	}
	l, err := vendorlab.Open(logger{t})
	must(t, err)
	return l
}

// logger says what the lab says as the test's own words.
type logger struct{ t *testing.T }

func (l logger) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func options(t *testing.T, s vendorlab.Set) holdings.Options {
	t.Helper()
	key, err := os.ReadFile(s.Key)
	must(t, err)
	return holdings.Options{Keys: []holdings.KeyFile{{Name: s.Key, Data: key}}, Now: time.Now().Add(time.Hour)}
}

// forms are the sources in which a set comes.
func forms(s vendorlab.Set) []string {
	if s.Bundle == "" {
		return []string{s.Repo, s.Packed}
	}
	return []string{s.Repo, s.Bundle, s.Packed}
}

// TestImport reads every form of every release: what an import tells is what was put in.
func TestImport(t *testing.T) {
	l := lab(t)
	for _, r := range vendorlab.Releases() {
		for _, v := range []vendorlab.Variant{{}, {Prebuilt: true}, {SignedIndex: true}, {Firmware: true}} {
			if v.Prebuilt && r.RPM() || v.SignedIndex && !r.RPM() {
				continue // the same as without
			}
			if r.SUSE() && v != (vendorlab.Variant{}) {
				continue // as for RHEL
			}
			t.Run(r.String()+variant(v), func(t *testing.T) {
				s, err := l.Make(r, v)
				must(t, err)
				names, err := s.Names()
				must(t, err)
				for _, source := range forms(s) {
					got, err := holdings.Import(context.Background(), source, options(t, s))
					if err != nil {
						var f *fault.Error
						errors.As(err, &f)
						t.Fatalf("%v (%+v)", err, f)
					}
					if len(got.Holdings) != 1 {
						t.Fatalf("%s: %d holdings", source, len(got.Holdings))
					}
					h := got.Holdings[0]
					id, version := "debian", "12.5"
					switch {
					case r.SUSE():
						id, version = "sles", "15.6"
					case r.RPM():
						id, version = "rhel", "9.4"
					}
					if h.Stack != r.Stack || h.Version != r.Version || h.ID != id || h.VersionID != version || h.Arch != "x86_64" || h.Signed != s.Fingerprint {
						t.Errorf("%s is told as %s %s for %s %s %s, signed by %q", source, h.Stack, h.Version, h.ID, h.VersionID, h.Arch, h.Signed)
					}
					var kernels []string
					if r.RPM() || v.Prebuilt {
						kernels = []string{s.Kernel}
					}
					if dkms := !r.RPM(); h.DKMS != dkms || !slices.Equal(h.Kernels, kernels) {
						t.Errorf("%s: DKMS %v, kernels %v", source, h.DKMS, h.Kernels)
					}
					var have []string
					for _, p := range h.Packages {
						have = append(have, p.Name)
					}
					want := names
					if source == s.Packed && s.Bundle == "" && r.RPM() {
						want = append(slices.Clone(names), "doca-host") // signed as a whole
						slices.Sort(want)
					}
					if diff := cmp.Diff(want, have); diff != "" {
						t.Errorf("%s (-want +got):\n%s", source, diff)
					}
					// The vendor signs its RPMs and not their index.
					var notes []string
					if r.RPM() && !v.SignedIndex {
						notes = []string{fmt.Sprintf("the index is not signed; each of the %d packages is", len(names))}
					}
					if diff := cmp.Diff(notes, got.Notes); diff != "" {
						t.Errorf("%s: notes (-want +got):\n%s", source, diff)
					}
				}
			})
		}
	}
}

func variant(v vendorlab.Variant) string {
	switch {
	case v.Prebuilt:
		return "-prebuilt"
	case v.SignedIndex:
		return "-signed-index"
	case v.Firmware:
		return "-firmware"
	}
	return ""
}

// TestImportOfTwins wants each fault that an import can see to be refused in each form. A package that was
// changed in its middle is not read by an import of an index; FailingScript is a vendor's own fault.
func TestImportOfTwins(t *testing.T) {
	l := lab(t)
	for _, r := range vendorlab.Releases() {
		if r.SUSE() {
			continue // as for RHEL
		}
		for _, f := range vendorlab.Faults() {
			t.Run(r.String()+"-"+string(f), func(t *testing.T) {
				s, err := l.Make(r, vendorlab.Variant{Fault: f})
				must(t, err)
				for _, source := range forms(s) {
					got, err := holdings.Import(context.Background(), source, options(t, s))
					want := map[vendorlab.Fault]string{
						vendorlab.Unsigned:   "is not signed",
						vendorlab.WrongKey:   "is signed by another key",
						vendorlab.ExpiredKey: "expired",
						vendorlab.Truncated:  "bytes, not the",
					}[f]
					if want == "" {
						if err != nil {
							t.Errorf("%s: %v", source, err)
						}
						continue
					}
					var is *fault.Error
					if !errors.As(err, &is) || is.Kind != fault.Usage || is.Hint == "" || !strings.Contains(is.Msg, want) {
						t.Errorf("%s (want %q): %v, %d holdings", source, want, err, len(got.Holdings))
					}
				}
			})
		}
	}
}

// TestImportOfHostileArchives wants a refusal that names what is wrong, and nothing written.
func TestImportOfHostileArchives(t *testing.T) {
	l := lab(t)
	const mark = "/tmp/vendorlab-was-here"
	for _, r := range []vendorlab.Release{vendorlab.MLNXDebian(), vendorlab.DOCADebian(), vendorlab.MLNXRHEL()} {
		s, err := l.Make(r, vendorlab.Variant{})
		must(t, err)
		for _, a := range vendorlab.Archives() {
			t.Run(r.String()+"-"+string(a), func(t *testing.T) {
				file, err := l.Hostile(s, a)
				must(t, err)
				_, err = holdings.Import(context.Background(), file, options(t, s))
				want := map[vendorlab.Archive]string{
					vendorlab.Traversal:    "leads out of the source",
					vendorlab.AbsolutePath: "is absolute",
					vendorlab.LinkOut:      "out of the source",
					vendorlab.Device:       "neither a file nor a folder nor a link",
					vendorlab.HugeSize:     "cut short",
				}[a]
				var is *fault.Error
				if !errors.As(err, &is) || is.Kind != fault.Usage || !strings.Contains(is.Msg, want) {
					t.Errorf("want %q: %v", want, err)
				}
				if _, err := os.Lstat(mark); err == nil {
					t.Errorf("%s was written", mark)
				}
			})
		}
	}
}
