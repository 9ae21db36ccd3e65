package holdings

import (
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/rdmactl/rdmactl/internal/openpgpkey"
	"github.com/rdmactl/rdmactl/internal/signature"
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
		j.fingerprints[openpgpkey.Normal(f)] = true
	}
	for _, k := range opts.Keys {
		list, err := openpgpkey.Read(k.Data)
		if err != nil {
			return nil, refuse("name a file with an OpenPGP public key, armored or binary", "key file %s: %w", k.Name, err)
		}
		j.keys = append(j.keys, list...)
	}
	return j, nil
}

// offer takes a key file that came with the source. It proves nothing by itself: only a key whose
// fingerprint is known already is taken.
func (j *judge) offer(data []byte) {
	list, err := openpgpkey.Read(data)
	if err != nil {
		return // it takes no part then, and a signature by it is one of an unknown key
	}
	for _, e := range list {
		if j.fingerprints[openpgpkey.Fingerprint(e)] {
			j.keys = append(j.keys, e)
		}
	}
}

// armored are the keys with a fingerprint that came with the source.
func (j *judge) armored(print string) []string {
	var out []string
	for _, e := range j.keys {
		if openpgpkey.Fingerprint(e) != print || !j.fingerprints[print] {
			continue
		}
		if text, err := openpgpkey.Armor(e); err == nil {
			out = append(out, string(text))
		}
	}
	return out
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
func (j *judge) detached(what string, signed io.Reader, detached []byte) (string, error) {
	if done, err := j.keyless(what); done {
		return "", err
	}
	by, err := signature.Detached(j.keys, signed, detached, j.now)
	if err == nil {
		return by, nil
	}
	if j.proven && ofNoUse(err) {
		return "", nil // and not needed
	}
	return "", j.unjudged(what, err)
}

// ofNoUse says that a signature proves nothing, as against one that is bad: nobody has its key, or that or its hash is of
// no use any more.
func ofNoUse(err error) bool {
	var e *signature.Error
	return errors.As(err, &e) && e.Reason != signature.Bad && e.Reason != signature.Unreadable
}

// unjudged says what to do about a signature that does not count.
func (j *judge) unjudged(what string, err error) error {
	var own *refusal
	if errors.As(err, &own) {
		return own // of the file that it is of
	}
	var e *signature.Error
	if !errors.As(err, &e) {
		return err
	}
	hint := hintDamaged
	switch e.Reason {
	case signature.UnknownKey:
		hint = hintKey
	case signature.KeyExpired, signature.KeyRevoked, signature.Expired:
		hint = "take a release that is signed by a key in force, or get the vendor's public key anew, if it was prolonged"
	case signature.KeyTooYoung, signature.TooYoung:
		hint = "see that this host's clock is right"
	case signature.Forgeable:
		hint = "use a newer release, or without --key " + j.orElse
	}
	return refuse(hint, "%s", e.Words(what))
}

// clear judges a clear-signed file and gives its text.
func (j *judge) clear(what string, data []byte) (text []byte, by string, err error) {
	m, err := signature.Clear(data)
	if err != nil {
		return nil, "", j.unjudged(what, err)
	}
	by, err = j.detached(what, bytes.NewReader(m.Signed), m.Signature)
	return m.Text, by, err
}
