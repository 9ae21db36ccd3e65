package verbs

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/host"
)

const (
	sysDevices = "/sys/class/infiniband"
	sysUverbs  = "/sys/class/infiniband_verbs"
	devNodes   = "/dev/infiniband"
)

// hostDevice is a device as the kernel shows it, without libibverbs.
type hostDevice struct {
	name     string
	nodeType string // such as "1: CA"
	uverbs   string // such as uverbs0; empty when ib_uverbs has none for it
	ports    []hostPort
}

// hostPort is a port as the kernel shows it. Empty strings are facts that were not told.
type hostPort struct {
	num       int
	state     string // such as "4: ACTIVE"
	physState string
	rate      string
	linkLayer string
	lid       uint16
	gids      []hostGID
	pkeys     []hostPKey
}

// hostPKey is one entry of a port's P_Key table: a partition and the port's membership in it.
type hostPKey struct {
	index int
	value uint16
}

// full says that the port is a full member. Limited members cannot talk to each other, so not to
// themselves either.
func (k hostPKey) full() bool { return k.value&0x8000 != 0 }

// hostGID is one entry of a port's GID table that holds an address.
type hostGID struct {
	index  int
	addr   netip.Addr
	kind   string // "RoCE v2", "IB/RoCE v1"; empty when the kernel is too old to tell (before 4.5)
	netdev string
}

// readInventory reads every RDMA device from sysfs. Without the class directory there are none.
func readInventory(r host.Reader) ([]hostDevice, error) {
	names, err := r.ReadDir(sysDevices)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", sysDevices, err)
	}
	uverbs, err := readUverbs(r)
	if err != nil {
		return nil, err
	}
	devices := make([]hostDevice, 0, len(names))
	for _, name := range names {
		d := hostDevice{name: name, uverbs: uverbs[name], nodeType: attribute(r, sysDevices, name, "node_type")}
		nums, err := r.ReadDir(path.Join(sysDevices, name, "ports"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot list ports of %s: %w", name, err)
		}
		for _, n := range nums {
			num, err := strconv.Atoi(n)
			if err != nil {
				continue
			}
			d.ports = append(d.ports, readPort(r, name, num))
		}
		slices.SortFunc(d.ports, func(a, b hostPort) int { return a.num - b.num })
		devices = append(devices, d)
	}
	return devices, nil
}

// readUverbs returns the name of the verbs node of each device.
func readUverbs(r host.Reader) (map[string]string, error) {
	nodes := map[string]string{}
	names, err := r.ReadDir(sysUverbs)
	if errors.Is(err, fs.ErrNotExist) {
		return nodes, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", sysUverbs, err)
	}
	for _, n := range names {
		if dev := attribute(r, sysUverbs, n, "ibdev"); dev != "" {
			nodes[dev] = n
		}
	}
	return nodes, nil
}

// attribute returns a sysfs attribute without its newline. The kernel answers many of them with an
// error when they have no value, so any error is an empty value.
func attribute(r host.Reader, elem ...string) string {
	b, err := r.ReadFile(path.Join(elem...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func readPort(r host.Reader, device string, num int) hostPort {
	dir := path.Join(sysDevices, device, "ports", strconv.Itoa(num))
	p := hostPort{
		num:       num,
		state:     attribute(r, dir, "state"),
		physState: attribute(r, dir, "phys_state"),
		rate:      attribute(r, dir, "rate"),
		linkLayer: attribute(r, dir, "link_layer"),
	}
	if lid, err := strconv.ParseUint(attribute(r, dir, "lid"), 0, 16); err == nil {
		p.lid = uint16(lid)
	}
	p.pkeys = readPKeys(r, path.Join(dir, "pkeys"))
	indexes, err := r.ReadDir(path.Join(dir, "gids"))
	if err != nil {
		return p // no GID is known: the port cannot be tested, and the check says so
	}
	for _, name := range indexes {
		index, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		addr, err := netip.ParseAddr(attribute(r, dir, "gids", name))
		if err != nil || addr.IsUnspecified() {
			continue
		}
		p.gids = append(p.gids, hostGID{
			index:  index,
			addr:   addr,
			kind:   attribute(r, dir, "gid_attrs/types", name),
			netdev: attribute(r, dir, "gid_attrs/ndevs", name),
		})
	}
	slices.SortFunc(p.gids, func(a, b hostGID) int { return a.index - b.index })
	return p
}

// readPKeys returns the entries that name a partition, by index; none when the table is not told.
func readPKeys(r host.Reader, dir string) []hostPKey {
	names, err := r.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []hostPKey
	for _, name := range names {
		index, err1 := strconv.Atoi(name)
		value, err2 := strconv.ParseUint(attribute(r, dir, name), 0, 16)
		if err1 == nil && err2 == nil && value&0x7fff != 0 {
			out = append(out, hostPKey{index: index, value: uint16(value)})
		}
	}
	slices.SortFunc(out, func(a, b hostPKey) int { return a.index - b.index })
	return out
}

// stateName is "ACTIVE" of "4: ACTIVE".
func (p hostPort) stateName() string {
	_, name, ok := strings.Cut(p.state, ": ")
	if !ok {
		return p.state
	}
	return name
}

func (d hostDevice) node() string {
	if d.uverbs == "" {
		return ""
	}
	return path.Join(devNodes, d.uverbs)
}

// iwarp says that the device is an RDMA NIC that connects through TCP.
func (d hostDevice) iwarp() bool { return strings.HasPrefix(d.nodeType, "4:") }
