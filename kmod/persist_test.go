package kmod

import "testing"

func TestPersistFile(t *testing.T) {
	got, err := PersistFile([]string{"ib_uverbs", "rdma_ucm", "ib-uverbs"}, "Written by rdmactl.\nProfile soft\\")
	if err != nil {
		t.Fatal(err)
	}
	if want := "# Written by rdmactl.\n# Profile soft\nib_uverbs\nrdma_ucm\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, bad := range [][]string{nil, {"a\nb"}, {"a b"}, {"#a"}, {""}} {
		if got, err := PersistFile(bad, ""); err == nil {
			t.Errorf("PersistFile(%q) = %q", bad, got)
		}
	}
	if got, err := PersistFile([]string{"a"}, "x\ry"); err == nil {
		t.Errorf("control character in the header: %q", got)
	}
}

func TestOptionsFile(t *testing.T) {
	got, err := OptionsFile([]Options{{"ib_core", []string{"netns_mode=0"}}, {"mlx4_core", []string{"num_vfs=4,4", "note=a b", "flag"}}}, "h")
	if err != nil {
		t.Fatal(err)
	}
	want := "# h\noptions ib_core netns_mode=0\noptions mlx4_core num_vfs=4,4 note=\"a b\" flag\n"
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if d := ParseModprobe("f", string(got)); len(d) != 2 || d[1].Module != "mlx4_core" {
		t.Errorf("read back: %+v", d)
	}
	for _, bad := range []Options{
		{"ib_core", nil},
		{"ib core", []string{"a=1"}},
		{"ib_core", []string{"a=1\ninstall b /bin/sh"}},
		{"ib_core", []string{"a=1\\"}},
		{"ib_core", []string{`a="`}},
		{"ib_core", []string{"a b=1"}},
		{"ib_core", []string{"=1"}},
	} {
		if got, err := OptionsFile([]Options{bad}, ""); err == nil {
			t.Errorf("OptionsFile(%q) = %q", bad, got)
		}
	}
}
