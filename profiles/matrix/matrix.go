// Package matrix holds what is documented of RDMA stacks: releases and what they were seen to support,
// the hardware that each still serves, kernels that they build on or break on, how they are packaged.
// The YAML files beside it are what people read and extend; each group names its source. Nothing here
// is derived: a row that is missing is no evidence, neither for nor against.
package matrix

import "github.com/rdmactl/rdmactl/internal/strictyaml"

// Matrix is the whole of it. The order of each list is that of the files, which are read by name.
type Matrix struct {
	Branches    []Branch        `json:"branches,omitempty" yaml:"branches,omitempty"`
	Releases    []Release       `json:"releases,omitempty" yaml:"releases,omitempty"`
	Cards       []CardRule      `json:"cards,omitempty" yaml:"cards,omitempty"`
	CardDrivers []CardDriver    `json:"card_drivers,omitempty" yaml:"card_drivers,omitempty"`
	Builds      []Build         `json:"builds,omitempty" yaml:"builds,omitempty"`
	Kernels     []DistroKernel  `json:"kernels,omitempty" yaml:"kernels,omitempty"`
	KMP         []KMP           `json:"kmp,omitempty" yaml:"kmp,omitempty"`
	Layouts     []Layout        `json:"layouts,omitempty" yaml:"layouts,omitempty"`
	Inbox       []InboxRelease  `json:"inbox,omitempty" yaml:"inbox,omitempty"`
	Roles       []Role          `json:"roles,omitempty" yaml:"roles,omitempty"`
	Options     []KernelOption  `json:"kernel_options,omitempty" yaml:"kernel_options,omitempty"`
	Dropped     []DroppedDevice `json:"dropped_devices,omitempty" yaml:"dropped_devices,omitempty"`
	Foreign     []ForeignVendor `json:"foreign_vendors,omitempty" yaml:"foreign_vendors,omitempty"`
	LeftOut     []LeftOut       `json:"left_out,omitempty" yaml:"left_out,omitempty"`
	Holdings    []Holding       `json:"holdings,omitempty" yaml:"holdings,omitempty"`
	Costs       []Cost          `json:"costs,omitempty" yaml:"costs,omitempty"`
}

// Branch is a line of releases of one stack.
type Branch struct {
	Stack string `json:"stack" yaml:"stack"`
	// Name is the branch as versions start with it: "24.10" of mlnx-ofed, "2.9" of doca-ofed.
	Name  string `json:"name" yaml:"name"`
	Title string `json:"title,omitempty" yaml:"title,omitempty"` // "2024 LTS"
	LTS   bool   `json:"lts" yaml:"lts"`
	// Versions are the constraints (any of them) that a release of the branch meets.
	Versions []string `json:"versions" yaml:"versions"`
	// Start, EndStated and EndComputed are days or months, "2024-10". EndComputed is start plus the
	// vendor's stated three years: our arithmetic where no page states a date.
	Start       string `json:"start,omitempty" yaml:"start,omitempty"`
	EndStated   string `json:"end_stated,omitempty" yaml:"end_stated,omitempty"`
	EndComputed string `json:"end_computed,omitempty" yaml:"end_computed,omitempty"`
	// NeverChosen says why no plan chooses the branch by itself; empty for the others.
	NeverChosen string `json:"never_chosen,omitempty" yaml:"never_chosen,omitempty"`
	// Rows are of sources that name the branch and no release (matrices of other products). A
	// VersionID without a minor means that none was told.
	Rows   []Row    `json:"rows,omitempty" yaml:"rows,omitempty"`
	Note   string   `json:"note,omitempty" yaml:"note,omitempty"`
	Source []string `json:"source" yaml:"source"`
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
}

