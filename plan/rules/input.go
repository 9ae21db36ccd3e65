package rules

import (
	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Asked is the part of a request that rules need.
type Asked struct {
	Named  bool
	Cards  []string
	Kernel string
	Netdev string
	Matrix *matrix.Index
	// Aside leaves what programs get by default alone: a build is only put beside it.
	Aside bool
	// Day is YYYY-MM-DD.
	Day, Method, Version string
}

// NewInput works out what the profile comes down to on this host.
func NewInput(f facts.Facts, p profiles.Profile, asked Asked) Input {
	in := Input{
		Facts: f, Profile: p, Named: asked.Named, Cards: asked.Cards, Kernel: asked.Kernel,
		Matrix: asked.Matrix, Day: asked.Day, Method: asked.Method, Version: asked.Version, Aside: asked.Aside,
	}
	in.Facts.Kernel.Arch.Value = machineName(in.Facts.Kernel.Arch.Value)
	in.Packages = wantedPackages(f, p)
	in.Modules = wantedModules(in)
	in.Packages = withModulePackages(in)
	in.Netdev = chooseNetdev(in, asked.Netdev)
	return in
}

// Running says that the facts are about a running system, so that modules can be loaded and units
// started now. A root directory, or a kernel that is not booted, is changed for its next boot. A
// kernel that nothing tells is taken for the running one.
func (in Input) Running() bool {
	if in.Facts.Origin == "root" || in.OtherKernel() {
		return false
	}
	return in.Facts.Kernel.Running || !in.Facts.Kernel.Release.IsKnown()
}

// inContainer says that the kernel is not this host's to judge.
func (in Input) inContainer() bool { return in.Facts.Platform.Container.Or(false) }

// targetKernel is the release of the kernel that is planned for, with what told it; empty when nothing
// did.
func (in Input) targetKernel() (release, source string) {
	if in.OtherKernel() {
		return in.Kernel, "--kernel"
	}
	return in.Facts.Kernel.Release.Or(""), in.Facts.Kernel.Release.Source
}

// OtherKernel says that the target kernel is not the one that the facts are about.
func (in Input) OtherKernel() bool {
	return in.Kernel != "" && in.Kernel != in.Facts.Kernel.Release.Or("")
}
