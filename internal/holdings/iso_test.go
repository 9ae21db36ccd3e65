package holdings

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// isoWriters are the programs that make images, with what they take for each kind of names.
func isoWriters() map[string][]string {
	return map[string][]string{"xorriso": {"-as", "mkisofs", "-quiet"}, "genisoimage": {"-quiet"}}
}

func (l *lab) iso(writer, dir string, names ...string) string {
	l.t.Helper()
	need(l.t, writer)
	out := filepath.Join(l.t.TempDir(), filepath.Base(dir)+".iso")
	l.run(filepath.Dir(dir), writer, append(append(isoWriters()[writer], names...), "-o", out, dir)...)
	return out
}

// mlnxBundle is an unpacked bundle for RHEL 9.4, as the vendor's images have it at their top.
func (l *lab) mlnxBundle() string {
	l.t.Helper()
	bundle := l.t.TempDir() + "/MLNX_OFED_LINUX-24.10-1.1.4.0-rhel9.4-x86_64"
	l.mlnxRPMs(bundle + "/RPMS")
	l.createrepo(bundle+"/RPMS", "")
	for name, text := range map[string]string{
		"mlnxofedinstall": "#!/usr/bin/perl\n", "uninstall.sh": "#!/bin/sh\n", "distro": "rhel9.4\n", ".mlnx": "24.10-1.1.4.0\n", ".arch": "x86_64\n",
		".supported_kernels": rpmKernel + "\n", ".def_option": "all\n", "RPM-GPG-KEY-Mellanox": string(l.key("vendor").Data), "LICENSE": "text\n",
		"docs/conf/ofed-all.conf": "", "docs/Secure_Boot/README.txt": "x\n", "src/MLNX_OFED_SRC-24.10-1.1.4.0.tgz": "x\n",
	} {
		write(l.t, bundle+"/"+name, text)
	}
	return bundle
}

func TestImageOfBundle(t *testing.T) {
	l := newLab(t)
	need(t, "rpmbuild", "rpmsign", "createrepo_c")
	bundle := l.mlnxBundle()
	fpr := l.fingerprint("vendor")
	opts := Options{Fingerprints: []string{fpr}, Now: soon()}
	for writer := range isoWriters() {
		t.Run(writer, func(t *testing.T) {
			l := &lab{t: t, home: l.home, env: l.env}
			for name, flags := range map[string][]string{
				"Rock Ridge": {"-R"}, "Rock Ridge of one owner": {"-r", "-iso-level", "3"}, "Rock Ridge and Joliet": {"-R", "-J", "-joliet-long"},
				"Joliet": {"-J", "-joliet-long"},
			} {
				t.Run(name, func(t *testing.T) {
					if name == "Joliet" && writer == "xorriso" {
						flags = append(flags, "--norock")
					}
					check(t, imported(t, l.iso(writer, bundle, flags...), opts), wantMLNX, fpr)
				})
			}
			t.Run("Joliet that cuts a name", func(t *testing.T) {
				// createrepo puts a checksum of 64 characters before the names of its files.
				flags := []string{"-J"}
				if writer == "xorriso" {
					flags = append(flags, "--norock")
				}
				refused(t, l.iso(writer, bundle, flags...), opts, "primary.xml.gz, which repomd.xml names, is not there (the image has names of Joliet only")
			})
			t.Run("neither", func(t *testing.T) {
				var flags []string
				if writer == "xorriso" {
					flags = append(flags, "--norock") // its default is -R
				}
				refused(t, l.iso(writer, bundle, flags...), opts, "neither Rock Ridge nor Joliet")
			})
			image := l.iso(writer, bundle, "-R")
			t.Run("in a folder", func(t *testing.T) {
				above := t.TempDir()
				if err := os.CopyFS(above+"/"+filepath.Base(bundle), os.DirFS(bundle)); err != nil {
					t.Fatal(err)
				}
				check(t, imported(t, l.iso(writer, above, "-R"), opts), wantMLNX, fpr)
			})
			t.Run("nobody's key", func(t *testing.T) {
				refused(t, image, Options{Now: soon()}, "is not signed")
				refused(t, image, Options{Fingerprints: []string{l.fingerprint("other")}, Now: soon()}, "is not signed")
			})
			t.Run("one byte of a package changed", func(t *testing.T) {
				data := []byte(slurp(t, image))
				at := bytes.Index(data, []byte("mlx5_core.ko"))
				if at < 0 {
					t.Fatal("no package in the image")
				}
				data[at] ^= 1
				bad := t.TempDir() + "/bad.iso"
				write(t, bad, string(data))
				refused(t, bad, opts, "signature of kmod-mlnx-ofa_kernel")
			})
			t.Run("cut", func(t *testing.T) {
				data := slurp(t, image)
				last := strings.LastIndex(data, "mlx5_core.ko")
				for _, at := range []int{0, 1, 30_000, isoStart*isoSector + 100, isoStart*isoSector + isoSector, 20 * isoSector, last} {
					cut := t.TempDir() + "/cut.iso"
					write(t, cut, data[:at])
					got, err := Import(context.Background(), cut, opts)
					if err == nil {
						t.Fatalf("cut at %d of %d: %+v", at, len(data), got)
					}
					refused(t, cut, opts, "")
				}
			})
		})
	}
}

