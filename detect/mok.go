package detect

import (
	"crypto/sha1" //nolint:gosec // mokutil names keys by this fingerprint; nothing is trusted because of it
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// mokLists are where shim tells the kernel of the machine owner's keys: an EFI variable, which any user
// may read, and since kernel 5.10 a table, which only root may.
func mokLists() []string {
	return []string{"/sys/firmware/efi/efivars/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23", "/sys/firmware/efi/mok-variables/MokListRT"}
}

// enrolledKeys lists the certificates of the machine owner that shim has enrolled.
func (p probe) enrolledKeys(container facts.Field[bool]) facts.Field[[]facts.Certificate] {
	const source = "mokutil --list-enrolled"
	if p.told.IsImage() {
		return facts.Field[[]facts.Certificate]{Source: source} // of the machine that an image will run on
	}
	absent := false
	var failed error
	for i, file := range mokLists() {
		attributes := int64(0)
		if i == 0 {
			attributes = 4 // efivarfs puts the variable's attributes in front
		}
		res, err := p.r.Derive(p.ctx, file, strings.Fields(source), decodeKeys(attributes))
		switch {
		case err == nil && res.Exit == 0:
			return list(parseKeys(res.Stdout), source)
		case err == nil && strings.Contains(res.Stdout+res.Stderr, "is empty"), err == nil && strings.Contains(res.Stdout+res.Stderr, "not supported"):
			return facts.None[[]facts.Certificate](source)
		case errors.Is(err, fs.ErrNotExist):
			absent = true
		case err != nil && !errors.Is(err, host.ErrUnknown):
			failed = err
		}
	}
	switch {
	case failed != nil:
		return facts.Failed[[]facts.Certificate](source, failed)
	case !absent:
		return facts.Field[[]facts.Certificate]{Source: source}
	case container.Or(false):
		return unknown[[]facts.Certificate](source, "a container does not see the firmware")
	}
	// Without efivarfs the variables are not seen; without EFI there are none.
	if _, err := p.r.Stat("/sys/firmware/efi"); err == nil {
		if names, err := p.r.ReadDir("/sys/firmware/efi/efivars"); err != nil || len(names) == 0 {
			return unknown[[]facts.Certificate](source, "efivarfs is not mounted")
		}
	}
	return facts.None[[]facts.Certificate](source)
}

// x509GUID is EFI_CERT_X509_GUID, a5c059a1-94e4-4aa7-87b5-ab155c2bf072, as it stands in memory.
const x509GUID = "\xa1\x59\xc0\xa5\xe4\x94\xa7\x4a\x87\xb5\xab\x15\x5c\x2b\xf0\x72"

// decodeKeys reads EFI_SIGNATURE_LISTs behind some bytes of attributes and prints the certificates with
// the lines of mokutil that tell one from another. Hashes of single programs are left out.
func decodeKeys(skip int64) host.Decoder {
	return func(file io.ReaderAt, _ int64) (string, error) {
		data, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<20))
		if err != nil {
			return "", err
		}
		if int64(len(data)) < skip {
			return "", fmt.Errorf("the variable has %d bytes", len(data))
		}
		data = data[skip:]
		var out strings.Builder
		n := 0
		for len(data) > 0 {
			// GUID, size of the list, size of the header, size of one entry
			if len(data) < 28 {
				return "", errors.New("a list of signatures is cut")
			}
			size, header, entry := u32(data[16:]), u32(data[20:]), u32(data[24:])
			if size < 28 || size > int64(len(data)) || header > size-28 || entry < 16 {
				return "", errors.New("the sizes of a list of signatures do not fit")
			}
			body := data[28+header : size]
			for string(data[:16]) == x509GUID && int64(len(body)) >= entry {
				n++
				if text, err := certificateText(body[16:entry]); err == nil {
					fmt.Fprintf(&out, "[key %d]\n%s", n, text)
				} else {
					fmt.Fprintf(&out, "[key %d]\nSHA1 Fingerprint: %s\n", n, fingerprint(body[16:entry]))
				}
				body = body[entry:]
			}
			data = data[size:]
		}
		return out.String(), nil
	}
}

func u32(b []byte) int64 { return int64(binary.LittleEndian.Uint32(b)) }

func fingerprint(der []byte) string {
	sum := sha1.Sum(der) //nolint:gosec // see above
	var parts []string
	for _, b := range sum {
		parts = append(parts, hex.EncodeToString([]byte{b}))
	}
	return strings.Join(parts, ":")
}

func certificateText(der []byte) (string, error) {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return "", err
	}
	subject := strings.NewReplacer("\n", " ", "\r", " ").Replace(cert.Subject.String())
	return fmt.Sprintf("SHA1 Fingerprint: %s\n        Subject: %s\n", fingerprint(der), subject), nil
}

