package holdings

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// entry is one of an archive that is made by hand.
type entry struct {
	name   string
	kind   byte // tar.TypeReg if 0
	target string
	text   string
	size   int64 // that is declared, if not that of text
	mode   int64
}

func tarOf(t testing.TB, entries []entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	declared := false
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.target, Mode: e.mode, Size: int64(len(e.text)), Format: tar.FormatGNU}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if e.size > 0 {
			h.Size, declared = e.size, true
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil && !declared {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// debOf is a deb package with such a payload, and a script that no one may run.
func debOf(t testing.TB, payload []byte) []byte {
	t.Helper()
	control := zipped(t, tarOf(t, []entry{
		{name: "./control", text: "Package: doca-host\nVersion: 2.9.2-012101-24.10-debian125\nArchitecture: amd64\n", mode: 0o644},
		{name: "./postinst", text: "#!/bin/sh\ntouch /tmp/holdings-script-was-run\n", mode: 0o755},
	}))
	out := bytes.NewBufferString("!<arch>\n")
	for _, m := range []struct {
		name string
		data []byte
	}{{"debian-binary", []byte("2.0\n")}, {"control.tar.gz", control}, {"data.tar.gz", payload}} {
		fmt.Fprintf(out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, 0, 0, 0, "100644", len(m.data))
		out.Write(m.data)
		if len(m.data)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

// unpackBytes unpacks a file into a new directory, beside which nothing may come to be.
func unpackBytes(t testing.TB, name string, data []byte, is matrix.HoldingFile) (string, error) {
	t.Helper()
	above := t.TempDir()
	dir := filepath.Join(above, "into")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	into, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	sum := sha256.Sum256(data)
	if is.SHA256 == "" {
		is.SHA256 = hex.EncodeToString(sum[:])
	}
	err = Unpack(context.Background(), name, bytes.NewReader(data), int64(len(data)), is, into)
	names, rerr := os.ReadDir(above)
	if rerr != nil || len(names) != 1 {
		t.Errorf("beside the directory there is %v, %v", names, rerr)
	}
	return dir, err
}

// below are the files of a directory with mode and text, or where a link leads.
func below(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(p)
			out[name] = "-> " + target
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(p)
		out[name] = fmt.Sprintf("%o %s", info.Mode(), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sound are the entries of a bundle of an old layout, below a folder.
func sound(top string) []entry {
	return []entry{
		{name: top + "/distro", text: "debian12.5\n"},
		{name: top + "/install", text: "#!/bin/sh\n", mode: 0o755},
		{name: top + "/DEBS", kind: tar.TypeDir, mode: 0o755},
		{name: top + "/DEBS/COMMON/a.deb", text: "package", mode: 0o600},
		{name: top + "/DEBS/COMMON/b.deb", kind: tar.TypeLink, target: top + "/DEBS/COMMON/a.deb"},
		{name: top + "/DEBS/MLNX_LIBS/a.deb", kind: tar.TypeSymlink, target: "../COMMON/a.deb"},
		{name: top + "/DEBS/MLNX_LIBS/nested.tgz", text: "not looked into", mode: 0o755},
	}
}

const inDeb = "usr/share/doca-host-2.9.2/repo"

// forms are the files that a payload can be in.
func forms(t testing.TB, entries []entry) map[string][]byte {
	t.Helper()
	data := zipped(t, tarOf(t, entries))
	return map[string][]byte{"x.tgz": data, "doca-host_x.deb": debOf(t, data)}
}

func TestUnpack(t *testing.T) {
	for form, data := range forms(t, sound(inDeb)) {
		dir, err := unpackBytes(t, form, data, matrix.HoldingFile{Folder: inDeb + "/DEBS", Repository: inDeb + "/DEBS/MLNX_LIBS", Bytes: 100})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"COMMON/a.deb": "644 package", "COMMON/b.deb": "644 package",
			"MLNX_LIBS/a.deb": "-> ../COMMON/a.deb", "MLNX_LIBS/nested.tgz": "644 not looked into",
		}
		if diff := cmp.Diff(want, below(t, dir)); diff != "" {
			t.Errorf("%s: %s", form, diff)
		}
	}
	if _, err := os.Lstat("/tmp/holdings-script-was-run"); err == nil {
		t.Error("a script of the package was run")
	}
}

func TestUnpackRefuses(t *testing.T) {
	folder := inDeb + "/DEBS"
	for name, c := range map[string]struct {
		more []entry
		says string
	}{
		"traversal":                    {[]entry{{name: folder + "/../../../../../../x", text: "x"}}, "leads out"},
		"traversal beside":             {[]entry{{name: "other/../../x", text: "x"}}, "leads out"},
		"absolute":                     {[]entry{{name: "/tmp/x", text: "x"}}, "is absolute"},
		"link out":                     {[]entry{{name: folder + "/l", kind: tar.TypeSymlink, target: "../../../../../../etc"}}, "out of the source"},
		"link out of the repository":   {[]entry{{name: folder + "/l", kind: tar.TypeSymlink, target: "../x"}}, "out of the source"},
		"absolute link":                {[]entry{{name: folder + "/l", kind: tar.TypeSymlink, target: "/etc/passwd"}}, "out of the source"},
		"through a link":               {[]entry{{name: folder + "/l", kind: tar.TypeSymlink, target: "COMMON"}, {name: folder + "/l/x", text: "x"}}, "and a directory as well"},
		"over a link":                  {[]entry{{name: folder + "/l", kind: tar.TypeSymlink, target: "COMMON/a.deb"}, {name: folder + "/l", text: "x"}}, "twice"},
		"the folder is a link":         {[]entry{{name: folder, kind: tar.TypeSymlink, target: "/etc"}}, "is no folder"},
		"hard link out":                {[]entry{{name: folder + "/l", kind: tar.TypeLink, target: "/etc/shadow"}}, "is absolute"},
		"hard link up":                 {[]entry{{name: folder + "/l", kind: tar.TypeLink, target: folder + "/../../../../x"}}, "leads out"},
		"hard link to what is beside":  {[]entry{{name: folder + "/l", kind: tar.TypeLink, target: inDeb + "/distro"}}, "outside of the repository"},
		"hard link to a link":          {[]entry{{name: folder + "/l", kind: tar.TypeLink, target: folder + "/MLNX_LIBS/a.deb"}}, "which is no file before it"},
		"device":                       {[]entry{{name: folder + "/d", kind: tar.TypeBlock}}, "neither a file"},
		"device beside":                {[]entry{{name: "d", kind: tar.TypeChar}}, "neither a file"},
		"fifo":                         {[]entry{{name: folder + "/f", kind: tar.TypeFifo}}, "neither a file"},
		"setuid":                       {[]entry{{name: folder + "/s", text: "x", mode: 0o4755}}, "as another user"},
		"setuid beside":                {[]entry{{name: "bin/s", text: "x", mode: 0o2755}}, "as another user"},
		"twice":                        {[]entry{{name: folder + "/COMMON/a.deb", text: "x"}}, "twice"},
		"more than it says":            {[]entry{{name: folder + "/large", text: strings.Repeat("x", 200)}}, "of files"},
		"a huge size":                  {[]entry{{name: folder + "/huge", size: 1 << 40}}, "of files"},
		"a huge size beside":           {[]entry{{name: "huge", size: 1 << 40}}, "cut short"},
		"control characters in a name": {[]entry{{name: folder + "/a\nb", text: "x"}}, "characters"},
		"too deep":                     {[]entry{{name: folder + strings.Repeat("/d", 40), text: "x"}}, "too deep"},
	} {
		for form, data := range forms(t, append(sound(inDeb), c.more...)) {
			t.Run(name+" "+form, func(t *testing.T) {
				_, err := unpackBytes(t, form, data, matrix.HoldingFile{Folder: folder, Repository: folder, Bytes: 100})
				var f *fault.Error
				if !errors.As(err, &f) || f.Kind != fault.Stopped || f.Hint == "" || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "cannot unpack "+form) {
					t.Errorf("%v, want %q", err, c.says)
				}
			})
		}
	}
}

func TestUnpackRefusesOtherFiles(t *testing.T) {
	is := matrix.HoldingFile{Folder: inDeb + "/DEBS", Repository: inDeb + "/DEBS", Bytes: 100}
	for form, data := range forms(t, sound(inDeb)) {
		for _, at := range []int{0, 1, len(data) / 2, len(data) * 3 / 4} {
			if _, err := unpackBytes(t, form, data[:at], is); fault.KindOf(err) != fault.Stopped {
				t.Errorf("%s cut at %d: %v", form, at, err)
			}
		}
		other := is
		other.SHA256 = strings.Repeat("0", 64)
		if dir, err := unpackBytes(t, form, data, other); err == nil || !strings.Contains(err.Error(), "not the file that was planned with") || len(below(t, dir)) > 0 {
			t.Errorf("%s: %v", form, err)
		}
	}
	for _, name := range []string{"x.zip", "x.rpm", "x.iso", "x.deb"} {
		if _, err := unpackBytes(t, name, []byte("what it says it is not"), is); fault.KindOf(err) != fault.Stopped {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// many small files are as bad as a large one.
func TestUnpackRefusesManyFiles(t *testing.T) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := range maxEntries + 1 {
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("r/%d", i), Typeflag: tar.TypeSymlink, Linkname: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// Beside the repository, where nothing is made of them.
	_, err := unpackBytes(t, "x.tgz", zipped(t, out.Bytes()), matrix.HoldingFile{Folder: "other", Repository: "other", Bytes: 1})
	if err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}

// changing is a file that its owner changes after it was read once.
type changing struct {
	*bytes.Reader
	data, later []byte
	reads       int64
}

func (c *changing) ReadAt(p []byte, off int64) (int, error) {
	if c.reads += int64(len(p)); c.reads > int64(len(c.data)) {
		return bytes.NewReader(c.later).ReadAt(p, off)
	}
	return bytes.NewReader(c.data).ReadAt(p, off)
}

func TestUnpackSeesWhatChangesMeanwhile(t *testing.T) {
	data := zipped(t, tarOf(t, sound("b")))
	for name, later := range map[string][]byte{
		"other content": zipped(t, tarOf(t, append(sound("b")[:6], entry{name: "b/DEBS/evil.deb", text: "evil"}))),
		"cut":           data[:len(data)/2],
		"empty":         nil,
	} {
		sum := sha256.Sum256(data)
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		file := &changing{data: data, later: later}
		err = Unpack(context.Background(), "b.tgz", file, int64(len(data)), matrix.HoldingFile{SHA256: hex.EncodeToString(sum[:]), Folder: "b/DEBS", Repository: "b/DEBS", Bytes: 100}, root)
		if err == nil || !strings.Contains(err.Error(), "it was changed while it was read") {
			t.Errorf("%s: %v", name, err)
		}
		if err := root.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSealed(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 3*sealedBlock/16)
	data = data[:len(data)-5]
	s, err := seal(context.Background(), bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if s.sum != hex.EncodeToString(sum[:]) {
		t.Errorf("the sum is %s", s.sum)
	}
	for _, c := range []struct{ at, n int }{{0, 10}, {sealedBlock - 3, 7}, {5, 2 * sealedBlock}, {len(data) - 4, 4}, {len(data) - 4, 10}, {len(data), 1}} {
		p := make([]byte, c.n)
		n, err := s.ReadAt(p, int64(c.at))
		want := data[c.at:min(len(data), c.at+c.n)]
		if !bytes.Equal(p[:n], want) || (err != nil) != (len(want) < c.n) {
			t.Errorf("%+v: %d bytes, %v", c, n, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := seal(ctx, bytes.NewReader(data), int64(len(data))); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := seal(context.Background(), bytes.NewReader(data), maxFile+1); err == nil {
		t.Error("a file of any size is taken")
	}
}

func sumOfFile(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// FuzzUnpackBundle gives payloads of stranger's bundles; whatever they are, nothing comes to be beside the directory,
// and nothing in it that leads out or has more than the limit.
func FuzzUnpackBundle(f *testing.F) {
	f.Add(byte(0), tarOf(f, sound(inDeb)))
	f.Add(byte(1), tarOf(f, append(sound(inDeb), entry{name: inDeb + "/DEBS/../../../x", text: "x"})))
	f.Add(byte(1), debOf(f, zipped(f, tarOf(f, sound(inDeb)))))
	f.Add(byte(2), newCraft(record(19, 4, 0, "F", fieldName("a"))).data)
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		name := []string{"x.tgz", "x.deb", "x.iso", "x.rpm"}[kind%4]
		if kind%4 == 0 {
			data = zipped(t, data)
		}
		folder := inDeb + "/DEBS"
		if kind&4 != 0 {
			folder = "."
		}
		dir, err := unpackBytes(t, name, data, matrix.HoldingFile{Folder: folder, Repository: folder, Bytes: 1000})
		if err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
		sum := 0
		for file, text := range below(t, dir) {
			target, link := strings.CutPrefix(text, "-> ")
			switch {
			case link && !filepath.IsLocal(filepath.Join(filepath.Dir(file), target)):
				t.Errorf("%s leads to %s", file, target)
			case !link:
				sum += len(text) - len("644 ")
			}
		}
		if sum > 1000 && err == nil {
			t.Errorf("%d bytes came of it", sum)
		}
	})
}
