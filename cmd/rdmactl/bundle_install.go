package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/install/bundle"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
	"github.com/spf13/pflag"
)

// unpackDir is where bundles are unpacked on a host. Only root enters it.
const unpackDir = "/var/cache/rdmactl/bundles"

// bundleUse is a bundle that is installed from.
type bundleUse struct {
	file  string
	trust bool

	opened *bundle.Bundle
	by     string
	host   bundle.Host
}

func (u *bundleUse) addFlags(f *pflag.FlagSet) {
	f.StringVar(&u.file, "bundle", "", "install from the bundle in `FILE` (from `rdmactl bundle create`) and from nothing else; needs --sha256 or --key")
	f.BoolVar(&u.trust, "trust-bundle", false, "take the bundle without --sha256 and --key")
}

func (u *bundleUse) close() {
	if u.opened != nil {
		_ = u.opened.Close() // it was only read
	}
}

// open verifies the bundle, and takes its proof from the flags that otherwise are about --source.
func (u *bundleUse) open(ctx context.Context, f *pflag.FlagSet, wish *wishOptions, g *globalOptions) error {
	if u.file == "" {
		if u.trust {
			return fault.New(fault.Usage, "usage", "name the bundle with --bundle", "cannot trust a bundle that is not named")
		}
		return nil
	}
	for _, name := range []string{"profile", "stack", "version", "card", "netdev", "upgrade", "firmware", "source", "signature", "trust-source", "matrix", "date", "plan", "resume"} {
		if f.Changed(name) {
			return fault.New(fault.Usage, "usage", "leave it away, or make a bundle for it", "cannot use --%s with --bundle: what is installed was settled as the bundle was made", name)
		}
	}
	var err error
	u.opened, u.by, err = proofOptions{sha256: wish.sha256, keys: wish.keys, trust: u.trust}.open(ctx, u.file, g)
	if err != nil {
		return err
	}
	wish.sha256, wish.keys = "", nil
	if g.format() == "table" {
		fmt.Fprintf(g.err, "the bundle %s is whole, and proven by %s\n", u.file, u.by)
	}
	return nil
}

// settle finds the host among those that the bundle is for, and asks for what was asked for there.
func (u *bundleUse) settle(f facts.Facts, wish *wishOptions, known *matrix.Index, allowUnknown *bool) (*matrix.Index, error) {
	if u.opened == nil {
		return known, nil
	}
	m := u.opened.Manifest
	h, ok := hostOf(m, f)
	if !ok {
		return known, notFor(m, f)
	}
	u.host = h
	r := h.Request
	wish.profile, wish.stack, wish.version, wish.method = r.Profile.Name, r.Stack, r.Version, r.Method
	wish.cards, wish.netdev, wish.upgrade, wish.firmware = r.Cards, r.Netdev, r.Upgrade, r.Firmware
	wish.hold = wish.hold || r.Hold
	wish.loaded = map[string]profiles.Profile{r.Profile.Name: r.Profile}
	*allowUnknown = *allowUnknown || r.Unknown
	if len(r.Holdings) == 0 {
		return known, nil
	}
	merged, err := matrix.Merge(known.Matrix(), &matrix.Matrix{Holdings: r.Holdings})
	if err != nil {
		return known, err
	}
	return matrix.NewIndex(merged)
}

// hostOf is the host of a bundle that this one is: of its distribution, release and architecture, and the one
// with its kernel where there are several.
func hostOf(m bundle.Manifest, f facts.Facts) (bundle.Host, bool) {
	var found []bundle.Host
	for _, h := range m.Hosts {
		if h.Distro != "" && h.Distro == f.Distro.ID.Or("") && h.Release == f.Distro.VersionID.Or("") && h.Arch == f.Kernel.Arch.Or("") {
			found = append(found, h)
		}
	}
	if len(found) == 0 {
		return bundle.Host{}, false
	}
	if i := slices.IndexFunc(found, func(h bundle.Host) bool { return h.Kernel == f.Kernel.Release.Or("") }); i >= 0 {
		return found[i], true
	}
	return found[0], true
}

