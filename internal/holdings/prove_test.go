package holdings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/internal/openpgpkey"
)

// unsignedBundle is a small bundle that nobody signed, as a .tgz.
func unsignedBundle(t *testing.T) (file string, data []byte) {
	t.Helper()
	packages := "Package: mlnx-ofed-all\nVersion: 24.10-2.1.8.0\nArchitecture: all\nFilename: ./a.deb\nSize: 8\nSHA256: " + strings.Repeat("0", 64) + "\n\n" +
		"Package: mlnx-ofed-kernel-dkms\nVersion: 24.10.OFED.24.10.2.1.8.1-1\nArchitecture: amd64\nFilename: ./b.deb\nSize: 8\nSHA256: " + strings.Repeat("0", 64) + "\n"
	const top = "MLNX_OFED_LINUX-24.10-2.1.8.0-debian12.5-x86_64/"
	data = zipped(t, tarOf(t, []entry{
		{name: top + "distro", text: "debian12.5\n"},
		{name: top + ".mlnx", text: "24.10-2.1.8.0\n"},
		{name: top + ".arch", text: "x86_64\n"},
		{name: top + "DEBS/a.deb", text: "package\n"},
		{name: top + "DEBS/b.deb", text: "package\n"},
		{name: top + "DEBS/Packages", text: packages},
		{name: top + "DEBS/Release", text: fmt.Sprintf("Label: MLNX_OFED_LINUX\nSuite: 24.10-2.1.8.0\nSHA256:\n %x %d Packages\n", sha256.Sum256([]byte(packages)), len(packages))},
	}))
	file = filepath.Join(t.TempDir(), "bundle.tgz")
	write(t, file, string(data))
	return file, data
}

// TestProve is of bundles in which nothing is signed: the whole file must be proven.
func TestProve(t *testing.T) {
	file, data := unsignedBundle(t)
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	public, _, sign := signsAs(t)
	other, _, signsElse := signsAs(t)
	made := func(sign func([]byte) ([]byte, error), of []byte) []byte {
		t.Helper()
		out, err := sign(of)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	good, stranger, ofAnother := made(sign, data), made(signsElse, data), made(sign, []byte("another"))
	keys := []KeyFile{{"key.asc", public}}
	for name, c := range map[string]struct {
		opts  Options
		proof string
		says  string // empty: it is taken
	}{
		"checksum":                     {Options{SHA256: digest}, "sha256", ""},
		"checksum in capitals":         {Options{SHA256: strings.ToUpper(digest)}, "sha256", ""},
		"another checksum":             {Options{SHA256: strings.Repeat("0", 64)}, "", "its SHA-256 is " + digest},
		"signature":                    {Options{Signature: good, Keys: keys}, "signature", ""},
		"both":                         {Options{Signature: good, Keys: keys, SHA256: digest}, "signature", ""},
		"signature and another sum":    {Options{Signature: good, Keys: keys, SHA256: strings.Repeat("0", 64)}, "", "its SHA-256 is"},
		"a sum and another signature":  {Options{Signature: ofAnother, Keys: keys, SHA256: digest}, "", "is bad"},
		"signature of another file":    {Options{Signature: ofAnother, Keys: keys}, "", "the signature of the file is bad"},
		"signature by another key":     {Options{Signature: stranger, Keys: keys}, "", "signed by another key"},
		"signature that is none":       {Options{Signature: []byte("x"), Keys: keys}, "", "the signature of the file"},
		"signature without key":        {Options{Signature: good}, "", "no key was given"},
		"signature and a wrong key":    {Options{Signature: good, Keys: []KeyFile{{"other.asc", other}}}, "", "signed by another key"},
		"a key of nothing":             {Options{Keys: keys}, "", "Release is not signed"},
		"nothing":                      {Options{}, "", "Release is not signed"},
		"nothing, which is acceptable": {Options{AllowUnsigned: true}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.opts.Now = soon()
			got, err := Import(context.Background(), file, c.opts)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v, want %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			h := got.Holdings[0]
			if h.Signed != "" || h.File == nil || h.File.SHA256 != digest || h.File.Proof != c.proof || h.File.Whole || h.File.Bytes == 0 || !strings.HasSuffix(h.File.Folder, "/DEBS") {
				t.Errorf("%+v, %+v", h, h.File)
			}
			checkLoads(t, got.Holdings)
		})
	}
}

// A repository in a proven file may be signed by anyone: by a key that is given it is the vendor's, by others it is as
// if it were not signed. A signature that is bad says that something is wrong, whatever proves the file.
func TestProvenWithSignature(t *testing.T) {
	l := newLab(t)
	dir := l.docaApt()
	tgz := func() (string, string) {
		file := filepath.Join(t.TempDir(), "repository.tgz")
		l.run(dir, "tar", "-czf", file, ".")
		return file, sumOfFile(t, file)
	}
	file, sum := tgz()
	if got := imported(t, file, Options{SHA256: sum, Keys: l.options().Keys, Now: soon(), Stated: Stated{Distro: "ubuntu", VersionID: "22.04"}}); got.Signed != l.fingerprint("vendor") {
		t.Errorf("signed by %q", got.Signed)
	}
	public, _, _ := signsAs(t)
	got := imported(t, file, Options{SHA256: sum, Keys: []KeyFile{{"other.asc", public}}, Now: soon(), Stated: Stated{Distro: "ubuntu", VersionID: "22.04"}})
	if got.Signed != "" || got.File.Proof != "sha256" {
		t.Errorf("%q, %+v", got.Signed, got.File)
	}
	in := slurp(t, dir+"/InRelease")
	write(t, dir+"/InRelease", strings.Replace(in, "Label: DOCA", "Label: DOCB", 1))
	file, sum = tgz()
	refused(t, file, Options{SHA256: sum, Keys: l.options().Keys, Now: soon(), Stated: Stated{Distro: "ubuntu", VersionID: "22.04"}}, "bad")
}

// A key that comes with the source and is known by its fingerprint is handed on, since the run has to know it too.
func TestKeysOfTheSource(t *testing.T) {
	l := newLab(t)
	dir := l.docaApt()
	key := l.key("vendor")
	write(t, dir+"/GPG-KEY-Mellanox.pub", string(key.Data))
	for _, c := range []struct {
		opts Options
		want int
	}{
		{Options{Fingerprints: []string{l.fingerprint("vendor")}, Now: soon()}, 1},
		{Options{Keys: []KeyFile{key}, Now: soon()}, 0}, // the user has it
	} {
		got, err := Import(context.Background(), dir, c.opts)
		if err != nil || len(got.Keys) != c.want {
			t.Fatalf("%+v, %v", got.Keys, err)
		}
		for _, text := range got.Keys {
			if _, found, err := openpgpkey.Pick([]byte(text), l.fingerprint("vendor"), soon()); err != nil || found != l.fingerprint("vendor") {
				t.Errorf("%s, %v", found, err)
			}
		}
	}
}