// TestImageOfOldBundle has the layout of 4.9 and 5.0, where links lead from one repository to another.
func TestImageOfOldBundle(t *testing.T) {
	l := newLab(t)
	bundle := t.TempDir() + "/MLNX_OFED_LINUX-4.9-7.1.0.0-ubuntu22.04-x86_64"
	for name, text := range map[string]string{"distro": "ubuntu22.04\n", ".mlnx": "4.9-7.1.0.0\n", ".arch": "x86_64\n", "DEBS/COMMON/README": ""} {
		write(t, bundle+"/"+name, text)
	}
	l.deb(bundle+"/DEBS/COMMON", "mlnx-ofed-all", "4.9-7.1.0.0", "all", nil)
	l.deb(bundle+"/DEBS/COMMON", "mlnx-ofed-kernel-modules", "4.9-OFED.4.9.7.1.0.1", "amd64", map[string]string{"lib/modules/" + debKernel + "/updates/mlx5_core.ko": "module"})
	libs := bundle + "/DEBS/MLNX_LIBS"
	write(t, libs+"/README", "")
	for _, file := range []string{"mlnx-ofed-all_4.9-7.1.0.0_all.deb", "mlnx-ofed-kernel-modules_4.9-OFED.4.9.7.1.0.1_amd64.deb"} {
		if err := os.Symlink("../COMMON/"+file, libs+"/"+file); err != nil {
			t.Fatal(err)
		}
	}
	l.index(libs, map[string]string{"Label": "MLNX_OFED_LINUX", "Suite": "4.9-7.1.0.0"})
	opts := l.options()
	want := imported(t, bundle, opts)
	want.Origin = ""
	for writer := range isoWriters() {
		t.Run(writer, func(t *testing.T) {
			l := &lab{t: t, home: l.home, env: l.env}
			image := l.iso(writer, bundle, "-R")
			got := imported(t, image, opts)
			if got.Origin != image {
				t.Errorf("origin %q", got.Origin)
			}
			got.Origin = ""
			if f := got.File; f == nil || f.SHA256 != sumOfFile(t, image) || f.Folder != "DEBS" || f.Repository != "DEBS/MLNX_LIBS" || f.Bytes == 0 {
				t.Errorf("the file is %+v", f)
			}
			got.File = nil // a folder has none
			if diff := cmp.Diff(want, got); diff != "" || len(got.Kernels) != 1 {
				t.Errorf("%v: %s", got.Kernels, diff)
			}
			out := t.TempDir()
			if err := os.CopyFS(out+"/b", os.DirFS(bundle+"/DEBS/COMMON")); err != nil {
				t.Fatal(err)
			}
			for name, target := range map[string]string{"absolute": "/etc/passwd", "parent": "../../etc/passwd", "far": strings.Repeat("../", 40) + "etc/passwd"} {
				link := out + "/b/" + name
				if err := os.Symlink(target, link); err != nil {
					t.Fatal(err)
				}
				refused(t, l.iso(writer, out+"/b", "-R"), l.options(), "out of the source")
				remove(t, link)
			}
			refused(t, l.iso(writer, out+"/b", "-R"), l.options(), "no MLNX_OFED bundle")
		})
	}
}

