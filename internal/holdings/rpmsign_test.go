package holdings

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/rdmactl/rdmactl/internal/openpgpkey"
)

// signsAs is a key and the function that signs by it.
func signsAs(t *testing.T) (public []byte, fingerprint string, sign func([]byte) ([]byte, error)) {
	t.Helper()
	config := &packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 2048}
	e, err := openpgp.NewEntity("run", "", "run@rdmactl.invalid", config)
	if err != nil {
		t.Fatal(err)
	}
	if public, err = openpgpkey.Armor(e); err != nil {
		t.Fatal(err)
	}
	return public, openpgpkey.Fingerprint(e), func(data []byte) ([]byte, error) {
		var out bytes.Buffer
		err := openpgp.ArmoredDetachSign(&out, e, bytes.NewReader(data), config)
		return out.Bytes(), err
	}
}

// TestSignRPMs signs the packages of a repository that nobody signed, and one that others did; rpm itself is asked.
func TestSignRPMs(t *testing.T) {
	l := newLab(t)
	need(t, "rpmbuild", "rpmsign", "rpmkeys", "createrepo_c")
	public, fingerprint, sign := signsAs(t)
	dir := t.TempDir()
	l.mlnxRPMs(dir)
	l.signRPM(dir+"/mlnx-ofed-all-24.10-1.1.4.0.rhel9.4.noarch.rpm", "vendor")
	l.createrepo(dir, "")
	folder, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	before := imported(t, dir, Options{AllowUnsigned: true, Now: soon()})
	if err := SignRPMs(context.Background(), folder, time.Now(), sign); err != nil {
		t.Fatal(err)
	}
	got := imported(t, dir, Options{Keys: []KeyFile{{"run.asc", public}}, Now: soon()})
	if got.Signed != fingerprint || len(got.Packages) != len(before.Packages) || !slices.Equal(got.Kernels, before.Kernels) {
		t.Errorf("%+v, was %+v", got, before)
	}
	key := filepath.Join(t.TempDir(), "key.asc")
	write(t, key, string(public))
	db := t.TempDir()
	l.run(dir, "rpmkeys", "--dbpath", db, "--import", key)
	files, err := filepath.Glob(dir + "/*.rpm")
	if err != nil || len(files) != len(got.Packages) {
		t.Fatal(files, err)
	}
	for _, file := range files {
		said := string(l.run(dir, "rpmkeys", "--dbpath", db, "--checksig", "--verbose", file))
		if !strings.Contains(said, strings.ToLower(fingerprint[len(fingerprint)-8:])+": OK") || strings.Contains(said, "BAD") || strings.Contains(said, "NOKEY") {
			t.Errorf("rpm says %s", said)
		}
	}
	// createrepo reads the same of the packages as the index says.
	again := copyTree(t, dir)
	l.createrepo(again, "")
	if other := imported(t, again, Options{Keys: []KeyFile{{"run.asc", public}}, Now: soon()}); !slices.Equal(other.Packages, got.Packages) {
		t.Errorf("createrepo: %+v, the index: %+v", other.Packages, got.Packages)
	}
	primary := string(l.run(again, "sh", "-c", "zcat repodata/*primary.xml.gz"))
	ours := string(l.run(dir, "zcat", "repodata/primary.xml.gz"))
	for _, line := range strings.Split(primary, "\n") {
		if (strings.Contains(line, "<checksum") || strings.Contains(line, "header-range")) && !strings.Contains(ours, strings.TrimSpace(line)) {
			t.Errorf("%s is not in our index", line)
		}
	}
}

func TestSignRPMsRefuses(t *testing.T) {
	l := newLab(t)
	need(t, "rpmbuild", "createrepo_c")
	dir := t.TempDir()
	l.mlnxRPMs(dir)
	l.createrepo(dir, "")
	_, _, sign := signsAs(t)
	const name = "mlnx-ofed-all-24.10-1.1.4.0.rhel9.4.noarch.rpm"
	for what, tt := range map[string]struct {
		spoil func(c string)
		sign  func([]byte) ([]byte, error)
		says  string
	}{
		"a package that was changed": {func(c string) { write(t, c+"/"+name, strings.Replace(slurp(t, c+"/"+name), "24.10", "24.11", 1)) }, sign, "another size or checksum"},
		"a package that is gone":     {func(c string) { remove(t, c+"/"+name) }, sign, "no such file"},
		"a link out": {func(c string) {
			remove(t, c+"/"+name)
			if err := os.Symlink("/etc/passwd", c+"/"+name); err != nil {
				t.Fatal(err)
			}
		}, sign, "escapes"},
		"no index":           {func(c string) { remove(t, c+"/repodata/repomd.xml") }, sign, "no such file"},
		"a key that is gone": {func(string) {}, func([]byte) ([]byte, error) { return nil, errors.New("no key") }, "no key"},
		"no signature":       {func(string) {}, func([]byte) ([]byte, error) { return []byte("x"), nil }, io.EOF.Error()},
	} {
		t.Run(what, func(t *testing.T) {
			c := copyTree(t, dir)
			tt.spoil(c)
			folder, err := os.OpenRoot(c)
			if err != nil {
				t.Fatal(err)
			}
			defer folder.Close()
			if err := SignRPMs(context.Background(), folder, time.Now(), tt.sign); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
		})
	}
}

// FuzzSignatureHeader gives signature headers of strangers' packages: what is made of one is one again.
func FuzzSignatureHeader(f *testing.F) {
	row := func(fields ...uint32) []byte { return appendRow(nil, fields...) }
	intro := []byte{0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0}
	f.Add(slices.Concat(intro, row(2, 8), row(1000, 4, 0, 1), row(269, 6, 4, 1), []byte{0, 0, 0, 9, 'a', 'b', 'c', 0}))
	f.Add(slices.Concat(intro, row(2, 4), row(1000, 0, 0, 1<<30), row(268, 7, 0, 4), []byte("sign")))
	f.Add(slices.Concat(intro, row(1, 16), row(271, 5, 0, 2), make([]byte, 16)))
	f.Fuzz(func(t *testing.T, data []byte) {
		old, err := appendRPMHeader(nil, bytes.NewReader(data), true)
		if err != nil {
			return
		}
		made := signatureHeader(old, []byte("signature"))
		r := bytes.NewReader(made)
		again, err := appendRPMHeader(nil, r, true)
		if err != nil || r.Len() != 0 || len(made)%8 != 0 {
			t.Fatalf("%x became %x: %v, %d bytes are left", data, made, err, r.Len())
		}
		if twice := signatureHeader(again, []byte("signature")); !bytes.Equal(twice, made) {
			t.Errorf("%x, and once more %x", made, twice)
		}
	})
}
