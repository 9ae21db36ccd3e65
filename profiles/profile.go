// Package profiles holds the intents that rdmactl knows, as YAML that people can read and extend, and
// the matrix of what works with what. Files are embedded; parsing is strict and names
// file:line:column.
package profiles

// Profile is one intent: which stacks may serve it and what it sets up. It is resolved: what it takes
// over from the profile that it extends is in it.
type Profile struct {
	APIVersion string `yaml:"apiVersion" json:"apiVersion"`
	Kind       string `yaml:"kind" json:"kind"`
	Name       string `yaml:"name" json:"name"`
	Summary    string `yaml:"summary" json:"summary"`
	// Prefer are the stacks that may serve the profile, best first.
	Prefer []string `yaml:"prefer" json:"prefer"`
	// Branches says which releases of the vendor stacks in Prefer may be chosen: "lts", those of
	// long-term branches, or "all".
	Branches string `yaml:"branches" json:"branches"`
	// Hardware is "needed" or "optional": whether a host without an RDMA card is refused.
	Hardware string `yaml:"hardware" json:"hardware"`
	// Packages are the packages by package family ("debian", "rhel", "suse"), each with a role. PackagesFor
	// picks those of one host and stack.
	Packages map[string][]Package `yaml:"packages" json:"packages"`
	// Vendor says which of its package sets a vendor stack is asked for.
	Vendor Vendor `yaml:"vendor" json:"vendor,omitzero"`
	// Build says how the stack rdma-core is built; nil where the profile says nothing of it.
	Build    *Build    `yaml:"build" json:"build,omitempty"`
	Modules  Modules   `yaml:"modules" json:"modules"`
	Memlock  Memlock   `yaml:"memlock" json:"memlock"`
	Udev     Udev      `yaml:"udev" json:"udev"`
	SoftRoCE *SoftRoCE `yaml:"soft_roce" json:"soft_roce,omitempty"`
	// Asks are what a person has to decide or to know, shown with the plan.
	Asks []Ask `yaml:"asks" json:"asks,omitempty"`
}

// Package is one package of a profile.
type Package struct {
	// Name may depend on the release, since Debian 13 and Ubuntu 24.04 renamed libraries (t64).
	Name string `yaml:"name" json:"name"`
	Why  string `yaml:"why" json:"why"`
	// Releases limits the entry to releases that meet one of these conditions, such as "debian 13" or
	// "ubuntu >=24.04"; empty means all. Except are those that it is not for all the same.
	Releases []string `yaml:"releases" json:"releases,omitempty"`
	Except   []string `yaml:"except" json:"except,omitempty"`
	Optional bool     `yaml:"optional" json:"optional,omitempty"`
	// EveryStack marks a package that belongs to no RDMA stack and is wanted on each (ethtool). The others
	// are of the distribution's own stack, and a vendor stack brings its own.
	EveryStack bool `yaml:"every_stack" json:"every_stack,omitempty"`
}

// Vendor says which package sets a vendor stack is asked for.
type Vendor struct {
	// Sets are the vendor's package sets by stack, best first: the first that the release has is meant.
	Sets map[string][]string `yaml:"sets" json:"sets,omitempty"`
	// UserSpaceOnly leaves the distribution's kernel modules in place.
	UserSpaceOnly bool `yaml:"user_space_only" json:"user_space_only,omitempty"`
}

// Build says how rdma-core is built from source.
type Build struct {
	// Version is a release of rdma-core, or "newest".
	Version string `yaml:"version" json:"version"`
	// Prefix is a directory of its own below /opt or /usr/local; {version} as a part of it stands for the
	// version that is built. PrefixFor fills it in.
	Prefix string `yaml:"prefix" json:"prefix"`
	// CMake are options by name, without -D; {prefix} in a value stands for Prefix.
	CMake map[string]string `yaml:"cmake" json:"cmake,omitempty"`
	// Packages are those that the build needs, by package family.
	Packages map[string][]Package `yaml:"packages" json:"packages,omitempty"`
}

// Modules are the kernel modules that a profile loads now and at boot.
type Modules struct {
	Load []Module `yaml:"load" json:"load"`
	// Softdeps are written to /etc/modprobe.d: "softdep NAME pre: ...".
	Softdeps []Softdep `yaml:"softdeps" json:"softdeps,omitempty"`
	// Options are written to /etc/modprobe.d, by module.
	Options map[string]string `yaml:"options" json:"options,omitempty"`
}

// Module is one module to load.
type Module struct {
	Name string `yaml:"name" json:"name"`
	Why  string `yaml:"why" json:"why"`
	// Optional modules may be missing from the kernel (cloud kernels lack ULPs).
	Optional bool `yaml:"optional" json:"optional,omitempty"`
}

// Softdep is one soft dependency of modprobe.d(5).
type Softdep struct {
	Module string   `yaml:"module" json:"module"`
	Pre    []string `yaml:"pre" json:"pre"`
	Why    string   `yaml:"why" json:"why"`
}

// Memlock says who may pin memory without limit.
type Memlock struct {
	// Groups get an entry in /etc/security/limits.d; "rdma" by default.
	Groups []string `yaml:"groups" json:"groups"`
	// Everyone is the risk that a profile must name: any user may pin all memory.
	Everyone bool `yaml:"everyone" json:"everyone,omitempty"`
	// Units get a drop-in with LimitMEMLOCK=infinity where they are present.
	Units []string `yaml:"units" json:"units"`
}

// Udev says what a profile changes in device permissions. The zero value changes nothing.
type Udev struct {
	// UmadGroup gives the umad nodes to a group, with the risk printed: who writes umad can speak to
	// the whole fabric.
	UmadGroup string `yaml:"umad_group" json:"umad_group,omitempty"`
}

// SoftRoCE is a Soft-RoCE device that exists again after each boot.
type SoftRoCE struct {
	Device string `yaml:"device" json:"device"` // such as rxe0
	// Netdev is "auto" (the default route's, else the only Ethernet one that is up) or a name.
	Netdev string `yaml:"netdev" json:"netdev"`
}

// Ask is what the plan shows beside its steps.
type Ask struct {
	ID string `yaml:"id" json:"id"`
	// Kind is "question", which somebody has to answer before the fabric works, or "remark".
	Kind string `yaml:"kind" json:"kind"`
	Text string `yaml:"text" json:"text"`
}
