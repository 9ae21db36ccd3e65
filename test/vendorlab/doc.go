// Package vendorlab makes repositories and bundles as the vendor of MLNX_OFED and DOCA-OFED lays them out,
// with real content, for tests: user space repacked from Debian's rdma-core binaries under the vendor's
// names, versions and file names, modules built from the kernel's own sources against real kernel headers,
// the vendor's relations between packages and what its scriptlets do to a host, and a firmware updater that
// leaves a mark wherever it is installed. Each has faulty twins.
//
// Names, versions and files are those of public listings of MLNX_OFED 24.10 and DOCA 2.9; nothing of the
// vendor's own packages is in them. All is kept in the tests' cache directory, by a hash of what it is made
// of. It needs root, a Debian host and the machine's own package sources.
package vendorlab
