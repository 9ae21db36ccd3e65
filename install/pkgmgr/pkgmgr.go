// Package pkgmgr is what a run needs of a package manager. Each manager has its own package below.
package pkgmgr

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/internal/version"
	"github.com/rdmactl/rdmactl/plan"
)

// Status of a package in the package database.
type Status string

// The statuses. Broken is anything between: unpacked, half installed, waiting for triggers.
const (
	Installed   Status = "installed"
	ConfigFiles Status = "config-files" // removed, its configuration is left
	Broken      Status = "broken"
)

// Package is one entry of the package database.
type Package struct {
	Name    string `json:"name"`
	Arch    string `json:"arch"`
	Version string `json:"version"`
	Status  Status `json:"status"`
	// Torn says that unpacking was cut short: it must be unpacked again before anything else.
	Torn bool `json:"torn,omitempty"`
	// Base is the name without version of a package of which several versions are installed side by
	// side, as rpm hosts keep kernels. Its Name then is name-version-release.
	Base string `json:"base,omitempty"`
}

// Key names a package of one architecture. Packages of two architectures are two packages.
func (p Package) Key() string { return p.Name + ":" + p.Arch }

// Database is the package database by Key.
type Database map[string]Package

// Has says whether a package of any architecture is installed whole.
func (d Database) Has(name string) bool {
	_, ok := d.Find(name)
	return ok
}

// Find returns the installed package of a name; "name:arch" asks for one architecture. Of a package
// that is installed in several versions it returns the newest, or the one that is named in full, as
// in kernel-devel-5.14.0-427.13.1.el9_4.x86_64.
func (d Database) Find(name string) (Package, bool) {
	if p, ok := d[name]; ok {
		return p, p.Status == Installed
	}
	base, arch, hasArch := strings.Cut(name, ":")
	found := []Package{}
	for _, p := range d {
		if p.Status == Installed && (!hasArch || p.Arch == arch) &&
			(p.Name == base || p.Base != "" && (p.Base == base || p.Name+"."+p.Arch == base)) {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return Package{}, false
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if a.Base != "" && b.Base != "" {
			if c := newer(a.Version, b.Version); c != 0 {
				return c > 0
			}
		}
		return a.Key() < b.Key()
	})
	return found[0], true
}

// newer compares rpm versions, the only ones that are installed side by side.
func newer(a, b string) int {
	va, errA := version.ParseRPM(a)
	vb, errB := version.ParseRPM(b)
	if errA != nil || errB != nil {
		return strings.Compare(a, b)
	}
	return va.Compare(vb)
}

// Candidate is what the repositories have of a package.
type Candidate struct {
	Installed string // version, empty if none
	Version   string // that the manager would install, empty if none
}

// Want is one package that is asked for.
type Want struct {
	Name    string `json:"name"`
	Version string `json:"version"` // exact, from Available
}

// Request is what a step asks of the package manager in one transaction.
type Request struct {
	Install []Want   `json:"install"`
	Remove  []string `json:"remove,omitempty"`
	// Purge has what goes in the transaction go with its configuration, where the manager tells the two apart.
	Purge bool `json:"purge,omitempty"`
	// Dependencies are those of Install that are named as dependencies of others, and are marked so.
	Dependencies []string `json:"dependencies,omitempty"`
}

// Empty says that nothing is asked for.
func (r Request) Empty() bool { return len(r.Install) == 0 && len(r.Remove) == 0 }

// OldPackage is a package that a run replaced or removed, and where its kept file is.
type OldPackage struct {
	Package
	File string `json:"file"`
}

// Undo takes a transaction back.
type Undo struct {
	// Purge goes with its configuration, Remove without: those had configuration before the run.
	Purge  []string     `json:"purge,omitempty"`
	Remove []string     `json:"remove,omitempty"`
	Back   []OldPackage `json:"back,omitempty"`
	// Unmet says that dependencies were not met before the transaction, so that they need not be after its undo.
	Unmet bool `json:"unmet,omitempty"`
}

// Empty says that there is nothing to take back.
func (u Undo) Empty() bool { return len(u.Purge) == 0 && len(u.Remove) == 0 && len(u.Back) == 0 }

// Solver answers questions about packages; it changes nothing and needs no root.
type Solver interface {
	// Name is apt, dnf or zypper.
	Name() string
	// Installed reads the package database.
	Installed(ctx context.Context) (Database, error)
	// Available asks for the candidates of names; a name that no repository has is left out. sources
	// says which repositories were looked at, one line each.
	Available(ctx context.Context, names []string) (candidates map[string]Candidate, sources []string, err error)
	// Solve returns the manager's own answer to a request.
	Solve(ctx context.Context, req Request) (plan.Solution, error)
}

