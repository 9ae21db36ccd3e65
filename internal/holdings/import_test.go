package holdings

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

func copyTree(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "ubuntu22.04", "x86_64")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// refused wants a fault of exit 2 with a hint and a cause.
func refused(t *testing.T, source string, opts Options, cause string) {
	t.Helper()
	got, err := Import(context.Background(), source, opts)
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatalf("%s was not refused (%q wanted), but gave %+v, %v", source, cause, got, err)
	}
	if f.Kind != fault.Usage || f.Hint == "" || !strings.HasPrefix(f.Msg, "cannot import "+source+": ") || !strings.Contains(f.Msg, cause) {
		t.Errorf("refused with %d %q, hint %q; want exit 2, a hint and %q", f.Kind, f.Msg, f.Hint, cause)
	}
	if strings.ContainsAny(f.Msg, "\x00\x1b") {
		t.Errorf("the message has control characters: %q", f.Msg)
	}
}

func imported(t *testing.T, source string, opts Options) matrix.Holding {
	t.Helper()
	got, err := Import(context.Background(), source, opts)
	if err != nil {
		var f *fault.Error
		if errors.As(err, &f) {
			t.Fatalf("%v (hint: %s)", err, f.Hint)
		}
		t.Fatal(err)
	}
	if len(got.Holdings) != 1 {
		t.Fatalf("%d holdings, want 1", len(got.Holdings))
	}
	checkLoads(t, got.Holdings)
	return got.Holdings[0]
}

// checkLoads wants what --save writes to be a sound matrix that says the same.
func checkLoads(t *testing.T, list []matrix.Holding) {
	t.Helper()
	data, err := Document(list)
	if err != nil {
		t.Fatal(err)
	}
	m, err := matrix.Load("import.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list, m.Holdings, cmpopts.IgnoreFields(matrix.Holding{}, "At")); diff != "" {
		t.Error(diff)
	}
}

// summary is a holding without what differs from build to build.
func summary(h matrix.Holding) string {
	var names []string
	for _, p := range h.Packages {
		names = append(names, fmt.Sprintf("%s=%s", p.Name, p.Version))
		if p.Bytes <= 0 {
			names = append(names, "NO-SIZE")
		}
	}
	return fmt.Sprintf("%s %s for %s %s %s, kernels %v, dkms %v: %s", h.Stack, h.Version, h.ID, h.VersionID, h.Arch, h.Kernels, h.DKMS, strings.Join(names, " "))
}

const (
	wantDOCA = "doca-ofed 2.9.1 for ubuntu 22.04 x86_64, kernels [" + debKernel + "], dkms true: doca-ofed=2.9.1-0.1.6 mlnx-ofed-all=24.10-1.1.4.0 mlnx-ofed-kernel-dkms=24.10.OFED.24.10.1.1.4.1-1 mlnx-ofed-kernel-modules=24.10.OFED.24.10.1.1.4.1-1"
	wantMLNX = "mlnx-ofed 24.10-1.1.4.0 for rhel 9.4 x86_64, kernels [" + rpmKernel + "], dkms false: kmod-mlnx-ofa_kernel=24.10-OFED.24.10.1.1.4.1.rhel9u4 mlnx-ofed-all=24.10-1.1.4.0.rhel9.4"
)

func check(t *testing.T, h matrix.Holding, want, signed string) {
	t.Helper()
	if diff := cmp.Diff(want, summary(h)); diff != "" {
		t.Error(diff)
	}
	if h.Signed != signed {
		t.Errorf("signed by %q, want %q", h.Signed, signed)
	}
	if h.Origin == "" || h.Date == "" {
		t.Errorf("no origin or date: %+v", h)
	}
}

func edit(t *testing.T, path, old, text string) {
	t.Helper()
	have := slurp(t, path)
	if !strings.Contains(have, old) {
		t.Fatalf("%s has no %q", path, old)
	}
	write(t, path, strings.Replace(have, old, text, 1))
}

func remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := os.RemoveAll(p); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAptRepository(t *testing.T) {
	l := newLab(t)
	dir := l.docaApt()
	opts := l.options()
	fpr := l.fingerprint("vendor")
	other := Options{Keys: []KeyFile{l.key("other")}, Now: soon()}
	fields := map[string]string{"Label": "DOCA-HOST 2.9.1"}

	t.Run("InRelease", func(t *testing.T) { check(t, imported(t, dir, opts), wantDOCA, fpr) })
	for _, kind := range []string{"", ".gz", ".xz", ".zst", ".bz2"} {
		t.Run("Release.gpg and Packages"+kind, func(t *testing.T) {
			c := copyTree(t, dir)
			remove(t, c+"/InRelease")
			for _, k := range []string{"", ".gz", ".xz", ".zst", ".bz2"} {
				if k != kind {
					remove(t, c+"/Packages"+k)
				}
			}
			check(t, imported(t, c, opts), wantDOCA, fpr)
		})
		if kind == "" {
			continue
		}
		t.Run("cut "+kind, func(t *testing.T) {
			c := copyTree(t, dir)
			for _, k := range []string{"", ".gz", ".xz", ".zst", ".bz2"} {
				if k != kind {
					remove(t, c+"/Packages"+k)
				}
			}
			data := slurp(t, c+"/Packages"+kind)
			write(t, c+"/Packages"+kind, data[:len(data)-20])
			refused(t, c, opts, "bytes, not the")
			l.release(c, fields) // a vendor who signs a damaged index
			refused(t, c, opts, "Packages"+kind)
		})
	}
	t.Run("dists", func(t *testing.T) {
		c := copyTree(t, dir)
		suite := c + "/dists/jammy"
		write(t, suite+"/main/binary-amd64/Packages", strings.ReplaceAll(slurp(t, c+"/Packages"), "Filename: ./", "Filename: "))
		for _, f := range []string{"InRelease", "Release", "Release.gpg", "Packages", "Packages.gz", "Packages.xz", "Packages.zst", "Packages.bz2"} {
			remove(t, c+"/"+f)
		}
		l.release(suite, fields)
		check(t, imported(t, c, opts), wantDOCA, fpr)
		write(t, c+"/dists/noble/Release", slurp(t, suite+"/Release"))
		refused(t, c, opts, "2 suites")
	})
	t.Run("web", func(t *testing.T) {
		var gotAuth bool
		mux := http.NewServeMux()
		mux.HandleFunc("/evil/", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "ftp://elsewhere/", http.StatusFound)
		})
		mux.Handle("/repo/2.9.1/ubuntu22.04/", http.StripPrefix("/repo/2.9.1/ubuntu22.04/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _, gotAuth = r.BasicAuth()
			http.FileServer(http.Dir(dir)).ServeHTTP(w, r)
		})))
		server := httptest.NewServer(mux)
		defer server.Close()
		address := strings.Replace(server.URL, "http://", "http://me:secret@", 1) + "/repo/2.9.1/ubuntu22.04/?token=secret"
		h := imported(t, address, opts)
		if strings.Contains(h.Origin, "secret") || strings.Contains(h.Origin, "me") || !gotAuth {
			t.Errorf("origin %q, asked with password %v", h.Origin, gotAuth)
		}
		if got := summary(h); !strings.HasPrefix(got, "doca-ofed 2.9.1 for ubuntu 22.04 x86_64, kernels [], dkms true") {
			t.Errorf("a module package whose name does not tell counts as one for no kernel: %s", got)
		}
		refused(t, server.URL+"/evil", opts, "sends on from http to ftp")
		refused(t, server.URL+"/nothing", opts, "neither an apt nor an rpm repository")
		server.Close()
		_, err := Import(context.Background(), address, opts)
		if fault.KindOf(err) != fault.Failed || strings.Contains(err.Error(), "secret") {
			t.Errorf("a server that is away: %v", err)
		}
	})
	for name, tt := range map[string]struct {
		change func(t *testing.T, c string)
		opts   Options
		cause  string
	}{
		"wrong checksum": {func(t *testing.T, c string) {
			data := []byte(slurp(t, c+"/Packages"))
			data[len(data)/2] ^= 1
			write(t, c+"/Packages", string(data))
		}, opts, "another checksum"},
		"not signed": {func(t *testing.T, c string) { remove(t, c+"/InRelease", c+"/Release.gpg") }, opts, "is not signed"},
		"no key":     {func(*testing.T, string) {}, Options{Now: soon()}, "no key is at hand"},
		"another key": {
			func(*testing.T, string) {}, other, "signed by another key",
		},
		"another key, unsigned allowed": {func(*testing.T, string) {}, Options{Keys: other.Keys, AllowUnsigned: true, Now: soon()}, "signed by another key"},
		"changed after signing":         {func(t *testing.T, c string) { edit(t, c+"/InRelease", "DOCA-HOST", "DOCA-HOSE") }, opts, "signature of InRelease is bad"},
		"text before what is signed":    {func(t *testing.T, c string) { write(t, c+"/InRelease", "Suite: x\n"+slurp(t, c+"/InRelease")) }, opts, "InRelease is not signed"},
		"text after what is signed":     {func(t *testing.T, c string) { write(t, c+"/InRelease", slurp(t, c+"/InRelease")+"Suite: x\n") }, opts, "beside what is signed"},
		"cut InRelease":                 {func(t *testing.T, c string) { write(t, c+"/InRelease", slurp(t, c+"/InRelease")[:400]) }, opts, "cut short"},
		"past its time": {func(t *testing.T, c string) {
			write(t, c+"/Release", "Valid-Until: Sat, 01 Jan 2022 00:00:00 UTC\n"+slurp(t, c+"/Release"))
			l.sign(c, "vendor")
		}, opts, "not valid since 2022-01-01"},
		"of the future": {func(t *testing.T, c string) {
			write(t, c+"/Release", regexp.MustCompile(`Date: .*`).ReplaceAllString(slurp(t, c+"/Release"), "Date: Sat, 01 Jan 2124 00:00:00 UTC"))
			l.sign(c, "vendor")
		}, opts, "is of the future"},
		"this host's clock is behind": {func(*testing.T, string) {}, Options{Keys: opts.Keys, Now: time.Now().AddDate(-1, 0, 0)}, "the key that signed InRelease is of the future"},
		"package cut": {func(t *testing.T, c string) {
			p := c + "/pool/doca-ofed_2.9.1-0.1.6_amd64.deb"
			write(t, p, slurp(t, p)[:100])
		}, opts, "has 100 bytes"},
		"all packages gone": {func(t *testing.T, c string) { remove(t, c+"/pool") }, opts, "none of the 4 packages"},
		"module package changed": {func(t *testing.T, c string) {
			p := c + "/pool/mlnx-ofed-kernel-modules_24.10.OFED.24.10.1.1.4.1-1_amd64.deb"
			data := []byte(slurp(t, p))
			data[len(data)-30] ^= 1
			write(t, p, string(data))
		}, opts, "another size or checksum"},
		"link out": {func(t *testing.T, c string) {
			outside := filepath.Join(t.TempDir(), "Packages")
			write(t, outside, slurp(t, c+"/Packages"))
			remove(t, c+"/Packages")
			if err := os.Symlink(outside, c+"/Packages"); err != nil {
				t.Fatal(err)
			}
		}, opts, "leads out of the source"},
		"pipe": {func(t *testing.T, c string) {
			remove(t, c+"/InRelease")
			need(t, "mkfifo")
			l.run(c, "mkfifo", "InRelease")
		}, opts, "not a regular file"},
		"path out": {func(t *testing.T, c string) {
			edit(t, c+"/Packages", "Filename: ./pool/", "Filename: ./../")
			l.plain(c, fields)
		}, opts, "leads out of the source"},
		"absolute path": {func(t *testing.T, c string) {
			edit(t, c+"/Packages", "Filename: ./pool/", "Filename: /pool/")
			l.plain(c, fields)
		}, opts, "is absolute"},
		"NUL": {func(t *testing.T, c string) {
			edit(t, c+"/Packages", "Package: doca-ofed", "Package: doca-ofed\x00")
			l.plain(c, fields)
		}, opts, "NUL"},
		"escape in a name": {func(t *testing.T, c string) {
			edit(t, c+"/Packages", "Package: doca-ofed", "Package: doca\x1b[31m-ofed")
			l.plain(c, fields)
		}, opts, "is no name of a package"},
		"huge index": {func(t *testing.T, c string) {
			write(t, c+"/Packages", strings.Repeat("\n", maxPacked+1))
			l.plain(c, fields)
		}, opts, "more than the"},
		"huge when unpacked": {func(t *testing.T, c string) {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			block := bytes.Repeat([]byte("\n"), 1<<20)
			for range maxIndex>>20 + 1 {
				if _, err := z.Write(block); err != nil {
					t.Fatal(err)
				}
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			l.plain(c, fields)
			remove(t, c+"/Packages")
			write(t, c+"/Packages.gz", b.String())
			l.release(c, fields)
		}, opts, "larger than"},
		"huge entry": {func(t *testing.T, c string) {
			write(t, c+"/Packages", "Package: a\nDescription: a\n"+strings.Repeat(" x\n", maxLines))
			l.plain(c, fields)
		}, opts, "has an entry of more than"},
		"two releases": {func(t *testing.T, c string) {
			l.deb(c+"/pool", "doca-ofed", "2.9.2-0.1.6", "amd64", nil)
			l.index(c, fields)
		}, opts, "several releases, and none can be installed from it: doca-ofed 2.9.1 for x86_64: the matrix does not tell"},
		"weak checksums": {func(t *testing.T, c string) {
			text := slurp(t, c+"/Release")
			write(t, c+"/Release", text[:strings.Index(text, "SHA256:")])
			l.sign(c, "vendor")
		}, opts, "no SHA-256"},
	} {
		t.Run(name, func(t *testing.T) {
			c := copyTree(t, dir)
			tt.change(t, c)
			refused(t, c, tt.opts, tt.cause)
		})
	}
	t.Run("unsigned allowed", func(t *testing.T) {
		c := copyTree(t, dir)
		remove(t, c+"/InRelease", c+"/Release.gpg")
		check(t, imported(t, c, Options{AllowUnsigned: true, Now: soon()}), wantDOCA, "")
		check(t, imported(t, dir, Options{AllowUnsigned: true, Now: soon()}), wantDOCA, "")
	})
	t.Run("key that comes with the source", func(t *testing.T) {
		c := copyTree(t, dir)
		write(t, c+"/GPG-KEY-Mellanox.pub", string(l.key("vendor").Data))
		check(t, imported(t, c, Options{Fingerprints: []string{fpr}, Now: soon()}), wantDOCA, fpr)
		refused(t, c, Options{Fingerprints: []string{l.fingerprint("other")}, Now: soon()}, "no key is at hand")
	})
	t.Run("some packages gone", func(t *testing.T) {
		c := copyTree(t, dir)
		remove(t, c+"/pool/mlnx-ofed-kernel-modules_24.10.OFED.24.10.1.1.4.1-1_amd64.deb")
		got, err := Import(context.Background(), c, opts)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Holdings[0].Kernels) != 0 || len(got.Holdings[0].Packages) != 3 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "1 of the 4") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("system not told", func(t *testing.T) {
		c := filepath.Join(t.TempDir(), "mirror")
		if err := os.CopyFS(c, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		refused(t, c, opts, "for which distribution")
		told := opts
		told.Stated = Stated{Distro: "ubuntu", VersionID: "22.04"}
		check(t, imported(t, c, told), wantDOCA, fpr)
		told.Stated = Stated{Distro: "rhel", VersionID: "9.4"}
		refused(t, c, told, "not for rhel 9.4, whose packages are of the format rpm")
		told.Stated = Stated{Distro: "debian", VersionID: "12"}
		refused(t, dir, told, "not for debian 12")
	})
	t.Run("local repo package", func(t *testing.T) {
		files := map[string]string{}
		err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				files["usr/share/doca-host-2.9.1-0-24.10-ubuntu2204/repo/"+strings.TrimPrefix(p, dir+"/")] = slurp(t, p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		out := t.TempDir()
		l.deb(out, "doca-host", "2.9.1-018000-24.10-ubuntu2204", "amd64", files)
		file := out + "/doca-host_2.9.1-018000-24.10-ubuntu2204_amd64.deb"
		h := imported(t, file, opts)
		if h.Stack != "doca-ofed" || h.Version != "2.9.1" || h.VersionID != "22.04" || !h.DKMS || len(h.Packages) != 4 || h.Signed != fpr {
			t.Errorf("%s, signed by %s", summary(h), h.Signed)
		}
		refused(t, file, other, "signed by another key")
		cut := t.TempDir() + "/doca-host.deb"
		write(t, cut, slurp(t, file)[:len(slurp(t, file))/2])
		refused(t, cut, opts, "")
	})
	t.Run("single package", func(t *testing.T) {
		p := dir + "/pool/doca-ofed_2.9.1-0.1.6_amd64.deb"
		refused(t, p, opts, "is not signed")
		if h := imported(t, p, Options{AllowUnsigned: true, Now: soon()}); h.Version != "2.9.1" || len(h.Packages) != 1 {
			t.Error(summary(h))
		}
	})
}

// plain makes the indexes of a hostile vendor: only Packages, as it stands.
func (l *lab) plain(dir string, fields map[string]string) {
	l.t.Helper()
	remove(l.t, dir+"/Packages.gz", dir+"/Packages.xz", dir+"/Packages.zst", dir+"/Packages.bz2")
	l.release(dir, fields)
}

func TestRPMRepository(t *testing.T) {
	l := newLab(t)
	need(t, "rpmbuild", "rpmsign", "createrepo_c")
	dir := t.TempDir()
	l.mlnxRPMs(dir)
	l.createrepo(dir, "vendor")
	opts, fpr := l.options(), l.fingerprint("vendor")
	other := Options{Keys: []KeyFile{l.key("other")}, Now: soon()}

	whole := imported(t, dir, opts)
	check(t, whole, wantMLNX, fpr)
	if !whole.SignedIndex {
		t.Error("the index is signed, and that is not told")
	}
	t.Run("signed packages, index unsigned", func(t *testing.T) {
		c := copyTree(t, dir)
		remove(t, c+"/repodata/repomd.xml.asc")
		h := imported(t, c, opts)
		check(t, h, wantMLNX, fpr)
		if h.SignedIndex {
			t.Error("an index without a signature is taken for a signed one")
		}
		refused(t, c, other, "signed by another key")
		refused(t, c, Options{Now: soon()}, "is not signed")
		l.run(c, "rpmsign", "--delsign", c+"/mlnx-ofed-all-24.10-1.1.4.0.rhel9.4.noarch.rpm")
		l.createrepo(c, "")
		refused(t, c, opts, "mlnx-ofed-all-24.10-1.1.4.0.rhel9.4.noarch.rpm is not signed")
	})
	t.Run("signed packages, index unsigned, on the web", func(t *testing.T) {
		c := copyTree(t, dir)
		remove(t, c+"/repodata/repomd.xml.asc")
		var mu sync.Mutex
		asked := map[string]int{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked[r.URL.Path]++
			mu.Unlock()
			http.FileServer(http.Dir(c)).ServeHTTP(w, r)
		}))
		defer server.Close()
		check(t, imported(t, server.URL, opts), wantMLNX, fpr)
		packages := 0
		for name, times := range asked {
			if strings.HasSuffix(name, ".rpm") {
				if packages++; times != 1 {
					t.Errorf("%s was fetched %d times", name, times)
				}
			}
		}
		if packages != len(imported(t, c, opts).Packages) {
			t.Errorf("%d packages were looked at", packages)
		}
		refused(t, server.URL, other, "signed by another key")
		refused(t, server.URL, Options{Now: soon()}, "is not signed")
		l.rpm(c, "mlnx-tools", "24.10", "0.2410068", "x86_64", nil, "")
		l.createrepo(c, "")
		remove(t, c+"/mlnx-tools-24.10-0.2410068.x86_64.rpm")
		got, err := Import(context.Background(), server.URL, opts)
		if err != nil || len(got.Holdings) != 1 || len(got.Holdings[0].Packages) != 2 || !strings.Contains(strings.Join(got.Notes, "; "), "1 of the 3 packages that the index names are not there") {
			t.Errorf("a package that is gone: %+v, %v", got, err)
		}
		l.run(c, "rpmsign", "--delsign", c+"/mlnx-ofed-all-24.10-1.1.4.0.rhel9.4.noarch.rpm")
		refused(t, server.URL, opts, "mlnx-ofed-all-24.10-1.1.4.0.rhel9.4.noarch.rpm is not signed")
	})
	t.Run("compressions", func(t *testing.T) {
		for _, kind := range []string{"xz", "zstd", "bz2"} {
			c := copyTree(t, dir)
			remove(t, c+"/repodata")
			cmd := exec.Command("createrepo_c", "-q", "--general-compress-type="+kind, ".")
			cmd.Dir = c
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Logf("createrepo_c here has no %s: %s", kind, out)
				continue
			}
			check(t, imported(t, c, Options{AllowUnsigned: true, Now: soon()}), wantMLNX, "")
		}
	})
	t.Run("bundle", func(t *testing.T) {
		bundle := t.TempDir() + "/MLNX_OFED_LINUX-24.10-1.1.4.0-rhel9.4-x86_64"
		if err := os.CopyFS(bundle+"/RPMS", os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		remove(t, bundle+"/RPMS/repodata/repomd.xml.asc")
		write(t, bundle+"/distro", "rhel9.4\n")
		write(t, bundle+"/.mlnx", "24.10-1.1.4.0\n")
		write(t, bundle+"/.arch", "x86_64\n")
		write(t, bundle+"/.supported_kernels", rpmKernel+"\n")
		write(t, bundle+"/RPM-GPG-KEY-Mellanox", string(l.key("vendor").Data))
		check(t, imported(t, bundle, Options{Fingerprints: []string{fpr}, Now: soon()}), wantMLNX, fpr)
		tgz := bundle + ".tgz"
		l.run(filepath.Dir(bundle), "tar", "czf", tgz, filepath.Base(bundle))
		check(t, imported(t, tgz, Options{Fingerprints: []string{fpr}, Now: soon()}), wantMLNX, fpr)
		refused(t, tgz, Options{Now: soon()}, "is not signed")
		data := slurp(t, tgz)
		write(t, tgz, data[:len(data)/2])
		refused(t, tgz, opts, "cut short")
		iso := t.TempDir() + "/x.iso"
		write(t, iso, "x")
		refused(t, iso, opts, "no ISO image")
		for file, tt := range map[string]struct{ text, cause string }{
			".mlnx":              {"24.10-9.9.9.9\n", "its version file says"},
			"distro":             {"rhel9.5\n", "its file distro says rhel 9.5"},
			".arch":              {"vax\n", "no architecture"},
			".supported_kernels": {"../../etc\n", "no kernel release"},
		} {
			old := slurp(t, bundle+"/"+file)
			write(t, bundle+"/"+file, tt.text)
			refused(t, bundle, opts, tt.cause)
			write(t, bundle+"/"+file, old)
		}
		write(t, bundle+"/.supported_kernels", rpmKernel+" 5.14.0-1.el9.x86_64\n")
		got, err := Import(context.Background(), bundle, opts)
		if err != nil || !strings.Contains(strings.Join(got.Notes, " "), "no modules for: 5.14.0-1.el9.x86_64") {
			t.Errorf("%v, %v", got.Notes, err)
		}
	})
	t.Run("local repo package", func(t *testing.T) {
		root := t.TempDir()
		repo := root + "/usr/share/doca-host-2.9.1-018000-24.10-rhel94/repo"
		if err := os.CopyFS(repo, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		remove(t, repo+"/repodata/repomd.xml.asc")
		out := t.TempDir()
		l.rpm(out, "doca-host", "2.9.1", "018000_24.10_rhel94", "x86_64", nil, root)
		file := out + "/doca-host-2.9.1-018000_24.10_rhel94.x86_64.rpm"
		want := "doca-ofed 2.9.1 for rhel 9.4 x86_64, kernels [" + rpmKernel + "], dkms false: doca-host=2.9.1-018000_24.10_rhel94" + strings.TrimPrefix(wantMLNX[strings.Index(wantMLNX, ": ")+1:], "")
		check(t, imported(t, file, opts), want, fpr)
		refused(t, file, other, "signed by another key")
		data := []byte(slurp(t, file))
		bad := t.TempDir() + "/bad.rpm"
		data[len(data)-40] ^= 1
		write(t, bad, string(data))
		refused(t, bad, opts, "")
		l.run(out, "rpmsign", "--delsign", file)
		check(t, imported(t, file, opts), wantMLNX, fpr) // what the signed packages inside say
	})
	t.Run("single package", func(t *testing.T) {
		p := dir + "/kmod-mlnx-ofa_kernel-24.10-OFED.24.10.1.1.4.1.rhel9u4.x86_64.rpm"
		refused(t, p, opts, "which release of which stack")
		told := opts
		told.Stated = Stated{Stack: "doca-ofed", Version: "2.9.1"}
		h := imported(t, p, told)
		if got := fmt.Sprint(h.Kernels, h.Version, h.VersionID, h.Signed); got != "["+rpmKernel+"]2.9.1 9.4 "+fpr && got != fmt.Sprint([]string{rpmKernel}, "2.9.1", "9.4", fpr) {
			t.Error(got)
		}
		data := []byte(slurp(t, p))
		i := bytes.Index(data, []byte("mlx5_core.ko"))
		data[i] ^= 1
		bad := t.TempDir() + "/bad.rpm"
		write(t, bad, string(data))
		refused(t, bad, told, "signature of the package is bad")
		write(t, bad, string(data[:300]))
		refused(t, bad, told, "cut short")
	})
	for name, tt := range map[string]struct {
		change func(t *testing.T, c string)
		cause  string
		again  bool // sign after the change
	}{
		"changed": {func(t *testing.T, c string) { edit(t, c+"/repodata/repomd.xml", "<revision>", "<revision>1") }, "signature of repomd.xml is bad", false},
		"entities": {func(t *testing.T, c string) {
			edit(t, c+"/repodata/repomd.xml", "<repomd", "<!DOCTYPE r [<!ENTITY a \"b\">]><repomd")
		}, "entities", true},
		"path out": {func(t *testing.T, c string) {
			edit(t, c+"/repodata/repomd.xml", "href=\"repodata/", "href=\"../repodata/")
		}, "leads out", true},
		"absolute path": {func(t *testing.T, c string) {
			edit(t, c+"/repodata/repomd.xml", "href=\"repodata/", "href=\"/repodata/")
		}, "is absolute", true},
		"weak checksum": {func(t *testing.T, c string) {
			replaceAll(t, c+"/repodata/repomd.xml", "type=\"sha256\"", "type=\"md5\"")
		}, "cannot be relied on", true},
		"wrong checksum": {func(t *testing.T, c string) { flip(t, c, "primary.xml.gz") }, "another checksum", false},
		"cut":            {func(t *testing.T, c string) { cutFile(t, c, "primary.xml.gz") }, "bytes, not the", false},
		"index gone":     {func(t *testing.T, c string) { remove(t, only(t, c, "primary.xml.gz")) }, "is not there", false},
		"filelists":      {func(t *testing.T, c string) { flip(t, c, "filelists.xml.gz") }, "another checksum", false},
		"no XML":         {func(t *testing.T, c string) { write(t, c+"/repodata/repomd.xml", "<repomd><data") }, "cannot be read", true},
		"huge":           {func(t *testing.T, c string) { replaceSize(t, c) }, "more than the", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := copyTree(t, dir)
			tt.change(t, c)
			if tt.again {
				l.run(c, "gpg", "--batch", "--yes", "-u", "vendor@example.org", "--armor", "--detach-sign", "-o", "repodata/repomd.xml.asc", "repodata/repomd.xml")
			}
			refused(t, c, opts, tt.cause)
		})
	}
	t.Run("another key", func(t *testing.T) { refused(t, dir, other, "signed by another key") })
}

