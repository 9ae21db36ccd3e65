package install

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/plan"
)

// certificateOf makes a certificate of a key.
func certificateOf(t *testing.T, key crypto.Signer) []byte {
	t.Helper()
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "modules"}, NotBefore: now, NotAfter: now.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func inPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func TestModuleKeyFiles(t *testing.T) {
	must := func(data []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	one, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	two, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	certificate := certificateOf(t, one)
	for _, test := range []struct {
		name        string
		key, cert   []byte
		says        string
		missingCert bool
	}{
		{name: "PKCS 8 and DER", key: inPEM("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(one))), cert: certificate},
		{name: "PKCS 1 and PEM", key: inPEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(one)), cert: inPEM("CERTIFICATE", certificate)},
		{name: "elliptic", key: inPEM("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(two))), cert: certificateOf(t, two)},
		{name: "another's certificate", key: inPEM("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(two))), cert: certificate, says: "certificate of another key"},
		{name: "a password", key: inPEM("ENCRYPTED PRIVATE KEY", []byte("x")), cert: certificate, says: "password"},
		{name: "a public key", key: inPEM("PUBLIC KEY", []byte("x")), cert: certificate, says: "no private key"},
		{name: "garbage", key: []byte("key"), cert: certificate, says: "no private key"},
		{name: "damaged", key: inPEM("PRIVATE KEY", []byte("x")), cert: certificate, says: "one.key"},
		{name: "no certificate", key: inPEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(one)), cert: []byte("x"), says: "one.der"},
		{name: "too large", key: []byte(strings.Repeat("x", moduleKeyLimit+1)), cert: certificate, says: "too large"},
		{name: "missing", key: inPEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(one)), missingCert: true, says: "no such file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			k := ModuleKey{filepath.Join(dir, "one.key"), filepath.Join(dir, "one.der")}
			must(nil, os.WriteFile(k.Key, test.key, 0o600))
			if !test.missingCert {
				must(nil, os.WriteFile(k.Certificate, test.cert, 0o600))
			}
			key, der, err := k.read()
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%v, want %q", err, test.says)
				}
				return
			}
			if err != nil || string(key) != string(test.key) {
				t.Fatalf("%v, %d bytes", err, len(key))
			}
			if _, err := x509.ParseCertificate(der); err != nil {
				t.Errorf("the certificate is not in DER: %v", err)
			}
		})
	}
	dir := t.TempDir()
	if _, _, err := (ModuleKey{dir, dir}).read(); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("a directory: %v", err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := privateKey(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(edwards))}); err == nil {
		t.Error("an Ed25519 key was taken, which the kernel does not know")
	}
}

// imageHost is a fake host that does not run.
type imageHost struct{ *fakeHost }

func (h imageHost) Told() host.Told { return host.Told{Kind: "root"} }

// What DKMS made in an image for the build goes, its certificate stays until the run is taken back; a key that was
// there before is the administrator's, and on a host that runs DKMS needs its own again.
func TestModuleKeysOfAnImage(t *testing.T) {
	const key, certificate = "/var/lib/dkms/mok.key", "/var/lib/dkms/mok.pub"
	for _, test := range []struct {
		name           string
		image, before  bool
		modules        string
		keyStays, cert bool // after the transaction
		undone         bool // after the way back the certificate is gone
	}{
		{name: "made in the image", image: true, modules: "dkms", cert: true, undone: true},
		{name: "there before", image: true, before: true, modules: "dkms", keyStays: true, cert: true},
		{name: "nothing is built", image: true, modules: "inbox", keyStays: true, cert: true},
		{name: "a host that runs", modules: "dkms", keyStays: true, cert: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			var w host.Writer = b.h
			if test.image {
				w = imageHost{b.h}
			}
			store := journal.Store{Dir: filepath.Join(t.TempDir(), "state")}
			j, err := store.Create(time.Now(), []byte("{}"), []byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = j.Close() })
			there := func(file string) bool {
				_, err := os.Lstat(b.h.path(file))
				return err == nil
			}
			r := &run{host: w, journal: j, plan: plan.Plan{Chosen: &plan.Choice{Modules: test.modules}}}
			if test.before {
				b.h.put(key, "secret")
				b.h.put(certificate, "public")
			}
			before, err := r.keysThere()
			if err != nil || len(before) > 0 != test.before {
				t.Fatalf("%v, %v", before, err)
			}
			b.h.put(key, "secret")
			b.h.put(certificate, "public")
			if err := r.takeModuleKeys(before); err != nil {
				t.Fatal(err)
			}
			if got := there(key); got != test.keyStays {
				t.Errorf("the key is there: %v", got)
			}
			if got := there(certificate); got != test.cert {
				t.Errorf("the certificate is there: %v", got)
			}
			if noted := len(j.Entries) > 0; noted == test.keyStays {
				t.Errorf("notes: %+v", j.Entries)
			}
			if err := r.dropModuleKeys(before, false); err != nil {
				t.Fatal(err)
			}
			if got := !there(certificate); got != test.undone {
				t.Errorf("after the way back the certificate is gone: %v", got)
			}
		})
	}
}

// A stack that is put back into an image is signed anew by DKMS, with a key that must not stay either; the certificate
// that was there does.
func TestModuleKeyOfAStackThatIsPutBack(t *testing.T) {
	key, certificate := keyPairs()[0].key, keyPairs()[0].certificate
	for _, image := range []bool{true, false} {
		b := newBench(t)
		b.h.put(certificate, "public")
		r := &run{host: b.h, plan: plan.Plan{Chosen: &plan.Choice{Stack: "inbox", Modules: "inbox"}}}
		if image {
			r.host = imageHost{b.h}
		}
		before, err := r.keysThere()
		if err != nil {
			t.Fatal(err)
		}
		b.h.put(key, "secret")
		b.h.put(certificate, "public of the new one")
		for _, again := range []bool{false, true} {
			if err := r.dropModuleKeys(before, again); err != nil {
				t.Fatal(err)
			}
			if _, err := b.h.Lstat(key); (err == nil) != !(image && again) {
				t.Errorf("image %v, again %v: the key is there: %v", image, again, err == nil)
			}
		}
		if _, err := b.h.Lstat(certificate); err != nil {
			t.Errorf("the certificate is gone: %v", err)
		}
	}
}
