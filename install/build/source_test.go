package build_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// signer is a throw-away key.
type signer struct {
	t testing.TB
	e *openpgp.Entity
}

func newSigner(t testing.TB) signer {
	t.Helper()
	e, err := openpgp.NewEntity("release", "", "release@example.org", nil)
	must(t, err)
	return signer{t, e}
}

func (s signer) public() []byte {
	s.t.Helper()
	var out bytes.Buffer
	must(s.t, s.e.Serialize(&out))
	return out.Bytes()
}

func (s signer) fingerprint() string { return fmt.Sprintf("%x", s.e.PrimaryKey.Fingerprint) }

func (s signer) detached(text []byte, armored bool, config *packet.Config) []byte {
	s.t.Helper()
	var out bytes.Buffer
	if armored {
		must(s.t, openpgp.ArmoredDetachSign(&out, s.e, bytes.NewReader(text), config))
	} else {
		must(s.t, openpgp.DetachSign(&out, s.e, bytes.NewReader(text), config))
	}
	return out.Bytes()
}

func (s signer) clear(text string) []byte {
	s.t.Helper()
	var out bytes.Buffer
	w, err := clearsign.Encode(&out, s.e.PrivateKey, nil)
	must(s.t, err)
	_, err = w.Write([]byte(text))
	must(s.t, errors.Join(err, w.Close()))
	return out.Bytes()
}

// archived is the text of the bench's archive.
func (b *bench) archived() []byte {
	b.t.Helper()
	text, err := os.ReadFile(b.req.Source.Location)
	must(b.t, err)
	return text
}

func (b *bench) beside(name string, text []byte) string {
	b.t.Helper()
	at := filepath.Join(b.dir, "src", name)
	must(b.t, os.WriteFile(at, text, 0o644))
	return at
}

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}

// The signs of an accepted source are that it is built, of a refused one that nothing of it was run.
func TestSourceVerified(t *testing.T) {
	key, stranger := newSigner(t), newSigner(t)
	signature := func(b *bench, text []byte) {
		b.req.Source = build.Source{
			Location: b.req.Source.Location, Signature: b.beside("x.asc", text),
			Keyrings: [][]byte{stranger.public(), key.public()}, Fingerprints: []string{key.fingerprint()},
		}
	}
	for name, c := range map[string]struct {
		change func(b *bench)
		code   string // empty: it is built
	}{
		"checksum":           {func(*bench) {}, ""},
		"upper case":         {func(b *bench) { b.req.Source.SHA256 = strings.ToUpper(b.req.Source.SHA256) }, ""},
		"armored signature":  {func(b *bench) { signature(b, key.detached(b.archived(), true, nil)) }, ""},
		"binary signature":   {func(b *bench) { signature(b, key.detached(b.archived(), false, nil)) }, ""},
		"nothing":            {func(b *bench) { b.req.Source.SHA256 = "" }, "not-verified"},
		"wrong checksum":     {func(b *bench) { b.req.Source.SHA256 = strings.Repeat("0", 64) }, "wrong-checksum"},
		"no checksum":        {func(b *bench) { b.req.Source.SHA256 = "0123" }, "bad-checksum"},
		"trust is for dirs":  {func(b *bench) { b.req.Source.SHA256, b.req.Source.TrustDirectory = "", true }, "not-verified"},
		"other text signed":  {func(b *bench) { signature(b, key.detached([]byte("x"), true, nil)) }, "bad-signature"},
		"other key":          {func(b *bench) { signature(b, stranger.detached(b.archived(), true, nil)) }, "bad-signature"},
		"no signature in it": {func(b *bench) { signature(b, []byte("hello")) }, "bad-signature"},
		"of the future": {func(b *bench) {
			signature(b, key.detached(b.archived(), true, &packet.Config{Time: func() time.Time { return time.Now().Add(48 * time.Hour) }}))
		}, "bad-signature"},
		"no pin": {func(b *bench) { signature(b, key.detached(b.archived(), true, nil)); b.req.Source.Fingerprints = nil }, "not-verified"},
		"no key": {func(b *bench) { signature(b, key.detached(b.archived(), true, nil)); b.req.Source.Keyrings = nil }, "not-verified"},
		"short pin": {func(b *bench) {
			signature(b, key.detached(b.archived(), true, nil))
			b.req.Source.Fingerprints = []string{key.fingerprint()[24:]}
		}, "bad-key"},
		"pin of other": {func(b *bench) {
			signature(b, key.detached(b.archived(), true, nil))
			b.req.Source.Fingerprints = []string{stranger.fingerprint()}
		}, "bad-signature"},
		"key not sent": {func(b *bench) {
			signature(b, key.detached(b.archived(), true, nil))
			b.req.Source.Keyrings = b.req.Source.Keyrings[:1]
		}, "bad-key"},
		"bad key": {func(b *bench) {
			signature(b, key.detached(b.archived(), true, nil))
			b.req.Source.Keyrings = [][]byte{[]byte("x")}
		}, "bad-key"},
		"both and one bad": {func(b *bench) {
			signature(b, key.detached(b.archived(), true, nil))
			b.req.Source.SHA256 = strings.Repeat("0", 64)
		}, "wrong-checksum"},
		"a zip":     {func(b *bench) { b.req.Source.Location = b.beside("x.zip", b.archived()) }, "unknown-source"},
		"too large": {func(b *bench) { b.req.Limits = build.DefaultLimits(); b.req.Limits.Download = 100 }, "source-too-large"},
		"too many":  {func(b *bench) { b.req.Limits = build.DefaultLimits(); b.req.Limits.Files = 2 }, "hostile-source"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			b := newBench(t)
			ran := filepath.Join(openTemp(t), "ran")
			must(t, os.Chmod(filepath.Dir(ran), 0o777))
			b.source("touch " + ran + "\n" + goodBuild)
			c.change(b)
			built, err := b.make()
			_, notRun := os.Stat(ran)
			if c.code == "" {
				if err != nil || notRun != nil || len(built.Manifest.Source.SHA256) != 64 {
					t.Errorf("refused: %v; %+v", err, built.Manifest.Source)
				}
				if b.req.Source.Signature != "" && built.Manifest.Source.SignedBy != strings.ToUpper(key.fingerprint()) {
					t.Errorf("signed by %q", built.Manifest.Source.SignedBy)
				}
				return
			}
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != c.code || f.Kind != fault.Stopped || f.Hint == "" {
				t.Errorf("%#v", err)
			}
			if notRun == nil {
				t.Error("something of it was run")
			}
			if dirs, err := filepath.Glob(filepath.Join(built.Work, "tree/*")); err != nil || len(dirs) > 0 && c.code != "hostile-source" {
				t.Errorf("it was unpacked: %v", dirs)
			}
		})
	}
}