func replaceAll(t *testing.T, path, old, text string) {
	t.Helper()
	write(t, path, strings.ReplaceAll(slurp(t, path), old, text))
}

func replaceSize(t *testing.T, c string) {
	t.Helper()
	path := c + "/repodata/repomd.xml"
	write(t, path, regexp.MustCompile(`<size>\d+<`).ReplaceAllString(slurp(t, path), "<size>99999999999<"))
}

func only(t *testing.T, c, suffix string) string {
	t.Helper()
	found, err := filepath.Glob(c + "/repodata/*" + suffix)
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	return found[0]
}

func flip(t *testing.T, c, suffix string) {
	t.Helper()
	data := []byte(slurp(t, only(t, c, suffix)))
	data[len(data)/2] ^= 1
	write(t, only(t, c, suffix), string(data))
}

func cutFile(t *testing.T, c, suffix string) {
	t.Helper()
	data := slurp(t, only(t, c, suffix))
	write(t, only(t, c, suffix), data[:len(data)-9])
}

// TestHostileArchive packs what tar itself would not.
func TestHostileArchive(t *testing.T) {
	for name, tt := range map[string]struct {
		h     tar.Header
		cause string
	}{
		"parent":         {tar.Header{Name: "MLNX/../../etc/distro", Typeflag: tar.TypeReg}, "leads out"},
		"absolute":       {tar.Header{Name: "/etc/distro", Typeflag: tar.TypeReg}, "is absolute"},
		"link out":       {tar.Header{Name: "MLNX/distro", Linkname: "../../etc/passwd", Typeflag: tar.TypeSymlink}, "out of the source"},
		"absolute link":  {tar.Header{Name: "MLNX/distro", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}, "out of the source"},
		"hard link out":  {tar.Header{Name: "MLNX/distro", Linkname: "../passwd", Typeflag: tar.TypeLink}, "out of the source"},
		"device":         {tar.Header{Name: "MLNX/distro", Typeflag: tar.TypeChar}, "neither a file"},
		"control":        {tar.Header{Name: "MLNX/dis\x1btro", Typeflag: tar.TypeReg}, "has characters"},
		"deep":           {tar.Header{Name: strings.Repeat("a/", 40) + "x", Typeflag: tar.TypeReg}, "too deep"},
		"link to itself": {tar.Header{Name: "MLNX/distro", Linkname: "distro", Typeflag: tar.TypeSymlink}, "link to itself"},
		"no bundle":      {tar.Header{Name: "MLNX/readme", Typeflag: tar.TypeReg}, "no MLNX_OFED bundle"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			w := tar.NewWriter(z)
			if err := errors.Join(w.WriteHeader(&tt.h), w.Close(), z.Close()); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "bundle.tgz")
			write(t, file, b.String())
			refused(t, file, Options{AllowUnsigned: true, Now: soon()}, tt.cause)
		})
	}
	t.Run("other things", func(t *testing.T) {
		refused(t, filepath.Join(t.TempDir(), "absent"), Options{}, "no such file")
		refused(t, t.TempDir(), Options{}, "no apt repository")
		refused(t, "ftp://host/repo", Options{}, "scheme")
		refused(t, "/dev/null", Options{}, "neither a folder nor a regular file")
		refused(t, "https://host/MLNX.tgz", Options{}, "only repositories")
		refused(t, t.TempDir(), Options{Keys: []KeyFile{{"k", []byte("no key")}}}, "key file k")
	})
}

// soon is after every signature that a test makes.
func soon() time.Time { return time.Now().Add(time.Hour) }
