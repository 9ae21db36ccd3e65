// Package facts is what is known of one host: types and their JSON, and the registry of reason and
// finding codes. It does no I/O; detect fills it, plan, doctor, kmod and udev read it.
//
// Each leaf is a Field, which keeps apart what is known, what is known to be absent, and what no
// source told: a missing line in a ticket is not a missing driver.
package facts

// Schema names the JSON form of Facts. Names in it never change meaning.
const Schema = "rdmactl.facts/v1"

// Facts is everything detected on one host.
type Facts struct {
	Schema string `json:"schema"`
	// Host is the host's name, redacted in saved evidence.
	Host Field[string] `json:"hostname"`
	// Origin is what the facts are of: "live", "root" (an image, here or in evidence) or "evidence" of a host.
	Origin string `json:"origin"`
	// RecordedAt is the day and time of the facts in RFC 3339, UTC: an input of plans, because
	// support ends on days.
	RecordedAt Field[string] `json:"recorded_at"`

	Distro     Distro     `json:"distro"`
	Kernel     Kernel     `json:"kernel"`
	SecureBoot SecureBoot `json:"secure_boot"`
	Platform   Platform   `json:"platform"`
	// PCI holds the network and InfiniBand functions, and no other devices.
	PCI       Field[[]PCIDevice]  `json:"pci"`
	RDMA      Field[[]RDMADevice] `json:"rdma"`
	Netdevs   Field[[]Netdev]     `json:"netdevs"`
	Modules   Modules             `json:"modules"`
	Userspace Userspace           `json:"userspace"`
	Packages  Packages            `json:"packages"`
	Services  []Service           `json:"services"`
	Nodes     Field[[]DeviceNode] `json:"device_nodes"`
	Memlock   Memlock             `json:"memlock"`
	Access    Access              `json:"access"`
	Naming    Naming              `json:"naming"`
	Storage   []FileSystem        `json:"file_systems"`
	// Tools are the programs that building, signing and installing a stack need, and those of the cards.
	Tools []Tool `json:"tools"`
	// Uses are what needs the stack to stay as it is while the host runs. A kind of use that could
	// not be looked for is in UsesUnknown.
	Uses Field[[]Use] `json:"uses"`
	// UsesUnknown maps a kind of use to the reason why it is not known.
	UsesUnknown map[string]string `json:"uses_unknown,omitempty"`
	// Managed are the files of rdmactl that are on the host, by path with the sha256 of their text:
	// what an earlier run left, so that a plan can say "nothing to do".
	Managed Field[map[string]string] `json:"managed_files"`
}

// Distro is the distribution, from os-release(5).
type Distro struct {
	ID        Field[string]   `json:"id"`         // ID=, lower case as the file has it
	VersionID Field[string]   `json:"version_id"` // VERSION_ID=; absent on Debian testing
	IDLike    Field[[]string] `json:"id_like"`
	Codename  Field[string]   `json:"codename"`
	// PointRelease is the full version where os-release has only the major one: "7.5.1804" of CentOS
	// 7, "12.5" of Debian, from /etc/redhat-release and /etc/debian_version.
	PointRelease Field[string] `json:"point_release"`
	PrettyName   Field[string] `json:"pretty_name"`
	// ServicePack is "SP3" where the version has one beside VERSION_ID: "22.03 (LTS-SP3)" of openEuler.
	ServicePack Field[string] `json:"service_pack"`
	// Family is the package family: "debian", "rhel", "suse", or another distribution's own ID.
	Family Field[string] `json:"family"`
}