// TestImageThatCutsPackages has a package whose name Joliet cuts, and says so.
func TestImageThatCutsPackages(t *testing.T) {
	l := newLab(t)
	bundle := t.TempDir() + "/MLNX_OFED_LINUX-5.4-1.0.3.0-ubuntu22.04-x86_64"
	for name, text := range map[string]string{"distro": "ubuntu22.04\n", ".mlnx": "5.4-1.0.3.0\n", ".arch": "x86_64\n", "DEBS/README": ""} {
		write(t, bundle+"/"+name, text)
	}
	l.deb(bundle+"/DEBS", "mlnx-ofed-all", "5.4-1.0.3.0", "all", nil)
	l.deb(bundle+"/DEBS", "mlnx-ofed-kernel-modules", "5.4-OFED.5.4.1.0.3.1.kver.5.4.0-42-generic", "amd64", nil)
	l.index(bundle+"/DEBS", nil)
	for writer, flags := range map[string][]string{"genisoimage": {"-J"}, "xorriso": {"-J", "--norock"}} {
		got, err := Import(t.Context(), l.iso(writer, bundle, flags...), l.options())
		if err != nil {
			t.Fatal(err)
		}
		want := "mlnx-ofed 5.4-1.0.3.0 for ubuntu 22.04 x86_64, kernels [], dkms false: mlnx-ofed-all=5.4-1.0.3.0\n" +
			"note: 1 of the 2 packages that the index names are not there, and left out\n" +
			"note: the image has names of Joliet only, and some are cut: a package with such a name counts as not there\n"
		if diff := cmp.Diff(want, got.text()); diff != "" {
			t.Errorf("%s: %s", writer, diff)
		}
	}
	if h := imported(t, l.iso("genisoimage", bundle, "-R"), l.options()); len(h.Kernels) != 1 {
		t.Error(summary(h))
	}
}

