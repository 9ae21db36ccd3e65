package holdings

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
	keys          openpgp.EntityList
	fingerprints  map[string]bool // of keys that are trusted when their body turns up in the source
	allowUnsigned bool
	// proven says that the whole file is proven, whoever signed what is in it.
	proven bool
	orElse string
	now    time.Time
}

const hintKey = "give the vendor's public key with --key FILE"

func newJudge(opts Options) (*judge, error) {
	j := &judge{fingerprints: map[string]bool{}, allowUnsigned: opts.AllowUnsigned, orElse: opts.OrElse, now: opts.Now}
	if j.orElse == "" {
		j.orElse = "say --allow-unsigned when you trust where it comes from"
	}
	for _, f := range opts.Fingerprints {
		j.fingerprints[strings.ToUpper(strings.ReplaceAll(f, " ", ""))] = true
	}
	for _, k := range opts.Keys {
		list, err := readKeys(k.Data)
		if err != nil {
			return nil, refuse("name a file with an OpenPGP public key, armored or binary", "key file %s holds no public key that can be read: %w", k.Name, err)
		}
		j.keys = append(j.keys, list...)
	}
	return j, nil
}

func readKeys(data []byte) (openpgp.EntityList, error) {
	var list openpgp.EntityList
	var err error
	if bytes.Contains(data, []byte("-----BEGIN PGP")) {
		list, err = openpgp.ReadArmoredKeyRing(bytes.NewReader(data))
	} else {
		list, err = openpgp.ReadKeyRing(bytes.NewReader(data))
	}
	if err == nil && len(list) == 0 {
		err = errors.New("it is empty")
	}
	return list, err
}

// offer takes a key file that came with the source. It proves nothing by itself: only a key whose
// fingerprint is known already is taken.
func (j *judge) offer(data []byte) {
	list, err := readKeys(data)
	if err != nil {
		return // it takes no part then, and a signature by it is one of an unknown key
	}
	for _, e := range list {
		if j.fingerprints[fingerprint(e)] {
			j.keys = append(j.keys, e)
		}
	}
}

// armored are the keys with a fingerprint that came with the source.
func (j *judge) armored(print string) []string {
	var out []string
	for _, e := range j.keys {
		if fingerprint(e) != print || !j.fingerprints[print] {
			continue
		}
		if text, err := openpgpkey.Armor(e); err == nil {
			out = append(out, string(text))
		}
	}
	return out
}

func fingerprint(e *openpgp.Entity) string {
	return fmt.Sprintf("%X", e.PrimaryKey.Fingerprint)
}

// unsigned decides about something without a signature.
func (j *judge) unsigned(what string) error {
	if j.allowUnsigned {
		return nil
	}
	return refuse("take it from a signed source, or "+j.orElse, "%s is not signed", what)
}

// keyless decides about a signature that nobody can judge because no key is at hand. Done says that
// the answer stands.
func (j *judge) keyless(what string) (done bool, err error) {
	if len(j.keys) > 0 {
		return false, nil
	}
	if j.allowUnsigned {
		return true, nil
	}
	return true, refuse(hintKey+", or "+j.orElse, "%s is signed, but no key is at hand to judge the signature", what)
}

// detached judges a signature beside a file and gives the fingerprint of the key, empty when no key
// was at hand and unsigned is allowed.
func (j *judge) detached(what string, signed io.Reader, signature []byte) (string, error) {
	if done, err := j.keyless(what); done {
		return "", err
	}
	if bytes.HasPrefix(bytes.TrimSpace(signature), []byte("-----BEGIN PGP")) {
		block, err := armor.Decode(bytes.NewReader(signature))
		if err != nil {
			return "", refuse(hintDamaged, "the signature of %s cannot be read: %w", what, err)
		}
		if signature, err = io.ReadAll(io.LimitReader(block.Body, maxSmallFile)); err != nil {
			return "", refuse(hintDamaged, "the signature of %s cannot be read: %w", what, err)
		}
	}
	sig, signer, err := openpgp.VerifyDetachedSignature(j.keys, signed, bytes.NewReader(signature), &packet.Config{Time: func() time.Time { return j.now }})
	var own *refusal
	switch {
	case j.proven && ofNoUse(err):
		return "", nil // and not needed
	case err == nil && j.proven && forgeable(sig.Hash):
		return "", nil
	case errors.Is(err, pgperrors.ErrUnknownIssuer):
		return "", refuse(hintKey, "%s is signed by another key%s", what, issuer(signature))
	case errors.Is(err, pgperrors.ErrKeyExpired) && j.tooEarly(): // the library says the same of a key that is not yet valid
		return "", refuse("see that this host's clock is right", "the key that signed %s is of the future%s", what, issuer(signature))
	case errors.Is(err, pgperrors.ErrKeyExpired):
		return "", refuse("take a release that is signed by a key in force, or get the vendor's public key anew, if it was prolonged",
			"%s is signed by a key that is expired%s", what, issuer(signature))
	case errors.Is(err, pgperrors.ErrSignatureExpired) && sig != nil && sig.CreationTime.After(j.now):
		return "", refuse("see that this host's clock is right", "the signature of %s is of the future", what)
	case err != nil && errors.As(err, &own):
		return "", err
	case err != nil:
		return "", refuse(hintDamaged, "the signature of %s is bad: %w", what, err)
	case forgeable(sig.Hash):
		return "", refuse("use a newer release, or without --key "+j.orElse,
			"the signature of %s by key %s uses %s, which can be forged", what, fingerprint(signer), sig.Hash)
	}
	return fingerprint(signer), nil
}

// ofNoUse says that a signature proves nothing, as against one that is bad: nobody has its key, or that is of no use any
// more.
func ofNoUse(err error) bool {
	for _, one := range []error{pgperrors.ErrUnknownIssuer, pgperrors.ErrKeyExpired, pgperrors.ErrKeyRevoked, pgperrors.ErrSignatureExpired} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// forgeable says that collisions of a hash are known, or near.
func forgeable(h crypto.Hash) bool {
	return h == crypto.SHA1 || h == crypto.MD5 || h == crypto.RIPEMD160
}

// tooEarly says that a key was made after this host's today.
func (j *judge) tooEarly() bool {
	return slices.ContainsFunc(j.keys, func(k *openpgp.Entity) bool { return k.PrimaryKey.CreationTime.After(j.now) })
}

// clear judges a clear-signed file and gives its text.
func (j *judge) clear(what string, data []byte) (text []byte, by string, err error) {
	// What stands outside of the signed block is not signed, and must not be there.
	if !bytes.HasPrefix(data, []byte("-----BEGIN PGP SIGNED MESSAGE-----")) {
		return nil, "", refuse(hintDamaged, "%s is no signed file", what)
	}
	block, rest := clearsign.Decode(data)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return nil, "", refuse(hintDamaged, "%s is cut short, or has text beside what is signed", what)
	}
	signature, err := io.ReadAll(io.LimitReader(block.ArmoredSignature.Body, maxSmallFile))
	if err != nil {
		return nil, "", refuse(hintDamaged, "the signature of %s cannot be read: %w", what, err)
	}
	by, err = j.detached(what, bytes.NewReader(block.Bytes), signature)
	return block.Plaintext, by, err
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