// Manager changes packages. Every method can be called again after a crash at any point of it.
type Manager interface {
	Solver
	// Wait returns when no other process holds the manager's lock, or an error that names the one
	// which still has it after limit.
	Wait(ctx context.Context, limit time.Duration) error
	// Healthy returns an error that says what is broken in the package database, nil if nothing is.
	Healthy(ctx context.Context) error
	// Repair finishes what an interrupted transaction left in the middle and says what it did, ""
	// when there was nothing to do.
	Repair(ctx context.Context) (string, error)
	// Refresh reads the repositories anew. A bad signature is a *SignatureError; a repository that
	// cannot be reached is a warning, since the packages may be had from the others.
	Refresh(ctx context.Context) (warnings []string, err error)
	// Fetch downloads and verifies everything that a solved request needs, and changes nothing else.
	Fetch(ctx context.Context, req Request) error
	// Keep brings the package files of old into dir and returns them with their paths.
	Keep(ctx context.Context, old []Package, dir string) ([]OldPackage, error)
	// Apply executes a request from what Fetch downloaded.
	Apply(ctx context.Context, req Request) error
	// Auto returns the packages that were installed only as dependencies.
	Auto(ctx context.Context) ([]string, error)
	// SetAuto marks packages as installed only as dependencies, or as asked for.
	SetAuto(ctx context.Context, auto, manual []string) error
	// Edited returns the configuration files of packages that the administrator changed.
	Edited(ctx context.Context, names []string) ([]string, error)
	// SolveUndo returns the manager's own answer to an undo, Undo executes it.
	SolveUndo(ctx context.Context, undo Undo) ([]plan.ResolvedPackage, error)
	Undo(ctx context.Context, undo Undo) error
	// Directories are those that a transaction fills.
	Directories() (downloads, installed string)
}

// Staging is a manager that can look at repositories which the host does not have yet.
type Staging interface {
	Manager
	// WithRepositories returns a manager that knows the host's repositories and repos besides. It
	// keeps their configuration, lists and downloads in dir, an absolute path of the host that root
	// owns; the host's configuration is not touched. Apply on it installs from what was staged.
	WithRepositories(ctx context.Context, dir string, repos []Repository) (Manager, error)
	// Files are what configures repositories on the host for good: the keyring and the file that names it.
	Files(repos []Repository) ([]File, error)
}

// Sealed is a Staging that can leave the host's own repositories out: for a host that cannot reach them.
type Sealed interface {
	Staging
	// WithOnly is WithRepositories for a manager that knows repos and nothing else. Without repos it can still
	// take back what was installed.
	WithOnly(ctx context.Context, dir string, repos []Repository) (Manager, error)
}

// PackageFile is a package that a repository offers, downloaded and verified.
type PackageFile struct {
	Package
	File string // where it is on this machine
	// SHA256 and Bytes are what the signed index says of it; SHA256 is empty where the manager does not tell.
	SHA256 string
	Bytes  int64
	// Record is its paragraph of a Debian index, without Filename.
	Record string
}

// Collecting is a Manager that tells which files a request took, to carry them elsewhere.
type Collecting interface {
	Manager
	// PackageFiles are the packages of actions that come, after Fetch.
	PackageFiles(ctx context.Context, actions []plan.ResolvedPackage) ([]PackageFile, error)
}

// Untrusting is a Staging whose keys do not go with the files of a repository: rpm keeps those that it
// trusts in its database, as packages that no database of ours shows.
type Untrusting interface {
	// Untrust takes back the trust in keys that were staged in dir, but for those that were trusted
	// before. It can be called when nothing was staged.
	Untrust(ctx context.Context, dir string) error
}

// SignatureError says that the signature of a repository or a package is missing, bad or expired.
type SignatureError struct{ Lines []string }

func (e *SignatureError) Error() string { return strings.Join(e.Lines, "; ") }

// LockedError says which process holds the package manager's lock.
type LockedError struct {
	File    string
	PID     int // 0 when not known
	Command string
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return "another process holds " + e.File
	}
	return fmt.Sprintf("%s (pid %d) holds %s", e.Command, e.PID, e.File)
}

// CommandError says that a command of the package manager failed, with its own words.
type CommandError struct {
	Command string // program and verb, such as "apt-get install"
	Exit    int
	Lines   []string // the first error lines
}

func (e *CommandError) Error() string {
	if len(e.Lines) == 0 {
		return fmt.Sprintf("%s ended with %d", e.Command, e.Exit)
	}
	return fmt.Sprintf("%s ended with %d: %s", e.Command, e.Exit, strings.Join(e.Lines, "; "))
}