// TestImageIsReadAsWritten compares an image with the folder it was made of: names that need continuations,
// folders of many sectors, folders that are deeper than ISO 9660 allows, links.
func TestImageIsReadAsWritten(t *testing.T) {
	l := newLab(t)
	dir := t.TempDir() + "/tree"
	for n := range 300 {
		write(t, fmt.Sprintf("%s/many/%s-%03d.rpm", dir, strings.Repeat("name", 20), n), strings.Repeat("x", n))
	}
	write(t, dir+"/"+strings.Repeat("long", 60)+".x", "long")
	deep := strings.Repeat("d/", 20)
	write(t, dir+"/"+deep+"leaf", "leaf")
	write(t, dir+"/Dots.in.it;1.2", "dots")
	long := "../" + strings.Repeat("many/../", 40) + "many"
	for name, target := range map[string]string{"many/up": "../Dots.in.it;1.2", "self": "./d", deep + "long": long} {
		if err := os.Symlink(target, dir+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name := strings.TrimPrefix(p, dir+"/")
		if e.Type().IsRegular() {
			want[name] = slurp(t, p)
			return nil
		}
		target, err := os.Readlink(p)
		want[name] = "-> " + filepath.Join(filepath.Dir(name), target)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for writer := range isoWriters() {
		t.Run(writer, func(t *testing.T) {
			l := &lab{t: t, home: l.home, env: l.env}
			file, err := os.Open(l.iso(writer, dir, "-R"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			info, err := file.Stat()
			if err != nil {
				t.Fatal(err)
			}
			a := newContents(false)
			if _, err := takeISO(t.Context(), a, file, info.Size()); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for name, f := range a.files {
				if f.target != "" {
					got[name] = "-> " + f.target
					continue
				}
				data, err := read(t.Context(), a.memTree, name, 1<<20)
				if err != nil || int64(len(data)) != f.size {
					t.Errorf("%s: %d bytes of %d, %v", name, len(data), f.size, err)
				}
				got[name] = string(data)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// craft makes small images by hand, for what no program writes.
type craft struct{ data []byte }

func both32(n uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, n), n)
}

func field(kind string, data ...byte) []byte {
	return append([]byte{kind[0], kind[1], byte(4 + len(data)), 1}, data...)
}

func fieldName(name string) []byte { return field("NM", append([]byte{0}, name...)...) }

func fieldMore(sector, offset, length uint32) []byte {
	return field("CE", append(append(both32(sector), both32(offset)...), both32(length)...)...)
}

func record(sector, length uint32, flags byte, name string, fields ...[]byte) []byte {
	r := append([]byte{0, 0}, append(both32(sector), both32(length)...)...)
	r = append(r, make([]byte, 7)...)
	r = append(r, flags, 0, 0, 1, 0, 0, 1, byte(len(name)))
	r = append(r, name...)
	if len(r)%2 != 0 {
		r = append(r, 0)
	}
	for _, f := range fields {
		r = append(r, f...)
	}
	if len(r)%2 != 0 {
		r = append(r, 0)
	}
	r[0] = byte(len(r))
	return r
}

// The root is sector 18, files are free from 19 on.
func newCraft(records ...[]byte) craft {
	c := craft{make([]byte, 24*isoSector)}
	volume := c.data[16*isoSector:]
	volume[0] = 1
	copy(volume[1:], "CD001\x01")
	volume[128], volume[131] = 0, 0
	binary.LittleEndian.PutUint16(volume[128:], isoSector)
	binary.BigEndian.PutUint16(volume[130:], isoSector)
	copy(volume[156:], record(18, isoSector, isoFolder, "\x00"))
	copy(c.data[17*isoSector:], "\xffCD001\x01")
	rr := append([]byte{10, 0, 0, 1}, "RRIP_1991A"...)
	all := append([][]byte{record(18, isoSector, isoFolder, "\x00", field("SP", 0xbe, 0xef, 0), field("ER", rr...)), record(18, isoSector, isoFolder, "\x01")}, records...)
	c.put(18, bytes.Join(all, nil))
	return c
}

func (c craft) put(sector int, data []byte) craft {
	copy(c.data[sector*isoSector:], data)
	return c
}

func TestHostileImage(t *testing.T) {
	folder := func(sector uint32, name string) []byte {
		return record(sector, isoSector, isoFolder, strings.ToUpper(name), fieldName(name))
	}
	file := func(sector, length uint32, name string) []byte {
		return record(sector, length, 0, "F;1", fieldName(name))
	}
	sound := newCraft(file(19, 8, "distro"), file(20, 14, ".mlnx")).put(19, []byte("rhel9.4\n")).put(20, []byte("24.10-1.1.4.0\n"))
	var chain [][]byte
	for n := range 40 {
		chain = append(chain, record(uint32(18+n+1), isoSector, isoFolder, "D", fieldName("d")))
	}
	deep := newCraft(chain[0])
	deep.data = append(deep.data, make([]byte, 40*isoSector)...)
	for n := 1; n < len(chain); n++ {
		deep.put(18+n, chain[n])
	}
	circle := newCraft(record(19, 4, 0, "F", fieldMore(20, 0, 28))).put(20, fieldMore(20, 0, 28))
	overlap := newCraft(record(18, isoSector, 0, "F", fieldMore(1<<31, 1<<31, 1<<31)))
	fields := func(f ...[]byte) craft { return newCraft(record(19, 4, 0, "F", f...)) }
	volume := func(change func(volume []byte)) craft {
		c := newCraft(file(19, 4, "a"))
		change(c.data[16*isoSector : 17*isoSector])
		return c
	}
	endless := craft{make([]byte, 200*isoSector)}
	for n := 16; n < 200; n++ {
		endless.put(n, []byte("\x00CD001\x01"))
	}
	for name, tt := range map[string]struct {
		image craft
		cause string
	}{
		"sound, but no packages":               {sound, "no repository in DEBS or RPMS"},
		"a name with a slash":                  {newCraft(file(19, 4, "a/b")), "leads out of it"},
		"a name that leads up":                 {newCraft(file(19, 4, "../../etc/passwd")), "leads out of it"},
		"the name of the parent":               {newCraft(file(19, 4, "..")), "leads out of it"},
		"a folder with the parent's name":      {newCraft(folder(19, "..")), "leads out of it"},
		"the folder itself as a name":          {newCraft(file(19, 4, ".")), "leads out of it"},
		"no name":                              {newCraft(record(19, 4, 0, "F", fieldName(""))), "leads out of it"},
		"NUL in a name":                        {newCraft(file(19, 4, "a\x00b")), "leads out of it"},
		"escape in a name":                     {newCraft(file(19, 4, "a\x1b[31mb")), "characters that no path"},
		"flags of a name":                      {fields(field("NM", 4)), "a name of more than"},
		"a name without end":                   {fields(fieldName(strings.Repeat("a", 150)), fieldMore(20, 0, 200)).put(20, fieldName(strings.Repeat("b", 150))), "a name of more than"},
		"two files of one name":                {newCraft(file(19, 4, "a"), file(19, 4, "a")), "the file a twice"},
		"link out":                             {fields(fieldName("distro"), field("SL", 0, 4, 0, 4, 0, 0, 6, 'p', 'a', 's', 's', 'w', 'd')), "out of the source"},
		"link to the root":                     {fields(fieldName("distro"), field("SL", 0, 8, 0, 0, 3, 'e', 't', 'c')), "out of the source"},
		"link to nothing":                      {fields(fieldName("distro"), field("SL", 0)), "link to nothing"},
		"link that is cut":                     {fields(fieldName("distro"), field("SL", 0, 0, 9, 'a')), "link that cannot be read"},
		"link to itself":                       {fields(fieldName("distro"), field("SL", 0, 0, 6, 'd', 'i', 's', 't', 'r', 'o')), "link to itself"},
		"device":                               {fields(fieldName("distro"), field("PX", both32(0o060644)...)), "neither a file"},
		"folder that is the root":              {newCraft(folder(18, "d")), "is in itself"},
		"folder that is its parent":            {newCraft(folder(19, "d")).put(19, folder(18, "e")), "is in itself"},
		"folder in two places":                 {newCraft(folder(19, "a"), folder(19, "b")), "in two places"},
		"moved folder that is the root":        {fields(fieldName("d"), field("CL", both32(18)...)), "is in itself"},
		"moved folder that is elsewhere":       {fields(fieldName("d"), field("CL", both32(20)...)).put(20, record(21, isoSector, isoFolder, "\x00")), "says that it is elsewhere"},
		"moved folder that is none":            {fields(fieldName("d"), field("CL", both32(20)...)), "cannot be read"},
		"file larger than the image":           {newCraft(file(19, 1<<31, "distro")), "which has 49152"},
		"file behind the image":                {newCraft(file(1<<31, 4, "distro")), "which has 49152"},
		"folder larger than the image":         {newCraft(record(19, ^uint32(0), isoFolder, "D", fieldName("d"))), "which has 49152"},
		"folder behind the image":              {newCraft(record(^uint32(0), isoSector, isoFolder, "D", fieldName("d"))), "which has 49152"},
		"many files":                           {manyFiles(), "more than 200000 files"},
		"deep":                                 {deep, "too deep"},
		"continuation that is itself":          {circle, "more than 16 continuations"},
		"continuation behind the image":        {overlap, "an entry of the image goes on for"},
		"continuation of a gigabyte":           {fields(fieldMore(19, 0, 1<<30)), "goes on for 1073741824 bytes"},
		"two continuations":                    {fields(fieldMore(19, 0, 8), fieldMore(19, 0, 8)), "in no place or in two"},
		"field without length":                 {fields([]byte{'N', 'M', 0, 1}), "a field of 0 bytes"},
		"field that is too long":               {fields([]byte{'N', 'M', 200, 1}), "a field of 200 bytes"},
		"mode that is cut":                     {fields(fieldName("a"), field("PX", 1)), "mode that cannot be read"},
		"packed file":                          {fields(fieldName("distro"), field("ZF", 'p', 'z', 4, 15)), "zisofs"},
		"record with two places":               {newCraft(func() []byte { r := file(19, 4, "a"); r[9] = 7; return r }()), "two places or sizes"},
		"record that is too short":             {newCraft([]byte{20, 0, 0, 0}), "record that cannot be read"},
		"record that leaves its sector":        {newCraft(func() []byte { r := file(19, 4, "a"); r[32] = 250; return r }()), "record that cannot be read"},
		"interleaved":                          {newCraft(func() []byte { r := file(19, 4, "a"); r[26] = 1; return r }()), "interleaved"},
		"file in pieces":                       {newCraft(record(19, isoSector, isoMore, "A;1", fieldName("a")), record(22, 4, 0, "A;1", fieldName("a"))), "in several places"},
		"folder that ends within a file":       {newCraft(record(19, isoSector, isoMore, "A;1", fieldName("a"))), "ends within a file"},
		"volumes without end":                  {endless, "more than 64 volume descriptors"},
		"blocks of another size":               {volume(func(v []byte) { v[129] = 2 }), "blocks of 512 bytes"},
		"no mark":                              {volume(func(v []byte) { v[1] = 'X' }), "no mark CD001"},
		"no volume with files":                 {volume(func(v []byte) { v[0] = 0 }), "neither Rock Ridge nor Joliet"},
		"root that does not begin with itself": {newCraft().put(18, make([]byte, isoSector)), "record that cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			image := filepath.Join(t.TempDir(), "bundle.iso")
			write(t, image, string(tt.image.data))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			refused(t, image, Options{AllowUnsigned: true, Now: soon()}, tt.cause)
			runtime.ReadMemStats(&after)
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 256 {
				t.Errorf("%d MiB were allocated", used)
			}
			_, err := unpackBytes(t, "bundle.iso", tt.image.data, matrix.HoldingFile{Folder: ".", Repository: ".", Bytes: 1 << 20})
			harmless := name == "sound, but no packages" || name == "link to itself"
			if harmless != (err == nil) {
				t.Errorf("unpacked: %v", err)
			}
		})
	}
	t.Run("a file in pieces that follow each other", func(t *testing.T) {
		c := newCraft(record(19, isoSector, isoMore, "A;1", fieldName("a")), record(20, 4, 0, "A;1", fieldName("a")))
		a := newContents(false)
		if _, err := takeISO(t.Context(), a, bytes.NewReader(c.data), int64(len(c.data))); err != nil || a.files["a"].size != isoSector+4 {
			t.Errorf("%+v, %v", a.files, err)
		}
	})
	t.Run("associated files", func(t *testing.T) {
		c := newCraft(record(19, 4, isoAssociated, "A;1", fieldName("a")), record(20, 8, 0, "A;1", fieldName("a")))
		a := newContents(false)
		if _, err := takeISO(t.Context(), a, bytes.NewReader(c.data), int64(len(c.data))); err != nil || a.files["a"].size != 8 {
			t.Errorf("%+v, %v", a.files, err)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		ctx, stop := context.WithDeadline(t.Context(), time.Unix(1, 0))
		defer stop()
		if _, err := takeISO(ctx, newContents(false), bytes.NewReader(sound.data), int64(len(sound.data))); err == nil {
			t.Error("it was read")
		}
	})
}

// manyFiles has two folders with some hundred thousand files.
func manyFiles() craft {
	const size = 4 << 20
	c := newCraft(record(24, size, isoFolder, "D", fieldName("d")), record(24+size/isoSector, size, isoFolder, "E", fieldName("e")))
	start := len(c.data)
	c.data = append(c.data, make([]byte, 2*size)...)
	n := 36 * 36 * 36
	for at := start; at < len(c.data); at += isoSector {
		for k := range isoSector / 38 {
			copy(c.data[at+k*38:], record(0, 0, 0, strconv.FormatInt(int64(n), 36)))
			n++
		}
	}
	return c
}

func FuzzISO(f *testing.F) {
	start := isoStart * isoSector
	for _, c := range []craft{
		newCraft(record(19, 8, 0, "F;1", fieldName("distro")), record(20, isoSector, isoFolder, "D", fieldName("d"))).put(20, record(21, 4, 0, "L", fieldName("l"), field("SL", 0, 0, 1, 'a'))),
		newCraft(record(19, 4, 0, "F", fieldMore(20, 0, 28))).put(20, fieldMore(20, 0, 28)),
		newCraft(record(19, 4, 0, "F", fieldName("d"), field("CL", both32(20)...))).put(20, record(20, isoSector, isoFolder, "\x00")),
	} {
		f.Add(c.data[start:])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		image := append(make([]byte, start), data...) // the first sectors mean nothing
		a := newContents(false)
		i, err := takeISO(t.Context(), a, bytes.NewReader(image), int64(len(image)))
		if err != nil {
			return
		}
		if i.read > maxISORecords || i.count > maxEntries {
			t.Errorf("%d bytes of records, %d entries", i.read, i.count)
		}
		for name, file := range a.files {
			if clean, err := checkPath(name); err != nil || clean != name {
				t.Errorf("%q: %v", name, err)
			}
			if file.target != "" && !filepath.IsLocal(file.target) {
				t.Errorf("%q leads to %q", name, file.target)
			}
			if file.size > int64(len(image)) {
				t.Errorf("%q has %d bytes of %d", name, file.size, len(image))
			}
		}
	})
}
