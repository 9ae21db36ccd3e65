package signature

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/rdmactl/rdmactl/internal/openpgpkey"
)

func made(t *testing.T, when time.Time, life time.Duration) *openpgp.Entity {
	t.Helper()
	e, err := openpgp.NewEntity("Releaser", "", "releaser@example.com", &packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return when }, KeyLifetimeSecs: uint32(life.Seconds()),
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func signed(t *testing.T, e *openpgp.Entity, text string, config *packet.Config) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := openpgp.DetachSign(&out, e, strings.NewReader(text), config); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func armored(t *testing.T, sig []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := armor.Encode(&out, openpgp.SignatureType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(sig); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDetached(t *testing.T) {
	now := time.Now()
	at := func(when time.Time) *packet.Config { return &packet.Config{Time: func() time.Time { return when }} }
	ago := now.AddDate(-1, 0, 0)
	key, stranger, short := made(t, ago, 0), made(t, ago, 0), made(t, ago, 24*time.Hour)
	revoked := made(t, ago, 0)
	const text = "what is released\n"
	byRevoked := signed(t, revoked, text, at(ago.Add(time.Hour)))
	if err := revoked.RevokeKey(packet.KeyCompromised, "lost", at(now.AddDate(0, -1, 0))); err != nil {
		t.Fatal(err)
	}
	whole := signed(t, key, text, at(now.Add(-time.Hour)))
	for name, c := range map[string]struct {
		keys      openpgp.EntityList
		text      string
		signature []byte
		at        time.Time
		reason    Reason
		words     string
	}{
		"binary":        {openpgp.EntityList{stranger, key}, text, whole, now, 0, ""},
		"armored":       {openpgp.EntityList{key}, text, armored(t, whole), now, 0, ""},
		"other text":    {openpgp.EntityList{key}, "what is not\n", whole, now, Bad, "the signature of it is bad: "},
		"other key":     {openpgp.EntityList{stranger}, text, whole, now, UnknownKey, "it is signed by another key ("},
		"no key":        {nil, text, whole, now, UnknownKey, "another key"},
		"expired key":   {openpgp.EntityList{short}, text, signed(t, short, text, at(ago.Add(time.Hour))), now, KeyExpired, "a key that is expired ("},
		"revoked key":   {openpgp.EntityList{revoked}, text, byRevoked, now, KeyRevoked, "a key that is revoked ("},
		"clock behind":  {openpgp.EntityList{key}, text, whole, ago.AddDate(-1, 0, 0), KeyTooYoung, "is of the future"},
		"later":         {openpgp.EntityList{key}, text, whole, now.Add(-48 * time.Hour), TooYoung, "the signature of it is of the future"},
		"ended":         {openpgp.EntityList{key}, text, signed(t, key, text, &packet.Config{Time: func() time.Time { return ago.Add(time.Hour) }, SigLifetimeSecs: 60}), now, Expired, "is expired"},
		"cut short":     {openpgp.EntityList{key}, text, whole[:len(whole)-9], now, Bad, "is bad"},
		"armor damaged": {openpgp.EntityList{key}, text, []byte("-----BEGIN PGP SIGNATURE-----\n\n*"), now, Unreadable, "cannot be read: "},
		"armor of a lot": {
			openpgp.EntityList{key}, text, armored(t, make([]byte, maxBytes+1)), now, Unreadable, "it is longer than",
		},
	} {
		t.Run(name, func(t *testing.T) {
			by, err := Detached(c.keys, strings.NewReader(c.text), c.signature, c.at)
			if c.reason == 0 {
				if err != nil || by != openpgpkey.Fingerprint(key) {
					t.Fatalf("%q, %v", by, err)
				}
				return
			}
			var e *Error
			if !errors.As(err, &e) || e.Reason != c.reason || !strings.Contains(e.Error(), c.words) || by != "" {
				t.Fatalf("%q, %v (%+v), want reason %d and %q", by, err, e, c.reason, c.words)
			}
		})
	}
}

// A signature by SHA-1, which the library makes no more, is gpg's.
func TestForgeable(t *testing.T) {
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("needs gpg")
	}
	home, err := os.MkdirTemp("", "rdmactl-gpg") // not t.TempDir: the path of the agent's socket must be short
	if err != nil {
		t.Fatal(err)
	}
	gpg := func(stdin string, args ...string) []byte {
		t.Helper()
		cmd := exec.Command("gpg", append([]string{"--homedir", home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("gpg %v: %v", args, err)
		}
		return out
	}
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run() // it ends by itself when its directory goes
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	gpg("", "--quick-gen-key", "Releaser <releaser@example.com>", "rsa2048", "sign", "never")
	keys, err := openpgpkey.Read(gpg("", "--export"))
	if err != nil {
		t.Fatal(err)
	}
	const text = "what is released\n"
	var e *Error
	if by, err := Detached(keys, strings.NewReader(text), gpg(text, "--digest-algo", "SHA1", "--detach-sign"), time.Now()); !errors.As(err, &e) ||
		e.Reason != Forgeable || !strings.Contains(e.Error(), "uses SHA-1, which can be forged") {
		t.Errorf("%q, %v", by, err)
	}
	if _, err := Detached(keys, strings.NewReader(text), gpg(text, "--digest-algo", "SHA256", "--detach-sign"), time.Now()); err != nil {
		t.Errorf("SHA-256: %v", err)
	}
}

func TestClear(t *testing.T) {
	key := made(t, time.Now().AddDate(-1, 0, 0), 0)
	var out bytes.Buffer
	w, err := clearsign.Encode(&out, key.PrivateKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("Source: rdma-core\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := out.String() + "\n"
	m, err := Clear([]byte(whole))
	if err != nil || string(m.Text) != "Source: rdma-core\n" {
		t.Fatalf("%q, %v", m.Text, err)
	}
	if _, err := Detached(openpgp.EntityList{key}, bytes.NewReader(m.Signed), m.Signature, time.Now()); err != nil {
		t.Error(err)
	}
	for name, text := range map[string]string{
		"before":     "Source: evil\n" + whole,
		"behind":     whole + "Source: evil\n",
		"cut short":  whole[:len(whole)/2],
		"not signed": "Source: rdma-core\n",
		"empty":      "",
	} {
		var e *Error
		if m, err := Clear([]byte(text)); !errors.As(err, &e) || e.Reason != Unreadable || m.Text != nil {
			t.Errorf("%s: %q, %v", name, m.Text, err)
		}
	}
	if m, err = Clear([]byte(strings.Replace(whole, "rdma-core", "rdna-core", 1))); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if _, err := Detached(openpgp.EntityList{key}, bytes.NewReader(m.Signed), m.Signature, time.Now()); !errors.As(err, &e) || e.Reason != Bad {
		t.Errorf("a changed text is taken: %v", err)
	}
}
