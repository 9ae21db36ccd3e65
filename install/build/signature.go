package build

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/rdmactl/rdmactl/internal/openpgpkey"
	"github.com/rdmactl/rdmactl/internal/signature"
)

// judge decides about signatures.
type judge struct {
	keys openpgp.EntityList
	now  time.Time
}

// newJudge reads keyrings. With fingerprints only keys that have one of them count.
func newJudge(keyrings [][]byte, fingerprints []string, now time.Time) (*judge, error) {
	var pinned []string
	for _, f := range fingerprints {
		f = openpgpkey.Normal(f)
		if !fingerprintText.MatchString(f) {
			return nil, stop("bad-key", "give the whole fingerprint, 40 or 64 hex digits: a short id can be had twice", "cannot use %q as the fingerprint of a key", clip(f))
		}
		pinned = append(pinned, f)
	}
	j := &judge{now: now}
	for _, data := range keyrings {
		list, err := openpgpkey.Read(data)
		if err != nil {
			return nil, stop("bad-key", "give a file with an OpenPGP public key, armored or binary", "cannot read a key of the source: %w", err)
		}
		for _, e := range list {
			if pinned == nil || slices.Contains(pinned, openpgpkey.Fingerprint(e)) {
				j.keys = append(j.keys, e)
			}
		}
	}
	if len(j.keys) == 0 {
		return nil, stop("bad-key", "give the public key whose fingerprint is pinned", "cannot judge the signature of the source: no given key has fingerprint %s", strings.Join(pinned, " or "))
	}
	return j, nil
}

// detached judges a signature beside a file and gives the fingerprint of the key that made it.
func (j *judge) detached(what string, signed io.Reader, detached []byte) (string, error) {
	by, err := signature.Detached(j.keys, signed, detached, j.now)
	if err != nil {
		return "", unjudged(what, err)
	}
	return by, nil
}

// clear judges a clear-signed text.
func (j *judge) clear(what string, data []byte) (text []byte, by string, err error) {
	m, err := clearText(what, data)
	if err != nil {
		return nil, "", err
	}
	by, err = j.detached(what, bytes.NewReader(m.Signed), m.Signature)
	return m.Text, by, err
}

// clearText is the signed part of a text.
func clearText(what string, data []byte) (signature.Message, error) {
	if !signature.IsClear(data) {
		return signature.Message{}, stop("not-signed", "give its SHA-256, or one that is signed", "%s is not signed", what)
	}
	m, err := signature.Clear(data)
	if err != nil {
		return m, unjudged(what, err)
	}
	return m, nil
}

// unjudged says what to do about a signature that does not count.
func unjudged(what string, err error) error {
	var e *signature.Error
	if !errors.As(err, &e) {
		return err
	}
	hint := hintDamaged
	switch e.Reason {
	case signature.UnknownKey:
		hint = "give the public key of who releases the source, and its fingerprint"
	case signature.KeyExpired, signature.KeyRevoked, signature.Expired:
		hint = "get the public key anew, if it was prolonged, or give the SHA-256 of the file from where you trust it"
	case signature.KeyTooYoung, signature.TooYoung:
		hint = "see that this host's clock is right"
	case signature.Forgeable:
		hint = "give the SHA-256 of the file from where you trust it"
	}
	return stop("bad-signature", hint, "%s", e.Words(what))
}
