// Package openpgpkey says whether a public key is the one that it is taken for. A key file proves nothing by
// itself: what counts is the fingerprint that a person or a sourced fact named before.
package openpgpkey

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Read reads a file of OpenPGP public keys, armored or binary. One that holds a private key is refused: it
// has no place on a host, and shows that something is wrong.
func Read(data []byte) (openpgp.EntityList, error) {
	var list openpgp.EntityList
	var err error
	if bytes.Contains(data, []byte("-----BEGIN PGP")) {
		list, err = openpgp.ReadArmoredKeyRing(bytes.NewReader(data))
	} else {
		list, err = openpgp.ReadKeyRing(bytes.NewReader(data))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("it holds no public key that can be read: %w", err)
	case len(list) == 0:
		return nil, errors.New("it holds no public key")
	}
	for _, e := range list {
		if e.PrivateKey != nil {
			return nil, errors.New("it holds a private key")
		}
	}
	return list, nil
}

// Fingerprint is that of a key's primary key, 40 hex digits in upper case for version 4.
func Fingerprint(e *openpgp.Entity) string { return fmt.Sprintf("%X", e.PrimaryKey.Fingerprint) }

// Normal is a fingerprint as Fingerprint writes it, without the blanks that people and gpg put in.
func Normal(fingerprint string) string {
	return strings.ToUpper(strings.ReplaceAll(fingerprint, " ", ""))
}

// Pick returns the one key of data with the fingerprint, armored and alone, so that no other key that stands
// in the same file is trusted with it. An empty fingerprint takes the only key there is. It must be in force
// at the time: not expired, not revoked.
func Pick(data []byte, fingerprint string, now time.Time) (armored []byte, found string, err error) {
	list, err := Read(data)
	if err != nil {
		return nil, "", err
	}
	want := Normal(fingerprint)
	if want == "" && len(list) > 1 {
		return nil, "", fmt.Errorf("it holds %d keys, and nothing says which is meant", len(list))
	}
	var have []string
	for _, e := range list {
		got := Fingerprint(e)
		if want != "" && got != want {
			have = append(have, got)
			continue
		}
		if err := inForce(e, now); err != nil {
			return nil, got, fmt.Errorf("key %s %w", got, err)
		}
		armored, err := Armor(e)
		return armored, got, err
	}
	return nil, "", fmt.Errorf("it holds %s, not %s", strings.Join(have, " and "), want)
}

// Ended says why a key that was in force does not count any more at a time: it is revoked or expired. id is that
// of the key or subkey that signed, the last hex digits of its fingerprint. Of a key that does not tell until when
// it is valid, nothing is said.
func Ended(e *openpgp.Entity, id string, now time.Time) error {
	if e.Revoked(now) {
		return errors.New("is revoked")
	}
	if identity := e.PrimaryIdentity(); identity != nil && identity.SelfSignature != nil && e.PrimaryKey.KeyExpired(identity.SelfSignature, now) {
		return fmt.Errorf("is expired on %s", now.UTC().Format(time.DateOnly))
	}
	for _, sub := range e.Subkeys {
		if !hasID(sub.PublicKey, id) || sub.Sig == nil {
			continue
		}
		switch {
		case sub.Revoked(now):
			return errors.New("is revoked")
		case sub.PublicKey.KeyExpired(sub.Sig, now):
			return fmt.Errorf("is expired on %s", now.UTC().Format(time.DateOnly))
		}
	}
	return nil
}

// Has says whether a key or one of its subkeys has an id: the last hex digits of a fingerprint, eight or more.
func Has(e *openpgp.Entity, id string) bool {
	return hasID(e.PrimaryKey, id) || slices.ContainsFunc(e.Subkeys, func(sub openpgp.Subkey) bool { return hasID(sub.PublicKey, id) })
}

func hasID(k *packet.PublicKey, id string) bool {
	return len(id) >= 8 && strings.HasSuffix(fmt.Sprintf("%X", k.Fingerprint), strings.ToUpper(id))
}

// inForce says why a key does not count at a time.
func inForce(e *openpgp.Entity, now time.Time) error {
	if e.Revoked(now) {
		return errors.New("is revoked")
	}
	if e.PrimaryKey.CreationTime.After(now) {
		return fmt.Errorf("was made on %s, after this host's today, %s", e.PrimaryKey.CreationTime.UTC().Format(time.DateOnly), now.UTC().Format(time.DateOnly))
	}
	identity := e.PrimaryIdentity()
	if identity == nil || identity.SelfSignature == nil {
		return errors.New("has no identity signed by itself")
	}
	if e.PrimaryKey.KeyExpired(identity.SelfSignature, now) {
		return fmt.Errorf("is expired on %s", now.UTC().Format(time.DateOnly))
	}
	return nil
}

// Armor is a public key as a file of text has it.
func Armor(e *openpgp.Entity) ([]byte, error) {
	var out bytes.Buffer
	w, err := armor.Encode(&out, openpgp.PublicKeyType, nil)
	if err != nil {
		return nil, fmt.Errorf("it cannot be written: %w", err)
	}
	if err := errors.Join(e.Serialize(w), w.Close()); err != nil {
		return nil, fmt.Errorf("it cannot be written: %w", err)
	}
	return append(out.Bytes(), '\n'), nil
}