func (b *bench) dsc(change func(string) string) string {
	b.t.Helper()
	orig := b.archived()
	b.beside("rdma-core_56.1.orig.tar.gz", orig)
	debian := packed(b.t, ".tar.xz", tarOf(b.t, file("debian/control", "Source: rdma-core\n")))
	b.beside("rdma-core_56.1-1.debian.tar.xz", debian)
	text := fmt.Sprintf(`Format: 3.0 (quilt)
Source: rdma-core
Binary: rdma-core, libibverbs1
Version: 56.1-1
Checksums-Sha1:
 %s %d rdma-core_56.1.orig.tar.gz
Checksums-Sha256:
 %s %d rdma-core_56.1.orig.tar.gz
 %s %d rdma-core_56.1-1.debian.tar.xz
`, strings.Repeat("0", 40), len(orig), sum(orig), len(orig), sum(debian), len(debian))
	return change(text)
}

func TestDebianSource(t *testing.T) {
	key, stranger := newSigner(t), newSigner(t)
	same := func(s string) string { return s }
	replaced := func(old, text string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, text, 1) }
	}
	for name, c := range map[string]struct {
		text   func(string) string
		sign   func([]byte) []byte // nil: it is not signed
		change func(b *bench)      // after it is written
		code   string
	}{
		"by checksum":         {text: same, change: func(b *bench) { b.req.Source.Keyrings = nil }},
		"signed":              {text: same, sign: func(s []byte) []byte { return key.clear(string(s)) }},
		"signed and checksum": {text: same, sign: func(s []byte) []byte { return key.clear(string(s)) }, change: func(b *bench) { b.req.Source.Keyrings = nil }},
		"not signed":          {text: same, code: "not-signed"},
		"other key":           {text: same, sign: func(s []byte) []byte { return stranger.clear(string(s)) }, code: "bad-signature"},
		"edited": {text: same, sign: func(s []byte) []byte {
			return bytes.Replace(key.clear(string(s)), []byte("Binary: rdma"), []byte("Binary: rdna"), 1)
		}, code: "bad-signature"},
		"text before":     {text: same, sign: func(s []byte) []byte { return append([]byte("Format: 3.0 (quilt)\n"), key.clear(string(s))...) }, code: "not-signed"},
		"text behind":     {text: same, sign: func(s []byte) []byte { return append(key.clear(string(s)), "Source: evil\n"...) }, code: "bad-signature"},
		"no proof":        {text: same, change: func(b *bench) { b.req.Source.Keyrings, b.req.Source.SHA256 = nil, "" }, code: "not-verified"},
		"wrong checksum":  {text: same, change: func(b *bench) { b.req.Source.Keyrings, b.req.Source.SHA256 = nil, strings.Repeat("1", 64) }, code: "wrong-checksum"},
		"archive changed": {text: same, change: func(b *bench) { b.req.Source.Keyrings = nil; b.beside("rdma-core_56.1.orig.tar.gz", []byte("x")) }, code: "wrong-checksum"},
		"archive longer": {text: same, change: func(b *bench) {
			b.req.Source.Keyrings = nil
			b.beside("rdma-core_56.1.orig.tar.gz", append(b.archived(), "xyz"...))
		}, code: "source-too-large"},
		"debian changed": {text: same, change: func(b *bench) { b.req.Source.Keyrings = nil; b.beside("rdma-core_56.1-1.debian.tar.xz", []byte("x")) }, code: "wrong-checksum"},
		"archive missing": {text: same, change: func(b *bench) {
			b.req.Source.Keyrings = nil
			must(b.t, os.Remove(filepath.Join(b.dir, "src/rdma-core_56.1.orig.tar.gz")))
		}, code: "no-source"},
		"other package":  {text: replaced("Source: rdma-core", "Source: evil"), sign: func(s []byte) []byte { return key.clear(string(s)) }, code: "unknown-source"},
		"only SHA-1":     {text: replaced("Checksums-Sha256", "Checksums-Sha257"), sign: func(s []byte) []byte { return key.clear(string(s)) }, code: "damaged-source"},
		"path as a name": {text: replaced(" rdma-core_56.1-1.debian", " ../rdma-core_56.1-1.debian"), sign: func(s []byte) []byte { return key.clear(string(s)) }, code: "damaged-source"},
		"field twice":    {text: func(s string) string { return s + "Source: rdma-core\n" }, sign: func(s []byte) []byte { return key.clear(string(s)) }, code: "damaged-source"},
		"no archive":     {text: func(s string) string { return strings.ReplaceAll(s, "56.1.orig.tar.gz", "56.1.orig.zip") }, sign: func(s []byte) []byte { return key.clear(string(s)) }, code: "damaged-source"},
		"file twice":     {text: func(s string) string { return strings.ReplaceAll(s, "56.1-1.debian.tar.xz", "56.1.orig.tar.gz") }, sign: func(s []byte) []byte { return key.clear(string(s)) }, code: "damaged-source"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			b := newBench(t)
			text := []byte(b.dsc(c.text))
			if c.sign != nil {
				text = c.sign(text)
			}
			b.req.Source = build.Source{Location: b.beside("rdma-core_56.1-1.dsc", text), SHA256: sum(text), Keyrings: [][]byte{key.public()}}
			if c.change != nil {
				archive := b.req.Source.Location
				b.req.Source.Location = filepath.Join(b.dir, "src/rdma-core-56.1.tar.gz") // archived() reads it
				c.change(b)
				b.req.Source.Location = archive
			}
			built, err := b.make()
			if c.code == "" {
				if err != nil || built.Manifest.Source.Package != "56.1-1" || (built.Manifest.Source.SignedBy == "") == (b.req.Source.Keyrings != nil) {
					t.Errorf("refused: %v; %+v", err, built.Manifest.Source)
				}
				return
			}
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != c.code || f.Kind != fault.Stopped {
				t.Errorf("%v: %#v", err, f)
			}
		})
	}
}