// Release is one version of a stack.
type Release struct {
	Stack   string `json:"stack" yaml:"stack"` // mlnx-ofed, doca-ofed, rdma-core, ofed
	Version string `json:"version" yaml:"version"`
	Branch  string `json:"branch" yaml:"branch"`
	// LTS is "yes", "no" or "unknown".
	LTS string `json:"lts" yaml:"lts"`
	// Date is the documented day or month, empty when no page tells one.
	Date string `json:"date,omitempty" yaml:"date,omitempty"`
	// Driver is the version of the drivers inside a DOCA release, DriverSure how well that is known:
	// stated, inferred or branch-only.
	Driver     string `json:"driver,omitempty" yaml:"driver,omitempty"`
	DriverSure string `json:"driver_sure,omitempty" yaml:"driver_sure,omitempty"`
	// OFEDInfo are versions that ofed_info was seen to print on hosts with the release, where that is
	// another one than Driver.
	OFEDInfo []string `json:"ofed_info,omitempty" yaml:"ofed_info,omitempty"`
	// Modules is how kernel modules come: "prebuilt-or-dkms" (rpm prebuilt, deb DKMS) or "dkms".
	Modules string `json:"modules,omitempty" yaml:"modules,omitempty"`
	// Cards are the generations in its hardware table; empty when no table was seen. CardsSure is
	// "listed", "carried" (from another drop of the branch) or "assumed".
	Cards     []string `json:"cards,omitempty" yaml:"cards,omitempty"`
	CardsSure string   `json:"cards_sure,omitempty" yaml:"cards_sure,omitempty"`
	// Profiles are the vendor's package sets that the release has (doca-ofed, doca-roce, ...).
	Profiles []string `json:"profiles,omitempty" yaml:"profiles,omitempty"`
	// Builds are build numbers in the vendor's file names (doca-host_2.9.0-129000-24.10-...).
	Builds []string `json:"builds,omitempty" yaml:"builds,omitempty"`
	// Firmware is by generation; FirmwareSure is "bundled" or "tested".
	Firmware     map[string]string `json:"firmware,omitempty" yaml:"firmware,omitempty"`
	FirmwareSure string            `json:"firmware_sure,omitempty" yaml:"firmware_sure,omitempty"`
	// PrivateABI and Providers are of rdma-core: NN of IBVERBS_PRIVATE_NN, and the user-space drivers.
	PrivateABI int      `json:"private_abi,omitempty" yaml:"private_abi,omitempty"`
	Providers  []string `json:"providers,omitempty" yaml:"providers,omitempty"`
	// Complete says that the whole table of systems was seen, so that a missing row is a no.
	Complete bool `json:"complete,omitempty" yaml:"complete,omitempty"`
	// CompleteFor are ids of distributions for which that holds although the rest of the table was
	// not seen.
	CompleteFor []string `json:"complete_for,omitempty" yaml:"complete_for,omitempty"`
	// Withdrawn says why the release is never chosen by itself (source only, special build).
	Withdrawn string `json:"withdrawn,omitempty" yaml:"withdrawn,omitempty"`
	// NoProduct says that nobody could ever install it: only its number or source was seen inside another
	// product. It is not planned when it is named either; Withdrawn says where it was seen.
	NoProduct bool  `json:"no_product,omitempty" yaml:"no_product,omitempty"`
	Rows      []Row `json:"rows,omitempty" yaml:"rows,omitempty"`
	// Doubtful are names of bundles that were seen and do not fit the release. They are no rows.
	Doubtful []Doubtful `json:"doubtful,omitempty" yaml:"doubtful,omitempty"`
	Notes    []string   `json:"notes,omitempty" yaml:"notes,omitempty"`
	Source   []string   `json:"source" yaml:"source"`
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
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
	Evidence Evidence `json:"evidence" yaml:"evidence"`
	// ID and VersionID are of os-release, lower case; SLES service packs are "15.4"; "kernel_org" is a
	// kernel without a distribution.
	ID        string `json:"id" yaml:"id"`
	VersionID string `json:"version_id" yaml:"version_id"`
	// Covers are the ids of rebuilds that the row names as well.
	Covers []string `json:"covers,omitempty" yaml:"covers,omitempty"`
	Arch   string   `json:"arch,omitempty" yaml:"arch,omitempty"` // uname -m; empty when not told
	// Kernel is the default kernel of the table; Kernels those with prebuilt modules.
	Kernel  string   `json:"kernel,omitempty" yaml:"kernel,omitempty"`
	Kernels []string `json:"kernels,omitempty" yaml:"kernels,omitempty"`
	// Model is the vendor's word, "primary" or "community"; empty when the table has no such column.
	Model string `json:"model,omitempty" yaml:"model,omitempty"`
	// Label is how the vendor's files and paths name the system: rhel9.4, ubuntu2204.
	Label  string `json:"label,omitempty" yaml:"label,omitempty"`
	Note   string `json:"note,omitempty" yaml:"note,omitempty"`
	Source string `json:"source,omitempty" yaml:"source,omitempty"` // empty: the release's
}