// Kernel is the running kernel, or the kernel that the facts are about (a root, --kernel).
type Kernel struct {
	Release Field[string] `json:"release"` // uname -r, /proc/sys/kernel/osrelease
	// Running is false where the release was asked for or found under lib/modules.
	Running bool          `json:"running"`
	Flavour Field[string] `json:"flavour"` // amd64, cloud-amd64, generic, aws, uek, default, ...
	Arch    Field[string] `json:"arch"`    // uname -m: x86_64, aarch64, ...
	// Installed are the kernels under /lib/modules.
	Installed Field[[]string] `json:"installed"`
	// Config holds the options that matter for RDMA, each "y", "m" or "n", without CONFIG_.
	Config Field[map[string]string] `json:"config"`
	// Headers is the build tree of the kernel, the target of /lib/modules/REL/build.
	Headers Field[string] `json:"headers"`
	// Cmdline is /proc/cmdline without secrets.
	Cmdline Field[string] `json:"cmdline"`
	// Taint is the bit mask of /proc/sys/kernel/tainted.
	Taint Field[int64] `json:"taint"`
	// Lockdown is none, integrity or confidentiality.
	Lockdown Field[string] `json:"lockdown"`
	// ModulesDisabled says that no module can be loaded or unloaded until the next boot (sysctl
	// kernel.modules_disabled).
	ModulesDisabled Field[bool] `json:"modules_disabled"`
	// HeadersPackage is the package that supplies the build tree of this kernel, by the naming of the
	// distribution: with its version where the release tells it ("kernel-devel-5.14.0-427.el9.x86_64"),
	// without on SUSE, whose packages have a rebuild number more. Absent for a kernel that does not
	// come from the distribution.
	HeadersPackage Field[string] `json:"headers_package"`
	// PageSize is the size of a memory page in bytes, by the architecture and CONFIG_ARM64_64K_PAGES
	// and its like.
	PageSize Field[int] `json:"page_size"`
	// Compiler is what the running kernel was compiled with, from /proc/version: "gcc-12 (Ubuntu ...) 12.3.0".
	Compiler Field[string] `json:"compiler"`
	// InitramfsTool is dracut, initramfs-tools or mkinitcpio.
	InitramfsTool Field[string] `json:"initramfs_tool"`
	// Kernels describes the kernels under /lib/modules one by one.
	Kernels Field[[]InstalledKernel] `json:"kernels"`
}

// InstalledKernel is one kernel under /lib/modules.
type InstalledKernel struct {
	Release string        `json:"release"`
	Flavour Field[string] `json:"flavour"`
	// Image is the file that boots. Absent: only modules are left, of a removed kernel or of DKMS.
	Image Field[string] `json:"image"`
	// Headers and HeadersPackage are as for Kernel.
	Headers        Field[string] `json:"headers"`
	HeadersPackage Field[string] `json:"headers_package"`
}

// SecureBoot is the state of the firmware and of the kernel's module signature policy.
type SecureBoot struct {
	Enabled Field[bool] `json:"enabled"`
	// SigEnforce is module.sig_enforce, /sys/module/module/parameters/sig_enforce.
	SigEnforce Field[bool] `json:"module_sig_enforce"`
	// EnrolledKeys are the certificates of the machine owner that shim trusts (MokListRT).
	EnrolledKeys Field[[]Certificate] `json:"enrolled_keys"`
	// DKMSKey is the certificate that DKMS signs with; absent until DKMS made it.
	DKMSKey Field[Certificate] `json:"dkms_key"`
	// DKMSKeyEnrolled says that DKMSKey is among EnrolledKeys.
	DKMSKeyEnrolled Field[bool] `json:"dkms_key_enrolled"`
}

// Certificate is an X.509 certificate for module signatures.
type Certificate struct {
	Subject string `json:"subject"` // as in RFC 2253, "CN=..."
	// SHA1 is the fingerprint in lower-case hex digits, as mokutil identifies keys.
	SHA1 string `json:"sha1"`
	File string `json:"file,omitempty"`
}

// Platform says what the host runs on.
type Platform struct {
	// Virtualization is what systemd-detect-virt --vm prints, "none" on bare metal.
	Virtualization Field[string] `json:"virtualization"`
	Container      Field[bool]   `json:"container"`
	// ContainerRuntime is docker, podman, kubernetes, lxc, ...
	ContainerRuntime Field[string] `json:"container_runtime"`
	UID              Field[int]    `json:"uid"`
	Systemd          Field[bool]   `json:"systemd"` // systemd is running as the init system
	MachineVendor    Field[string] `json:"machine_vendor"`
	MachineModel     Field[string] `json:"machine_model"`
	// CPUs is how many processors are online.
	CPUs Field[int] `json:"cpus"`
	// RebootPending says that the distribution asks for a reboot (/run/reboot-required of Debian and Ubuntu,
	// /run/reboot-needed of SUSE). Other families leave no mark: there it is unknown.
	RebootPending Field[bool] `json:"reboot_pending"`
	// ImageBased is "ostree" or "transactional-update" where the system's files are replaced as a whole
	// and packages cannot be added in the usual way; absent on ordinary hosts.
	ImageBased Field[string] `json:"image_based"`
}

