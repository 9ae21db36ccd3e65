package udev

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

const nodesDir = "/dev/infiniband"

// Node is one node in /dev/infiniband.
type Node struct {
	Path  string
	Class Class
	// Mode has the permission bits. Absent: a dangling link or a node that went away.
	Mode  facts.Field[fs.FileMode]
	Owner facts.Field[string] // name, or the number where the source has no name
	Group facts.Field[string]
	// IBDev is the RDMA device, such as mlx5_0; absent for rdma_cm, which serves all of them.
	IBDev facts.Field[string]
	// Port is the port that umad and issm are about, from 1; absent for the others.
	Port facts.Field[int]
}

// DeviceNodes lists /dev/infiniband. The error is fs.ErrNotExist where that directory does not
// exist (no module has made a node), host.ErrUnknown where nothing tells.
func DeviceNodes(r host.Reader) ([]Node, error) {
	names, err := r.ReadDir(nodesDir)
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", nodesDir, err)
	}
	nodes := []Node{}
	for _, name := range names {
		n := Node{Path: path.Join(nodesDir, name), Class: ClassOf(name)}
		info, err := r.Stat(n.Path)
		switch {
		case err != nil:
			n.Mode = failed[fs.FileMode](n.Path, err)
			n.Owner = failed[string](n.Path, err)
			n.Group = failed[string](n.Path, err)
		case info.Mode.IsDir():
			continue // by-ibdev and by-path, links to the nodes
		default:
			n.Mode = facts.Is(info.Mode.Perm(), n.Path)
			n.Owner = facts.Is(nameOrNumber(info.Owner, info.UID), n.Path)
			n.Group = facts.Is(nameOrNumber(info.Group, info.GID), n.Path)
		}
		n.IBDev, n.Port = deviceOf(r, name, n.Class)
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// deviceOf reads /sys/class/infiniband_verbs/uverbsN/ibdev and /sys/class/infiniband_mad/umadN/{ibdev,port}.
func deviceOf(r host.Reader, name string, class Class) (facts.Field[string], facts.Field[int]) {
	switch class {
	case Uverbs:
		return attr(r, "/sys/class/infiniband_verbs/"+name+"/ibdev"), facts.None[int](name)
	case Umad, Issm:
		dir := "/sys/class/infiniband_mad/" + name
		text := attr(r, dir+"/port")
		port := facts.Field[int]{State: text.State, Source: text.Source, Error: text.Error}
		if value, known := text.Get(); known {
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return attr(r, dir+"/ibdev"), facts.Failed[int](text.Source, fmt.Errorf("port %q is not a number from 1", value))
			}
			port.Value = n
		}
		return attr(r, dir+"/ibdev"), port
	case RDMACM:
		return facts.None[string](name), facts.None[int](name)
	}
	return facts.Field[string]{}, facts.Field[int]{}
}

func attr(r host.Reader, file string) facts.Field[string] {
	text, err := r.ReadFile(file)
	if err != nil {
		return failed[string](file, err)
	}
	return facts.Is(strings.TrimSpace(string(text)), file)
}

// failed tells absence, silence and failure apart.
func failed[T any](source string, err error) facts.Field[T] {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return facts.None[T](source)
	case errors.Is(err, host.ErrUnknown):
		return facts.Field[T]{Source: source, State: facts.Unknown}
	}
	return facts.Failed[T](source, err)
}

func nameOrNumber(name string, id uint32) string {
	if name != "" {
		return name
	}
	return strconv.FormatUint(uint64(id), 10)
}
