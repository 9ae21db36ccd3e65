package kmod

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

func TestWhyAModuleIsNotFound(t *testing.T) {
	ctx := context.Background()
	_, err := Find(ctx, treeHost(t), "", "siw")
	if want := "cannot find module siw of kernel 6.1.0: file does not exist"; err == nil || err.Error() != want || !errors.Is(err, fs.ErrNotExist) || errors.Is(err, host.ErrUnknown) {
		t.Errorf("%v, want %q", err, want)
	}
	silent := host.NewReplay(&host.Evidence{Commands: map[string]host.Answer{"uname -r": {Stdout: "6.1.0\n"}}})
	_, err = Find(ctx, silent, "", "siw")
	if want := "cannot find module siw of kernel 6.1.0: " + host.ErrUnknown.Error(); err == nil || err.Error() != want || !errors.Is(err, host.ErrUnknown) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want %q", err, want)
	}
	_, err = Read(ctx, silent, "6.1.0", "siw")
	var path *fs.PathError
	if want := "cannot read modinfo of siw: "; err == nil || !errors.As(err, &path) || err.Error() != want+path.Error() || !errors.Is(err, host.ErrUnknown) {
		t.Errorf("%v, want %q and %v", err, want, path)
	}
	_, err = Find(ctx, silent, "../x", "siw")
	if want := `cannot find module siw: kernel release "../x" is not a directory name`; err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestReadFound: who has the answer of Find gets what Read says.
func TestReadFound(t *testing.T) {
	ctx := context.Background()
	typed := host.NewReplay(&host.Evidence{Commands: map[string]host.Answer{
		"uname -r":          {Stdout: "6.1.0\n"},
		"modinfo mlx5_core": {Stdout: "filename: /lib/modules/6.1.0/updates/mlx5_core.ko\nversion: 24.10\n"},
		"modinfo mlx4_core": {Stdout: "filename: /lib/modules/5.9.0/updates/mlx4_core.ko\nversion: 24.10\n"},
		"modinfo ib_core":   {Stdout: "name: ib_core\nfilename: (builtin)\n"},
	}})
	read := 0
	for _, name := range []string{"mlx5_core", "mlx4_core", "ib_core", "siw"} {
		want, wantErr := Read(ctx, typed, "6.1.0", name)
		loc, findErr := Find(ctx, typed, "6.1.0", name)
		got, err := ReadFound(ctx, typed, "6.1.0", name, loc, findErr)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Errorf("%s: %v, want %v\n%s", name, err, wantErr, diff)
		}
		if err == nil {
			read++
		}
	}
	if read != 2 {
		t.Errorf("%d texts were read, want those of mlx5_core and ib_core", read)
	}
}
