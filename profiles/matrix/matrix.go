// Package matrix holds what is documented of RDMA stacks: releases and what they were seen to support,
// the hardware that each still serves, kernels that they build on or break on, how they are packaged.
// The YAML files beside it are what people read and extend; each group names its source. Nothing here
// is derived: a row that is missing is no evidence, neither for nor against.
package matrix

// Matrix is the whole of it. The order of each list is that of the files, which are read by name.
type Matrix struct {
	Branches []Branch        `json:"branches,omitempty"`
	Releases []Release       `json:"releases,omitempty"`
	Cards    []CardRule      `json:"cards,omitempty"`
	Builds   []Build         `json:"builds,omitempty"`
	Kernels  []DistroKernel  `json:"kernels,omitempty"`
	KMP      []KMP           `json:"kmp,omitempty"`
	Layouts  []Layout        `json:"layouts,omitempty"`
	Inbox    []InboxRelease  `json:"inbox,omitempty"`
	Roles    []Role          `json:"roles,omitempty"`
	Options  []KernelOption  `json:"kernel_options,omitempty"`
	Dropped  []DroppedDevice `json:"dropped_devices,omitempty"`
	Foreign  []ForeignVendor `json:"foreign_vendors,omitempty"`
	Holdings []Holding       `json:"holdings,omitempty"`
}

// Branch is a line of releases of one stack.
type Branch struct {
	Stack string `json:"stack"`
	// Name is the branch as versions start with it: "24.10" of mlnx-ofed, "2.9" of doca-ofed.
	Name  string `json:"name"`
	Title string `json:"title,omitempty"` // "2024 LTS"
	LTS   bool   `json:"lts"`
	// Versions are the constraints (any of them) that a release of the branch meets.
	Versions []string `json:"versions"`
	// Start, EndStated and EndComputed are days or months, "2024-10". EndComputed is start plus the
	// vendor's stated three years: our arithmetic where no page states a date.
	Start       string `json:"start,omitempty"`
	EndStated   string `json:"end_stated,omitempty"`
	EndComputed string `json:"end_computed,omitempty"`
	// NeverChosen says why no plan chooses the branch by itself; empty for the others.
	NeverChosen string   `json:"never_chosen,omitempty"`
	Note        string   `json:"note,omitempty"`
	Source      []string `json:"source"`
}

// Release is one version of a stack.
type Release struct {
	Stack   string `json:"stack"` // mlnx-ofed, doca-ofed, rdma-core, ofed
	Version string `json:"version"`
	Branch  string `json:"branch"`
	// LTS is "yes", "no" or "unknown".
	LTS string `json:"lts"`
	// Date is the documented day or month, empty when no page tells one.
	Date string `json:"date,omitempty"`
	// Driver is the version of the drivers inside a DOCA release, DriverSure how well that is known:
	// stated, inferred or branch-only.
	Driver     string `json:"driver,omitempty"`
	DriverSure string `json:"driver_sure,omitempty"`
	// Modules is how kernel modules come: "prebuilt-or-dkms" (rpm prebuilt, deb DKMS) or "dkms".
	Modules string `json:"modules,omitempty"`
	// Cards are the generations in its hardware table; empty when no table was seen. CardsSure is
	// "listed", "carried" (from another drop of the branch) or "assumed".
	Cards     []string `json:"cards,omitempty"`
	CardsSure string   `json:"cards_sure,omitempty"`
	// Profiles are the vendor's package sets that the release has (doca-ofed, doca-roce, ...).
	Profiles []string `json:"profiles,omitempty"`
	// Builds are build numbers in the vendor's file names (doca-host_2.9.0-129000-24.10-...).
	Builds []string `json:"builds,omitempty"`
	// Firmware is by generation; FirmwareSure is "bundled" or "tested".
	Firmware     map[string]string `json:"firmware,omitempty"`
	FirmwareSure string            `json:"firmware_sure,omitempty"`
	// PrivateABI and Providers are of rdma-core: NN of IBVERBS_PRIVATE_NN, and the user-space drivers.
	PrivateABI int      `json:"private_abi,omitempty"`
	Providers  []string `json:"providers,omitempty"`
	// Complete says that the whole table of systems was seen, so that a missing row is a no.
	Complete bool `json:"complete,omitempty"`
	// CompleteFor are ids of distributions for which that holds although the rest of the table was
	// not seen.
	CompleteFor []string `json:"complete_for,omitempty"`
	// Withdrawn says why the release is never chosen by itself (source only, special build).
	Withdrawn string   `json:"withdrawn,omitempty"`
	Rows      []Row    `json:"rows,omitempty"`
	Notes     []string `json:"notes,omitempty"`
	Source    []string `json:"source"`
}

// Evidence is what kind of text a row comes from, the strongest first.
type Evidence string

