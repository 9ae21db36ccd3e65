package build

import (
	"github.com/rdmactl/rdmactl/internal/archive"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// Limits bound what a source may be. The tree of rdma-core 64 has some 1600 files and 16 MB.
type Limits struct {
	Files    int   // entries of an archive, or of a directory
	Bytes    int64 // of all files unpacked
	Download int64 // bytes of one file that is fetched or copied
}

// DefaultLimits leave room for ten times what a release has today.
func DefaultLimits() Limits {
	return Limits{Files: 20_000, Bytes: 512 << 20, Download: 128 << 20}
}

const (
	maxText  = 1 << 20   // bytes of a .dsc, a signature or a key
	memory   = 512 << 20 // bytes that one compiler may take; the largest of rdma-core take half
	maxLog   = 32 << 20  // bytes of the log that are searched for the first error
	maxMeta  = 64 << 20  // bytes of a manifest
	maxELF   = 256 << 20 // bytes of a library that is looked at
	maxCMake = 4 << 20   // bytes of CMakeLists.txt
	perm     = 0o755     // of directories and of programs
	plain    = 0o644     // of other files
)

// stop is an error that comes before anything outside of the work directory changed.
func stop(code, hint, format string, args ...any) error {
	return fault.New(fault.Stopped, code, hint, format, args...)
}

const (
	hintHostile = "do not use this source; a release of rdma-core has no such content"
	hintDamaged = "fetch it again from where it came; if that does not help, the source itself is faulty"
)

// ofArchive are the limits of what is unpacked.
func (l Limits) ofArchive() archive.Limits { return archive.Limits{Files: l.Files, Bytes: l.Bytes} }

// clip keeps messages short whatever a source has in a name.
func clip(s string) string { return archive.Clip(s) }
