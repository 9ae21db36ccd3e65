package kmod

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

const procText = `mlx5_ib 458752 0 - Live 0x0000000000000000 (OE)
ib_uverbs 180224 2 rdma_ucm,mlx5_ib, Live 0xffffffffc0a00000
ib_core 430080 3 ib_uverbs,mlx5_ib, Live 0x0000000000000000
unix 1 - [permanent], Loading 0x0000000000000000
`

func TestParseProcModulesAndLsmod(t *testing.T) {
	want := []Module{
		{Name: "mlx5_ib", Size: 458752, State: "Live", Taint: "OE"},
		{Name: "ib_uverbs", Size: 180224, Refs: 2, UsedBy: []string{"rdma_ucm", "mlx5_ib"}, State: "Live"},
		{Name: "ib_core", Size: 430080, Refs: 3, UsedBy: []string{"ib_uverbs", "mlx5_ib"}, State: "Live"},
		{Name: "unix", Size: 1, Refs: -1, Permanent: true, State: "Loading"},
	}
	got, err := ParseProcModules(procText)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("/proc/modules (-want +got):\n%s", diff)
	}
	for i := range want {
		want[i].State, want[i].Taint = "", ""
	}
	got, err = ParseLsmod("Module                  Size  Used by\nmlx5_ib 458752 0\nib_uverbs 180224 2 rdma_ucm,mlx5_ib\nib_core 430080  3 ib_uverbs,mlx5_ib\nunix 1 -2 [permanent]\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lsmod (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"ib_core\n", "ib_core x 0 - Live 0x0\n", "ib_core 1 y - Live 0x0\n", "ib/core 1 0 - Live 0x0\n"} {
		if _, err := ParseProcModules(bad); err == nil {
			t.Errorf("ParseProcModules(%q) has no error", bad)
		}
		if _, err := ParseLsmod(bad); err == nil {
			t.Errorf("ParseLsmod(%q) has no error", bad)
		}
	}
}

func TestIsLoadedCountsHolders(t *testing.T) {
	list := []Module{{Name: "ib_uverbs", UsedBy: []string{"rdma_ucm"}}}
	if !IsLoaded(list, "ib-uverbs") || !IsLoaded(list, "rdma_ucm") || IsLoaded(list, "mlx5_ib") {
		t.Error("a module, its holder, and one that is not there are told apart wrongly")
	}
}

func TestLoadedSources(t *testing.T) {
	ctx := context.Background()
	typed := &fakeHost{t: t, silent: true, commands: map[string]host.Result{"lsmod": {Stdout: "Module Size Used by\nsiw 1 0\n"}}}
	if got, err := Loaded(ctx, typed); err != nil || !IsLoaded(got, "siw") {
		t.Errorf("lsmod: %v, %v", got, err)
	}
	header := &fakeHost{t: t, silent: true, commands: map[string]host.Result{"lsmod": {Stdout: "Module Size Used by\n"}}}
	if got, err := Loaded(ctx, header); err != nil || len(got) != 0 {
		t.Errorf("empty lsmod: %v, %v", got, err)
	}
	if _, err := Loaded(ctx, &fakeHost{t: t, silent: true}); !errors.Is(err, host.ErrUnknown) {
		t.Errorf("silence: %v, want unknown", err)
	}
	if _, err := Loaded(ctx, &fakeHost{t: t}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("kernel without modules: %v, want not exist", err)
	}
}

func TestSysModule(t *testing.T) {
	h := &fakeHost{t: t, files: map[string]string{"/sys/module/nvme_rdma/srcversion": "ABC\n"}}
	if v, err := SrcVersion(h, "nvme-rdma"); err != nil || v != "ABC" {
		t.Errorf("srcversion %q, %v", v, err)
	}
	if _, err := LoadedVersion(h, "nvme-rdma"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("version: %v, want not exist", err)
	}
	for name, want := range map[string]bool{"nvme-rdma": true, "siw": false} {
		if got, err := Present(h, name); err != nil || got != want {
			t.Errorf("Present(%s) = %v, %v", name, got, err)
		}
	}
	if _, err := Present(&fakeHost{t: t, silent: true}, "siw"); !errors.Is(err, host.ErrUnknown) {
		t.Errorf("silence: %v, want unknown", err)
	}
}
