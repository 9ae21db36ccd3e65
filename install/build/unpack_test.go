package build_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/internal/fault"
)

func unpack(t testing.TB, name string, data []byte, limits build.Limits) (string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "into")
	must(t, os.Mkdir(dir, 0o755))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	return dir, build.Unpack(context.Background(), name, bytes.NewReader(data), root, limits)
}

// contents is what stands below a directory: mode and text, or a link's target.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel := strings.TrimPrefix(p, dir+"/")
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(p)
			out[rel] = "-> " + target
			return err
		case d.IsDir():
			out[rel] = info.Mode().String()
		default:
			text, err := os.ReadFile(p)
			out[rel] = info.Mode().String() + " " + string(text)
			return err
		}
		return nil
	}))
	return out
}

func good() []entry {
	script := file("rdma-core-1/buildlib/run", "#!/bin/sh\n")
	script.Mode = 0o755
	return []entry{
		{tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "0123"}}, ""},
		{tar.Header{Name: "rdma-core-1/", Typeflag: tar.TypeDir, Mode: 0o2775}, ""},
		file("rdma-core-1/CMakeLists.txt", "project(rdma-core)\n"),
		script,
		{tar.Header{Name: "rdma-core-1/a/b/up", Typeflag: tar.TypeSymlink, Linkname: "../../CMakeLists.txt"}, ""},
		{tar.Header{Name: "rdma-core-1/a/b/beside", Typeflag: tar.TypeSymlink, Linkname: "./up"}, ""},
		{tar.Header{Name: "rdma-core-1/second", Typeflag: tar.TypeLink, Linkname: "rdma-core-1/CMakeLists.txt"}, ""},
	}
}

func TestUnpack(t *testing.T) {
	want := map[string]string{
		"rdma-core-1": "drwxr-xr-x", "rdma-core-1/a": "drwxr-xr-x", "rdma-core-1/a/b": "drwxr-xr-x", "rdma-core-1/buildlib": "drwxr-xr-x",
		"rdma-core-1/CMakeLists.txt": "-rw-r--r-- project(rdma-core)\n", "rdma-core-1/second": "-rw-r--r-- project(rdma-core)\n",
		"rdma-core-1/buildlib/run": "-rwxr-xr-x #!/bin/sh\n", "rdma-core-1/a/b/up": "-> ../../CMakeLists.txt", "rdma-core-1/a/b/beside": "-> ./up",
	}
	for _, ending := range []string{".tar", ".tar.gz", ".tar.xz", ".tar.zst", ".tar.bz2"} {
		t.Run(ending[1:], func(t *testing.T) {
			data := packed(t, ending, tarOf(t, good()...))
			dir, err := unpack(t, "rdma-core-1"+ending, data, build.DefaultLimits())
			must(t, err)
			if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
				t.Errorf("unpacked (-want +got):\n%s", diff)
			}
			// Cut short anywhere it is refused, also between two blocks.
			for _, n := range []int{0, 1, len(data) / 2, len(data) - 1100, len(data) - 9, len(data) - 1} {
				if n < 0 {
					continue
				}
				if n > 0 && ending == ".tar" && n >= len(data)-1024 {
					continue // the padding behind the end of an archive may be shorter
				}
				if _, err := unpack(t, "x"+ending, data[:n], build.DefaultLimits()); err == nil {
					t.Errorf("the first %d of %d bytes are taken for the whole", n, len(data))
				}
			}
		})
	}
}

