package signature

import (
	"bytes"

	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
)

// Message is a clear-signed text, not judged yet.
type Message struct {
	Text []byte // without the signature
	// Signed is what the signature is of: the text with the ends of lines that OpenPGP prescribes.
	Signed    []byte
	Signature []byte
}

const clearBegin = "-----BEGIN PGP SIGNED MESSAGE-----"

// IsClear says whether data claims to be a clear-signed text.
func IsClear(data []byte) bool { return bytes.HasPrefix(data, []byte(clearBegin)) }

// Clear takes a clear-signed text apart. What stands outside of the signed block is not signed, and must not be there.
// Its errors are of type *Error.
func Clear(data []byte) (Message, error) {
	if !IsClear(data) {
		return Message{}, &Error{Unreadable, "%s is not signed", nil}
	}
	block, rest := clearsign.Decode(data)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return Message{}, &Error{Unreadable, "%s is cut short, or has text beside what is signed", nil}
	}
	sig, err := readAll(block.ArmoredSignature.Body)
	if err != nil {
		return Message{}, &Error{Unreadable, "the signature of %s cannot be read", err}
	}
	return Message{Text: block.Plaintext, Signed: block.Bytes, Signature: sig}, nil
}
