package kmod

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

const depText = `kernel/drivers/infiniband/core/ib_core.ko.xz:
kernel/drivers/infiniband/core/ib_uverbs.ko.xz: kernel/drivers/infiniband/core/ib_core.ko.xz
kernel/drivers/infiniband/core/rdma_ucm.ko.xz: kernel/drivers/infiniband/core/ib_uverbs.ko.xz kernel/drivers/infiniband/core/ib_core.ko.xz
updates/dkms/mlx5_core.ko: updates/dkms/mlxfw.ko
extra/mlnx-ofa_kernel/mlx5_ib.ko:
updates/nvme-rdma.ko:
weak-updates/knem.ko:
`

func treeHost(t *testing.T) *fakeHost {
	return &fakeHost{t: t, files: map[string]string{
		"/proc/sys/kernel/osrelease":         "6.1.0\n",
		"/lib/modules/6.1.0/modules.dep":     depText,
		"/lib/modules/6.1.0/modules.builtin": "kernel/drivers/net/ethernet/mellanox/mlx4/mlx4-core.ko\n",
		"/lib/modules/6.1.0/modules.alias":   "# comment\nalias xprtrdma rpcrdma\nalias svcrdma rpcrdma\nalias rdma-link-* rdma_rxe\n",
	}}
}

func TestFind(t *testing.T) {
	const dir = "/lib/modules/6.1.0/"
	for name, want := range map[string]Location{
		"ib_core":   {Name: "ib_core", Path: dir + "kernel/drivers/infiniband/core/ib_core.ko.xz", Origin: Inbox},
		"mlx5-core": {Name: "mlx5_core", Path: dir + "updates/dkms/mlx5_core.ko", Origin: DKMS},
		"mlx5_ib":   {Name: "mlx5_ib", Path: dir + "extra/mlnx-ofa_kernel/mlx5_ib.ko", Origin: Extra},
		"nvme_rdma": {Name: "nvme_rdma", Path: dir + "updates/nvme-rdma.ko", Origin: Updates},
		"knem":      {Name: "knem", Path: dir + "weak-updates/knem.ko", Origin: WeakUpdates},
		"mlx4_core": {Name: "mlx4_core", Builtin: true, Origin: Builtin},
	} {
		got, err := Find(context.Background(), treeHost(t), "", name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestFindAbsentIsNotUnknown(t *testing.T) {
	ctx := context.Background()
	if _, err := Find(ctx, treeHost(t), "", "siw"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not in modules.dep nor built in: %v, want not exist", err)
	}
	if _, err := Find(ctx, treeHost(t), "9.9.9", "ib_core"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("kernel without a module tree: %v, want not exist", err)
	}
	silent := &fakeHost{t: t, silent: true, commands: map[string]host.Result{
		"uname -r": {Stdout: "6.1.0\n"}, "modinfo -k 6.1.0 -n ib_core": {Stdout: ""},
	}}
	if _, err := Find(ctx, silent, "", "ib_core"); !errors.Is(err, host.ErrUnknown) {
		t.Errorf("modules.builtin not told: %v, want unknown", err)
	}
	for _, kernel := range []string{"..", "../../etc", "-k", "a b"} {
		if _, err := Find(ctx, treeHost(t), kernel, "ib_core"); err == nil {
			t.Errorf("kernel %q was accepted", kernel)
		}
	}
	bare := &fakeHost{t: t, silent: true, notInstalled: true}
	if _, err := Find(ctx, bare, "6.1.0", "ib_core"); !errors.Is(err, host.ErrUnknown) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("recorded host without modinfo: %v, want unknown", err)
	}
	denied := treeHost(t)
	denied.denied = map[string]bool{"/lib/modules/6.1.0/modules.dep": true}
	if _, err := Find(ctx, denied, "", "ib_core"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("modules.dep may not be read: %v, want permission", err)
	}
}

func TestFindFromCommands(t *testing.T) {
	const file = "/lib/modules/6.1.0/kernel/x/ib_core.ko"
	for name, commands := range map[string]map[string]host.Result{
		"modinfo -n":    {"modinfo -k 6.1.0 -n ib_core": {Stdout: file + "\n"}},
		"typed modinfo": {"modinfo ib_core": {Stdout: "filename:       " + file + "\n"}},
	} {
		got, err := Find(context.Background(), &fakeHost{t: t, silent: true, commands: commands}, "6.1.0", "ib_core")
		if err != nil || got.Path != file || got.Origin != Inbox {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	h := &fakeHost{t: t, silent: true, commands: map[string]host.Result{"modinfo -k 6.1.0 -n a": {Stdout: "name:           a\n(builtin)\n"}}}
	if got, err := Find(context.Background(), h, "6.1.0", "a"); err != nil || !got.Builtin {
		t.Errorf("built in: %+v, %v", got, err)
	}
}

func TestResolve(t *testing.T) {
	ctx := context.Background()
	for alias, want := range map[string][]string{"xprtrdma": {"rpcrdma"}, "rdma-link-rxe": {"rdma_rxe"}, "ib_core": {}} {
		got, err := Resolve(ctx, treeHost(t), "", alias)
		if err != nil {
			t.Errorf("%s: %v", alias, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", alias, diff)
		}
	}
	if _, err := Resolve(ctx, &fakeHost{t: t, silent: true}, "6.1.0", "xprtrdma"); !errors.Is(err, host.ErrUnknown) {
		t.Errorf("silence: %v, want unknown", err)
	}
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"ib_core", "nvme-rdma", "8021q"} {
		if err := CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "-r", "a b", "a\nb", "../x", "a/b", "a;b", string(make([]byte, 60))} {
		if CheckName(bad) == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
