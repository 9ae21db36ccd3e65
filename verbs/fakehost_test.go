package verbs

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/rdmactl/rdmactl/host"
)

// fakeHost is a host made of files in memory. What it does not implement of host.Reader panics when
// called.
type fakeHost struct {
	host.Reader
	files map[string]string
	modes map[string]host.FileInfo
}

func (h fakeHost) ReadFile(p string) ([]byte, error) {
	text, ok := h.files[p]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

func (h fakeHost) ReadDir(p string) ([]string, error) {
	var names []string
	for f := range h.files {
		rest, ok := strings.CutPrefix(f, p+"/")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, "/")
		names = append(names, name)
	}
	if names == nil {
		return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Readlink says that no file is a link.
func (h fakeHost) Readlink(p string) (string, error) {
	if _, ok := h.files[p]; ok {
		return "", &fs.PathError{Op: "readlink", Path: p, Err: syscall.EINVAL}
	}
	return "", &fs.PathError{Op: "readlink", Path: p, Err: fs.ErrNotExist}
}

func (h fakeHost) Stat(p string) (host.FileInfo, error) {
	info, ok := h.modes[p]
	if !ok {
		return host.FileInfo{}, &fs.PathError{Op: "stat", Path: p, Err: fs.ErrNotExist}
	}
	return info, nil
}

// fakePort is what a port's sysfs directory says.
type fakePort struct {
	state, phys, rate, linkLayer, lid string
	gids                              []fakeGID
	pkeys                             []string
}

type fakeGID struct {
	index              int
	addr, kind, netdev string
}

var roceGIDs = []fakeGID{
	{0, "fe80:0000:0000:0000:5054:00ff:fe12:3456", typeRoCEv1, "eth0"},
	{1, "fe80:0000:0000:0000:5054:00ff:fe12:3456", typeRoCEv2, "eth0"},
	{2, "0000:0000:0000:0000:0000:ffff:0a09:0001", typeRoCEv1, "eth0"},
	{3, "0000:0000:0000:0000:0000:ffff:0a09:0001", typeRoCEv2, "eth0"},
	{4, "0000:0000:0000:0000:0000:0000:0000:0000", "", ""},
}

func activePort() fakePort {
	return fakePort{
		state: "4: ACTIVE", phys: "5: LinkUp", rate: "100 Gb/sec (4X EDR)",
		linkLayer: "Ethernet", lid: "0x0", gids: roceGIDs,
	}
}

func newFakeHost() fakeHost {
	h := fakeHost{files: map[string]string{}, modes: map[string]host.FileInfo{}}
	h.limits("unlimited", "0000000000000000")
	h.provider(34)
	return h
}

func (h fakeHost) limits(memlock, caps string) {
	h.files["/proc/self/limits"] = "Limit                     Soft Limit           Hard Limit           Units     \n" +
		fmt.Sprintf("Max locked memory         %-20s %-20s bytes     \n", memlock, memlock)
	h.files["/proc/self/status"] = "Name:\tworker\nCapEff:\t" + caps + "\n"
}

func (h fakeHost) provider(abi int) {
	h.files[fmt.Sprintf("/usr/lib64/libibverbs/librxe-rdmav%d.so", abi)] = ""
}

func (h fakeHost) device(name, uverbs string, ports ...fakePort) {
	dir := path.Join(sysDevices, name)
	h.files[path.Join(dir, "node_type")] = "1: CA\n"
	if uverbs != "" {
		h.files[path.Join(sysUverbs, uverbs, "ibdev")] = name + "\n"
		h.modes[path.Join(devNodes, uverbs)] = host.FileInfo{Mode: fs.ModeDevice | fs.ModeCharDevice | 0o600, Owner: "root", Group: "rdma"}
	}
	for i, p := range ports {
		port := path.Join(dir, "ports", strconv.Itoa(i+1))
		h.files[path.Join(port, "state")] = p.state + "\n"
		h.files[path.Join(port, "phys_state")] = p.phys + "\n"
		h.files[path.Join(port, "rate")] = p.rate + "\n"
		h.files[path.Join(port, "link_layer")] = p.linkLayer + "\n"
		h.files[path.Join(port, "lid")] = p.lid + "\n"
		for n, key := range p.pkeys {
			h.files[path.Join(port, "pkeys", strconv.Itoa(n))] = key + "\n"
		}
		for _, g := range p.gids {
			n := strconv.Itoa(g.index)
			h.files[path.Join(port, "gids", n)] = g.addr + "\n"
			if g.kind != "" {
				h.files[path.Join(port, "gid_attrs/types", n)] = g.kind + "\n"
				h.files[path.Join(port, "gid_attrs/ndevs", n)] = g.netdev + "\n"
			}
		}
	}
}
