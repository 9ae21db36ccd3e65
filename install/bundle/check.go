package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// faulty is a bundle that is refused.
func faulty(format string, args ...any) error {
	return fault.New(fault.Usage, "faulty-bundle", "get the file again, and compare its SHA-256 with the one that `rdmactl bundle create` printed",
		"cannot use the bundle: "+format, args...)
}

// decode reads a manifest and refuses all that it does not know or that would lead elsewhere.
func decode(data []byte) (Manifest, error) {
	var m Manifest
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return m, faulty("its manifest is no JSON: %s", plainly(err))
	}
	if head.Schema != Schema {
		return m, faulty("its manifest has the schema %q, and this rdmactl reads %s", clip(head.Schema), Schema)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return m, faulty("its manifest cannot be read: %s", plainly(err))
	}
	if _, err := dec.Token(); err != io.EOF {
		return m, faulty("more follows after its manifest")
	}
	return m, m.check()
}

// plainly is an error without what a stranger wrote into it beyond some words.
func plainly(err error) string { return clip(err.Error()) }

// clip bounds and cleans a text of a stranger.
func clip(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, text)
	if len(text) > 120 {
		text = text[:120] + "..."
	}
	return text
}

func digest(text string) bool { return regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(text) }

func word(text string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,100}$`).MatchString(text)
}

// below says that a path stays below the directory that it is for, in plain letters.
func below(path string) bool {
	if len(path) > 400 {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if !regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+~%:^@=-]*$`).MatchString(part) {
			return false
		}
	}
	return true
}

func (m Manifest) check() error {
	switch {
	case len(m.Contents) > maxContents, len(m.Hosts) > maxHosts, len(m.Repositories) > maxHosts:
		return faulty("its manifest names more than a bundle can have")
	case m.Made.IsZero():
		return faulty("its manifest does not say when it was made")
	case len(m.Hosts) == 0:
		return faulty("it is for no host")
	}
	sizes := map[string]bool{}
	last := ""
	for _, c := range m.Contents {
		switch {
		case !digest(c.SHA256):
			return faulty("its manifest has the checksum %q", clip(c.SHA256))
		case c.SHA256 <= last:
			return faulty("the contents in its manifest are not in order, or not different")
		case c.Bytes < 0 || c.Bytes > maxContent:
			return faulty("its manifest has a file of %d bytes", c.Bytes)
		}
		last, sizes[c.SHA256] = c.SHA256, false
	}
	repositories := map[string]bool{}
	for _, r := range m.Repositories {
		if !word(r.ID) || repositories[r.ID] {
			return faulty("its manifest names the repository %q, which is no name or there twice", clip(r.ID))
		}
		repositories[r.ID] = true
		if err := r.check(sizes); err != nil {
			return err
		}
	}
	for sum, used := range sizes {
		if !used {
			return faulty("it holds the content %s, which no repository has", sum)
		}
	}
	for _, h := range m.Hosts {
		if h.Repository != "" && !repositories[h.Repository] {
			return faulty("the host %q uses a repository that it does not have", clip(h.Name))
		}
		if h.Request.Build != "" && !below(h.Request.Build) {
			return faulty("the host %q builds from %q", clip(h.Name), clip(h.Request.Build))
		}
	}
	return nil
}

// check looks at the files of a repository, and marks their contents as used.
func (r Repository) check(contents map[string]bool) error {
	if r.Form != Debs && r.Form != RPMs {
		return faulty("the repository %s has the form %q", r.ID, clip(r.Form))
	}
	files := map[string]bool{}
	for _, f := range r.Files {
		if !below(f.Path) {
			return faulty("the repository %s names the file %q", r.ID, clip(f.Path))
		}
		if files[f.Path] {
			return faulty("the repository %s has two files of the name %q", r.ID, clip(f.Path))
		}
		files[f.Path] = true
		if _, there := contents[f.SHA256]; !there {
			return faulty("the content of %s in the repository %s is not in it", clip(f.Path), r.ID)
		}
		contents[f.SHA256] = true
	}
	for path := range files {
		for dir := path; strings.Contains(dir, "/"); {
			dir = dir[:strings.LastIndex(dir, "/")]
			if files[dir] {
				return faulty("the repository %s has %q as a file and as a directory", r.ID, clip(dir))
			}
		}
	}
	return nil
}

// refuse is faulty for a reason that an error tells.
func refuse(what string, err error) error { return faulty("%s: %s", what, fmt.Sprint(err)) }