// bundleForThis says how a bundle for this very host is made.
const bundleForThis = "save this host with `rdmactl detect --save this.yaml`, and make a bundle for it where there is a network: " +
	"`rdmactl bundle create --for this.yaml --out FILE`, with the profile or stack that is wanted"

// notFor is the fault of a host of another system than any that the bundle was made for, with what differs.
func notFor(m bundle.Manifest, f facts.Facts) error {
	held, differs := []string{}, []string{}
	is := [3]string{f.Distro.ID.Or(""), f.Distro.VersionID.Or(""), f.Kernel.Arch.Or("")}
	fewest := len(is) + 1
	for _, one := range m.Hosts {
		of := [3]string{one.Distro, one.Release, one.Arch}
		if text := strings.Join(of[:], " "); !slices.Contains(held, text) {
			held = append(held, text)
		}
		words := []string{}
		for i, what := range []string{"distribution", "release", "architecture"} {
			if is[i] != of[i] {
				words = append(words, what)
			}
		}
		if len(words) < fewest { // of the one that is nearest
			fewest, differs = len(words), words
		}
	}
	return fault.New(fault.Stopped, "not-in-bundle", bundleForThis, "cannot install from the bundle: it is for %s, and this host is %s: another %s",
		strings.Join(held, ", "), strings.TrimSpace(strings.Join([]string{or(is[0], "an unknown system"), is[1], is[2]}, " ")), strings.Join(differs, " and "))
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// differs says in what this host is not the one that the bundle was made for, as far as a bundle knows.
func (u *bundleUse) differs(f facts.Facts) string {
	h := u.host
	text := "the bundle was made for " + h.Name
	var more []string
	if kernel := f.Kernel.Release.Or(""); kernel != "" && h.Kernel != "" && kernel != h.Kernel {
		more = append(more, "its kernel was "+h.Kernel+" and here it is "+kernel)
	}
	if h.Installed == bundle.InstalledTold {
		more = append(more, "it holds what was missing beside the packages of that host, and this one may have others")
	}
	if len(more) > 0 {
		text += ": " + strings.Join(more, "; ")
	}
	return text
}

// lacks words a failure that comes of a host which the bundle was not made for. What it says to do otherwise, such as
// to add a repository, is of no use with a bundle.
func (u *bundleUse) lacks(here facts.Facts, err error) error {
	var f *fault.Error
	if u.opened == nil || !errors.As(err, &f) || !slices.Contains([]string{"package-not-found", "package-manager-failed", "unannounced-removal", "not-in-bundle"}, f.Code) {
		return err
	}
	hint := u.differs(here) + "; " + bundleForThis
	if f.Code == "unannounced-removal" {
		hint = f.Hint + "; or " + hint
	}
	return fault.New(f.Kind, f.Code, hint, "%w", err)
}

// plan is a plan as it is carried out with the bundle.
func (u *bundleUse) plan(p plan.Plan, root string) (plan.Plan, error) {
	if u.opened == nil || p.Verdict != plan.Install {
		return p, nil
	}
	source, sum := "", ""
	if name := u.host.Request.Build; name != "" {
		repo, _ := u.opened.Manifest.RepositoryOf(u.host.Repository)
		i := slices.IndexFunc(repo.Files, func(f bundle.File) bool { return f.Path == name })
		if i < 0 {
			return p, fault.New(fault.Usage, "faulty-bundle", "make it again", "cannot use the bundle: the source %q is not in it", name)
		}
		if root != "" {
			var err error
			if root, err = filepath.Abs(root); err != nil {
				return p, fmt.Errorf("cannot tell where %s is: %w", root, err)
			}
		}
		source, sum = filepath.Join("/", root, u.dir(), name), repo.Files[i].SHA256
	}
	p.Next = slices.DeleteFunc(slices.Clone(p.Next), func(h plan.Hint) bool { return strings.Contains(h.Command, "rdmactl install") }) // from other sources
	return install.FromBundle(p, source, sum)
}

// dir is where the bundle is unpacked on the host.
func (u *bundleUse) dir() string { return path.Join(unpackDir, u.opened.SHA256()[:16]) }

// unpack lays the host's repository down on it.
func (u *bundleUse) unpack(ctx context.Context, h host.Writer, g *globalOptions) (*install.Offline, error) {
	if u.opened == nil {
		return nil, nil
	}
	opener, ok := h.(host.DirOpener)
	if !ok {
		return nil, errors.New("cannot unpack a bundle on this kind of host")
	}
	repo, ok := u.opened.Manifest.RepositoryOf(u.host.Repository)
	if !ok {
		return nil, fault.New(fault.Usage, "faulty-bundle", "make it again", "cannot use the bundle: it has no repository for this host")
	}
	// A build from source is done beside it, by a user who has to pass through.
	if err := rootOnly(h, path.Dir(unpackDir), 0o755); err != nil {
		return nil, err
	}
	if err := rootOnly(h, unpackDir, 0o700); err != nil {
		return nil, err
	}
	into, err := opener.OpenDir(unpackDir)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", unpackDir, err)
	}
	defer into.Close()
	progress := newMeter(g)
	progress.Begin(u.file, "unpack", len(repo.Files), -1)
	err = u.opened.Unpack(ctx, repo.ID, into, path.Base(u.dir()), progress.add)
	progress.End()
	if err != nil {
		if ctx.Err() != nil {
			err = fault.New(fault.Interrupted, "interrupted", "", "interrupted; nothing was changed")
		}
		return nil, err
	}
	key := u.opened.Manifest.Key + "\n" + strings.Join(repo.PackageKeys, "\n")
	return &install.Offline{Dir: u.dir(), Repository: pkgmgr.Repository{
		ID: "rdmactl-bundle", Name: "rdmactl bundle", URL: "file:" + u.dir(), Key: []byte(key), Fingerprint: u.opened.Manifest.Fingerprint, SignedIndex: true,
	}}, nil
}

