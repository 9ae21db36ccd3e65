package pciid

import (
	"fmt"
	"go/format"
	"os"
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
	for key, fn := range load(t).byID {
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
	for _, generation := range table.byFirmware {
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
			_, err = tableOf("t.yaml", f)
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
	// Each function on a line of its own, so that a change of the YAML is a change of as many lines.
	plain := func(v any) string { return strings.ReplaceAll(fmt.Sprintf("%#v", v), "pciid.", "") }
	var text strings.Builder
	fmt.Fprintf(&text, "// Code generated from ids.yaml by RDMACTL_UPDATE=1 go test; DO NOT EDIT.\n\npackage pciid\n\n"+
		"func document() file {\nreturn file{\nAPIVersion: %q,\nKind: %q,\nFirmware: %s,\nGroups: []group{\n", f.APIVersion, f.Kind, plain(f.Firmware))
	for _, g := range f.Groups {
		functions := g.Functions
		g.Functions = nil
		head, ok := strings.CutSuffix(strings.TrimPrefix(plain(g), "group"), "[]function(nil)}")
		if !ok {
			t.Fatalf("a group's functions are not its last field: %s", plain(g))
		}
		text.WriteString(head + "[]function{\n")
		for _, fn := range functions {
			text.WriteString(strings.TrimPrefix(plain(fn), "function") + ",\n")
		}
		text.WriteString("}},\n")
	}
	text.WriteString("},\n}\n}\n")
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

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		load(b)
	}
}
