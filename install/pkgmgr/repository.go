package pkgmgr

import (
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"strings"
)

// Repository is a package repository that a run adds to a host.
type Repository struct {
	ID   string // names its files: letters, digits, ".", "_" and "-"
	Name string // for people, one line
	URL  string // http, https or file
	// Key is the public key that signs it, armored. It was compared with Fingerprint before it came here
	// (internal/openpgpkey): nothing below looks at more than its presence.
	Key         []byte
	Fingerprint string
	// SignedIndex says that the index of an rpm repository is signed, not its packages alone. An index
	// of apt always is.
	SignedIndex bool
	// Suite and Components are of an apt repository; without a suite it is flat.
	Suite      string
	Components []string
}

// File is a file that configures a repository.
type File struct {
	Path string
	Data []byte
	Mode fs.FileMode
}

// Check refuses what would say more in a configuration file than it should.
func (r Repository) Check() error {
	fail := func(what, value string) error {
		return fmt.Errorf("cannot configure repository %q: %s %q cannot be used", r.ID, what, WithoutCredentials(value))
	}
	word := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	if !word.MatchString(r.ID) {
		return fail("its id", r.ID)
	}
	if strings.IndexFunc(r.Name, func(c rune) bool { return c < ' ' || c == 0x7f }) >= 0 {
		return fail("its name", r.Name)
	}
	u, err := url.Parse(r.URL)
	// Blanks end an address in sources.list, brackets open its options, and "$" is a variable to dnf.
	if err != nil || strings.ContainsAny(r.URL, " \t\r\n\"'[]{}$`\\#,") || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "file" ||
		u.Scheme != "file" && u.Host == "" || u.Scheme == "file" && (u.Host != "" || !strings.HasPrefix(u.Path, "/")) {
		return fail("its address", r.URL)
	}
	if !strings.Contains(string(r.Key), "-----BEGIN PGP PUBLIC KEY BLOCK-----") {
		return fmt.Errorf("cannot configure repository %q: there is no public key for it", r.ID)
	}
	if r.Suite != "" && !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`).MatchString(r.Suite) {
		return fail("its suite", r.Suite)
	}
	if (r.Suite == "" || strings.HasSuffix(r.Suite, "/")) != (len(r.Components) == 0) {
		return fail("its components", strings.Join(r.Components, " "))
	}
	for _, c := range r.Components {
		if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`).MatchString(c) {
			return fail("its component", c)
		}
	}
	return nil
}

// Mode is that of a file with the repository's address: one with a password is root's alone.
func (r Repository) Mode() fs.FileMode {
	if WithoutCredentials(r.URL) != r.URL {
		return 0o600
	}
	return 0o644
}
