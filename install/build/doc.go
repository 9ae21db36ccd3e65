// Package build compiles rdma-core from source into a directory of its own.
//
// Make gathers a source, verifies it before anything of it is unpacked or run, builds it as a user without
// rights, and leaves a staged tree with a manifest. Place moves that tree to its prefix, Remove takes it away
// again, Inspect says what became of it. Placed.Activate computes the files by which the host uses it.
//
// All of it works on a live host and in an image alike. The caller holds the host's lock: two builds of one
// request must not run at once. Every function can be called again after it was killed at any point.
package build

import "github.com/rdmactl/rdmactl/host"

// Host is what a build needs of a host: host.Live and host.Rooted are such.
type Host interface {
	host.Writer
	host.DirOpener
}
