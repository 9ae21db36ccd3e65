package detect

import (
	"fmt"
	"io/fs"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/udev"
)

// nodes lists /dev/infiniband.
func (p probe) nodes() facts.Field[[]facts.DeviceNode] {
	const dir = "/dev/infiniband"
	if p.told.IsImage() {
		return facts.Field[[]facts.DeviceNode]{Source: dir} // /dev of an image says nothing
	}
	found, err := udev.DeviceNodes(p.r)
	if err != nil {
		return field[[]facts.DeviceNode](nil, dir, err)
	}
	var nodes []facts.DeviceNode
	for _, n := range found {
		mode := facts.Field[string]{State: n.Mode.State, Source: n.Mode.Source, Error: n.Mode.Error}
		owner, group := n.Owner, n.Group
		if bits, ok := n.Mode.Get(); ok {
			mode.Value = octal(bits)
			// A listing alone shows the name and not the permissions.
			if info, err := p.r.Stat(n.Path); err == nil && info.Mode&fs.ModeIrregular != 0 {
				mode = facts.Field[string]{Source: n.Path}
				owner, group = mode, mode
			}
		}
		nodes = append(nodes, facts.DeviceNode{Path: n.Path, Class: string(n.Class), Mode: mode, Owner: owner, Group: group, Ibdev: n.IBDev})
	}
	return list(nodes, dir)
}

func octal(mode fs.FileMode) string { return fmt.Sprintf("%04o", mode.Perm()) }