// The kinds of evidence.
const (
	// DocumentedTable is a row of a vendor's support page, or named as added by release notes.
	DocumentedTable Evidence = "documented-table"
	// DriverContainer is a system for which the vendor builds its driver container; Kernels are those
	// with prebuilt modules.
	DriverContainer Evidence = "driver-container"
	// ThirdParty is another product's support matrix that pairs system and branch.
	ThirdParty Evidence = "third-party"
	// BundleName is a bundle, package or repository path of that name in public text: it exists.
	BundleName Evidence = "bundle-name"
	// Tested is a system on which others report tests (DPDK).
	Tested Evidence = "tested"
)

// Row is one system that a release is known with.
type Row struct {
	Evidence Evidence `json:"evidence"`
	// ID and VersionID are of os-release, lower case; SLES service packs are "15.4"; "kernel_org" is a
	// kernel without a distribution.
	ID        string `json:"id"`
	VersionID string `json:"version_id"`
	// Covers are the ids of rebuilds that the row names as well.
	Covers []string `json:"covers,omitempty"`
	Arch   string   `json:"arch,omitempty"` // uname -m; empty when not told
	// Kernel is the default kernel of the table; Kernels those with prebuilt modules.
	Kernel  string   `json:"kernel,omitempty"`
	Kernels []string `json:"kernels,omitempty"`
	// Model is the vendor's word, "primary" or "community"; empty when the table has no such column.
	Model string `json:"model,omitempty"`
	// Label is how the vendor's files and paths name the system: rhel9.4, ubuntu2204.
	Label  string `json:"label,omitempty"`
	Note   string `json:"note,omitempty"`
	Source string `json:"source,omitempty"` // empty: the release's
}

// CardRule says which releases of a stack serve a generation of cards. It overrules a release's own
// list. A PCI id in a driver's table is not support, so nothing here comes from one.
type CardRule struct {
	Stack string `json:"stack"`
	Card  string `json:"card"`
	// Allowed are version constraints; a release that meets any of them serves the card, no other
	// does. Empty: no release does.
	Allowed []string `json:"allowed,omitempty"`
	// Arch limits the rule's releases to architectures (the special build 2.9.0_CX8).
	Arch []string `json:"arch,omitempty"`
	// Recommended is the branch for the card where several are allowed.
	Recommended string   `json:"recommended,omitempty"`
	Text        string   `json:"text"`
	Source      []string `json:"source"`
}

// Build is what is known of building or loading a release on kernels beyond its tables.
type Build struct {
	ID    string `json:"id"`
	Stack string `json:"stack"`
	// Versions are constraints on the release, any of them; empty means all.
	Versions []string `json:"versions,omitempty"`
	// Distros limits the entry to "ID VERSION_ID" pairs or ids.
	Distros []string `json:"distros,omitempty"`
	// Kernels are constraints on the kernel's leading digits (5.14.0.687), any of them; KernelNames are
	// regular expressions on the whole release. Except are whole releases that are known to differ.
	Kernels     []string `json:"kernels,omitempty"`
	KernelNames []string `json:"kernel_names,omitempty"`
	Except      []string `json:"except,omitempty"`
	// Works is whether it builds and loads.
	Works bool `json:"works"`
	// Optional says that only optional modules fail (mlnx-nvme, mlnx-nfsrdma).
	Optional   bool     `json:"optional,omitempty"`
	Text       string   `json:"text"`
	Workaround string   `json:"workaround,omitempty"`
	Confidence string   `json:"confidence,omitempty"` // high, medium, low
	Source     []string `json:"source"`
}

// DistroKernel is a kernel that a distribution's release is known with.
type DistroKernel struct {
	ID        string `json:"id"`
	VersionID string `json:"version_id"`
	// Kind is ga (the first of the release), hwe, default (what vendor tables print) or uek.
	Kind   string `json:"kind"`
	Kernel string `json:"kernel"`
	Note   string `json:"note,omitempty"`
	Source string `json:"source"`
}

// KMP says which kernels the vendor's prebuilt module packages accept on a system.
type KMP struct {
	Label string `json:"label"` // of the installer: rhel8.4, sles15sp3
	// Kernel is a regular expression on uname -r; empty when Disabled or NotChecked.
	Kernel     string   `json:"kernel,omitempty"`
	Disabled   bool     `json:"disabled,omitempty"`    // the installer makes no KMP there
	NotChecked bool     `json:"not_checked,omitempty"` // the installer has no name test there
	Source     []string `json:"source"`
}

