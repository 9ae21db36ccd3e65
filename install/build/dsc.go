package build

import (
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/internal/signature"
)

// part is a file of a Debian source package.
type part struct {
	name, sha256 string
	size         int64
}

// dsc is what a Debian source package says of its files (deb-src-control(5), dsc(5)).
type dsc struct {
	source, version string
	upstream        part  // the upstream archive
	packaging       *part // what the distribution adds; nil for a native package
	parts           []part
}

// readDsc reads the text of a .dsc, which was verified, or is before any of it is used.
func readDsc(what string, text []byte) (dsc, error) {
	bad := func(format string, args ...any) (dsc, error) {
		return dsc{}, stop("damaged-source", hintDamaged, "cannot read "+what+": "+format, args...)
	}
	if signature.IsClear(text) {
		m, err := clearText(what, text)
		if err != nil {
			return dsc{}, err
		}
		text = m.Text
	}
	fields := map[string][]string{}
	last := ""
	for line := range strings.Lines(strings.TrimSpace(string(text))) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, " "), strings.HasPrefix(line, "\t"):
			if last == "" {
				return bad("it starts with a continued line")
			}
			fields[last] = append(fields[last], strings.TrimSpace(line))
		default:
			name, value, ok := strings.Cut(line, ":")
			if last = strings.ToLower(name); !ok || fields[last] != nil {
				return bad("%q is no field of it, or one that it has twice", clip(line))
			}
			fields[last] = []string{strings.TrimSpace(value)}
		}
	}
	first := func(name string) string {
		if v := fields[name]; len(v) > 0 {
			return v[0]
		}
		return ""
	}
	d := dsc{source: first("source"), version: first("version")}
	seen := map[string]bool{}
	if len(fields["checksums-sha256"]) < 2 {
		return bad("it has no SHA-256 checksums")
	}
	for _, line := range fields["checksums-sha256"][1:] {
		f := strings.Fields(line)
		if len(f) != 3 {
			return bad("%q is no checksum", clip(line))
		}
		size, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil || size < 0 || !sha256Text.MatchString(f[0]) || !fileName.MatchString(f[2]) || seen[f[2]] {
			return bad("%q is no checksum", clip(line))
		}
		seen[f[2]] = true
		d.parts = append(d.parts, part{f[2], f[0], size})
	}
	if err := d.sort(first("format")); err != "" {
		return bad("%s", err)
	}
	return d, nil
}

// sort finds the upstream archive among the parts.
func (d *dsc) sort(format string) string {
	found := 0
	for i, p := range d.parts {
		ending := archiveEnding(p.name)
		stem := strings.TrimSuffix(p.name, ending)
		switch {
		case ending == "": // signatures, and the patch of format 1.0
		case strings.HasSuffix(stem, ".debian"):
			d.packaging = &d.parts[i]
		case strings.HasSuffix(stem, ".orig"), strings.HasSuffix(format, "(native)"):
			d.upstream = p
			found++
		default:
			return "its file " + clip(p.name) + " is of a kind that rdma-core does not have"
		}
	}
	if found != 1 {
		return "it has not exactly one upstream archive"
	}
	return ""
}
