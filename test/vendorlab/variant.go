package vendorlab

import "slices"

// Variant is how a release is made.
type Variant struct {
	// Fault is what is wrong with it.
	Fault Fault
	// Core has the vendor's modules replace those of drivers/infiniband/core too. They are built from the
	// kernel's own sources and load under its other RDMA modules; a build takes minutes.
	Core bool
	// Prebuilt has the modules in a package for the base's kernel, as mlnx_add_kernel_support.sh makes it,
	// instead of DKMS sources. RPMs always have.
	Prebuilt bool
	// Firmware has the metapackages depend on mlnx-fw-updater.
	Firmware bool
	// SignedIndex has repomd.xml signed; the vendor signs the packages only. Of no effect on apt
	// repositories, whose index is always signed.
	SignedIndex bool
}

// Fault is what is wrong with a repository or bundle.
type Fault string

// The faults. Each is in the repository, and with it in the bundle or the local repo package, whose other
// files are sound.
const (
	// Sound has no fault.
	Sound Fault = ""
	// Unsigned has neither a signed index nor signed packages.
	Unsigned Fault = "unsigned"
	// Tampered has a byte changed in the payload of each package, whose size stays; index and signatures are
	// those of the sound packages.
	Tampered Fault = "tampered"
	// WrongKey is signed by a key that nobody trusts; the key file beside is the vendor's.
	WrongKey Fault = "wrong-key"
	// ExpiredKey is signed by a key that was valid then, and is no longer. The key file beside is that key.
	ExpiredKey Fault = "expired-key"
	// Truncated has the list of packages cut in the middle, after it was signed.
	Truncated Fault = "truncated"
	// FailingScript is well signed, and a script of the package ofed-scripts fails: postinst of the deb, %pre of the
	// RPM.
	FailingScript Fault = "failing-script"
	// LateScript is the other of the two: preinst of the deb, %post of the RPM, whose files are there by then.
	LateScript Fault = "late-script"
)

// Faults are all but Sound.
func Faults() []Fault {
	return []Fault{Unsigned, Tampered, WrongKey, ExpiredKey, Truncated, FailingScript, LateScript}
}

// The faults of single files of an RPM repository, whose index is signed by the vendor and tells of the files as
// they are. The package is Victim.
const (
	// UnsignedPackage has one package without a signature.
	UnsignedPackage Fault = "unsigned-package"
	// StrangerPackage has one package that is signed by a key that nobody trusts.
	StrangerPackage Fault = "stranger-package"
	// ExpiredPackage has one package that is signed by a key that was valid then; Set.OldKey is that key.
	ExpiredPackage Fault = "expired-package"
	// EditedIndex has repomd.xml changed after it was signed.
	EditedIndex Fault = "edited-index"
)

// RPMFaults are those that only RPM repositories have.
func RPMFaults() []Fault {
	return []Fault{UnsignedPackage, StrangerPackage, ExpiredPackage, EditedIndex}
}

// Victim is the package that is faulty where one is.
const Victim = "mlnx-tools"

// signedIndex says that repomd.xml is signed.
func (v Variant) signedIndex() bool {
	return v.SignedIndex && v.Fault != Unsigned || slices.Contains(RPMFaults(), v.Fault)
}

// Archive is what is wrong with a packed bundle or local repo package, beside what it has to have.
type Archive string

// The faults of archives: each is one entry too many, the last one of the archive.
const (
	// Traversal is a file above the archive's folder.
	Traversal Archive = "traversal"
	// AbsolutePath is a file of the root.
	AbsolutePath Archive = "absolute-path"
	// LinkOut is a link to a directory of the host, and a file behind it.
	LinkOut Archive = "link-out"
	// Device is a block device.
	Device Archive = "device"
	// HugeSize is a file of a TiB, of which nothing follows.
	HugeSize Archive = "huge-size"
)

// Archives are all of them.
func Archives() []Archive { return []Archive{Traversal, AbsolutePath, LinkOut, Device, HugeSize} }
