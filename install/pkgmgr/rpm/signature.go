package rpm

import (
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/openpgpkey"
)

// Signed verifies package files against the keys that rpm trusts. rpm itself takes a package without
// any signature for good; here one has to be there, by a known key.
func (t Tool) Signed(ctx context.Context, files []string) error {
	return t.signed(ctx, files, nil)
}

// SignedBy is Signed against the keys in the rpm database at dbpath instead of the host's.
func (t Tool) SignedBy(ctx context.Context, dbpath string, files []string) error {
	return t.signed(ctx, files, []string{"--dbpath", dbpath})
}

func (t Tool) signed(ctx context.Context, files, options []string) error {
	bad, signers := []string{}, map[string]string{}
	for len(files) > 0 {
		part := files[:min(len(files), 100)]
		files = files[len(part):]
		argv := append(append([]string{"rpmkeys", "--checksig", "-v"}, options...), part...)
		res, err := t.Query(ctx, "", argv...)
		if err != nil {
			return err
		}
		bad = append(bad, unsigned(res.Stdout+"\n"+res.Stderr, part, res.Exit)...)
		for file, id := range signersIn(res.Stdout) {
			signers[file] = id
		}
	}
	if len(bad) == 0 {
		var err error
		if bad, err = t.ended(ctx, signers, options); err != nil {
			return err
		}
	}
	if len(bad) > 0 {
		return &pkgmgr.SignatureError{Lines: bad[:min(len(bad), 5)]}
	}
	return nil
}

// signersIn are the ids of the keys that signed, by file, of `rpmkeys --checksig -v`.
func signersIn(out string) map[string]string {
	form := regexp.MustCompile(`(?i)^\s+.*\bsignature, key (?:ID|fingerprint:?) ([0-9a-f]{8,}):? OK`)
	signers, current := map[string]string{}, ""
	for text := range strings.Lines(out) {
		text = strings.TrimRight(text, "\n\r ")
		if name, ok := strings.CutSuffix(text, ":"); ok && name != "" && !strings.HasPrefix(text, " ") {
			current = name
			continue
		}
		if m := form.FindStringSubmatch(text); m != nil {
			signers[current] = m[1]
		}
	}
	return signers
}

// ended says which files are signed by a key that is expired or revoked: to rpm a signature is good for ever if
// the key was valid when it was made, by the signature's own word. A key that cannot be read here is left to rpm.
func (t Tool) ended(ctx context.Context, signers map[string]string, options []string) ([]string, error) {
	res, err := t.Query(ctx, "", append(append([]string{"rpm"}, options...), "-q", "gpg-pubkey", "--qf", `%{DESCRIPTION}\n`)...)
	if err != nil {
		return nil, err
	}
	const end = "-----END PGP PUBLIC KEY BLOCK-----"
	var trusted openpgp.EntityList
	for block := range strings.SplitAfterSeq(res.Stdout, end) {
		if keys, err := openpgpkey.Read([]byte(block)); err == nil {
			trusted = append(trusted, keys...)
		}
	}
	lines := []string{}
	for _, file := range slices.Sorted(maps.Keys(signers)) {
		id := signers[file]
		for _, k := range trusted {
			if !openpgpkey.Has(k, id) {
				continue
			}
			if err := openpgpkey.Ended(k, id, t.Host.Now()); err != nil {
				lines = append(lines, "package "+path.Base(file)+" is signed by key "+openpgpkey.Fingerprint(k)+", which "+err.Error())
			}
		}
	}
	return lines, nil
}

// Whole verifies only the digests of package files.
func (t Tool) Whole(ctx context.Context, files []string) error {
	if len(files) == 0 {
		return nil
	}
	res, err := t.Query(ctx, "", append([]string{"rpmkeys", "--checksig", "--nosignature"}, files...)...)
	if err != nil {
		return err
	}
	if res.Exit != 0 {
		return &pkgmgr.SignatureError{Lines: ErrorLines(res.Stderr, "Error: "+strings.TrimSpace(res.Stdout))}
	}
	return nil
}

// unsigned reads `rpmkeys --checksig -v`, one block a file:
//
//	/path/alpha-1.0-1.noarch.rpm:
//	    Header V4 RSA/SHA512 Signature, key ID f51cc8ef: OK
//	    Header SHA256 digest: OK
//
// and returns why files are not to be trusted. rpm 6 writes "Header OpenPGP V4 RSA/SHA512 signature,
// key fingerprint: 0bbb...: OK". Blanks and colons in a file's name are told from the list of files.
func unsigned(out string, files []string, exit int) []string {
	line := regexp.MustCompile(`(?i)^\s+.*\bsignature, key (?:ID|fingerprint:?) ([0-9a-f]+):? (\S+)`)
	trouble := regexp.MustCompile(`\b(NOKEY|NOTTRUSTED|BAD|MISSING|NOTFOUND)\b|NOT OK`)
	good, bad := map[string]bool{}, map[string]string{}
	current := ""
	for text := range strings.Lines(out) {
		text = strings.TrimRight(text, "\n\r ")
		if name, ok := strings.CutSuffix(text, ":"); ok && name != "" && !strings.HasPrefix(text, " ") {
			current = name
			continue
		}
		switch m := line.FindStringSubmatch(text); {
		case trouble.MatchString(text):
			if bad[current] == "" {
				bad[current] = strings.TrimSpace(text)
			}
		case m != nil && m[2] == "OK":
			good[current] = true
		}
	}
	lines := []string{}
	for _, f := range files {
		name := f[strings.LastIndexByte(f, '/')+1:]
		switch {
		case bad[f] != "":
			lines = append(lines, "package "+name+" is not signed by a trusted key: "+bad[f])
		case !good[f]:
			lines = append(lines, "package "+name+" is not signed")
		}
	}
	if len(lines) == 0 && exit != 0 {
		lines = append(lines, "packages could not be verified: "+strings.TrimSpace(lastLine(out)))
	}
	return lines
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// SignatureLines are the lines of an output that speak of signatures, keys and checksums that do not
// fit: dnf, yum and zypper end with the same code for them as for anything else. Each is told once, however
// often the download was tried.
func SignatureLines(out string) []string {
	words := regexp.MustCompile(`(?i)GPG check FAILED|Failing package is|is not signed|not signed with|Public key for .* is not installed|GPG key retrieval failed|` +
		`signature (?:verification|could not be verified|is not available)|GPG signature|Bad GPG|BAD,? key|does not verify|` +
		`checksum (?:doesn't|does not) match|incorrect checksum|Digest verification failed|Failed to import|key import failed|` +
		`signed with an unknown key|unsigned file|Signature verification failed|Invalid (?:key|signature)|keys? (?:has )?expired|` +
		`Refusing to automatically import keys|Didn't install any keys|(?:package|header|payload) .*(?:NOKEY|NOTTRUSTED)`)
	// What dnf says about files that it has not downloaded yet under -C.
	harmless := regexp.MustCompile(`Key imported successfully`)
	lines := []string{}
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		told := pkgmgr.WithoutCredentials(line)
		if words.MatchString(line) && !harmless.MatchString(line) && len(lines) < 5 && !slices.Contains(lines, told) {
			lines = append(lines, told)
		}
	}
	return lines
}
