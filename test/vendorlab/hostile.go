package vendorlab

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Hostile returns a copy of a set's packed file, a .tgz or a .deb, with an entry that no vendor's archive has
// at its end. RPMs have no such copy: their payload is no tar archive.
func (l *Lab) Hostile(s Set, with Archive) (string, error) {
	if strings.HasSuffix(s.Packed, ".rpm") {
		return "", fmt.Errorf("%s is no archive that a %s can be put into", filepath.Base(s.Packed), with)
	}
	hash, err := l.key("hostile", s.Packed, with)
	if err != nil {
		return "", err
	}
	dir, err := l.cache.Get("labhostile-"+s.Release.String(), hash, func(dir string) error {
		packed, err := os.ReadFile(s.Packed)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.Base(s.Packed))
		if strings.HasSuffix(to, ".tgz") {
			out, err := spoil(packed, s.Release.folder(), with)
			return errors.Join(err, os.WriteFile(to, out, 0o644))
		}
		return spoilDeb(s, to, with)
	})
	return filepath.Join(dir, filepath.Base(s.Packed)), err
}

// evil is the entry, or the entries, of a kind; top is the folder of the archive.
func evil(top string, with Archive) []tar.Header {
	file := func(name string, size int64) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: size, Format: tar.FormatGNU}
	}
	switch with {
	case Traversal:
		return []tar.Header{file(top+"/../../../../../../tmp/vendorlab-was-here", 0)}
	case AbsolutePath:
		return []tar.Header{file("/tmp/vendorlab-was-here", 0)}
	case LinkOut:
		return []tar.Header{
			{Name: top + "/conf", Typeflag: tar.TypeSymlink, Linkname: "../../../../../../../tmp", Mode: 0o777, Format: tar.FormatGNU},
			file(top+"/conf/vendorlab-was-here", 0),
		}
	case Device:
		return []tar.Header{{Name: top + "/disk", Typeflag: tar.TypeBlock, Mode: 0o666, Devmajor: 253, Format: tar.FormatGNU}}
	case HugeSize:
		return []tar.Header{file(top+"/huge", 1<<40)}
	}
	return nil
}

// spoil copies a .tar.gz and adds to it.
func spoil(packed []byte, top string, with Archive) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	from, to := tar.NewReader(z), tar.NewWriter(zip)
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := to.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := io.Copy(to, from); err != nil {
			return nil, err
		}
	}
	for _, h := range evil(top, with) {
		if err := to.WriteHeader(&h); err != nil {
			return nil, err
		}
	}
	if with == HugeSize { // the archive ends in the middle of the file
		err := zip.Close()
		return out.Bytes(), err
	}
	if err := errors.Join(to.Close(), zip.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// spoilDeb spoils the payload of a deb package.
func spoilDeb(s Set, to string, with Archive) error {
	members := []member{{"debian-binary", []byte("2.0\n")}}
	for _, part := range []struct{ option, name string }{{"--ctrl-tarfile", "control.tar.gz"}, {"--fsys-tarfile", "data.tar.gz"}} {
		text, err := output(exec.Command("dpkg-deb", part.option, s.Packed))
		if err != nil {
			return err
		}
		data, err := gzipped([]byte(text))
		if err != nil {
			return err
		}
		if part.name == "data.tar.gz" {
			if data, err = spoil(data, "./usr/share/"+s.Release.localRepo()+"/repo", with); err != nil {
				return err
			}
		}
		members = append(members, member{part.name, data})
	}
	return os.WriteFile(to, arFile(members), 0o644)
}

func gzipped(data []byte) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(data)
	err = errors.Join(err, z.Close())
	return out.Bytes(), err
}

// member is a file of an ar archive.
type member struct {
	name string
	data []byte
}

// arFile is an ar archive, as a deb package is one.
func arFile(members []member) []byte {
	var out bytes.Buffer
	out.WriteString("!<arch>\n")
	for _, m := range members {
		fmt.Fprintf(&out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, 1735689600, 0, 0, "100644", len(m.data))
		out.Write(m.data)
		if len(m.data)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}
