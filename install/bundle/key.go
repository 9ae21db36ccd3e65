package bundle

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/openpgpkey"
)

// Signer signs a bundle.
type Signer struct {
	entity *openpgp.Entity
	now    time.Time
}

// RSA, because rpm before 4.16 and the gpgv of old releases know no other kind for certain.
func (s Signer) config() *packet.Config {
	return &packet.Config{
		Algorithm: packet.PubKeyAlgoRSA, RSABits: 3072, DefaultHash: crypto.SHA256, Time: func() time.Time { return s.now },
	}
}

// NewSigner makes a key for one bundle. Its private part is never written down.
func NewSigner(now time.Time) (Signer, error) {
	s := Signer{now: now}
	var err error
	s.entity, err = openpgp.NewEntity("rdmactl bundle", "made for one bundle", "bundle@rdmactl.invalid", s.config())
	if err != nil {
		return s, fmt.Errorf("cannot make a key: %w", err)
	}
	return s, nil
}

// ReadSigner reads a private key that is not locked by a passphrase.
func ReadSigner(data []byte, now time.Time) (Signer, error) {
	const hint = "`gpg --armor --export-secret-keys ID` writes it; take one that has no passphrase, made for this"
	fail := func(format string, args ...any) (Signer, error) {
		return Signer{}, fault.New(fault.Usage, "key-wrong", hint, "cannot sign with the key: "+format, args...)
	}
	list, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(data))
	switch {
	case err != nil:
		return fail("%w", err)
	case len(list) != 1:
		return fail("the file has %d keys", len(list))
	case list[0].PrivateKey == nil:
		return fail("it is a public one")
	case list[0].PrivateKey.Encrypted:
		return fail("it is locked by a passphrase")
	}
	if _, ok := list[0].SigningKey(now); !ok {
		return fail("it cannot sign, or not today")
	}
	return Signer{list[0], now}, nil
}

// Public is the armored public key.
func (s Signer) Public() (string, error) {
	var out bytes.Buffer
	w, err := armor.Encode(&out, openpgp.PublicKeyType, nil)
	if err == nil {
		err = errors.Join(s.entity.Serialize(w), w.Close())
	}
	if err != nil {
		return "", fmt.Errorf("cannot write the public key: %w", err)
	}
	return out.String() + "\n", nil
}

// Fingerprint is the key's.
func (s Signer) Fingerprint() string { return openpgpkey.Fingerprint(s.entity) }

// Detached is an armored signature of data.
func (s Signer) Detached(data []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := openpgp.ArmoredDetachSign(&out, s.entity, bytes.NewReader(data), s.config()); err != nil {
		return nil, fmt.Errorf("cannot sign: %w", err)
	}
	return append(out.Bytes(), '\n'), nil
}

// Clear is a text with its signature around it, as apt reads InRelease.
func (s Signer) Clear(text []byte) ([]byte, error) {
	key, ok := s.entity.SigningKey(s.now)
	if !ok {
		return nil, errors.New("cannot sign: the key is not for signing")
	}
	var out bytes.Buffer
	w, err := clearsign.Encode(&out, key.PrivateKey, s.config())
	if err == nil {
		_, err = w.Write(text)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("cannot sign: %w", err)
	}
	return append(out.Bytes(), '\n'), nil
}

// signedBy verifies a signature of data by one of the keys in texts and returns its fingerprint. A clock that is
// behind does not make a signature of its future bad, unless it is ahead of when the bundle says it was made.
func signedBy(texts []string, data, signature []byte, now, made time.Time) (string, error) {
	var ring openpgp.EntityList
	for _, text := range texts {
		list, err := openpgpkey.Read([]byte(text))
		if err != nil {
			return "", fmt.Errorf("the key cannot be used: %w", err)
		}
		ring = append(ring, list...)
	}
	if made.After(now) {
		now = made
	}
	by, err := openpgp.CheckArmoredDetachedSignature(ring, bytes.NewReader(data), strings.NewReader(string(signature)), &packet.Config{Time: func() time.Time { return now.Add(time.Minute) }})
	if err != nil {
		return "", err
	}
	return openpgpkey.Fingerprint(by), nil
}