// PCIDevice is one PCI function. Ids are four lower-case hex digits.
type PCIDevice struct {
	// Address is domain:bus:device.function; empty where only an RDMA device told of its card.
	Address     string        `json:"address"`
	Vendor      string        `json:"vendor"`
	Device      string        `json:"device"`
	Subvendor   Field[string] `json:"subsystem_vendor"`
	Subdevice   Field[string] `json:"subsystem_device"`
	Class       string        `json:"class"` // four hex digits, 0200 Ethernet, 0207 InfiniBand
	Description Field[string] `json:"description"`
	// Generation is connectx-3 ... connectx-9, connect-ib, bluefield-2, ... for Mellanox and NVIDIA
	// functions. A VF's comes from its PF; an id shared by generations stays unknown without it.
	Generation Field[string] `json:"generation"`
	// Candidates are the generations that the id allows when Generation is unknown.
	Candidates []string `json:"candidates,omitempty"`
	// FlashRecovery says that the card's firmware does not start: it shows an id of its own and binds
	// no network driver.
	FlashRecovery bool            `json:"flash_recovery,omitempty"`
	VF            Field[bool]     `json:"virtual_function"`
	PF            Field[string]   `json:"physical_function"` // address of a VF's PF
	NumVFs        Field[int]      `json:"vfs"`
	Driver        Field[string]   `json:"driver"` // bound driver; absent when none is
	LinkNow       Field[Link]     `json:"link"`
	LinkMax       Field[Link]     `json:"link_capability"`
	NUMANode      Field[int]      `json:"numa_node"` // -1 when the platform has none
	Netdevs       Field[[]string] `json:"netdevs"`
	RDMA          Field[[]string] `json:"rdma_devices"`
	// RDMACapable says that a driver with RDMA exists for this function in the kernel.
	RDMACapable bool `json:"rdma_capable"`
	// WantsDriver and WantsRDMADriver are the modules that serve it, such as mlx5_core and mlx5_ib.
	WantsDriver     string `json:"wants_driver,omitempty"`
	WantsRDMADriver string `json:"wants_rdma_driver,omitempty"`
	// WantsProvider is the user-space provider, such as mlx5.
	WantsProvider string `json:"wants_provider,omitempty"`
}

// Link is a PCI Express link.
type Link struct {
	SpeedGTs float64 `json:"speed_gt_s"` // giga-transfers per second and lane
	Width    int     `json:"width"`      // lanes
}

// RDMADevice is one device under /sys/class/infiniband.
type RDMADevice struct {
	Name     string        `json:"name"`
	NodeType Field[string] `json:"node_type"` // CA, RNIC, switch, ...
	Firmware Field[string] `json:"fw_ver"`
	PSID     Field[string] `json:"psid"` // board_id
	NodeGUID Field[string] `json:"node_guid"`
	NodeDesc Field[string] `json:"node_desc"`
	HCAType  Field[string] `json:"hca_type"`
	// PCI is the function's address; absent for software devices.
	PCI Field[string] `json:"pci"`
	// Driver is the kernel driver: mlx5_core's RDMA half reports mlx5_ib, Soft-RoCE rdma_rxe.
	Driver Field[string] `json:"driver"`
	// Parent is the netdev of a software device (rxe, siw).
	Parent Field[string] `json:"parent_netdev"`
	Uverbs Field[string] `json:"uverbs"` // name of the verbs node, such as uverbs0
	Ports  Field[[]Port] `json:"ports"`
}