// rootOnly makes a directory that root alone can write, or finds that it is one.
func rootOnly(h host.Writer, dir string, mode fs.FileMode) error {
	info, err := h.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := h.MkdirAll(dir, mode); err != nil {
			return fmt.Errorf("cannot make %s: %w", dir, err)
		}
		info, err = h.Lstat(dir)
	}
	if err != nil {
		return fmt.Errorf("cannot look at %s: %w", dir, err)
	}
	if !info.Mode.IsDir() || info.UID != 0 || info.Mode.Perm()&0o022 != 0 {
		return fault.New(fault.Stopped, "directory-not-trusted", "look what it is, and remove it", "cannot unpack into %s: it is no directory that only root writes", dir)
	}
	return nil
}

// dryRun asks the host's package manager about the bundle's repository alone, and removes what that took.
func (u *bundleUse) dryRun(ctx context.Context, h host.Writer, env *install.Env, p plan.Plan, g *globalOptions) (done func() error, err error) {
	none := func() error { return nil }
	if u.opened == nil || p.Verdict != plan.Install {
		return none, nil
	}
	if os.Geteuid() != 0 {
		return none, fault.New(fault.Stopped, "not-root", "run it with sudo: the bundle is unpacked for the package manager to read, and removed again", "cannot ask the package manager about the bundle: not root")
	}
	offline, err := u.unpack(ctx, h, g)
	if err != nil {
		return none, err
	}
	done = func() error { return install.RemoveOffline(h, *offline) }
	env.Manager, err = install.OfflineManager(ctx, h, p.Manager, *offline)
	return done, err
}
