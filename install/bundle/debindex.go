package bundle

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Deb is a Debian package with its paragraph of the index that it was verified by.
type Deb struct {
	Blob
	Name   string // of its file
	Record string // paragraph, without Filename
}

// DebRepository are the files of a flat repository of packages, signed.
func DebRepository(id string, debs []Deb, s Signer, now time.Time) (files []File, blobs []Blob, err error) {
	debs = slices.Clone(debs)
	slices.SortFunc(debs, func(a, b Deb) int { return strings.Compare(a.Name, b.Name) })
	debs = slices.CompactFunc(debs, func(a, b Deb) bool { return a.Name == b.Name && a.SHA256 == b.SHA256 })
	var packages bytes.Buffer
	for i, d := range debs {
		if i > 0 && debs[i-1].Name == d.Name {
			return nil, nil, fmt.Errorf("cannot make the repository %s: two packages have the name %s", id, d.Name)
		}
		at := path.Join("packages", d.Name)
		fmt.Fprintf(&packages, "%s\nFilename: ./%s\n\n", strings.TrimRight(d.Record, "\n"), at)
		files, blobs = append(files, File{at, d.SHA256}), append(blobs, d.Blob)
	}
	index := TextBlob(packages.Bytes())
	release := fmt.Appendf(nil, "Origin: rdmactl\nLabel: bundle\nDescription: packages of a bundle for %s\nDate: %s\nSHA256:\n %s %d Packages\n",
		id, now.UTC().Format("Mon, 02 Jan 2006 15:04:05 UTC"), index.SHA256, index.Bytes)
	signed, err := s.Clear(release)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range []struct {
		name string
		blob Blob
	}{{"Packages", index}, {"InRelease", TextBlob(signed)}} {
		files, blobs = append(files, File{one.name, one.blob.SHA256}), append(blobs, one.blob)
	}
	return files, blobs, nil
}