// Doubtful is the name of a bundle that is not believed, and why.
type Doubtful struct {
	Label string `json:"label" yaml:"label"`
	Why   string `json:"why" yaml:"why"`
}

// CardRule says which releases of a stack serve a generation of cards. It overrules a release's own
// list. A PCI id in a driver's table is not support, so nothing here comes from one.
type CardRule struct {
	Stack string `json:"stack" yaml:"stack"`
	Card  string `json:"card" yaml:"card"`
	// Allowed are version constraints; a release that meets any of them serves the card, no other
	// does. Empty: no release does.
	Allowed []string `json:"allowed,omitempty" yaml:"allowed,omitempty"`
	// Arch limits the rule's releases to architectures (the special build 2.9.0_CX8).
	Arch []string `json:"arch,omitempty" yaml:"arch,omitempty"`
	// Recommended is the branch for the card where several are allowed.
	Recommended string   `json:"recommended,omitempty" yaml:"recommended,omitempty"`
	Text        string   `json:"text" yaml:"text"`
	Source      []string `json:"source" yaml:"source"`
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
}

// Build is what is known of building or loading a release on kernels beyond its tables.
type Build struct {
	ID    string `json:"id" yaml:"id"`
	Stack string `json:"stack" yaml:"stack"`
	// Versions are constraints on the release, any of them; empty means all.
	Versions []string `json:"versions,omitempty" yaml:"versions,omitempty"`
	// Distros limits the entry to "ID VERSION_ID" pairs or ids.
	Distros []string `json:"distros,omitempty" yaml:"distros,omitempty"`
	// Kernels are constraints on the kernel's leading digits (5.14.0.687), any of them; KernelNames are
	// regular expressions on the whole release. Except are whole releases that are known to differ.
	Kernels     []string `json:"kernels,omitempty" yaml:"kernels,omitempty"`
	KernelNames []string `json:"kernel_names,omitempty" yaml:"kernel_names,omitempty"`
	Except      []string `json:"except,omitempty" yaml:"except,omitempty"`
	// Works is whether it builds and loads.
	Works bool `json:"works" yaml:"works"`
	// Optional says that only optional modules fail (mlnx-nvme, mlnx-nfsrdma).
	Optional   bool     `json:"optional,omitempty" yaml:"optional,omitempty"`
	Text       string   `json:"text" yaml:"text"`
	Workaround string   `json:"workaround,omitempty" yaml:"workaround,omitempty"`
	Confidence string   `json:"confidence,omitempty" yaml:"confidence,omitempty"` // high, medium, low
	Source     []string `json:"source" yaml:"source"`
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
}

// DistroKernel is a kernel that a distribution's release is known with.
type DistroKernel struct {
	ID        string `json:"id" yaml:"id"`
	VersionID string `json:"version_id" yaml:"version_id"`
	// Kind is ga (the first of the release), hwe, default (what vendor tables print), uek, or archive (what the
	// distribution's repository has as its default kernel on the day that Source tells).
	Kind   string `json:"kind" yaml:"kind"`
	Kernel string `json:"kernel" yaml:"kernel"`
	Note   string `json:"note,omitempty" yaml:"note,omitempty"`
	Source string `json:"source" yaml:"source"`
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
}