// Port is one port of an RDMA device.
type Port struct {
	Number    int           `json:"port"`
	LinkLayer Field[string] `json:"link_layer"` // InfiniBand or Ethernet
	// State is the logical state: DOWN, INIT, ARMED, ACTIVE.
	State     Field[string] `json:"state"`
	PhysState Field[string] `json:"physical_state"` // LinkUp, Disabled, Polling, ...
	// RateGbps is the signalling rate of the port in 10^9 bits per second.
	RateGbps Field[float64] `json:"rate_gbps"`
	Rate     Field[string]  `json:"rate"` // as the kernel prints it, "100 Gb/sec (4X EDR)"
	LID      Field[int]     `json:"lid"`
	SMLID    Field[int]     `json:"sm_lid"`
	// MTU is the active RDMA MTU in bytes, where a source tells it (sysfs does not).
	MTU Field[int] `json:"active_mtu"`
	// GIDs are the non-empty entries of the GID table.
	GIDs    Field[[]GID]    `json:"gids"`
	PKeys   Field[[]string] `json:"pkeys"`
	Netdevs Field[[]string] `json:"netdevs"`
}

// GID is one entry of a port's GID table.
type GID struct {
	Index int    `json:"index"`
	GID   string `json:"gid"` // eight groups of four hex digits
	// Type is "IB", "RoCE v1" or "RoCE v2" (gid_attrs/types, kernel 4.4 and later).
	Type   Field[string] `json:"type"`
	Netdev Field[string] `json:"netdev"`
	// IPv4 is the address of an IPv4-mapped GID, empty otherwise.
	IPv4 string `json:"ipv4,omitempty"`
}

// Netdev is one network interface.
type Netdev struct {
	Name      string        `json:"name"`
	Driver    Field[string] `json:"driver"`
	PCI       Field[string] `json:"pci"`
	OperState Field[string] `json:"operstate"`
	MTU       Field[int]    `json:"mtu"`
	MAC       Field[string] `json:"mac"`
	Type      Field[int]    `json:"type"` // ARPHRD_*: 1 Ethernet, 32 InfiniBand, 772 loopback
	Virtual   Field[bool]   `json:"virtual"`
	// Addresses are the addresses in CIDR form, where a source tells them.
	Addresses Field[[]string] `json:"addresses"`
	// Uppers are the interfaces that stand directly on this one: bond, bridge, VLAN, macvlan. Looked for
	// above hardware only.
	Uppers Field[[]string] `json:"upper_netdevs"`
}

// Modules are the kernel modules of the RDMA stack and of its users.
type Modules struct {
	// Loaded are those in /proc/modules (or lsmod), by name.
	Loaded Field[[]LoadedModule] `json:"loaded"`
	// LoadedExcerpt says that Loaded comes from a text with lines left out: a module that it does not
	// name may be loaded all the same.
	LoadedExcerpt bool `json:"loaded_excerpt,omitempty"`
	// OnDisk are the files of the kernel's modules that belong to the stack.
	OnDisk []DiskModule `json:"on_disk"`
	// DKMS are the module packages of an RDMA stack that DKMS keeps, from /var/lib/dkms or
	// "dkms status".
	DKMS Field[[]DKMSPackage] `json:"dkms"`
	// Blacklisted maps a module to the file and line, or the kernel argument, that keeps it out.
	Blacklisted Field[map[string]string] `json:"blacklisted"`
	// LoadAtBoot maps a module to the file that loads it at boot (modules-load.d, /etc/rdma/modules).
	LoadAtBoot Field[map[string]string] `json:"load_at_boot"`
	// VendorSymbols are the kernels for which a vendor stack left its headers and symbol versions, under
	// /usr/src/ofa_kernel/ARCH: what modules of others that use the stack are built against.
	VendorSymbols Field[[]string] `json:"vendor_symbols"`
	// AllowUnsupported is allow_unsupported_modules of modprobe.d, by which SUSE's modprobe loads modules
	// that SUSE does not support, vendor stacks among them. Absent where no file sets it.
	AllowUnsupported Field[bool] `json:"allow_unsupported"`
}

// LoadedModule is a module in memory.
type LoadedModule struct {
	Name       string        `json:"name"`
	Refs       int           `json:"refs"`
	UsedBy     []string      `json:"used_by"`
	SrcVersion Field[string] `json:"srcversion"` // /sys/module/NAME/srcversion
	Version    Field[string] `json:"version"`
}

// DiskModule is what modprobe would load, or that it would find nothing.
type DiskModule struct {
	Name       string        `json:"name"`
	Path       Field[string] `json:"path"` // absent: no such module for this kernel
	Builtin    bool          `json:"builtin"`
	Origin     Field[string] `json:"origin"` // inbox, updates, extra, dkms, weak-updates, builtin
	Version    Field[string] `json:"version"`
	SrcVersion Field[string] `json:"srcversion"`
	Vermagic   Field[string] `json:"vermagic"`
	Signer     Field[string] `json:"signer"`
}