func TestFetchedSource(t *testing.T) {
	b := newBench(t)
	text, digest := b.archived(), b.req.Source.SHA256
	handler := http.NewServeMux()
	handler.HandleFunc("/x.tar.gz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) })
	handler.HandleFunc("/cut.tar.gz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		_, _ = w.Write(text[:100])
	})
	handler.HandleFunc("/endless.tar.gz", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	plain := httptest.NewServer(handler)
	defer plain.Close()
	handler.HandleFunc("/down.tar.gz", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL+"/x.tar.gz", http.StatusFound)
	})
	handler.HandleFunc("/on.tar.gz", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/x.tar.gz?token=secret", http.StatusFound)
	})
	handler.HandleFunc("/loop.tar.gz", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop.tar.gz", http.StatusFound) })
	secure := httptest.NewTLSServer(handler)
	defer secure.Close()
	b.req.Transport = secure.Client().Transport
	b.req.Limits = build.DefaultLimits()
	b.req.Limits.Download = 1 << 20
	withUser := strings.Replace(secure.URL, "https://", "https://user:secret@", 1)
	for _, c := range []struct{ address, sha256, code string }{
		{plain.URL + "/x.tar.gz", digest, ""},
		{withUser + "/x.tar.gz?token=secret", digest, ""},
		{withUser + "/on.tar.gz?token=secret", digest, ""},
		{secure.URL + "/x.tar.gz", "", "not-verified"},
		{plain.URL + "/x.tar.gz", "", "not-verified"},
		{withUser + "/none.tar.gz?token=secret", digest, "source-unreachable"},
		{secure.URL + "/cut.tar.gz", digest, "source-unreachable"},
		{withUser + "/endless.tar.gz?token=secret", digest, "source-too-large"},
		{withUser + "/down.tar.gz?token=secret", digest, "source-refused"},
		{secure.URL + "/loop.tar.gz", digest, "source-refused"},
		{"https://127.0.0.1:1/x.tar.gz?token=secret", digest, "source-unreachable"},
		{"ftp://127.0.0.1/x.tar.gz", digest, "source-refused"},
		{secure.URL + "/", digest, "no-source"},
	} {
		b.req.Source = build.Source{Location: c.address, SHA256: c.sha256}
		must(t, os.RemoveAll(b.req.Cache))
		built, err := b.make()
		var f *fault.Error
		if c.code == "" && err != nil || c.code != "" && (!errors.As(err, &f) || f.Code != c.code) {
			t.Errorf("%s: %v", c.address, err)
		}
		if err != nil && strings.Contains(err.Error()+f.Hint, "secret") || strings.Contains(built.Manifest.Source.Location, "secret") {
			t.Errorf("%s tells what is secret: %v, %+v", c.address, err, built.Manifest.Source)
		}
	}
}