// KMP says which kernels the vendor's prebuilt module packages accept on a system.
type KMP struct {
	Label string `json:"label" yaml:"label"` // of the installer: rhel8.4, sles15sp3
	// Kernel is a regular expression on uname -r; empty when Disabled or NotChecked.
	Kernel     string   `json:"kernel,omitempty" yaml:"kernel,omitempty"`
	Disabled   bool     `json:"disabled,omitempty" yaml:"disabled,omitempty"`       // the installer makes no KMP there
	NotChecked bool     `json:"not_checked,omitempty" yaml:"not_checked,omitempty"` // the installer has no name test there
	Source     []string `json:"source" yaml:"source"`
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
}

// Layout is how a vendor stack is packaged and what it replaces.
type Layout struct {
	Stack string `json:"stack" yaml:"stack"`
	// Versions are constraints on the releases of this layout, any of them; empty means all.
	Versions []string `json:"versions,omitempty" yaml:"versions,omitempty"`
	// Family is debian, rhel, suse, or empty for all.
	Family string `json:"family,omitempty" yaml:"family,omitempty"`
	// Repository is the public address with {version}, {label} and {arch}; Label is how {label} is made
	// of id and version: "id+minor" (rhel9.4, ubuntu22.04), "id+major" (rhel9).
	Repository string `json:"repository,omitempty" yaml:"repository,omitempty"`
	Label      string `json:"label,omitempty" yaml:"label,omitempty"`
	// Bundle is the file name of the bundle or local repository package, with the same words.
	Bundle    string   `json:"bundle,omitempty" yaml:"bundle,omitempty"`
	Keys      []Key    `json:"keys,omitempty" yaml:"keys,omitempty"`
	Meta      []string `json:"meta,omitempty" yaml:"meta,omitempty"`           // packages to ask for, the usual one first
	UserOnly  []string `json:"user_only,omitempty" yaml:"user_only,omitempty"` // the same without kernel modules
	Needs     []string `json:"needs,omitempty" yaml:"needs,omitempty"`         // packages to build modules: dkms, gcc, ...
	Replaces  []string `json:"replaces,omitempty" yaml:"replaces,omitempty"`   // packages of the distribution and of older releases that go
	Keeps     []string `json:"keeps,omitempty" yaml:"keeps,omitempty"`         // never removed
	Modules   []string `json:"modules,omitempty" yaml:"modules,omitempty"`     // kernel modules of the distribution that it replaces
	Adds      []string `json:"adds,omitempty" yaml:"adds,omitempty"`           // modules that only it has
	Services  []string `json:"services,omitempty" yaml:"services,omitempty"`   // openibd.service, ...
	Leaves    []string `json:"leaves,omitempty" yaml:"leaves,omitempty"`       // files and directories that it leaves when its packages go
	Drops     []string `json:"drops,omitempty" yaml:"drops,omitempty"`         // user-space providers that are lost: efa, mlx4
	DiskMB    int      `json:"disk_mb,omitempty" yaml:"disk_mb,omitempty"`     // an estimate of what is installed, 10^6 bytes
	Firmware  string   `json:"firmware,omitempty" yaml:"firmware,omitempty"`   // package that updates firmware; never asked for
	Notes     []string `json:"notes,omitempty" yaml:"notes,omitempty"`
	Source    []string `json:"source" yaml:"source"`
	Conflicts []string `json:"conflicts,omitempty" yaml:"conflicts,omitempty"` // packages of another origin that must not be mixed in
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
}

// Key is a signing key of a vendor.
type Key struct {
	File string `json:"file" yaml:"file"`
	// Fingerprint is 40 hex digits; empty when the key's body was not seen.
	Fingerprint string `json:"fingerprint,omitempty" yaml:"fingerprint,omitempty"`
	URL         string `json:"url,omitempty" yaml:"url,omitempty"`
	// Kind is "packages" (OpenPGP) or "modules" (X.509, Secure Boot).
	Kind string `json:"kind" yaml:"kind"`
	Note string `json:"note,omitempty" yaml:"note,omitempty"`
}

