// Package host is the one seam through which rdmactl reads, writes and runs anything.
//
// A Reader cannot change what it reads; detect is given nothing else, so the compiler proves that
// detection leaves the host alone. A Writer adds running and changing; only install has one.
// All paths are absolute and resolved below the reader's root.
package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"
)

var (
	// ErrUnknown says that this source does not tell. It is not absence: absence is fs.ErrNotExist.
	ErrUnknown = errors.New("not told by this source")
	// ErrNotInstalled says that a program does not exist on the host.
	ErrNotInstalled = errors.New("program is not installed")
	// ErrNotAllowed says that a command is not on the list of read-only commands.
	ErrNotAllowed = errors.New("command is not on the read-only list")
)

// Reader reads one host, live or recorded.
//
// Its methods return an error that is fs.ErrNotExist when the object is known to be absent,
// fs.ErrPermission when the reader may not see it, and ErrUnknown when the source cannot tell.
type Reader interface {
	// ReadFile returns the text of a file. Binary files are read through Derive.
	ReadFile(path string) ([]byte, error)
	// ReadDir returns the names in a directory, sorted.
	ReadDir(path string) ([]string, error)
	// Readlink returns a link's target as it is written, often relative.
	Readlink(path string) (string, error)
	// Stat follows links, within the root; Lstat does not.
	Stat(path string) (FileInfo, error)
	Lstat(path string) (FileInfo, error)
	// Now is the host's clock, or the time of recording.
	Now() time.Time
	// Query runs a read-only command from the allow-list with LC_ALL=C. The error says that the
	// command could not be run (or is not told); a command that ran and failed is a Result with
	// its exit code and no error.
	Query(ctx context.Context, argv ...string) (Result, error)
	// Derive reads a binary file and returns the text that the command argv would print about it,
	// computed by decode. A recorder keeps the text under argv, a replay serves it from there:
	// so an ELF file or a kernel module is evidence that a person can read and type.
	Derive(ctx context.Context, path string, argv []string, decode Decoder) (Result, error)
	// Told is what the source itself says about the reader's position.
	Told() Told
}

// Decoder turns a binary file of size bytes into text.
type Decoder func(file io.ReaderAt, size int64) (string, error)

// Writer reads and changes one host.
type Writer interface {
	Reader
	// Run executes a command that may change the host.
	Run(ctx context.Context, cmd Command) (Result, error)
	// WriteFile replaces a file atomically (temporary name, fsync of file and directory, rename).
	// An existing file keeps its owner, mode and xattrs unless mode is given non-zero.
	WriteFile(path string, data []byte, mode fs.FileMode) error
	MkdirAll(path string, mode fs.FileMode) error
	// Remove removes a file, a link or an empty directory.
	Remove(path string) error
	Rename(from, to string) error
	Symlink(target, path string) error
	Chown(path string, uid, gid uint32) error
	Chmod(path string, mode fs.FileMode) error
	SetXattr(path, name string, value []byte) error
	// Xattrs returns the extended attributes of a file, the SELinux label and ACLs among them.
	Xattrs(path string) (map[string][]byte, error)
}

// FileInfo describes a file or device node.
type FileInfo struct {
	Mode         fs.FileMode // type and permission bits
	UID, GID     uint32
	Owner, Group string // names; empty when the source has only numbers
	Size         int64  // bytes; -1 when not told
	Major, Minor uint32 // of a device node
	ModTime      time.Time
}

// Command is one command that a Writer runs.
type Command struct {
	Argv  []string
	Env   []string // added to the minimal environment (PATH, LC_ALL=C)
	Stdin []byte
	// Output, if set, receives stdout and stderr while the command runs.
	Output io.Writer
	// Apart, if set, is a directory of an image: the command has no network, and finds that directory in the place of
	// those that everyone writes to. A Live refuses it.
	Apart string
}

// Result is what a command printed and how it ended.
type Result struct {
	Argv     []string
	Stdout   string
	Stderr   string
	Exit     int
	Duration time.Duration
}

// Told is what a source says about itself beside files and commands. Nil means not told.
type Told struct {
	// Kind is "live", "root" or "evidence".
	Kind             string
	Root             string // of kind "root"
	Title            string // of kind "evidence", never parsed
	UID              *int   // effective user of the reader
	Container        *bool
	ContainerRuntime string
	Request          *Request
	Image            bool // of kind "evidence": it is of a root file system that does not run
}

// IsImage says that the source is a root file system that does not run, here or in evidence.
func (t Told) IsImage() bool { return t.Kind == "root" || t.Image }

// Request is what an evidence's author wanted. It maps to command line flags one to one; Intent and
// Text are shown, never parsed.
type Request struct {
	Intent       string `yaml:"intent" json:"intent,omitempty"`
	Stack        string `yaml:"stack" json:"stack,omitempty"`
	Version      string `yaml:"version" json:"version,omitempty"`
	Method       string `yaml:"method" json:"method,omitempty"`
	Profile      string `yaml:"profile" json:"profile,omitempty"`
	TargetKernel string `yaml:"target_kernel" json:"target_kernel,omitempty"`
	Text         string `yaml:"text" json:"text,omitempty"`
}
