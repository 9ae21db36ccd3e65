package kmod

import (
	"bytes"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
)

// signatureMagic ends a signed module (include/linux/module_signature.h).
const signatureMagic = "~Module signature appended~\n"

// maxSignature bounds the appended PKCS#7 message, in bytes; 4096 bit RSA takes less than 1 KiB.
const maxSignature = 1 << 20

// signature is what modinfo prints of an appended signature.
type signature struct {
	id       string
	signer   string
	key      []byte
	hashAlgo string
	value    []byte
}

// readSignature reads what is appended to a module image of size bytes; nil means not signed.
//
// Layout, from the end: magic, struct module_signature (algo, hash, id_type, signer_len, key_id_len,
// three zero bytes, big endian sig_len), the signature. Kernels since 4.3 write PKCS#7 only; a
// message that cannot be read leaves the signer unknown, not the module unsigned.
func readSignature(image io.ReaderAt, size int64) (*signature, error) {
	const trailer = 12 + len(signatureMagic)
	if size < int64(trailer) {
		return nil, nil
	}
	var tail [trailer]byte
	if _, err := image.ReadAt(tail[:], size-int64(trailer)); err != nil && err != io.EOF {
		return nil, fmt.Errorf("cannot read the module's end: %w", err)
	}
	if string(tail[12:]) != signatureMagic {
		return nil, nil
	}
	length := int64(binary.BigEndian.Uint32(tail[8:12]))
	if length == 0 || length > maxSignature || length > size-int64(trailer) {
		return nil, fmt.Errorf("cannot read the module's signature: length %d is not plausible", length)
	}
	message := make([]byte, length)
	if _, err := image.ReadAt(message, size-int64(trailer)-length); err != nil {
		return nil, fmt.Errorf("cannot read the module's signature: %w", err)
	}
	const idPKCS7 = 2
	sig := &signature{id: "PKCS#7"}
	if tail[2] != idPKCS7 {
		sig.id = map[byte]string{0: "PGP", 1: "X509"}[tail[2]]
		return sig, nil
	}
	if parsed, err := parsePKCS7(message); err == nil {
		sig = parsed
	}
	return sig, nil
}

type contentInfo struct {
	ContentType asn1.ObjectIdentifier
	Content     asn1.RawValue `asn1:"explicit,tag:0"`
}

type signedData struct {
	Version          int
	DigestAlgorithms asn1.RawValue
	ContentInfo      asn1.RawValue
	Certificates     asn1.RawValue `asn1:"optional,tag:0"`
	CRLs             asn1.RawValue `asn1:"optional,tag:1"`
	SignerInfos      []signerInfo  `asn1:"set"`
}

type signerInfo struct {
	Version         int
	ID              asn1.RawValue // issuer and serial number, or [0] subject key identifier
	DigestAlgorithm pkix.AlgorithmIdentifier
	SignedAttrs     asn1.RawValue `asn1:"optional,tag:0"`
	Algorithm       pkix.AlgorithmIdentifier
	Signature       []byte
	UnsignedAttrs   asn1.RawValue `asn1:"optional,tag:1"`
}

type issuerAndSerial struct {
	Issuer asn1.RawValue
	Serial *big.Int
}

// parsePKCS7 reads the first signer of a PKCS#7 SignedData message (RFC 2315, RFC 5652).
func parsePKCS7(message []byte) (*signature, error) {
	var outer contentInfo
	if _, err := asn1.Unmarshal(message, &outer); err != nil {
		return nil, err
	}
	if !outer.ContentType.Equal(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}) {
		return nil, errors.New("not signed data")
	}
	var data signedData
	if _, err := asn1.Unmarshal(outer.Content.Bytes, &data); err != nil {
		return nil, err
	}
	if len(data.SignerInfos) == 0 {
		return nil, errors.New("no signer")
	}
	first := data.SignerInfos[0]
	sig := &signature{
		id:       "PKCS#7",
		hashAlgo: hashName(first.DigestAlgorithm.Algorithm),
		value:    first.Signature,
	}
	if first.ID.Class == asn1.ClassContextSpecific {
		sig.key = first.ID.Bytes
		return sig, nil
	}
	var id issuerAndSerial
	if _, err := asn1.Unmarshal(first.ID.FullBytes, &id); err != nil {
		return nil, err
	}
	if id.Serial != nil {
		sig.key = id.Serial.Bytes()
	}
	var name pkix.RDNSequence
	if _, err := asn1.Unmarshal(id.Issuer.FullBytes, &name); err != nil {
		return nil, err
	}
	sig.signer = commonName(name)
	return sig, nil
}

// commonName returns the first common name, without what could break a line of text.
func commonName(name pkix.RDNSequence) string {
	for _, set := range name {
		for _, attr := range set {
			if s, ok := attr.Value.(string); ok && attr.Type.Equal(asn1.ObjectIdentifier{2, 5, 4, 3}) {
				return string(bytes.Map(func(r rune) rune {
					if r < ' ' || r == 0x7f {
						return ' '
					}
					return r
				}, []byte(s)))
			}
		}
	}
	return ""
}

func hashName(oid asn1.ObjectIdentifier) string {
	switch oid.String() {
	case "1.2.840.113549.2.5":
		return "md5"
	case "1.3.14.3.2.26":
		return "sha1"
	case "2.16.840.1.101.3.4.2.4":
		return "sha224"
	case "2.16.840.1.101.3.4.2.1":
		return "sha256"
	case "2.16.840.1.101.3.4.2.2":
		return "sha384"
	case "2.16.840.1.101.3.4.2.3":
		return "sha512"
	case "2.16.840.1.101.3.4.2.8":
		return "sha3-256"
	case "2.16.840.1.101.3.4.2.9":
		return "sha3-384"
	case "2.16.840.1.101.3.4.2.10":
		return "sha3-512"
	}
	return "unknown"
}
