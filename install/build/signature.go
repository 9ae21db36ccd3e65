package build

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/rdmactl/rdmactl/internal/openpgpkey"
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
func (j *judge) detached(what string, signed io.Reader, signature []byte) (string, error) {
	if bytes.HasPrefix(bytes.TrimSpace(signature), []byte("-----BEGIN PGP")) {
		block, err := armor.Decode(bytes.NewReader(signature))
		if err != nil {
			return "", stop("bad-signature", hintDamaged, "cannot read the signature of %s: %w", what, err)
		}
		if signature, err = io.ReadAll(io.LimitReader(block.Body, maxText)); err != nil {
			return "", stop("bad-signature", hintDamaged, "cannot read the signature of %s: %w", what, err)
		}
	}
	sig, signer, err := openpgp.VerifyDetachedSignature(j.keys, signed, bytes.NewReader(signature), &packet.Config{Time: func() time.Time { return j.now }})
	switch {
	case errors.Is(err, pgperrors.ErrUnknownIssuer):
		return "", stop("bad-signature", "give the public key of who releases the source, and its fingerprint", "%s is signed by another key%s", what, issuer(signature))
	case err != nil && sig != nil && sig.CreationTime.After(j.now):
		return "", stop("bad-signature", "see that this host's clock is right", "the signature of %s is of the future", what)
	case err != nil:
		return "", stop("bad-signature", hintDamaged, "the signature of %s is bad: %w", what, err)
	case sig.Hash == crypto.SHA1 || sig.Hash == crypto.MD5 || sig.Hash == crypto.RIPEMD160:
		return "", stop("bad-signature", "give the SHA-256 of the file from where you trust it", "the signature of %s by key %s uses %s, which can be forged", what, openpgpkey.Fingerprint(signer), sig.Hash)
	}
	return openpgpkey.Fingerprint(signer), nil
}

// clear judges a clear-signed text.
func (j *judge) clear(what string, data []byte) (text []byte, by string, err error) {
	block, err := clearBlock(what, data)
	if err != nil {
		return nil, "", err
	}
	signature, err := io.ReadAll(io.LimitReader(block.ArmoredSignature.Body, maxText))
	if err != nil {
		return nil, "", stop("bad-signature", hintDamaged, "cannot read the signature of %s: %w", what, err)
	}
	by, err = j.detached(what, bytes.NewReader(block.Bytes), signature)
	return block.Plaintext, by, err
}

const clearBegin = "-----BEGIN PGP SIGNED MESSAGE-----"

// clearBlock is the signed part of a text. What stands outside of it is not signed, and must not be there.
func clearBlock(what string, data []byte) (*clearsign.Block, error) {
	if !bytes.HasPrefix(data, []byte(clearBegin)) {
		return nil, stop("not-signed", "give its SHA-256, or one that is signed", "%s is not signed", what)
	}
	block, rest := clearsign.Decode(data)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return nil, stop("bad-signature", hintDamaged, "%s is cut short, or has text beside what is signed", what)
	}
	return block, nil
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
