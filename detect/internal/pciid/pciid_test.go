package pciid

import (
	"fmt"
	"go/format"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func load(t testing.TB) *Table {
	t.Helper()
	table, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestLookup(t *testing.T) {
	table := load(t)
	tests := []struct {
		vendor, device string
		generations    string
		vf             bool
		rdma, provider string
		role           Role
	}{
		{"15b3", "1003", "connectx-3", false, "mlx4_ib", "mlx4", NIC},
		{"15b3", "1004", "connectx-3 connectx-3-pro", true, "mlx4_ib", "mlx4", NIC},
		{"15b3", "1010", "connectx-3 connectx-3-pro", false, "mlx4_ib", "mlx4", NIC},
		{"15b3", "6732", "connectx-1 connectx-2", false, "mlx4_ib", "mlx4", NIC},
		{"15b3", "1011", "connect-ib", false, "mlx5_ib", "mlx5", NIC},
		{"15b3", "1018", "connectx-5", true, "mlx5_ib", "mlx5", NIC},
		{"15b3", "101e", "connectx-6-dx connectx-6-lx connectx-7 connectx-8 connectx-9 connectx-10 bluefield-2 bluefield-3 bluefield-4", true, "mlx5_ib", "mlx5", NIC},
		{"15b3", "a2dc", "bluefield-3", false, "mlx5_ib", "mlx5", NIC},
		{"15b3", "a2d9", "bluefield-3-lx", false, "", "", NIC},
		{"15b3", "020d", "connectx-5", false, "", "", FlashRecovery},
		{"15b3", "0191", "connectx-1", false, "", "", FlashRecovery},
		{"15b3", "2100", "", false, "", "", Auxiliary},
		{"1d0f", "efa2", "", false, "efa", "efa", NIC},
	}
	for _, tt := range tests {
		got, ok := table.Lookup(tt.vendor, tt.device)
		if !ok {
			t.Errorf("%s:%s is not in the table", tt.vendor, tt.device)
			continue
		}
		if g := strings.Join(got.Generations, " "); g != tt.generations || got.VF != tt.vf || got.RDMADriver != tt.rdma || got.Provider != tt.provider || got.Role != tt.role {
			t.Errorf("%s:%s is %+v", tt.vendor, tt.device, got)
		}
	}
	for _, id := range []string{"1001", "efa2", "", "101E"} {
		if got, ok := table.Lookup("15b3", id); ok {
			t.Errorf("15b3:%s is %+v, want none", id, got)
		}
	}
}

func TestEveryNICOfTheVendorHasAGeneration(t *testing.T) {
	nics := 0
	for key, fn := range ofYAML(t).byID {
		if fn.Vendor != Mellanox || fn.Role != NIC {
			continue
		}
		nics++
		if len(fn.Generations) == 0 || fn.Name == "" {
			t.Errorf("%s has no generation or no name: %+v", key, fn)
		}
	}
	if nics != 54 {
		t.Errorf("%d network functions, want 54", nics)
	}
}

func TestByName(t *testing.T) {
	table := load(t)
	if fn, ok := table.ByName(Mellanox, "MT27800 Family [ConnectX-5]"); !ok || fn.Device != "1017" {
		t.Errorf("got %+v %v", fn, ok)
	}
	if fn, ok := table.ByName(Mellanox, "mlx4 family, reserved id"); ok {
		t.Errorf("a name of many ids gave %+v", fn)
	}
}

func TestByFirmware(t *testing.T) {
	table := load(t)
	for version, want := range map[string]string{"22.38.1900": "connectx-6-dx", "12.28.1002": "connectx-4", "2.42.5000": "", "22": "", "": ""} {
		if got, ok := table.ByFirmware(version); got != want || ok != (want != "") {
			t.Errorf("ByFirmware(%q) = %q, %v", version, got, ok)
		}
	}
	for _, generation := range ofYAML(t).byFirmware {
		if !slices.Contains(table.Generations(), generation) {
			t.Errorf("firmware of the unknown generation %s", generation)
		}
	}
}

func TestFaultyTables(t *testing.T) {
	head := "apiVersion: rdmactl/v1\nkind: PCIFunctions\ngroups:\n"
	for text, want := range map[string]string{
		head + "- {vendor: \"15b3\", source: [a], functions: [{ids: [\"1017\"]}, {ids: [\"1017\"]}]}\n": "twice",
		head + "- {vendor: \"15b3\", functions: [{ids: [\"1017\"]}]}\n":                                 "no source",
		head + "- {vendor: \"15b3\", source: [a], functions: [{ids: [\"101E\"]}]}\n":                    "hex digits",
		head + "- {vendor: 1414, source: [a], functions: []}\n":                                         "quote it",
		"apiVersion: rdmactl/v1\nkind: Profile\n":                                                       "not rdmactl/v1 PCIFunctions",
	} {
		f, err := parse("t.yaml", []byte(text))
		if err == nil {
			_, err = sourceOf("t.yaml", f)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// TestGenerated keeps ids_gen.go in step with ids.yaml; RDMACTL_UPDATE=1 writes it anew.
func TestGenerated(t *testing.T) {
	data, err := os.ReadFile("ids.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse("ids.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	src, err := sourceOf("ids.yaml", f)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString("// Code generated from ids.yaml by RDMACTL_UPDATE=1 go test; DO NOT EDIT.\n\npackage pciid\n\n")
	writeByID(&text, f, src)
	writeSwitch(&text, "byName", "key", src.byName, func(fn Function) string { return fn.Device })
	writeSwitch(&text, "byFirmware", "major", src.byFirmware, func(generation string) string { return generation })
	fmt.Fprintf(&text, "func generations() []string {\nreturn %#v\n}\n", src.generations)
	want, err := format.Source([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("RDMACTL_UPDATE") != "" {
		if err := os.WriteFile("ids_gen.go", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("ids_gen.go")
	if err != nil || string(got) != string(want) {
		t.Errorf("ids_gen.go is not of ids.yaml (%v); RDMACTL_UPDATE=1 go test ./detect/internal/pciid writes it", err)
	}
}

// writeByID writes each function on a line of its own, in the order of the YAML, so that a change of it is a
// change of as many lines.
func writeByID(text *strings.Builder, f file, src *source) {
	var vendors []string
	for _, g := range f.Groups {
		if !slices.Contains(vendors, g.Vendor) {
			vendors = append(vendors, g.Vendor)
		}
	}
	text.WriteString("func byID(vendor, device string) (Function, bool) {\nswitch vendor {\n")
	for _, vendor := range vendors {
		fmt.Fprintf(text, "case %q:\nswitch device {\n", vendor)
		for _, g := range f.Groups {
			for _, fn := range g.Functions {
				if g.Vendor != vendor {
					continue
				}
				out := fmt.Sprintf("%#v", src.byID[vendor+":"+fn.IDs[0]])
				out = strings.ReplaceAll(out, "pciid.", "")
				out = strings.Replace(out, fmt.Sprintf("Device:%q", fn.IDs[0]), "Device: device", 1)
				fmt.Fprintf(text, "case %s:\nreturn %s, true\n", strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", fn.IDs), "[]string{"), "}"), out)
			}
		}
		text.WriteString("}\n")
	}
	text.WriteString("}\nreturn Function{}, false\n}\n\n")
}

// writeSwitch writes a function that looks a text up.
func writeSwitch[V any](text *strings.Builder, name, of string, values map[string]V, value func(V) string) {
	fmt.Fprintf(text, "func %s(%s string) (string, bool) {\nswitch %s {\n", name, of, of)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(text, "case %q:\nreturn %q, true\n", key, value(values[key]))
	}
	text.WriteString("}\nreturn \"\", false\n}\n\n")
}

// ofYAML is the table as ids.yaml has it.
func ofYAML(t *testing.T) *source {
	t.Helper()
	data, err := os.ReadFile("ids.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse("ids.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	src, err := sourceOf("ids.yaml", f)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestCodeAnswersAsYAML asks the code for all that the YAML has, and for what is beside it.
func TestCodeAnswersAsYAML(t *testing.T) {
	src, table := ofYAML(t), load(t)
	found := 0
	for vendor := range map[string]bool{"15b3": true, "1d0f": true, "14e4": true, "8086": true, "02c9": true, "": true} {
		for n := range 1 << 16 {
			device := fmt.Sprintf("%04x", n)
			want, listed := src.byID[vendor+":"+device]
			got, ok := table.Lookup(vendor, device)
			if ok != listed || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s:%s is %+v %v, want %+v %v", vendor, device, got, ok, want, listed)
			}
			if ok {
				found++
			}
		}
	}
	for key, want := range src.byID {
		if got, ok := table.Lookup(want.Vendor, want.Device); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v %v", key, got, ok)
		}
	}
	for key, want := range src.byName {
		if got, ok := table.ByName(want.Vendor, strings.ToUpper(want.Name)); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v %v", key, got, ok)
		}
		if got, ok := table.ByName("02c9", want.Name); ok {
			t.Errorf("%s of another vendor is %+v", want.Name, got)
		}
		if got, ok := table.ByName(want.Vendor, want.Name+" "); ok {
			t.Errorf("%s is %+v", want.Name+" ", got)
		}
	}
	for major, want := range src.byFirmware {
		if got, ok := table.ByFirmware(major + ".1"); got != want || !ok {
			t.Errorf("firmware %s is of %s %v", major, got, ok)
		}
	}
	if got := table.Generations(); !slices.Equal(got, src.generations) {
		t.Errorf("generations %v, want %v", got, src.generations)
	}
	if found < 60 {
		t.Errorf("%d functions were found", found)
	}
}

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := load(b).Lookup("15b3", "1017"); !ok {
			b.Fatal("it is not there")
		}
	}
}
