package bundle

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/internal/fault"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// noon is when the bundles of these tests are made.
func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// signers are two keys, of a kind that is made in no time.
type signers struct{ one, other Signer }

func newSigners(t testing.TB) signers {
	t.Helper()
	made := func() Signer {
		e, err := openpgp.NewEntity("test", "", "test@rdmactl.invalid", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, Time: noon})
		must(t, err)
		return Signer{e, noon()}
	}
	return signers{made(), made()}
}

// sample is a manifest for two hosts that share a content, and the contents.
func sample() (Manifest, []Blob) {
	shared, own := TextBlob([]byte("a package that both need\n")), TextBlob(bytes.Repeat([]byte("x"), 3*block))
	m := Manifest{
		Made: noon(), Tool: "test",
		Hosts: []Host{
			{Name: "one", Distro: "debian", Release: "12", Arch: "x86_64", Manager: "apt", Repository: "debian-12-x86_64"},
			{Name: "two", Distro: "rocky", Release: "9.4", Arch: "x86_64", Manager: "dnf", Repository: "rocky-9.4-x86_64"},
		},
		Repositories: []Repository{
			{ID: "debian-12-x86_64", Form: Debs, Files: []File{{"packages/a_1_amd64.deb", shared.SHA256}, {"packages/b_1~rc1+x_amd64.deb", own.SHA256}}},
			{ID: "rocky-9.4-x86_64", Form: RPMs, Files: []File{{"packages/a-1.x86_64.rpm", shared.SHA256}, {"repodata/repomd.xml", shared.SHA256}}},
		},
	}
	return m, []Blob{shared, own, shared}
}

// written is the file of a sound bundle.
func written(t testing.TB, s Signer) (path string, made Made) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.bundle")
	m, blobs := sample()
	made, err := Write(context.Background(), path, m, blobs, s, nil)
	must(t, err)
	return path, made
}

func verified(t testing.TB, path string) (*Bundle, error) {
	t.Helper()
	b, err := Open(path)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { must(t, b.Close()) })
	_, err = b.Verify(context.Background(), nil)
	return b, err
}

// refused checks the fault of a bundle that must not be used.
func refused(t *testing.T, what string, err error, says string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Usage || f.Code != "faulty-bundle" || !strings.Contains(f.Msg, says) {
		t.Errorf("%s: %v, want a faulty bundle that says %q", what, err, says)
	}
}

func TestWrittenIsRead(t *testing.T) {
	own, err := NewSigner(noon())
	must(t, err)
	path, made := written(t, own)
	b, err := verified(t, path)
	must(t, err)
	if diff := cmp.Diff(made.Manifest, b.Manifest); diff != "" {
		t.Errorf("the manifest that is read (-written +read):\n%s", diff)
	}
	data, err := os.ReadFile(path)
	must(t, err)
	if sum := TextBlob(data).SHA256; b.SHA256() != sum || made.SHA256 != sum || made.Bytes != int64(len(data)) {
		t.Errorf("the file has the SHA-256 %s and %d bytes; %s and %d were told, %s read", sum, len(data), made.SHA256, made.Bytes, b.SHA256())
	}
	line, err := os.ReadFile(path + ".sha256")
	must(t, err)
	if string(line) != made.SHA256+"  a.bundle\n" {
		t.Errorf("the file beside it has %q", line)
	}
	if n := len(b.Manifest.Contents); n != 2 || bytes.Count(data, []byte("a package that both need")) != 1 {
		t.Errorf("what both hosts need is not in it once: %d contents", n)
	}
}

func TestUnpack(t *testing.T) {
	keys := newSigners(t)
	path, _ := written(t, keys.one)
	b, err := verified(t, path)
	must(t, err)
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	for range 2 { // again over an earlier one
		must(t, b.Unpack(context.Background(), "rocky-9.4-x86_64", root, "there", nil))
	}
	text, err := os.ReadFile(filepath.Join(dir, "there/packages/a-1.x86_64.rpm"))
	must(t, err)
	if string(text) != "a package that both need\n" {
		t.Errorf("unpacked: %q", text)
	}
	if info, err := os.Stat(filepath.Join(dir, "there")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its directory: %v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "there/packages/b_1~rc1+x_amd64.deb")); !os.IsNotExist(err) {
		t.Errorf("a package of the other host was unpacked: %v", err)
	}

	// The file changes after it was verified.
	data, err := os.ReadFile(path)
	must(t, err)
	at := bytes.Index(data, []byte("a package that both need"))
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("b"), int64(at))
	must(t, errors.Join(err, f.Close()))
	refused(t, "changed since", b.Unpack(context.Background(), "rocky-9.4-x86_64", root, "later", nil), "has the SHA-256")
	names, err := os.ReadDir(dir)
	must(t, err)
	if len(names) != 1 || names[0].Name() != "there" {
		t.Errorf("it left %v", names)
	}
}

