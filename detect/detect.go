// Package detect reads one host into facts.Facts.
//
// It is given a host.Reader and nothing else, so it cannot change what it looks at. It never loads
// libibverbs and, on a live host, never asks a program that opens the RDMA netlink socket or the
// verbs library: either makes the kernel load ib_core. sysfs tells the same; the text of such
// programs is taken only from recorded evidence.
//
// Detection does not fail as a whole: each field says whether it is known, absent or unknown, and
// what told it.
package detect

import (
	"context"
	"sync"
	"time"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// Host reads the facts of one host. Independent questions run at the same time; the answer does not
// depend on their order.
func Host(ctx context.Context, r host.Reader) facts.Facts {
	return HostWithKernel(ctx, r, "")
}

// HostWithKernel reads the facts of a host with another kernel than the running one: its
// configuration, headers and modules on disk. Empty is the running one.
func HostWithKernel(ctx context.Context, r host.Reader, release string) facts.Facts {
	p := probe{ctx: ctx, r: r, told: r.Told(), kernelAsked: release}
	f := facts.Facts{Schema: facts.Schema, Origin: p.told.Kind}
	if p.told.IsImage() {
		f.Origin = "root"
	}
	if now := r.Now(); now.IsZero() {
		f.RecordedAt = facts.Field[string]{Source: "clock"}
	} else {
		f.RecordedAt = facts.Is(now.UTC().Format(time.RFC3339), "clock")
	}
	f.Host = p.hostName()
	arch := p.arch()

	var wg sync.WaitGroup
	// What runs programs goes first: they are waited for while sysfs is read here.
	wg.Go(func() {
		f.Distro = p.distro()
		f.Packages = p.packages(f.Distro)
	})
	wg.Go(func() { f.Services = p.services() })
	wg.Go(func() { f.Storage = p.storage() })
	wg.Go(func() { f.Tools = p.tools() })
	wg.Go(func() {
		f.Platform = p.platform()
		f.SecureBoot = p.secureBoot(f.Platform.Container)
	})
	var addresses addressTable
	wg.Go(func() { addresses = p.addresses() })
	wg.Go(func() {
		f.Kernel = p.kernel(arch)
		f.Modules = p.modules(f.Kernel)
	})
	var copies userspaceFiles
	wg.Go(func() { copies = p.userspace(arch) })

	hw := p.hardware()
	f.Nodes = p.nodes()
	f.Memlock = p.memlock()
	f.Naming = p.naming()
	f.Managed = p.managed()
	wg.Wait()

	f.Netdevs = p.withUppers(withAddresses(hw.netdevs, addresses))
	f.PCI, f.RDMA = hw.pci, withSoftwareDrivers(hw.rdma, f.Modules.Loaded)
	f.Modules.VendorSymbols = p.vendorSymbols(arch)
	f.Modules.DKMS = withOrigins(f.Modules.DKMS, f.Packages, f.Distro)
	if p.evidence() {
		f.RDMA = withNamedDrivers(f.RDMA)
	}
	f.Access = p.access(f.Netdevs, f.Platform.Container)
	f.Userspace = copies.owned(f.Packages)
	p.describeWanted(&f)
	p.complete(&f)
	return f
}

// complete adds what follows from several facts.
func (p probe) complete(f *facts.Facts) {
	k := &f.Kernel
	if release, ok := k.Release.Get(); ok {
		k.HeadersPackage = headersPackage(release, f.Distro)
		fill(&k.Headers, p.containerHeaders(k.HeadersPackage))
	} else {
		k.HeadersPackage = facts.Field[string]{Source: k.Release.Source}
	}
	f.Packages.Vendor = withDKMS(f.Packages.Vendor, f.Modules.DKMS)
	k.Kernels = p.kernels(k.Installed, f.Distro)
	k.PageSize, k.Compiler = p.pageSize(*k), p.compilerOf(*k)
	toolsOfPackages(f.Tools, f.Packages.Installed)
	k.InitramfsTool = initramfsTool(f.Tools, f.Distro)
	f.SecureBoot.SigEnforce = enforcedBy(f.SecureBoot.SigEnforce, *k)
	f.Uses, f.UsesUnknown = p.uses(*f)
}