// InboxRelease is what a distribution's release ships itself.
type InboxRelease struct {
	ID         string `json:"id" yaml:"id"`
	VersionID  string `json:"version_id" yaml:"version_id"`
	Kernel     string `json:"kernel,omitempty" yaml:"kernel,omitempty"`
	RDMACore   string `json:"rdma_core,omitempty" yaml:"rdma_core,omitempty"`
	PrivateABI int    `json:"private_abi,omitempty" yaml:"private_abi,omitempty"`
	// Present and Absent are kernel modules that its generic kernel is known to have or lack.
	Present []string `json:"present,omitempty" yaml:"present,omitempty"`
	Absent  []string `json:"absent,omitempty" yaml:"absent,omitempty"`
	// Extra are kernel modules that are in a package of their own, ExtraPackage, in whose name {kernel} stands for
	// the kernel's release.
	Extra        []string `json:"extra,omitempty" yaml:"extra,omitempty"`
	ExtraPackage string   `json:"extra_package,omitempty" yaml:"extra_package,omitempty"`
	// Flavour limits the entry to a kernel flavour ("cloud-amd64", "aws"); empty is the generic one.
	Flavour string `json:"flavour,omitempty" yaml:"flavour,omitempty"`
	// Sure is "measured", "seen" or "inferred".
	Sure   string   `json:"sure" yaml:"sure"`
	Note   string   `json:"note,omitempty" yaml:"note,omitempty"`
	Source []string `json:"source" yaml:"source"`
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
}

// Role maps a part of the stack to the package names of each family.
type Role struct {
	Role   string              `json:"role" yaml:"role"`
	Names  map[string][]string `json:"names" yaml:"names"` // debian, rhel, suse
	Note   string              `json:"note,omitempty" yaml:"note,omitempty"`
	Source []string            `json:"source" yaml:"source"`
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
}

// KernelOption is a kernel configuration option that decides about a stack.
type KernelOption struct {
	Option string   `json:"option" yaml:"option"` // without CONFIG_
	Module string   `json:"module" yaml:"module"`
	Need   string   `json:"need" yaml:"need"` // who needs it: inbox, soft, vendor (must be m or n, not y), ...
	Text   string   `json:"text" yaml:"text"`
	Source []string `json:"source" yaml:"source"`
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
}

// DroppedDevice is a PCI id that a distribution's kernel no longer binds.
type DroppedDevice struct {
	Driver  string   `json:"driver" yaml:"driver"`
	Devices []string `json:"devices" yaml:"devices"` // four hex digits
	Distros []string `json:"distros" yaml:"distros"` // "ID MAJOR" or ids with a constraint: "rhel 8"
	Text    string   `json:"text" yaml:"text"`
	Remedy  string   `json:"remedy" yaml:"remedy"`
	Source  []string `json:"source" yaml:"source"`
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
}

// ForeignVendor is another maker of RDMA cards: what they need instead.
type ForeignVendor struct {
	Vendor   string   `json:"vendor" yaml:"vendor"` // PCI vendor id
	Name     string   `json:"name" yaml:"name"`
	Driver   string   `json:"driver" yaml:"driver"`
	Provider string   `json:"provider,omitempty" yaml:"provider,omitempty"`
	Needs    string   `json:"needs" yaml:"needs"` // one sentence: what to install instead
	Source   []string `json:"source" yaml:"source"`
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
}

