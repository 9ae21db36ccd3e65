package sidebyside

import (
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// Copy is one libibverbs with what belongs to it.
type Copy struct {
	Stack   string // inbox or rdma-core
	Version string // empty if not known
	Prefix  string // of a build; empty for the distribution's own
	Library string // path of libibverbs.so.1
	// Facts are the copy as detect tells it. Of the distribution's own only the private ABI and the providers.
	Facts facts.BuiltLibrary
	// Format is of the file, in the words of binutils: elf64-x86-64. Empty if not known.
	Format string
	// DriverDir and ProviderDir are compiled into the library: where it reads its driver configuration, and where
	// it opens providers. Empty if they are not found in the file.
	DriverDir, ProviderDir string
	// Drivers are the names in DriverDir.
	Drivers []string
	// Programs are the directories of the build's own programs that are there, bin first.
	Programs []string
	// Untrusted says what of it others could change, empty if nothing.
	Untrusted string
}

// Name is the copy as --stack names it.
func (c Copy) Name() string {
	switch {
	case c.Prefix == "":
		return "inbox"
	case c.Version == "" || path.Base(c.Prefix) != c.Version:
		return "rdma-core@" + c.Prefix
	}
	return "rdma-core@" + c.Version
}

// Dir is the directory that the loader is told.
func (c Copy) Dir() string { return path.Dir(c.Library) }

// Providers are the drivers that the library can open: of its private ABI, by name, sorted.
func (c Copy) Providers() []string {
	out := []string{}
	for _, p := range c.Facts.Providers.Or(nil) {
		if abi, ok := c.Facts.PrivateABI.Get(); ok && p.PrivateABI == abi && !slices.Contains(out, p.Name) {
			out = append(out, p.Name)
		}
	}
	slices.Sort(out)
	return out
}

// Copies are the libraries of a host.
type Copies struct {
	Inbox  *Copy  // nil where the distribution's is not installed
	Builds []Copy // as detect found them
	// Default is the library that programs get by the loader's cache, empty if it has none; Told says whether
	// the cache could be asked.
	Default string
	Told    bool
	// Userspace is what the copies come from.
	Userspace facts.Userspace
}

// Choose is the copy that is wished for. It is not checked yet.
func (c Copies) Choose(w Wish) (Copy, error) {
	if w.Stack == "inbox" {
		if c.Inbox == nil {
			return Copy{}, fault.New(fault.Stopped, "no-inbox-library", "`rdmactl install --profile inbox` installs it",
				"cannot use the distribution's own library: no libibverbs is in its directories")
		}
		return *c.Inbox, nil
	}
	lib, err := plan.Build(c.Userspace.Built, w.Stack, w.Version)
	if err != nil {
		return Copy{}, err
	}
	for _, b := range c.Builds {
		if b.Library == lib.Path {
			return b, nil
		}
	}
	return Copy{}, fault.New(fault.Failed, "not-built", "", "cannot use rdma-core in %s: it is gone", lib.Prefix)
}

// IsDefault says whether programs get this copy without being told.
func (c Copies) IsDefault(copy Copy) bool { return c.Default != "" && c.Default == copy.Library }

// Check says why a copy would not serve programs of format native, such as elf64-x86-64.
func (c Copy) Check(native string) error {
	const anew = "build it anew: `rdmactl install --stack rdma-core --version VERSION --activate none --source FILE --sha256 DIGITS`"
	stop := func(code, hint, format string, args ...any) error {
		return fault.New(fault.Stopped, code, hint, "cannot use "+c.Name()+": "+format, args...)
	}
	if c.Format != "" && native != "" && c.Format != native {
		return stop("other-architecture", "build it on this host", "%s is of another architecture (%s, this host has %s)", c.Library, c.Format, native)
	}
	if c.Prefix == "" {
		if c.Facts.Providers.IsUnknown() || !c.Facts.PrivateABI.IsKnown() || len(c.Providers()) > 0 {
			return nil // the distribution's own is what it is
		}
		return stop("no-providers", "`rdmactl install --profile inbox` installs them", "no provider of private ABI %d is beside %s, so it finds no device", c.Facts.PrivateABI.Value, c.Library)
	}
	if c.Untrusted != "" {
		return stop("not-trusted", "give it to root, writable by nobody else", "%s", c.Untrusted)
	}
	if err := plan.Mixed(c.Facts); err != nil {
		return err
	}
	for _, d := range []struct{ dir, what string }{{c.DriverDir, "its driver configuration"}, {c.ProviderDir, "its providers"}} {
		if d.dir != "" && !strings.HasPrefix(d.dir, c.Prefix+"/") {
			return stop("foreign-configuration", anew, "the library in %s was built to read %s from %s, which is not of this build", c.Prefix, d.what, d.dir)
		}
	}
	if c.DriverDir != "" && !slices.ContainsFunc(c.Drivers, func(d string) bool { return slices.Contains(c.Providers(), d) }) {
		return stop("no-drivers", anew, "its driver configuration %s names no provider that it has, so it finds no device", c.DriverDir)
	}
	return nil
}
