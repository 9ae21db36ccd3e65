package udev

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

func TestDeviceNodes(t *testing.T) {
	char := fs.ModeDevice | fs.ModeCharDevice
	h := &fakeHost{
		t: t,
		nodes: map[string]host.FileInfo{
			"/dev/infiniband/uverbs0":  {Mode: char | 0o666, Owner: "root", Group: "root"},
			"/dev/infiniband/uverbs1":  {Mode: char | 0o600, GID: 110},
			"/dev/infiniband/umad0":    {Mode: char | 0o600, Owner: "root", Group: "root"},
			"/dev/infiniband/issm0":    {},
			"/dev/infiniband/rdma_cm":  {Mode: char | 0o666, Owner: "root", Group: "root"},
			"/dev/infiniband/by-ibdev": {Mode: fs.ModeDir | 0o755},
		},
		files: map[string]string{
			"/sys/class/infiniband_verbs/uverbs0/ibdev": "mlx5_0\n",
			"/sys/class/infiniband_mad/umad0/ibdev":     "mlx5_0\n",
			"/sys/class/infiniband_mad/umad0/port":      "1\n",
			"/sys/class/infiniband_mad/issm0/ibdev":     "mlx5_0\n",
			"/sys/class/infiniband_mad/issm0/port":      "x\n",
		},
		denied: map[string]bool{"/dev/infiniband/issm0": true},
	}
	nodes, err := DeviceNodes(h)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Node{}
	for _, n := range nodes {
		got[n.Path] = n
	}
	if len(got) != 5 {
		t.Fatalf("nodes %v", got)
	}
	u0 := got["/dev/infiniband/uverbs0"]
	want := Node{
		Path: u0.Path, Class: Uverbs, Mode: facts.Is(fs.FileMode(0o666), u0.Path),
		Owner: facts.Is("root", u0.Path), Group: facts.Is("root", u0.Path),
		IBDev: facts.Is("mlx5_0", "/sys/class/infiniband_verbs/uverbs0/ibdev"), Port: facts.None[int]("uverbs0"),
	}
	if diff := cmp.Diff(want, u0); diff != "" {
		t.Errorf("uverbs0 (-want +got):\n%s", diff)
	}
	if u1 := got["/dev/infiniband/uverbs1"]; u1.Mode.Value != 0o600 || u1.Group.Value != "110" || !u1.IBDev.IsAbsent() {
		t.Errorf("uverbs1: %+v", u1)
	}
	if m := got["/dev/infiniband/umad0"]; m.Class != Umad || m.Port.Value != 1 || m.IBDev.Value != "mlx5_0" {
		t.Errorf("umad0: %+v", m)
	}
	if i := got["/dev/infiniband/issm0"]; !i.Mode.IsUnknown() || i.Mode.Error == "" || !i.Port.IsUnknown() || i.Port.Error == "" {
		t.Errorf("issm0 may not be looked at and has a bad port: %+v", i)
	}
	if c := got["/dev/infiniband/rdma_cm"]; c.Class != RDMACM || !c.IBDev.IsAbsent() {
		t.Errorf("rdma_cm: %+v", c)
	}
}

func TestDeviceNodesAbsentIsNotUnknown(t *testing.T) {
	if _, err := DeviceNodes(&fakeHost{t: t}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if _, err := DeviceNodes(&fakeHost{t: t, silent: true}); !errors.Is(err, host.ErrUnknown) {
		t.Errorf("silence: %v", err)
	}
	h := &fakeHost{t: t, silent: true, nodes: map[string]host.FileInfo{"/dev/infiniband/uverbs0": {}}}
	nodes, err := DeviceNodes(h)
	if err != nil || !nodes[0].IBDev.IsUnknown() {
		t.Errorf("sysfs not told: %+v, %v", nodes, err)
	}
}

func TestClassOf(t *testing.T) {
	for name, want := range map[string]Class{
		"uverbs0": Uverbs, "uverbs12": Uverbs, "umad3": Umad, "issm0": Issm, "rdma_cm": RDMACM,
		"uverbs": Other, "uverbsX": Other, "ucm0": Other, "": Other,
	} {
		if got := ClassOf(name); got != want {
			t.Errorf("ClassOf(%q) = %s, want %s", name, got, want)
		}
	}
}