func TestUnpackRefuses(t *testing.T) {
	link := func(name, target string) entry {
		return entry{tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}, ""}
	}
	hard := func(name, target string) entry {
		return entry{tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: target}, ""}
	}
	special := func(kind byte) entry { return entry{tar.Header{Name: "special", Typeflag: kind, Mode: 0o666}, ""} }
	setuid, setgid := file("su", "x"), file("sg", "x")
	setuid.Mode, setgid.Mode = 0o4755, 0o2755
	small := build.Limits{Files: 5, Bytes: 1000}
	sparse := file("big", strings.Repeat("\x00", 2000))
	many := []entry{}
	for i := range 6 {
		many = append(many, file(string(rune('a'+i)), ""))
	}
	for name, entries := range map[string][]entry{
		"absolute":             {file("/etc/passwd", "x")},
		"parent":               {file("a/../../x", "x")},
		"parent at the start":  {file("../x", "x")},
		"newline":              {file("a\nb", "x")},
		"deep":                 {file(strings.Repeat("d/", 40)+"x", "x")},
		"long":                 {file(strings.Repeat("d", 2000), "x")},
		"absolute link":        {link("a", "/etc")},
		"link out":             {link("a/b", "../../etc")},
		"link out by way of":   {link("d/up", ".."), link("a", "d/up/../..")},
		"link with later ..":   {link("a", "b/../c")},
		"empty link":           {link("a", "")},
		"below a link":         {link("a", "b"), file("a/x", "x")},
		"link twice":           {link("a", "b"), link("a", "c")},
		"file over a link":     {link("a", "b"), file("a", "x")},
		"directory over link":  {link("a", "b"), {tar.Header{Name: "a/", Typeflag: tar.TypeDir}, ""}},
		"file twice":           {file("a", "x"), file("a", "y")},
		"file by another path": {file("a", "x"), file("./a", "y")},
		"file as a directory":  {file("a", "x"), file("a/b", "y")},
		"hard link out":        {hard("a", "../x")},
		"hard link absolute":   {hard("a", "/etc/passwd")},
		"hard link to a link":  {link("a", "b"), hard("c", "a")},
		"hard link to nothing": {hard("c", "a")},
		"hard link to a dir":   {{tar.Header{Name: "d/", Typeflag: tar.TypeDir}, ""}, hard("c", "d")},
		"character device":     {special(tar.TypeChar)},
		"block device":         {special(tar.TypeBlock)},
		"pipe":                 {special(tar.TypeFifo)},
		"set-user-id":          {setuid},
		"set-group-id":         {setgid},
		"too many files":       many,
		"too many bytes":       {sparse},
		"too many in sum":      {file("a", strings.Repeat("x", 600)), file("b", strings.Repeat("x", 600))},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			dir, err := unpack(t, "x.tar.gz", gzipped(t, tarOf(t, entries...)), small)
			if fault.KindOf(err) != fault.Stopped {
				t.Errorf("not refused: %v; unpacked %v", err, contents(t, dir))
			}
			if names, _ := filepath.Glob(filepath.Dir(dir) + "/*"); len(names) != 1 {
				t.Errorf("outside of the directory there are %v", names)
			}
		})
	}
	// Twins: what is just within the limits, and an upward link that stays inside.
	if _, err := unpack(t, "x.tar", tarOf(t, file("a", strings.Repeat("x", 1000)), link("b/c", "../a")), small); err != nil {
		t.Errorf("refused: %v", err)
	}
}

func TestUnpackRefusesBombs(t *testing.T) {
	limits := build.Limits{Files: 10, Bytes: 1 << 20}
	// Nothing but zeros behind the end, 8 MiB of them in 8 KiB: still to be unpacked to reach the checksum.
	bomb := append(tarOf(t, file("a", "x")), make([]byte, 8<<20)...)
	data := gzipped(t, bomb)
	if _, err := unpack(t, "bomb.tar.gz", data, limits); fault.KindOf(err) != fault.Stopped {
		t.Errorf("a bomb of %d bytes is unpacked: %v", len(data), err)
	}
	if _, err := unpack(t, "ok.tar.gz", gzipped(t, bomb[:len(bomb)-(8<<20)+4096]), limits); err != nil {
		t.Errorf("padding is refused: %v", err)
	}
}

