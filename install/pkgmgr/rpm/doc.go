// Package rpm is what dnf, yum and zypper share: the rpm database, the names and versions in it,
// signatures of package files, configuration files, old packages that are kept, and what an
// interrupted transaction leaves.
//
// It drives rpm 4.11 (EL7) and newer. Nothing here ever passes --nodeps, --force or --nosignature to
// a transaction.
package rpm