// DKMSPackage is one source tree that DKMS builds modules from.
type DKMSPackage struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Kernels are the releases that it was built for; empty when it was only added.
	Kernels []string `json:"kernels"`
	// Installed are the releases among Kernels whose /lib/modules has what was built.
	Installed Field[[]string] `json:"installed"`
	// Origin is the stack it comes from, as for packages.
	Origin string `json:"origin"`
}

// Userspace is the verbs library as a program would find it.
type Userspace struct {
	// Libibverbs are the copies on the loader's path, the first one found first.
	Libibverbs Field[[]Libibverbs] `json:"libibverbs"`
	// DriverConf are the names in /etc/libibverbs.d/*.driver.
	DriverConf Field[[]string] `json:"driver_conf"`
	// Built are the copies that were built into directories of their own below /opt/rdma-core, whether
	// programs find them or not.
	Built Field[[]BuiltLibrary] `json:"built"`
}

// BuiltLibrary is a libibverbs of rdma-core in a directory of its own, and the providers beside it.
type BuiltLibrary struct {
	Prefix string `json:"prefix"` // such as /opt/rdma-core/65.0
	Path   string `json:"path"`
	// Version of rdma-core, from the name of the library's file (libibverbs.so.1.15.65.0), else from Prefix.
	Version    Field[string]     `json:"version"`
	PrivateABI Field[int]        `json:"private_abi"`
	Providers  Field[[]Provider] `json:"providers"`
	// Active says that this is the copy that the loader finds first, so that programs get it without being
	// told of it.
	Active Field[bool] `json:"active"`
}

// Libibverbs is one copy of libibverbs.so.1 and the providers beside it.
type Libibverbs struct {
	Path string `json:"path"`
	// PrivateABI is NN of the symbol version IBVERBS_PRIVATE_NN: a provider loads only if it has
	// the same number.
	PrivateABI Field[int]        `json:"private_abi"`
	Version    Field[string]     `json:"version"` // of the owning package
	Package    Field[string]     `json:"package"`
	Providers  Field[[]Provider] `json:"providers"`
}

// Provider is a libNAME-rdmavNN.so.
type Provider struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// PrivateABI is NN of the file name.
	PrivateABI int `json:"private_abi"`
}

// Packages is the package database and its manager.
type Packages struct {
	// Manager is apt, dnf, yum or zypper.
	Manager Field[string] `json:"manager"`
	// Installed are the packages that belong to an RDMA stack, by name.
	Installed Field[[]Package] `json:"installed"`
	// Broken are packages of any kind that are half installed or half configured.
	Broken Field[[]Package] `json:"broken"`
	// Repositories are the configured sources, without credentials.
	Repositories Field[[]string] `json:"repositories"`
	Held         Field[[]string] `json:"held"`
	// OFEDInfo is what "ofed_info -s" prints, without the colon: the vendor release that was installed
	// by mlnxofedinstall or doca-ofed.
	OFEDInfo Field[string] `json:"ofed_info"`
	// Excerpt says that Installed comes from a text with lines left out: a package that it does not name
	// may be installed all the same.
	Excerpt bool `json:"installed_excerpt,omitempty"`
	// Vendor is the vendor stack that is installed, by its packages: from DOCA 4.0 there is no ofed_info.
	Vendor Field[VendorStack] `json:"vendor_stack"`
	// RepositoryList describes the configured sources one by one. Disabled ones are in it when they belong
	// to a stack or have a role.
	RepositoryList Field[[]Repository] `json:"repository_list"`
	// Holds are all wishes of the administrator that keep packages back or choose their version.
	Holds Field[[]Hold] `json:"holds"`
	// Database is the state of the package database: "ok", "interrupted" (dpkg was stopped and wants
	// "dpkg --configure -a"), or "broken".
	Database Field[string] `json:"database"`
	// Busy names the process that changes packages right now. Of dpkg's lock that is not known.
	Busy Field[string] `json:"busy"`
	// Registered says that the host is registered with the maker of RHEL or SLES, without which their
	// repositories are closed. Absent where no registration exists.
	Registered Field[bool] `json:"registered"`
	// Unread maps files of repositories, pins and locks to the reason why they could not be read: what
	// they say is missing from the lists above.
	Unread map[string]string `json:"unread,omitempty"`
	// Groups are the installed groups of dnf, where a source tells them.
	Groups Field[[]string] `json:"groups"`
	// Proxies are what downloads go through, by the configuration of the package managers and by the
	// environment of the process, without credentials.
	Proxies Field[[]Proxy] `json:"proxies"`
	// Unmet are needs that a package manager or an installer reported as unmet, where evidence has its
	// messages. None is no proof that all are met.
	Unmet []UnmetNeed `json:"unmet_needs,omitempty"`
	// Sizes are those of packages that were asked for by name, from the lists that the package manager has at
	// hand. They are asked for by plan --compare alone; else nobody looked, and the field is left out.
	Sizes Field[[]PackageSize] `json:"sizes,omitzero"`
}

