package detect

import (
	"context"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// Libraries reads the verbs libraries alone, for who is about to start a program and cannot wait for the rest.
// Which packages the copies are of is not told.
func Libraries(ctx context.Context, r host.Reader) facts.Userspace {
	p := probe{ctx: ctx, r: r, told: r.Told()}
	return p.userspace(p.arch()).Userspace
}
