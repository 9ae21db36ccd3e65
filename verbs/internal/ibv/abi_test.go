package ibv

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// layoutRow is one constant of layout.go and the C expression in its comment.
type layoutRow struct {
	expr  string
	value int64
}

// layoutRows reads the constants of a layout file. A constant without an expression is an error,
// except for the two rooms, which stand for no C expression.
func layoutRows(t *testing.T, file string) map[string]layoutRow {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := (&types.Config{Importer: importer.Default()}).Check("ibv", fset, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]layoutRow{}
	for _, decl := range f.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.CONST {
			continue
		}
		for _, spec := range gen.Specs {
			vs := spec.(*ast.ValueSpec)
			name := vs.Names[0].Name
			if strings.HasPrefix(name, "room") {
				continue
			}
			if vs.Comment == nil {
				t.Errorf("%s: no C expression", name)
				continue
			}
			value, exact := constant.Int64Val(pkg.Scope().Lookup(name).(*types.Const).Val())
			if !exact {
				t.Errorf("%s: not an integer", name)
			}
			rows[name] = layoutRow{expr: strings.TrimSpace(vs.Comment.Text()), value: value}
		}
	}
	return rows
}

// compiled asks the C compiler for the value of each row.
func compiled(t *testing.T, rows map[string]layoutRow) map[string]int64 {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed: the ABI cannot be compared")
	}
	if _, err := os.Stat("/usr/include/infiniband/verbs.h"); err != nil {
		t.Skip("libibverbs-dev is not installed: the ABI cannot be compared")
	}
	dir := t.TempDir()
	var h bytes.Buffer
	for name, row := range rows {
		fmt.Fprintf(&h, "ROW(%q, %s)\n", name, row.expr)
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.h"), h.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "probe")
	if out, err := exec.Command(gcc, "-I", dir, "-o", bin, "testdata/probe.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	out, err := exec.Command(bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]int64{}
	sc := bufio.NewScanner(bytes.NewReader(out))
	for sc.Scan() {
		name, text, _ := strings.Cut(sc.Text(), " ")
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		values[name] = v
	}
	return values
}

func TestLayoutAgreesWithHeader(t *testing.T) {
	rows := layoutRows(t, "layout.go")
	if len(rows) < 100 {
		t.Fatalf("only %d constants found in layout.go", len(rows))
	}
	// Rooms must hold the structures of this header with something to spare.
	rows["port_attr"] = layoutRow{expr: "sizeof(struct ibv_port_attr)"}
	rows["device_attr"] = layoutRow{expr: "sizeof(struct ibv_device_attr)"}
	got := compiled(t, rows)
	if got["port_attr"] > roomPortAttr || got["device_attr"] > roomDeviceAttr {
		t.Errorf("port_attr has %d bytes in a room of %d, device_attr %d in %d",
			got["port_attr"], roomPortAttr, got["device_attr"], roomDeviceAttr)
	}
	delete(rows, "port_attr")
	delete(rows, "device_attr")
	delete(got, "port_attr")
	delete(got, "device_attr")
	want := map[string]int64{}
	for name, row := range rows {
		want[name] = row.value
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("header (-) and layout.go (+) differ:\n%s", diff)
	}
}

// The comparison must see a wrong offset and a constant without a C expression's value.
func TestLayoutComparisonSeesAWrongOffset(t *testing.T) {
	file := filepath.Join(t.TempDir(), "layout.go")
	src := "package ibv\n\ntype offset uintptr\n\nconst (\n" +
		"\toffRight offset = 40 // offsetof(struct ibv_mr, rkey)\n" +
		"\toffWrong offset = 44 // offsetof(struct ibv_mr, rkey)\n)\n"
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	rows := layoutRows(t, file)
	got := compiled(t, rows)
	if got["offRight"] != rows["offRight"].value {
		t.Errorf("offRight: header %d, file %d", got["offRight"], rows["offRight"].value)
	}
	if got["offWrong"] == rows["offWrong"].value {
		t.Error("a wrong offset compares equal")
	}
}

func TestReadMaps(t *testing.T) {
	text := "00400000-00401000 r--p 00000000 08:01 1 /usr/bin/x\n" +
		"00401000-00402000 r-xp 00001000 08:01 1 /usr/bin/x y\n" +
		"nonsense\n" +
		"7f0000000000-7f0000001000 rw-p 00000000 00:00 0\n"
	maps, err := readMaps(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(maps) != 3 {
		t.Fatalf("%d mappings, want 3", len(maps))
	}
	if m, ok := find(maps, 0x401fff); !ok || !m.exec || m.path != "/usr/bin/x y" {
		t.Errorf("0x401fff: %+v, %v", m, ok)
	}
	if m, ok := find(maps, 0x400000); !ok || m.exec {
		t.Errorf("0x400000: %+v, %v", m, ok)
	}
	if _, ok := find(maps, 0x402000); ok {
		t.Error("0x402000 is in no mapping")
	}
}

func TestMTUBytes(t *testing.T) {
	for m, want := range map[MTU]int{MTU256: 256, MTU1024: 1024, MTU4096: 4096, 0: 0, 6: 0} {
		if got := m.Bytes(); got != want {
			t.Errorf("MTU(%d).Bytes() = %d, want %d", m, got, want)
		}
	}
}

func TestWCStatusNames(t *testing.T) {
	if got := WCRetryExcErr.String(); got != "transport retry counter exceeded (IBV_WC_RETRY_EXC_ERR)" {
		t.Error(got)
	}
	if got := WCGeneralErr.String(); !strings.Contains(got, "IBV_WC_GENERAL_ERR") {
		t.Error(got)
	}
	if got := WCStatus(99).String(); got != "status 99" {
		t.Error(got)
	}
}
