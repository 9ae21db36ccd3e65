package holdings

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"pault.ag/go/debian/control"
	"pault.ag/go/debian/version"
)

// release is the Release file of an apt repository.
type release struct {
	label, suite string
	files        map[string]stated // by path relative to the Release file
}

// paragraphs splits control data and gives each entry to the control parser. Its cost grows with the
// square of an entry's lines, so entries are bounded first.
func paragraphs(what string, data []byte, most int, each func(control.Paragraph) error) error {
	if bytes.IndexByte(data, 0) >= 0 {
		return refuse(hintHostile, "%s has NUL characters", what)
	}
	for len(data) > 0 {
		start, used, lines := data, 0, 0
		for len(data) > 0 {
			line, rest, _ := bytes.Cut(data, []byte("\n"))
			data = rest
			if len(bytes.TrimSuffix(line, []byte("\r"))) == 0 {
				break
			}
			used = len(start) - len(rest)
			if lines++; used > most || lines > maxLines {
				return refuse(hintHostile, "%s has an entry of more than %d KiB or %d lines", what, most>>10, maxLines)
			}
		}
		if used == 0 {
			continue
		}
		p, err := nextParagraph(start[:used])
		if err != nil {
			return refuse(hintDamaged, "%s has an entry that cannot be read: %w", what, err)
		}
		if len(p.Order) == 0 {
			continue
		}
		if err := each(p); err != nil {
			return err
		}
	}
	return nil
}

// parseRelease reads the text of a Release file whose signature was judged.
func parseRelease(text []byte, now time.Time) (release, error) {
	r := release{files: map[string]stated{}}
	seen := false
	err := paragraphs("Release", text, maxSmallFile, func(p control.Paragraph) error {
		if seen {
			return refuse(hintDamaged, "Release has more than one entry")
		}
		seen = true
		r.label, r.suite = p.Values["Label"], p.Values["Suite"]
		if err := checkDates(p, now); err != nil {
			return err
		}
		for _, kind := range []string{"SHA256", "SHA512"} {
			if err := r.addFiles(kind, p.Values[kind]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return release{}, err
	}
	if len(r.files) == 0 {
		return release{}, refuse("use a source with SHA-256 checksums", "Release states no SHA-256 or SHA-512 checksum of any file")
	}
	return r, nil
}

func (r *release) addFiles(kind, list string) error {
	for line := range strings.SplitSeq(list, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 3 {
			return refuse(hintDamaged, "Release has the line %q, which is no checksum, size and name", clip(line))
		}
		name, err := checkPath(f[2])
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil || size < 0 {
			return refuse(hintDamaged, "Release states the size %q for %s", clip(f[1]), name)
		}
		if old, ok := r.files[name]; ok && old.size != size {
			return refuse(hintDamaged, "Release states two sizes for %s", name)
		}
		r.files[name] = stated{size, kind, f[0]} // SHA512 comes last and wins
	}
	return nil
}

// checkDates refuses a Release that is past its time, as apt does: a mirror that serves an old one may
// be held back by somebody.
func checkDates(p control.Paragraph, now time.Time) error {
	if until := p.Values["Valid-Until"]; until != "" {
		t, err := parseDate(until)
		if err != nil {
			return refuse(hintDamaged, "Release has Valid-Until %q, which is no date", clip(until))
		}
		if now.After(t) {
			return refuse("fetch the repository anew, and see that this host's clock is right", "Release is not valid since %s", t.UTC().Format(time.DateTime))
		}
	}
	if date := p.Values["Date"]; date != "" {
		t, err := parseDate(date)
		if err != nil {
			return refuse(hintDamaged, "Release has Date %q, which is no date", clip(date))
		}
		if t.After(now.Add(24 * time.Hour)) {
			return refuse("see that this host's clock is right", "Release is of the future: %s", t.UTC().Format(time.DateTime))
		}
	}
	return nil
}

func parseDate(s string) (time.Time, error) {
	var err error
	for _, layout := range []string{time.RFC1123, time.RFC1123Z, "Mon, _2 Jan 2006 15:04:05 MST", "Mon, _2 Jan 2006 15:04:05 -0700"} {
		var t time.Time
		if t, err = time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, err
}

// parsePackages reads an index of binary packages.
func parsePackages(name string, data []byte) ([]pkg, error) {
	var list []pkg
	err := paragraphs(name, data, maxParagraph, func(p control.Paragraph) error {
		if len(list) == maxPackages {
			return refuse(hintHostile, "%s has more than %d packages", name, maxPackages)
		}
		one, err := debPackage(p)
		if err != nil {
			return err
		}
		if one.path, err = checkPath(p.Values["Filename"]); err != nil {
			return err
		}
		size, err := strconv.ParseInt(p.Values["Size"], 10, 64)
		if err != nil || size < 0 {
			return refuse(hintDamaged, "%s states the size %q for package %s", name, clip(p.Values["Size"]), one.Name)
		}
		one.Bytes = size
		one.sum = stated{size, "sha256", p.Values["SHA256"]}
		list = append(list, one)
		return nil
	})
	return list, err
}

// debPackage takes the fields that every control paragraph of a binary package has.
func debPackage(p control.Paragraph) (pkg, error) {
	one := pkg{}
	one.Name, one.Arch = p.Values["Package"], p.Values["Architecture"]
	one.Version = strings.TrimSpace(p.Values["Version"])
	if err := checkPackage(one.Name, one.Version, one.Arch); err != nil {
		return pkg{}, err
	}
	if _, err := version.Parse(one.Version); err != nil {
		return pkg{}, refuse(hintDamaged, "package %s has the version %q: %w", one.Name, one.Version, err)
	}
	one.Installed = installedSize(p.Values["Installed-Size"])
	one.kernels = kernelsOfDeb(one.Name, one.Version)
	one.relations = relationsOfDeb(func(field string) string { return p.Values[field] })
	return one, nil
}

// nextParagraph reads one entry of control data with the parser of the Debian tools' format.
func nextParagraph(entry []byte) (control.Paragraph, error) {
	r, err := control.NewParagraphReader(bufio.NewReader(bytes.NewReader(entry)), nil)
	if err != nil {
		return control.Paragraph{}, err
	}
	p, err := r.Next()
	if err == io.EOF {
		return control.Paragraph{Values: map[string]string{}}, nil
	}
	if err != nil {
		return control.Paragraph{}, err
	}
	return *p, nil
}

// bestIndex is the entry of a Release for an index that is the cheapest to read.
func (r release) bestIndex(base string, there func(string) (bool, error)) (string, error) {
	for _, suffix := range suffixes() {
		if _, ok := r.files[base+suffix]; !ok {
			continue
		}
		ok, err := there(base + suffix)
		if err != nil {
			return "", err
		}
		if ok {
			return base + suffix, nil
		}
	}
	return "", nil
}

// indexes are the Packages files that a Release names, without their compression.
func (r release) indexes() []string {
	var bases []string
	for name := range r.files {
		base := strings.TrimSuffix(name, compression(name))
		if (base == "Packages" || strings.HasSuffix(base, "/Packages")) && !strings.Contains(base, "debian-installer/") {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases)
	return slices.Compact(bases)
}