func TestProve(t *testing.T) {
	keys := newSigners(t)
	path, made := written(t, keys.one)
	b, err := verified(t, path)
	must(t, err)
	own, err := keys.one.Public()
	must(t, err)
	stranger, err := keys.other.Public()
	must(t, err)
	for name, one := range map[string]struct {
		proof Proof
		kind  fault.Kind
		says  string
	}{
		"checksum":             {Proof{SHA256: strings.ToUpper(made.SHA256)}, 0, "its SHA-256"},
		"another checksum":     {Proof{SHA256: strings.Repeat("0", 64)}, fault.Usage, "not 0000"},
		"key":                  {Proof{Keys: []string{own}}, 0, made.Manifest.Fingerprint},
		"one of two keys":      {Proof{Keys: []string{stranger, own}}, 0, made.Manifest.Fingerprint},
		"another key":          {Proof{Keys: []string{stranger}}, fault.Usage, "none of the keys"},
		"checksum, wrong key":  {Proof{SHA256: made.SHA256, Keys: []string{stranger}}, fault.Usage, "none of the keys"},
		"key, wrong checksum":  {Proof{SHA256: strings.Repeat("0", 64), Keys: []string{own}, Trust: true}, fault.Usage, "not 0000"},
		"no key":               {Proof{Keys: []string{"nothing"}}, fault.Usage, "none of the keys"},
		"nothing":              {Proof{}, fault.Stopped, "nothing shows"},
		"nothing, and allowed": {Proof{Trust: true}, 0, "nothing but"},
	} {
		by, err := b.Prove(one.proof, noon().Add(time.Hour))
		var f *fault.Error
		errors.As(err, &f)
		switch {
		case one.kind == 0 && (err != nil || !strings.Contains(by, one.says)):
			t.Errorf("%s: %q, %v", name, by, err)
		case one.kind != 0 && (f == nil || f.Kind != one.kind || !strings.Contains(f.Msg, one.says)):
			t.Errorf("%s: %q, %v", name, by, err)
		}
	}
	// A host whose clock is behind.
	if _, err := b.Prove(Proof{Keys: []string{own}}, noon().AddDate(-10, 0, 0)); err != nil {
		t.Errorf("with a clock that is behind: %v", err)
	}
}

func TestReadSigner(t *testing.T) {
	keys := newSigners(t)
	public, err := keys.one.Public()
	must(t, err)
	for what, text := range map[string]string{"public": public, "none": "no key", "empty": ""} {
		if _, err := ReadSigner([]byte(text), noon()); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestWriteStops(t *testing.T) {
	keys := newSigners(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "a.bundle")
	must(t, os.WriteFile(path, []byte("the one before"), 0o644))
	source := filepath.Join(t.TempDir(), "source")
	must(t, os.WriteFile(source, []byte("what was downloaded"), 0o644))
	blob, err := FileBlob(source)
	must(t, err)
	m, blobs := sample()
	m.Repositories[0].Files = append(m.Repositories[0].Files, File{"packages/c.deb", blob.SHA256})
	must(t, os.WriteFile(source, []byte("what was DOWNloaded"), 0o644))
	_, err = Write(context.Background(), path, m, append(blobs, blob), keys.one, nil)
	if err == nil || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("a content that changed: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m, blobs = sample()
	if _, err := Write(ctx, path, m, blobs, keys.one, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Write(context.Background(), path, m, blobs[:1], keys.one, nil); err == nil {
		t.Error("a content that is missing was not noticed")
	}
	names, err := os.ReadDir(dir)
	must(t, err)
	text, err := os.ReadFile(path)
	must(t, err)
	if len(names) != 1 || string(text) != "the one before" {
		t.Errorf("left are %v, with %q", names, text)
	}
	if _, err := Write(context.Background(), "/dev/null", m, blobs, keys.one, nil); err == nil {
		t.Error("a device was replaced")
	}
}
