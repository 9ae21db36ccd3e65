package detect

import (
	"errors"
	"io/fs"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/udev"
)

// naming finds the policy for names of RDMA devices.
func (p probe) naming() facts.Naming {
	const source = "60-rdma-persistent-naming.rules"
	n, err := udev.NamingPolicy(p.r)
	switch {
	case err == nil && len(n.Unread) > 0 && !p.evidence():
		// A stronger file could say otherwise.
		return facts.Naming{Rule: facts.Failed[string](n.File, n.Unread[0]), Policy: facts.Failed[string](n.File, n.Unread[0])}
	case err == nil:
		return facts.Naming{Rule: facts.Is(n.File, n.File), Policy: facts.Is(n.Policy, n.File)}
	case errors.Is(err, fs.ErrNotExist):
		// Without the rule nothing renames (rdma-core before v24, or none).
		return facts.Naming{Rule: facts.None[string](source), Policy: facts.Is("NAME_KERNEL", source)}
	}
	return facts.Naming{Rule: field("", source, err), Policy: field("", source, err)}
}
