package openpgpkey_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/rdmactl/rdmactl/internal/openpgpkey"
)

func made(t *testing.T, at time.Time, lifetime uint32) *openpgp.Entity {
	t.Helper()
	e, err := openpgp.NewEntity("Vendor", "", "vendor@example.com", &packet.Config{
		Time: func() time.Time { return at }, KeyLifetimeSecs: lifetime, Algorithm: packet.PubKeyAlgoEdDSA,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func armored(t *testing.T, kind string, entities ...*openpgp.Entity) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := armor.Encode(&out, kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entities {
		if kind == openpgp.PrivateKeyType {
			err = e.SerializePrivate(w, nil)
		} else {
			err = e.Serialize(w)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestPick(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	good, other := made(t, now.AddDate(-1, 0, 0), 0), made(t, now.AddDate(-1, 0, 0), 0)
	old, future := made(t, now.AddDate(-2, 0, 0), 3600*24*30), made(t, now.AddDate(1, 0, 0), 0)
	revoked := made(t, now.AddDate(-1, 0, 0), 0)
	if err := revoked.RevokeKey(packet.KeyCompromised, "lost", &packet.Config{Time: func() time.Time { return now.AddDate(0, -1, 0) }}); err != nil {
		t.Fatal(err)
	}
	id := openpgpkey.Fingerprint
	for name, c := range map[string]struct {
		data        []byte
		fingerprint string
		says        string // empty: it is taken
	}{
		"the key":                     {armored(t, openpgp.PublicKeyType, good), id(good), ""},
		"as gpg prints fingerprints":  {armored(t, openpgp.PublicKeyType, good), strings.ToLower(id(good)[:20] + "  " + id(good)[20:]), ""},
		"the only key, none named":    {armored(t, openpgp.PublicKeyType, good), "", ""},
		"one of two":                  {armored(t, openpgp.PublicKeyType, other, good), id(good), ""},
		"one of two, none named":      {armored(t, openpgp.PublicKeyType, other, good), "", "nothing says which"},
		"another key":                 {armored(t, openpgp.PublicKeyType, other), id(good), "it holds " + id(other) + ", not " + id(good)},
		"a shorter fingerprint":       {armored(t, openpgp.PublicKeyType, good), id(good)[24:], "it holds"},
		"expired":                     {armored(t, openpgp.PublicKeyType, old), id(old), "is expired"},
		"of the future":               {armored(t, openpgp.PublicKeyType, future), id(future), "after this host's today"},
		"revoked":                     {armored(t, openpgp.PublicKeyType, revoked), id(revoked), "is revoked"},
		"private":                     {armored(t, openpgp.PrivateKeyType, good), id(good), "private key"},
		"no key":                      {[]byte("hello"), id(good), "no public key"},
		"nothing":                     {nil, id(good), "no public key"},
		"armor of something else":     {armored(t, "PGP MESSAGE"), id(good), "no public key"},
		"binary, not armored":         {binary(t, good), id(good), ""},
		"expired, but another is not": {armored(t, openpgp.PublicKeyType, old, good), id(good), ""},
	} {
		out, found, err := openpgpkey.Pick(c.data, c.fingerprint, now)
		if c.says == "" {
			if err != nil || found != id(good) {
				t.Errorf("%s: %q, %v", name, found, err)
				continue
			}
			list, err := openpgpkey.Read(out)
			if err != nil || len(list) != 1 || id(list[0]) != id(good) {
				t.Errorf("%s: what is handed on is not the one key: %v, %v", name, list, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func binary(t *testing.T, e *openpgp.Entity) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := e.Serialize(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