// Layout is how a vendor stack is packaged and what it replaces.
type Layout struct {
	Stack string `json:"stack"`
	// Versions are constraints on the releases of this layout, any of them; empty means all.
	Versions []string `json:"versions,omitempty"`
	// Family is debian, rhel, suse, or empty for all.
	Family string `json:"family,omitempty"`
	// Repository is the public address with {version}, {label} and {arch}; Label is how {label} is made
	// of id and version: "id+minor" (rhel9.4, ubuntu22.04), "id+major" (rhel9).
	Repository string `json:"repository,omitempty"`
	Label      string `json:"label,omitempty"`
	// Bundle is the file name of the bundle or local repository package, with the same words.
	Bundle    string   `json:"bundle,omitempty"`
	Keys      []Key    `json:"keys,omitempty"`
	Meta      []string `json:"meta,omitempty"`      // packages to ask for, the usual one first
	UserOnly  []string `json:"user_only,omitempty"` // the same without kernel modules
	Needs     []string `json:"needs,omitempty"`     // packages to build modules: dkms, gcc, ...
	Replaces  []string `json:"replaces,omitempty"`  // packages of the distribution and of older releases that go
	Keeps     []string `json:"keeps,omitempty"`     // never removed
	Modules   []string `json:"modules,omitempty"`   // kernel modules of the distribution that it replaces
	Adds      []string `json:"adds,omitempty"`      // modules that only it has
	Services  []string `json:"services,omitempty"`  // openibd.service, ...
	Drops     []string `json:"drops,omitempty"`     // user-space providers that are lost: efa, mlx4
	DiskMB    int      `json:"disk_mb,omitempty"`   // an estimate of what is installed, 10^6 bytes
	Firmware  string   `json:"firmware,omitempty"`  // package that updates firmware; never asked for
	Notes     []string `json:"notes,omitempty"`
	Source    []string `json:"source"`
	Conflicts []string `json:"conflicts,omitempty"` // packages of another origin that must not be mixed in
}

// Key is a signing key of a vendor.
type Key struct {
	File string `json:"file"`
	// Fingerprint is 40 hex digits; empty when the key's body was not seen.
	Fingerprint string `json:"fingerprint,omitempty"`
	URL         string `json:"url,omitempty"`
	// Kind is "packages" (OpenPGP) or "modules" (X.509, Secure Boot).
	Kind string `json:"kind"`
	Note string `json:"note,omitempty"`
}

// InboxRelease is what a distribution's release ships itself.
type InboxRelease struct {
	ID         string `json:"id"`
	VersionID  string `json:"version_id"`
	Kernel     string `json:"kernel,omitempty"`
	RDMACore   string `json:"rdma_core,omitempty"`
	PrivateABI int    `json:"private_abi,omitempty"`
	// Present and Absent are kernel modules that its generic kernel is known to have or lack.
	Present []string `json:"present,omitempty"`
	Absent  []string `json:"absent,omitempty"`
	// Flavour limits the entry to a kernel flavour ("cloud-amd64", "aws"); empty is the generic one.
	Flavour string `json:"flavour,omitempty"`
	// Sure is "measured", "seen" or "inferred".
	Sure   string   `json:"sure"`
	Note   string   `json:"note,omitempty"`
	Source []string `json:"source"`
}

// Role maps a part of the stack to the package names of each family.
type Role struct {
	Role   string              `json:"role"`
	Names  map[string][]string `json:"names"` // debian, rhel, suse
	Note   string              `json:"note,omitempty"`
	Source []string            `json:"source"`
}

// KernelOption is a kernel configuration option that decides about a stack.
type KernelOption struct {
	Option string   `json:"option"` // without CONFIG_
	Module string   `json:"module"`
	Need   string   `json:"need"` // who needs it: inbox, soft, vendor (must be m or n, not y), ...
	Text   string   `json:"text"`
	Source []string `json:"source"`
}

// DroppedDevice is a PCI id that a distribution's kernel no longer binds.
type DroppedDevice struct {
	Driver  string   `json:"driver"`
	Devices []string `json:"devices"` // four hex digits
	Distros []string `json:"distros"` // "ID MAJOR" or ids with a constraint: "rhel 8"
	Text    string   `json:"text"`
	Remedy  string   `json:"remedy"`
	Source  []string `json:"source"`
}

// ForeignVendor is another maker of RDMA cards: what they need instead.
type ForeignVendor struct {
	Vendor   string   `json:"vendor"` // PCI vendor id
	Name     string   `json:"name"`
	Driver   string   `json:"driver"`
	Provider string   `json:"provider,omitempty"`
	Needs    string   `json:"needs"` // one sentence: what to install instead
	Source   []string `json:"source"`
}

// Holding is what a repository or bundle at hand really holds: the evidence of status "present",
// recorded by "rdmactl matrix import".
type Holding struct {
	Stack     string `json:"stack"`
	Version   string `json:"version"`
	ID        string `json:"id"`
	VersionID string `json:"version_id"` // may be a major version, as repositories from DOCA 3.2 on have it
	Arch      string `json:"arch"`
	// Kernels are the exact releases that it has modules for; DKMS says that it has sources to build.
	Kernels  []string         `json:"kernels,omitempty"`
	DKMS     bool             `json:"dkms,omitempty"`
	Packages []HoldingPackage `json:"packages,omitempty"`
	// Origin is the path or address it was read from, without credentials; Signed by which key.
	Origin string `json:"origin"`
	Signed string `json:"signed,omitempty"` // fingerprint of the key, empty when not signed
	Date   string `json:"date,omitempty"`   // when it was read, RFC 3339
}

// HoldingPackage is one package of a holding.
type HoldingPackage struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Arch    string `json:"arch"`
	Bytes   int64  `json:"bytes,omitempty"` // size of the file
}