var (
	keyStart   = regexp.MustCompile(`^\[key [0-9]+\]`)
	keyPrint   = regexp.MustCompile(`(?i)SHA1 Fingerprint[:=]\s*([0-9a-f:]{59}|[0-9a-f]{40})`)
	keySubject = regexp.MustCompile(`(?i)^\s*subject\s*[:=]\s*(.+?)\s*$`)
	keyShort   = regexp.MustCompile(`^([0-9a-f]{10,40}) (\S.*)$`) // mokutil --list-enrolled --short
)

// parseKeys reads "mokutil --list-enrolled", of which an excerpt may be pasted.
func parseKeys(text string) []facts.Certificate {
	var keys []facts.Certificate
	last := func() *facts.Certificate {
		if len(keys) == 0 {
			keys = append(keys, facts.Certificate{})
		}
		return &keys[len(keys)-1]
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if keyStart.MatchString(line) {
			keys = append(keys, facts.Certificate{})
		} else if m := keyPrint.FindStringSubmatch(line); m != nil {
			if last().SHA1 != "" {
				keys = append(keys, facts.Certificate{})
			}
			last().SHA1 = strings.ToLower(strings.ReplaceAll(m[1], ":", ""))
		} else if m := keySubject.FindStringSubmatch(line); m != nil {
			last().Subject = m[1]
		} else if m := keyShort.FindStringSubmatch(line); m != nil {
			keys = append(keys, facts.Certificate{SHA1: m[1], Subject: m[2]})
		}
	}
	return slices.DeleteFunc(keys, func(k facts.Certificate) bool { return k == facts.Certificate{} })
}

// dkmsKeys are where DKMS keeps its certificate: since 3.0, and before by Ubuntu's and Debian's shim-signed.
func dkmsKeys() []string {
	return []string{"/var/lib/dkms/mok.pub", "/var/lib/shim-signed/mok/MOK.der"}
}

// dkmsKey reads the certificate that DKMS signs modules with. The setting of another one in
// framework.conf is not followed.
func (p probe) dkmsKey() facts.Field[facts.Certificate] {
	absent := 0
	var out facts.Field[facts.Certificate]
	for _, file := range dkmsKeys() {
		argv := []string{"openssl", "x509", "-inform", "der", "-in", file, "-noout", "-fingerprint", "-sha1", "-subject"}
		res, err := p.r.Derive(p.ctx, file, argv, decodeCertificate)
		switch {
		case err == nil:
			if keys := parseKeys(res.Stdout); len(keys) == 1 && keys[0].SHA1 != "" {
				keys[0].File = file
				return facts.Is(keys[0], file)
			}
			return unknown[facts.Certificate](file, "it is not a certificate")
		case errors.Is(err, fs.ErrNotExist):
			absent++
		default:
			if f := field(facts.Certificate{}, file, err); out.Source == "" || f.Error != "" {
				out = f
			}
		}
	}
	if absent == len(dkmsKeys()) {
		return facts.None[facts.Certificate](dkmsKeys()[0])
	}
	return out
}

// decodeCertificate prints what openssl prints of a certificate in DER, or in PEM as some tools write it.
func decodeCertificate(file io.ReaderAt, size int64) (string, error) {
	der, err := io.ReadAll(io.NewSectionReader(file, 0, min(size, 1<<20)))
	if err != nil {
		return "", err
	}
	if block, _ := pem.Decode(der); block != nil {
		der = block.Bytes
	}
	return certificateText(der)
}

var keyTested = regexp.MustCompile(`(?m)(\S+) is (already enrolled|not enrolled)`)

// keyEnrolled says whether DKMS' key is among the enrolled ones. mokutil --test-key tells it, too.
func (p probe) keyEnrolled(key facts.Field[facts.Certificate], enrolled facts.Field[[]facts.Certificate]) facts.Field[bool] {
	for _, res := range p.answers("mokutil --test-key", "mokutil -t") {
		if m := keyTested.FindStringSubmatch(res.Stdout + res.Stderr); m != nil && slices.Contains(dkmsKeys(), m[1]) {
			return facts.Is(m[2] == "already enrolled", res.Argv[0])
		}
	}
	cert, ok := key.Get()
	switch {
	case key.IsAbsent():
		return facts.None[bool](key.Source)
	case !ok:
		return facts.Field[bool]{Source: key.Source, Error: key.Error}
	case enrolled.IsUnknown():
		return facts.Field[bool]{Source: enrolled.Source, Error: enrolled.Error}
	}
	return facts.Is(slices.ContainsFunc(enrolled.Value, func(k facts.Certificate) bool {
		return k.SHA1 != "" && strings.HasPrefix(cert.SHA1, k.SHA1) // --short cuts it
	}), enrolled.Source)
}
