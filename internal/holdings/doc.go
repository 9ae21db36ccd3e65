// Package holdings reads what a vendor's repository or bundle at hand really holds, so that an
// administrator's own mirror is the authority for what can be installed from it.
//
// Nothing that it reads is trusted: signatures come first, each index must have the size and the
// checksum that the signed file states, and everything is bounded in size, number, depth and time.
// Files are read and never unpacked onto the host.
package holdings