// VendorStack is an installed vendor stack.
type VendorStack struct {
	Stack string `json:"stack"` // mlnx-ofed, doca-ofed, ofed
	// Version is the release as the vendor counts it: 24.10-1.1.4.0 of MLNX_OFED, 3.2.1 of DOCA. Empty
	// where only the driver tells.
	Version string `json:"version,omitempty"`
	// Driver is the release that the packages of the kernel modules carry, "25.10-1.7.1".
	Driver string `json:"driver,omitempty"`
	// Library is the version of its libibverbs.
	Library string `json:"library,omitempty"`
	// Supplier is nvidia, canonical or hpe.
	Supplier string `json:"supplier,omitempty"`
	// Build is how its modules came to be: dkms, kmp (for a series of kernels), kernel (prebuilt for one
	// kernel), or empty where it has no package of modules.
	Build string `json:"build,omitempty"`
	// Kernels are the releases that prebuilt packages name, as the packages spell them.
	Kernels []string `json:"kernels,omitempty"`
}

// Repository is a configured source of packages.
type Repository struct {
	Kind string `json:"kind"`         // apt, rpm
	ID   string `json:"id,omitempty"` // the section of a .repo file
	File string `json:"file"`
	// URL is without credentials and query. Of several the first; a mirror list where there is none.
	URL        string   `json:"url"`
	Suite      string   `json:"suite,omitempty"`
	Components []string `json:"components,omitempty"`
	Enabled    bool     `json:"enabled"`
	// Stack is inbox for the distribution's own, mlnx-ofed, doca-ofed, or unknown.
	Stack string `json:"stack"`
	// Supplier is who made a vendor stack's repository: nvidia, canonical or hpe.
	Supplier string `json:"supplier,omitempty"`
	// Role is epel, codeready, package-hub or uek, for repositories that a stack's installation needs.
	Role string `json:"role,omitempty"`
	// Version and Target are the release and the label of the operating system in the address of a
	// vendor's repository: "2.9.2" or "latest-3.2-LTS", "rhel9.4".
	Version string `json:"version,omitempty"`
	Target  string `json:"target,omitempty"`
	// Signed is false where the configuration turns signatures off (gpgcheck=0, trusted=yes).
	Signed Field[bool] `json:"signed"`
	// Excludes are the patterns of packages that are not taken from here.
	Excludes []string `json:"excludes,omitempty"`
	Priority int      `json:"priority,omitempty"`
}

// Hold is one wish about a package.
type Hold struct {
	// Package is a name or a pattern with wildcards.
	Package string `json:"package"`
	// Version is the version or the release that is wanted, as written; empty for any.
	Version string `json:"version,omitempty"`
	// Kind is hold (apt-mark), pin (apt preferences), versionlock (dnf, yum), lock (zypper), or exclude.
	Kind string `json:"kind"`
	// Priority of a pin: below 0 the package is never installed, above 1000 it is downgraded.
	Priority int `json:"priority,omitempty"`
	// Repository limits an exclude to one repository.
	Repository string `json:"repository,omitempty"`
	Source     string `json:"source"`
}

