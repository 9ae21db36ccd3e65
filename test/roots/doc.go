// Package roots runs the package managers themselves, apt, dnf and zypper, in file trees that hold a
// package database, a signed repository served over HTTP, and nothing that a test did not put there.
//
// The trees are made by mmdebstrap: Debian has dnf, zypper and rpm as packages. A tree poses as the
// distribution that its os-release names. What is in its rpm database is built by rpmbuild here; its
// dependency solving, signature checks, scriptlets and marks are the real ones.
//
// Tests run when RDMACTL_ROOTS=1, as root on a Debian-like machine; otherwise they are skipped and the
// skip is counted. TestMain must call Main.
package roots
