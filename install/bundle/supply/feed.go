package supply

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// Feed is where packages of a distribution come from: a mirror, or a file of sources as the package manager
// reads them.
type Feed struct {
	// For is the distribution and release that it is of, such as debian-12; empty for every host of its form.
	For  string
	Form string // apt or rpm
	// Address, Suite and Components are of a mirror; an rpm repository has the address alone.
	Address, Suite string
	Components     []string
	// Name and Text are of a file of sources.
	Name string
	Text []byte
}

// ParseMirror reads "[DISTRIBUTION-RELEASE=]ADDRESS [SUITE COMPONENT...]". With a suite it is for apt.
func ParseMirror(text string) (Feed, error) {
	f := Feed{}
	words := strings.Fields(text)
	fail := func(why string) (Feed, error) {
		return f, fault.New(fault.Usage, "usage", `write "ADDRESS SUITE COMPONENT..." for apt and "ADDRESS" for rpm, with DISTRIBUTION-RELEASE= before it where there are several`,
			"cannot use the mirror %q: %s", pkgmgr.WithoutCredentials(text), why)
	}
	if len(words) == 0 {
		return fail("it is empty")
	}
	words[0], f.For = scope(words[0])
	f.Address = words[0]
	if strings.HasPrefix(f.Address, "/") {
		f.Address = "file:" + f.Address
	}
	f.Form = "rpm"
	if len(words) > 1 {
		f.Form, f.Suite, f.Components = "apt", words[1], words[2:]
	}
	// The rules for what may stand in a file of the package manager are those of every repository.
	probe := f.repository("mirror", []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----"))
	if err := probe.Check(); err != nil {
		return fail(err.Error())
	}
	return f, nil
}

// scope cuts DISTRIBUTION-RELEASE= off.
func scope(text string) (rest, of string) {
	m := regexp.MustCompile(`^([a-z][a-z0-9._-]*)=(.*)$`).FindStringSubmatch(text)
	if m == nil {
		return text, ""
	}
	return m[2], m[1]
}

// ParseSourcesName reads "[DISTRIBUTION-RELEASE=]FILE".
func ParseSourcesName(text string) (file string, f Feed, err error) {
	file, f.For = scope(text)
	switch filepath.Ext(file) {
	case ".list", ".sources":
		f.Form = "apt"
	case ".repo":
		f.Form = "rpm"
	default:
		return file, f, fault.New(fault.Usage, "usage", "name a .list or .sources of apt, or a .repo", "cannot use the sources %s: its ending is none of a file of sources", file)
	}
	f.Name = filepath.Base(file)
	return file, f, nil
}

// repository is a mirror as the package manager is given it.
func (f Feed) repository(id string, key []byte) pkgmgr.Repository {
	suite := f.Suite
	if suite == "./" || suite == "/" {
		suite = ""
	}
	return pkgmgr.Repository{ID: id, Name: id, URL: f.Address, Suite: suite, Components: f.Components, Key: key, SignedIndex: f.Form == "apt"}
}

// of says that a feed is for a host.
func (f Feed) of(h facts.Facts, form string) bool {
	id, release := h.Distro.ID.Or(""), h.Distro.VersionID.Or("")
	return f.Form == form && (f.For == "" || f.For == id || f.For == id+"-"+release)
}

// plainly is a feed for a person.
func (f Feed) plainly() string {
	if f.Name != "" {
		return f.Name
	}
	return strings.TrimSpace(fmt.Sprint(pkgmgr.WithoutCredentials(f.Address), " ", f.Suite, " ", strings.Join(f.Components, " ")))
}