// Holding is what a repository or bundle at hand really holds: the evidence of status "present",
// recorded by "rdmactl matrix import".
type Holding struct {
	Stack     string `json:"stack" yaml:"stack"`
	Version   string `json:"version" yaml:"version"`
	ID        string `json:"id" yaml:"id"`
	VersionID string `json:"version_id" yaml:"version_id"` // may be a major version, as repositories from DOCA 3.2 on have it
	Arch      string `json:"arch" yaml:"arch"`
	// Kernels are the exact releases that it has modules for; DKMS says that it has sources to build.
	Kernels  []string         `json:"kernels,omitempty" yaml:"kernels,omitempty"`
	DKMS     bool             `json:"dkms,omitempty" yaml:"dkms,omitempty"`
	Packages []HoldingPackage `json:"packages,omitempty" yaml:"packages,omitempty"`
	// Origin is the path or address it was read from, without credentials; Signed by which key.
	Origin string `json:"origin" yaml:"origin"`
	Signed string `json:"signed,omitempty" yaml:"signed,omitempty"` // fingerprint of the key, empty when not signed
	// SignedIndex says that the index of an rpm repository is signed by that key, not the packages alone.
	SignedIndex bool   `json:"signed_index,omitempty" yaml:"signed_index,omitempty"`
	Date        string `json:"date,omitempty" yaml:"date,omitempty"` // when it was read, RFC 3339
	// File is the packed file that has the repository inside, nil where Origin is the repository itself.
	File *HoldingFile `json:"file,omitempty" yaml:"file,omitempty"`
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
}

// HoldingFile is a packed bundle or a local repo package: a file that has to be unpacked before a package manager can
// use the repository inside.
type HoldingFile struct {
	SHA256 string `json:"sha256" yaml:"sha256"` // of the whole file, 64 hex digits
	// Folder is the folder inside that has to be unpacked, Repository the one with the index, below or equal to it;
	// "." is the file's top.
	Folder     string `json:"folder" yaml:"folder"`
	Repository string `json:"repository" yaml:"repository"`
	// Entries and Bytes are what Folder has: files and links, and bytes of the files.
	Entries int   `json:"entries" yaml:"entries"`
	Bytes   int64 `json:"bytes" yaml:"bytes"`
	// Whole says that Signed is the key of the whole file, as an rpm is signed; the repository inside has no
	// signature that was judged.
	Whole bool `json:"whole,omitempty" yaml:"whole,omitempty"`
	// Proof is what the user gave to prove the whole file: "sha256" or "signature"; empty for nothing.
	Proof string `json:"proof,omitempty" yaml:"proof,omitempty"`
}

// HoldingPackage is one package of a holding.
type HoldingPackage struct {
	Name    string `json:"name" yaml:"name"`
	Version string `json:"version" yaml:"version"`
	Arch    string `json:"arch" yaml:"arch"`
	Bytes   int64  `json:"bytes,omitempty" yaml:"bytes,omitempty"` // size of the file
	// Installed is what it takes on disk in bytes as its own metadata says: Installed-Size of a deb, the tag
	// SIZE of an rpm. 0 where it does not say.
	Installed int64 `json:"installed,omitempty" yaml:"installed,omitempty"`
}

// LeftOut is the account of one group of the collected facts: how many rows it has, how many of them the
// matrix has, and why not the rest.
type LeftOut struct {
	Facts string `json:"facts" yaml:"facts"` // the file
	Group string `json:"group" yaml:"group"`
	Rows  int    `json:"rows" yaml:"rows"`
	In    int    `json:"in" yaml:"in"`
	// Why is needed where In is less than Rows.
	Why string `json:"why,omitempty" yaml:"why,omitempty"`
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
}

// CardDriver says since when the kernel's own driver and rdma-core know a generation. It is no support by
// a vendor stack, and distributions add cards to older kernels.
type CardDriver struct {
	Card     string   `json:"card" yaml:"card"`
	Driver   string   `json:"driver" yaml:"driver"` // mlx4_core or mlx5_core
	Provider string   `json:"provider,omitempty" yaml:"provider,omitempty"`
	Devices  []string `json:"devices" yaml:"devices"` // PCI ids, four hex digits, virtual functions too
	// FirstKernel is the first release of upstream Linux (5.11), FirstCore of rdma-core; empty when not known.
	FirstKernel string   `json:"first_kernel,omitempty" yaml:"first_kernel,omitempty"`
	FirstCore   string   `json:"first_rdma_core,omitempty" yaml:"first_rdma_core,omitempty"`
	Note        string   `json:"note,omitempty" yaml:"note,omitempty"`
	Source      []string `json:"source" yaml:"source"`
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
}
