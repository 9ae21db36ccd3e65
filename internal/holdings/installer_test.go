package holdings

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

func ofedEntries() []entry {
	return []entry{
		{name: "OFED-4.17-1/install.pl", text: "#!/usr/bin/perl\n", mode: 0o644},
		{name: "OFED-4.17-1/SRPMS/x.src.rpm", text: "package"},
		{name: "OFED-4.17-1/install", kind: tar.TypeSymlink, target: "install.pl"},
		{name: "OFED-4.17-1/tool", text: "\x7fELF...."},
		{name: "OFED-4.17-1/README", text: "a"},
	}
}

func installerIn(t *testing.T, name string, entries []entry, program string, opts Options) (Installer, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, zipped(t, tarOf(t, entries)), 0o644); err != nil {
		t.Fatal(err)
	}
	opts.Now = time.Now()
	return FindInstaller(context.Background(), file, program, opts)
}

func TestFindInstaller(t *testing.T) {
	sum := sha256.Sum256(zipped(t, tarOf(t, ofedEntries())))
	hash := hex.EncodeToString(sum[:])
	for _, proof := range []string{"", "sha256"} {
		opts := Options{}
		if proof != "" {
			opts.SHA256 = hash
		}
		got, err := installerIn(t, "OFED-4.17-1.tgz", ofedEntries(), "install.pl", opts)
		if err != nil {
			t.Fatal(err)
		}
		got.Origin = filepath.Base(got.Origin)
		want := Installer{Origin: "OFED-4.17-1.tgz", SHA256: hash, Folder: "OFED-4.17-1", Version: "4.17-1", Entries: 5, Bytes: 32, Proof: proof}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	dir := filepath.Join(t.TempDir(), "MLNX")
	for name, text := range map[string]string{"mlnxofedinstall": "#!/usr/bin/perl\n", ".mlnx": "24.10-2.1.8.0\n"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := FindInstaller(context.Background(), dir, "mlnxofedinstall", Options{}); err != nil || got != (Installer{Directory: dir, Version: "24.10-2.1.8.0"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFindInstallerRefuses(t *testing.T) {
	other := ofedEntries()
	for i := range other {
		other[i].name = strings.Replace(other[i].name, "OFED-4.17-1", "stuff", 1)
	}
	for name, c := range map[string]struct {
		file    string
		entries []entry
		opts    Options
		says    string
	}{
		"no installer":              {"x.tgz", ofedEntries()[1:2], Options{}, "no install.pl"},
		"deeper down":               {"x.tgz", []entry{{name: "a/b/install.pl", text: "#!"}}, Options{}, "no install.pl"},
		"a link in its place":       {"x.tgz", []entry{{name: "OFED-4.17-1/install.pl", kind: tar.TypeSymlink, target: "../../etc/passwd"}}, Options{}, ""},
		"another checksum":          {"x.tgz", ofedEntries(), Options{SHA256: strings.Repeat("0", 64)}, "its SHA-256 is"},
		"a signature without a key": {"x.tgz", ofedEntries(), Options{Signature: []byte("x")}, "no key"},
		"no version":                {"x.tgz", other, Options{}, "tells its version"},
		"a device":                  {"x.tgz", append(ofedEntries(), entry{name: "OFED-4.17-1/d", kind: tar.TypeBlock}), Options{}, "neither a file"},
		"set-user-id":               {"x.tgz", append(ofedEntries(), entry{name: "OFED-4.17-1/s", text: "x", mode: 0o4755}), Options{}, "as another user"},
		"out of it":                 {"x.tgz", append(ofedEntries(), entry{name: "OFED-4.17-1/../../x", text: "x"}), Options{}, "leads out"},
		"no archive":                {"x.deb", ofedEntries(), Options{}, "it is no bundle"},
	} {
		if _, err := installerIn(t, c.file, c.entries, "install.pl", c.opts); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What starts like a program is one in an unpacked bundle; the archive's own modes are not taken over, and where
// programs are not wanted none is made.
func TestUnpackPrograms(t *testing.T) {
	data := zipped(t, tarOf(t, ofedEntries()))
	sum := sha256.Sum256(data)
	is := matrix.HoldingFile{SHA256: hex.EncodeToString(sum[:]), Folder: "OFED-4.17-1", Repository: "OFED-4.17-1", Bytes: 100}
	dir := t.TempDir()
	into, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	if err := UnpackPrograms(context.Background(), "x.tgz", bytes.NewReader(data), int64(len(data)), is, into); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"install.pl": "755 #!/usr/bin/perl\n", "SRPMS/x.src.rpm": "644 package", "install": "-> install.pl", "tool": "755 \x7fELF....", "README": "644 a",
	}
	if diff := cmp.Diff(want, below(t, dir)); diff != "" {
		t.Error(diff)
	}
	plain, err := unpackBytes(t, "x.tgz", data, is)
	if err != nil || below(t, plain)["install.pl"] != "644 #!/usr/bin/perl\n" {
		t.Errorf("%v, %v", below(t, plain), err)
	}
}