func TestFetchIsCancelled(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(context.Background())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	b.req.Source.Location = server.URL + "/x.tar.gz"
	if _, err := build.Make(ctx, b.h, b.req); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled fetch ends with %v", err)
	}
}

func TestDirectory(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *bench, dir string)
		code   string
	}{
		"trusted": {func(*bench, string) {}, ""},
		"with .git": {func(b *bench, dir string) {
			must(b.t, os.MkdirAll(dir+"/.git/x", 0o777))
			must(b.t, os.Chmod(dir+"/.git/x", 0o777))
		}, ""},
		"not trusted": {func(b *bench, _ string) { b.req.Source.TrustDirectory = false }, "not-verified"},
		"checksum":    {func(b *bench, _ string) { b.req.Source.SHA256 = strings.Repeat("0", 64) }, "not-verified"},
		"everyone's":  {func(b *bench, dir string) { must(b.t, os.Chmod(dir, 0o777)) }, "not-trusted"},
		"parent":      {func(b *bench, dir string) { must(b.t, os.Chmod(filepath.Dir(dir), 0o777)) }, "not-trusted"},
		"a file":      {func(b *bench, dir string) { must(b.t, os.Chmod(dir+"/build.sh", 0o666)) }, "not-trusted"},
		"a link out":  {func(b *bench, dir string) { must(b.t, os.Symlink("/etc/passwd", dir+"/x")) }, "hostile-source"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			b := newBench(t)
			dir := filepath.Join(b.dir, "src/tree")
			must(t, os.Mkdir(dir, 0o755))
			must(t, os.WriteFile(dir+"/CMakeLists.txt", []byte("project(rdma-core)\nset(PACKAGE_VERSION \"56.1\")\nset(IBVERBS_PABI_VERSION \"34\")\n"), 0o644))
			must(t, os.WriteFile(dir+"/build.sh", []byte(strings.ReplaceAll(goodBuild, "LIBS", b.dir+"/libs")), 0o644))
			b.req.Source = build.Source{Location: dir, TrustDirectory: true}
			c.change(b, dir)
			built, err := b.make()
			var f *fault.Error
			if c.code != "" {
				if !errors.As(err, &f) || f.Code != c.code {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || !built.Manifest.Source.Trusted {
				t.Fatalf("refused: %v", err)
			}
			// The same tree is not built again, a changed one is.
			again := b.made()
			must(t, os.WriteFile(dir+"/new.c", []byte("int x;\n"), 0o644))
			changed := b.made()
			if !again.Reused || changed.Reused {
				t.Errorf("the same: reused %v; changed: reused %v", again.Reused, changed.Reused)
			}
		})
	}
	t.Run("another-user", func(t *testing.T) {
		if !asRoot() {
			t.Skip("needs root: a directory is given to another user")
		}
		b := newBench(t)
		dir := filepath.Join(b.dir, "src/tree")
		must(t, os.Mkdir(dir, 0o755))
		must(t, os.Chown(dir, 1234, 1234))
		b.req.Source = build.Source{Location: dir, TrustDirectory: true}
		_, err := b.make()
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != "not-trusted" {
			t.Errorf("%v", err)
		}
		b.req.Source.TrustUsers = []uint32{1234}
		if _, err = b.make(); !errors.As(err, &f) || f.Code != "unknown-source" { // it is empty
			t.Errorf("%v", err)
		}
	})
}
