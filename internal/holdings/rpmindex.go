package holdings

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// SignRPMs signs every package that the index of the rpm repository in a folder names, by a function that gives the
// armored detached signature of what it is given, and makes the index anew for them: what the packages are is said as
// before, what they have become by their signature is not. Groups and modules of the old index are left out.
func SignRPMs(ctx context.Context, folder *os.Root, now time.Time, sign func([]byte) ([]byte, error)) error {
	err := signRPMs(ctx, folder, now, sign)
	var own *refusal
	switch {
	case errors.As(err, &own):
		return fault.New(fault.Stopped, "cannot-index", own.hint, "cannot sign the packages of the repository: %w", err)
	case err != nil:
		return fmt.Errorf("cannot sign the packages of the repository: %w", err)
	}
	return nil
}

func signRPMs(ctx context.Context, folder *os.Root, now time.Time, sign func([]byte) ([]byte, error)) error {
	t := dirTree{folder}
	data, err := read(ctx, t, "repodata/repomd.xml", maxSmallFile)
	if err != nil {
		return err
	}
	md, err := parseRepomd(data)
	if err != nil {
		return err
	}
	texts := map[string][]byte{}
	im := &importer{judge: &judge{}}
	for _, kind := range rpmIndexes() {
		if texts[kind], err = im.readMetadata(ctx, t, md, kind); err != nil {
			return err
		}
	}
	primary, err := parsePrimary("primary.xml", texts["primary"])
	if err != nil {
		return err
	}
	if len(primary) == 0 {
		return refuse(hintDamaged, "its index names no package")
	}
	signed, sums := map[string]signedRPM{}, map[string]string{}
	for _, p := range primary {
		if _, twice := signed[p.path]; twice {
			return refuse(hintDamaged, "its index names %s twice", p.path)
		}
		old, err := folder.Open(p.path)
		if err != nil {
			return err
		}
		err = p.sum.checkFile(ctx, p.path, old)
		if err = errors.Join(err, old.Close()); err != nil {
			return err
		}
		if signed[p.path], err = signRPM(ctx, folder, p.path, sign); err != nil {
			return err
		}
		sums[strings.TrimSpace(p.sum.sum)] = signed[p.path].sum
	}
	if texts["primary"], err = resigned(texts["primary"], signed); err != nil {
		return err
	}
	for _, kind := range rpmIndexes()[1:] {
		texts[kind] = regexp.MustCompile(`pkgid="([0-9a-fA-F]+)"`).ReplaceAllFunc(texts[kind], func(found []byte) []byte {
			old := strings.TrimSuffix(strings.TrimPrefix(string(found), `pkgid="`), `"`)
			return []byte(`pkgid="` + sums[old] + `"`)
		})
	}
	return writeRPMIndex(folder, texts, now)
}

// rpmIndexes are the parts of an index that are kept.
func rpmIndexes() []string { return []string{"primary", "filelists", "other"} }

// resigned is primary.xml with the checksums, sizes and places of headers of packages that were signed.
func resigned(text []byte, signed map[string]signedRPM) ([]byte, error) {
	attribute := func(name string, value int64) func([]byte) []byte {
		find := regexp.MustCompile(`\b` + name + `="[0-9]*"`)
		return func(element []byte) []byte { return find.ReplaceAll(element, fmt.Appendf(nil, `%s="%d"`, name, value)) }
	}
	var failed error
	out := regexp.MustCompile(`(?s)<package[ >].*?</package>`).ReplaceAllFunc(text, func(one []byte) []byte {
		var p primaryPackage
		if err := xml.Unmarshal(one, &p); err != nil {
			failed = refuse(hintDamaged, "primary.xml cannot be read: %w", err)
			return nil
		}
		name, err := checkPath(p.Location.Href)
		is, ok := signed[name]
		if err != nil || !ok {
			failed = refuse(hintDamaged, "primary.xml has an entry for %q that cannot be read", clip(p.Location.Href))
			return nil
		}
		one = regexp.MustCompile(`(?s)<checksum[ >].*?</checksum>`).ReplaceAll(one, []byte(`<checksum type="sha256" pkgid="YES">`+is.sum+`</checksum>`))
		one = regexp.MustCompile(`<size [^>]*>`).ReplaceAllFunc(one, attribute("package", is.size))
		return regexp.MustCompile(`<rpm:header-range [^>]*>`).ReplaceAllFunc(one, func(element []byte) []byte {
			return attribute("end", is.end)(attribute("start", is.start)(element))
		})
	})
	if failed != nil {
		return nil, failed
	}
	again, err := parsePrimary("primary.xml", out)
	if err != nil {
		return nil, err
	}
	for _, p := range again { // what the expressions did is what was meant
		if is := signed[p.path]; p.sum.sum != is.sum || p.Bytes != is.size {
			return nil, refuse(hintDamaged, "primary.xml has an entry for %q that cannot be changed", clip(p.path))
		}
	}
	if len(again) != len(signed) {
		return nil, refuse(hintDamaged, "primary.xml has %d entries for %d packages", len(again), len(signed))
	}
	return out, nil
}

// writeRPMIndex replaces the folder repodata.
func writeRPMIndex(folder *os.Root, texts map[string][]byte, now time.Time) error {
	if err := folder.RemoveAll("repodata"); err != nil {
		return err
	}
	if err := errors.Join(folder.Mkdir("repodata", 0o700), folder.Chmod("repodata", 0o755)); err != nil {
		return err
	}
	at := strconv.FormatInt(now.Unix(), 10)
	md := bytes.NewBufferString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<repomd xmlns="http://linux.duke.edu/metadata/repo">` + "\n  <revision>" + at + "</revision>\n")
	for _, kind := range rpmIndexes() {
		text := texts[kind]
		if text == nil {
			continue
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err := z.Write(text)
		name := path.Join("repodata", kind+".xml.gz")
		if err = errors.Join(err, z.Close(), writeFile(folder, name, packed.Bytes())); err != nil {
			return err
		}
		fmt.Fprintf(md, "  <data type=%q>\n    <checksum type=\"sha256\">%x</checksum>\n    <open-checksum type=\"sha256\">%x</open-checksum>\n    <location href=%q/>\n"+
			"    <timestamp>%s</timestamp>\n    <size>%d</size>\n    <open-size>%d</open-size>\n  </data>\n",
			kind, sha256.Sum256(packed.Bytes()), sha256.Sum256(text), name, at, packed.Len(), len(text))
	}
	md.WriteString("</repomd>\n")
	return writeFile(folder, "repodata/repomd.xml", md.Bytes())
}

func writeFile(folder *os.Root, name string, data []byte) error {
	f, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Chmod(0o644), f.Close())
}