func TestUnpackRefusesTrailingText(t *testing.T) {
	data := append(tarOf(t, file("a", "x")), []byte("#!/bin/sh\n")...)
	if _, err := unpack(t, "x.tar", data, build.DefaultLimits()); fault.KindOf(err) != fault.Stopped {
		t.Errorf("text behind the archive is taken: %v", err)
	}
	broken := gzipped(t, tarOf(t, file("a", strings.Repeat("x", 5000))))
	broken[len(broken)-6] ^= 1 // the checksum
	if _, err := unpack(t, "x.tar.gz", broken, build.DefaultLimits()); fault.KindOf(err) != fault.Stopped {
		t.Errorf("a wrong checksum is taken: %v", err)
	}
	if _, err := unpack(t, "x.zip", nil, build.DefaultLimits()); fault.KindOf(err) != fault.Stopped {
		t.Errorf("a zip is taken: %v", err)
	}
}

func TestUnpackEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	root, err := os.OpenRoot(t.TempDir())
	must(t, err)
	defer root.Close()
	if err := build.Unpack(ctx, "x.tar", bytes.NewReader(tarOf(t, good()...)), root, build.DefaultLimits()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	real := tarOf(f, good()...)
	for i, ending := range []string{".tar", ".tar.gz", ".tar.xz", ".tar.zst"} {
		f.Add(byte(i), packed(f, ending, real))
	}
	f.Add(byte(0), tarOf(f, entry{tar.Header{Name: "d/up", Typeflag: tar.TypeSymlink, Linkname: ".."}, ""}, file("d/up/x", "x")))
	f.Add(byte(0), tarOf(f, file("a", "x"), entry{tar.Header{Name: "b", Typeflag: tar.TypeLink, Linkname: "a"}, ""}))
	limits := build.Limits{Files: 20, Bytes: 64 << 10}
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		name := "x" + []string{".tar", ".tar.gz", ".tar.xz", ".tar.zst"}[kind%4]
		dir, err := unpack(t, name, data, limits)
		if err == nil && len(data) == 0 {
			t.Error("nothing is an archive")
		}
		if names, globErr := filepath.Glob(filepath.Dir(dir) + "/*"); globErr != nil || len(names) != 1 {
			t.Fatalf("outside of the directory there are %v", names)
		}
		files, bytes := 0, int64(0)
		must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || p == dir {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if mode := info.Mode(); mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky|fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0 || mode&fs.ModeSymlink == 0 && mode.Perm()&0o022 != 0 {
				t.Errorf("%q has mode %v", p, mode)
			}
			switch {
			case d.Type() == fs.ModeSymlink:
				files++
				inside(t, dir, p, 0)
			case info.Mode().IsRegular():
				files++
				bytes += info.Size()
			}
			return nil
		}))
		if files > limits.Files || bytes > limits.Bytes*int64(limits.Files) {
			t.Errorf("%d files with %d bytes", files, bytes)
		}
	})
}

// inside follows a link step by step, as the kernel does, and fails when it leaves the directory.
func inside(t *testing.T, dir, link string, depth int) {
	t.Helper()
	if depth > 40 {
		return // the kernel gives up as well
	}
	target, err := os.Readlink(link)
	must(t, err)
	if strings.HasPrefix(target, "/") {
		t.Fatalf("%q leads to %q", link, target)
	}
	at := path.Dir(link)
	for part := range strings.SplitSeq(target, "/") {
		if part == "" || part == "." {
			continue
		}
		at = path.Join(at, part)
		if at != dir && !strings.HasPrefix(at, dir+"/") {
			t.Fatalf("%q leads out, to %q", link, at)
		}
		info, err := os.Lstat(at)
		if err != nil {
			return // it leads to nothing
		}
		if info.Mode().Type() == fs.ModeSymlink {
			inside(t, dir, at, depth+1)
			if at, err = filepath.EvalSymlinks(at); err != nil {
				return
			}
		}
	}
}
