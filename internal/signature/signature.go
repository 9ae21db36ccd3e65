// Package signature judges OpenPGP signatures of files, detached and clear-signed. What a refusal means for who asked
// is his to say; why a signature does not count is said here, once.
package signature

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/rdmactl/rdmactl/internal/openpgpkey"
)

// Reason is why a signature does not count.
type Reason int

// The reasons.
const (
	Unreadable  Reason = iota + 1
	Bad                // it is not that of the text
	UnknownKey         // by a key that is not at hand
	KeyExpired         // by a key that is expired
	KeyRevoked         // by a key that is revoked
	KeyTooYoung        // by a key that was made after the time of judgement
	Expired            // the signature itself had an end
	TooYoung           // it was made after the time of judgement
	Forgeable          // its hash has collisions, or is near to them
)

// Error is a signature that does not count. Its text goes behind the name of what is signed: "... is signed by
// another key".
type Error struct {
	Reason Reason
	text   string
	cause  error
}

// Words is the whole sentence about something signed.
func (e *Error) Words(what string) string {
	text := fmt.Sprintf(e.text, what)
	if e.cause != nil && (e.Reason == Bad || e.Reason == Unreadable) {
		text += ": " + e.cause.Error()
	}
	return text
}

func (e *Error) Error() string { return e.Words("it") }
func (e *Error) Unwrap() error { return e.cause }

// maxBytes bounds what is read of an armored signature; one by a key with all its notations has some KiB.
const maxBytes = 1 << 20

// Detached judges the signature beside a file by keys, as of a time, and returns the fingerprint of the key that made
// it. Its errors are of type *Error, which wraps what reading the file came to.
func Detached(keys openpgp.EntityList, signed io.Reader, signature []byte, now time.Time) (string, error) {
	if bytes.HasPrefix(bytes.TrimSpace(signature), []byte("-----BEGIN PGP")) {
		block, err := armor.Decode(bytes.NewReader(signature))
		if err == nil {
			signature, err = readAll(block.Body)
		}
		if err != nil {
			return "", &Error{Unreadable, "the signature of %s cannot be read", err}
		}
	}
	sig, signer, err := openpgp.VerifyDetachedSignature(keys, signed, bytes.NewReader(signature), &packet.Config{Time: func() time.Time { return now }})
	by := issuer(signature)
	switch {
	case errors.Is(err, pgperrors.ErrUnknownIssuer):
		return "", &Error{UnknownKey, "%s is signed by another key" + by, err}
	case errors.Is(err, pgperrors.ErrKeyExpired) && madeAfter(keys, now): // the library says the same of a key that is not yet valid
		return "", &Error{KeyTooYoung, "the key that signed %s is of the future" + by, err}
	case errors.Is(err, pgperrors.ErrKeyExpired):
		return "", &Error{KeyExpired, "%s is signed by a key that is expired" + by, err}
	case errors.Is(err, pgperrors.ErrKeyRevoked):
		return "", &Error{KeyRevoked, "%s is signed by a key that is revoked" + by, err}
	case errors.Is(err, pgperrors.ErrSignatureExpired) && sig != nil && sig.CreationTime.After(now):
		return "", &Error{TooYoung, "the signature of %s is of the future", err}
	case errors.Is(err, pgperrors.ErrSignatureExpired):
		return "", &Error{Expired, "the signature of %s is expired", err}
	case err != nil:
		return "", &Error{Bad, "the signature of %s is bad", err}
	case sig.Hash == crypto.SHA1 || sig.Hash == crypto.MD5 || sig.Hash == crypto.RIPEMD160:
		return "", &Error{Forgeable, fmt.Sprintf("the signature of %%s by key %s uses %s, which can be forged", openpgpkey.Fingerprint(signer), sig.Hash), nil}
	}
	return openpgpkey.Fingerprint(signer), nil
}

func readAll(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("it is longer than %d bytes", maxBytes)
	}
	return data, err
}

// madeAfter says that a key was made after a time.
func madeAfter(keys openpgp.EntityList, now time.Time) bool {
	return slices.ContainsFunc(keys, func(k *openpgp.Entity) bool { return k.PrimaryKey.CreationTime.After(now) })
}

// issuer names the key that a signature says it is of.
func issuer(signature []byte) string {
	p, err := packet.Read(bytes.NewReader(signature))
	if err != nil {
		return ""
	}
	sig, ok := p.(*packet.Signature)
	switch {
	case !ok:
		return ""
	case len(sig.IssuerFingerprint) > 0:
		return fmt.Sprintf(" (%X)", sig.IssuerFingerprint)
	case sig.IssuerKeyId != nil:
		return fmt.Sprintf(" (%016X)", *sig.IssuerKeyId)
	}
	return ""
}
