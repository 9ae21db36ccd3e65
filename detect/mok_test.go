package detect

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// certificate makes one in DER.
func certificate(t *testing.T, name string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// signatureList is an EFI_SIGNATURE_LIST of one entry.
func signatureList(guid string, entry []byte) string {
	u := func(n int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }
	return guid + u(28+16+len(entry)) + u(0) + u(16+len(entry)) + strings.Repeat("o", 16) + string(entry)
}

func TestDecodeKeys(t *testing.T) {
	one, two := certificate(t, "DKMS module signing key"), certificate(t, "Vendor\nSubject: CN=x")
	hashes := signatureList(strings.Repeat("h", 16), []byte(strings.Repeat("0", 32)))
	variable := "\x06\x00\x00\x00" + signatureList(x509GUID, one) + hashes + signatureList(x509GUID, two)
	text, err := decodeKeys(4)(strings.NewReader(variable), int64(len(variable)))
	keys := parseKeys(text)
	if err != nil || len(keys) != 2 || keys[0].Subject != "CN=DKMS module signing key" || keys[0].SHA1 != strings.ReplaceAll(fingerprint(one), ":", "") {
		t.Fatalf("got %+v, %v from\n%s", keys, err, text)
	}
	if strings.Contains(keys[1].Subject, "\n") {
		t.Errorf("a subject of two lines: %q", keys[1].Subject)
	}
	for _, bad := range []string{"\x06", variable[:len(variable)-5], variable[:40], "\x06\x00\x00\x00" + x509GUID + strings.Repeat("\xff", 12), "\x06\x00\x00\x00" + x509GUID + strings.Repeat("\x00", 12)} {
		if text, err := decodeKeys(4)(strings.NewReader(bad), int64(len(bad))); err == nil {
			t.Errorf("%q was read as %q", bad, text)
		}
	}
}

// What openssl prints of a certificate is read as what is printed here.
func TestOpensslSaysTheSame(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("skipped: openssl is not installed (package openssl)")
	}
	der := certificate(t, "DKMS module signing key")
	file := filepath.Join(t.TempDir(), "mok.pub")
	if err := os.WriteFile(file, der, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(openssl, "x509", "-inform", "der", "-in", file, "-noout", "-fingerprint", "-sha1", "-subject").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := decodeCertificate(strings.NewReader(string(der)), int64(len(der)))
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := parseKeys(string(out)), parseKeys(text)
	if len(theirs) != 1 || len(ours) != 1 || theirs[0].SHA1 != ours[0].SHA1 || !strings.Contains(theirs[0].Subject, "DKMS module signing key") {
		t.Errorf("openssl: %+v, here: %+v", theirs, ours)
	}
	if _, err := decodeCertificate(strings.NewReader("text"), 4); err == nil {
		t.Error("text was read as a certificate")
	}
}

func TestEnrolledKeys(t *testing.T) {
	const list, test = "mokutil --list-enrolled", "mokutil --test-key /var/lib/dkms/mok.pub"
	tests := []struct {
		name     string
		commands map[string]host.Answer
		keys     string
		enrolled string
	}{
		{"nothing told", nil, "unknown", "unknown"},
		{"none", map[string]host.Answer{list: {Stdout: "MokListRT is empty\n"}}, "absent", "unknown"},
		{"short", map[string]host.Answer{list: {Stdout: "b94124a018 Debian Secure Boot CA\n"}}, "known", "unknown"},
		{"tested", map[string]host.Answer{test: {Stdout: "/var/lib/dkms/mok.pub is already enrolled\n"}}, "unknown", "true"},
		{"tested in vain", map[string]host.Answer{test: {Stdout: "/var/lib/dkms/mok.pub is not enrolled\n", Exit: 1}}, "unknown", "false"},
		{"another key tested", map[string]host.Answer{"mokutil --test-key /root/x.der": {Stdout: "/root/x.der is already enrolled\n"}}, "unknown", "unknown"},
	}
	for _, tt := range tests {
		s := detected(t, &host.Evidence{Commands: tt.commands}).SecureBoot
		state := func(state facts.State) string {
			if state == "" {
				return string(facts.Unknown)
			}
			return string(state)
		}
		enrolled := state(s.DKMSKeyEnrolled.State)
		if v, ok := s.DKMSKeyEnrolled.Get(); ok {
			enrolled = map[bool]string{true: "true", false: "false"}[v]
		}
		if state(s.EnrolledKeys.State) != tt.keys || enrolled != tt.enrolled {
			t.Errorf("%s: %+v, %+v", tt.name, s.EnrolledKeys, s.DKMSKeyEnrolled)
		}
	}
}