// Package is one package in the database.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"` // as the database has it
	// Status is the dpkg status ("install ok installed"); empty for rpm.
	Status string `json:"status,omitempty"`
	// Origin is the stack it comes from: inbox, mlnx-ofed, doca-ofed, ofed, or unknown.
	Origin string `json:"origin"`
	// Arch is the architecture of an rpm, where told: a second one of a library may block a stack.
	Arch string `json:"arch,omitempty"`
	// Epoch of an rpm, where it has one. That of a deb is in Version.
	Epoch string `json:"epoch,omitempty"`
	// Supplier is who built a package of a vendor stack, nvidia, canonical or hpe, where that is told.
	Supplier string `json:"supplier,omitempty"`
}

// Service is a unit that matters to RDMA.
type Service struct {
	Name    string        `json:"name"`
	Load    Field[string] `json:"load"`    // loaded, not-found, masked
	Active  Field[string] `json:"active"`  // active, inactive, failed, ...
	Enabled Field[string] `json:"enabled"` // enabled, disabled, static, ...
	// Memlock is the unit's LimitMEMLOCK: bytes or "infinity".
	Memlock Field[string] `json:"limit_memlock"`
}

// DeviceNode is one node under /dev/infiniband.
type DeviceNode struct {
	Path  string        `json:"path"`
	Class string        `json:"class"` // uverbs, umad, issm, rdma_cm, other
	Mode  Field[string] `json:"mode"`  // octal permission bits, "0666"
	Owner Field[string] `json:"owner"`
	Group Field[string] `json:"group"`
	Ibdev Field[string] `json:"rdma_device"`
}

// Memlock is how much memory a process may pin. Values are bytes or "unlimited".
type Memlock struct {
	// Soft and Hard are those of the process that reads, from /proc/self/limits.
	Soft Field[string] `json:"soft"`
	Hard Field[string] `json:"hard"`
	// PAM are the memlock lines of /etc/security/limits.conf and limits.d, "file: line".
	PAM Field[[]string] `json:"pam"`
}

// Access is what the administrator reaches this host over.
type Access struct {
	DefaultRouteNetdev Field[string] `json:"default_route_netdev"`
	DefaultRouteDriver Field[string] `json:"default_route_driver"`
	// DefaultRouteHardware are the hardware interfaces below it, through bond, bridge and VLAN.
	DefaultRouteHardware Field[[]string] `json:"default_route_hardware"`
	// SessionNetdev has the local address of the ssh session that rdmactl runs in. Absent where it runs in
	// none: at a console, in a unit or a job.
	SessionNetdev Field[string] `json:"session_netdev"`
	// SessionDriver and SessionHardware are as those of the default route.
	SessionDriver   Field[string]   `json:"session_driver"`
	SessionHardware Field[[]string] `json:"session_hardware"`
}

// Naming is the policy for names of RDMA devices.
type Naming struct {
	// Rule is the effective 60-rdma-persistent-naming.rules.
	Rule Field[string] `json:"rule"`
	// Policy is NAME_FALLBACK, NAME_KERNEL, NAME_PCI, NAME_GUID, ...
	Policy Field[string] `json:"policy"`
}

// FileSystem is the free space below one directory.
type FileSystem struct {
	Path      string       `json:"path"`
	FreeBytes Field[int64] `json:"free_bytes"`
	// MountPoint is where the file system is mounted: two directories with the same one share the space.
	MountPoint string `json:"mount_point,omitempty"`
}

// Tool is a program.
type Tool struct {
	Name string `json:"name"`
	// Path is where it is; absent where it is in none of the directories for it. Known with an empty
	// path: something else shows that it is there.
	Path Field[string] `json:"path"`
	// Version is the first version number that the program prints, where a source tells it.
	Version Field[string] `json:"version"`
}

// Use is something that needs the stack.
type Use struct {
	// Kind is upper-netdev (a bond, bridge or VLAN on an RDMA card), ipoib, nfs-rdma, nfs-rdma-server,
	// lustre, smb-direct, nvme-rdma, nvmet-rdma, iser, srp, or open-device (programs that have a verbs,
	// management or connection device open).
	Kind string `json:"kind"`
	// Name is the interface, mount point, controller, host adapter or module.
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"`
	// Modules are the kernel modules that it keeps in memory.
	Modules []string `json:"modules"`
	Source  string   `json:"source"`
}
