package supply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/bundle"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// Host is one host that is supplied.
type Host struct {
	Name    string
	Facts   facts.Facts
	Reader  host.Reader // its evidence
	Plan    plan.Plan
	Request bundle.Request
}

// Meter is told how a collection goes on.
type Meter interface {
	// Begin names what is done for a host, of packages and bytes in all; -1 is not known.
	Begin(host, what string, packages int, bytes int64)
	// At is how many bytes of that are there.
	At(bytes int64)
	End()
}

// Collection is what was collected so far.
type Collection struct {
	Writer host.Writer // this machine
	Here   facts.Facts // of this machine: for a host of the same release its own sources are used
	Cache  string      // directory of downloads, absolute
	Feeds  []Feed
	// Keys are texts of public keys that a person trusts for what the vendor, and mirrors without a key of
	// their own, offer.
	Keys []string
	// VendorKeys came with a vendor's source and are known by their fingerprints; nothing of a distribution is trusted
	// by them.
	VendorKeys []string
	// Fetched is the file that a packed source was fetched to, where it is an address.
	Fetched string
	Now     time.Time
	Meter   Meter

	origins map[string]string // of folders that were unpacked, by their addresses
	kinds   map[string]*kind
	order   []string
}

// kind is what hosts of one distribution, release and architecture share.
type kind struct {
	id      string
	form    string
	sources []string
	debs    []bundle.Deb
	rpms    []rpmFile
	keys    []string // of packages, armored
	builds  []build
}

// build is a source that is compiled on the host.
type build struct {
	name string
	blob bundle.Blob
}

// kindID names a kind: debian-12-x86_64.
func kindID(f facts.Facts) (string, error) {
	var parts []string
	for _, p := range []struct{ what, value string }{
		{"distribution", f.Distro.ID.Or("")}, {"release", f.Distro.VersionID.Or("")}, {"architecture", f.Kernel.Arch.Or("")},
	} {
		if p.value == "" || strings.Trim(p.value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._") != "" && p.what != "distribution" {
			return "", fault.New(fault.Stopped, "host-not-known", "save the evidence again on the host: rdmactl detect --save FILE", "cannot tell for which %s the bundle is to be", p.what)
		}
		parts = append(parts, p.value)
	}
	return strings.Join(parts, "-"), nil
}

// Add collects what one host needs, and returns what the bundle says of it.
func (c *Collection) Add(ctx context.Context, h Host) (bundle.Host, error) {
	id, err := kindID(h.Facts)
	if err != nil {
		return bundle.Host{}, err
	}
	if c.kinds == nil {
		c.kinds = map[string]*kind{}
	}
	k := c.kinds[id]
	if k == nil {
		k = &kind{id: id}
		c.kinds[id], c.order = k, append(c.order, id)
	}
	out := bundle.Host{
		Name: h.Name, Distro: h.Facts.Distro.ID.Or(""), Release: h.Facts.Distro.VersionID.Or(""), Arch: h.Facts.Kernel.Arch.Or(""),
		Kernel: h.Facts.Kernel.Release.Or(""), Manager: h.Facts.Packages.Manager.Or(""), Repository: id,
		Request: h.Request, Plan: h.Plan.Summary, Packages: []plan.ResolvedPackage{}, Installed: bundle.InstalledNotTold,
	}
	if out.Request.Build, err = c.source(ctx, k, h); err != nil {
		return out, err
	}
	if h.Plan, err = c.unpacked(ctx, h.Plan); err != nil {
		return out, err
	}
	switch out.Manager {
	case "apt":
		k.form = bundle.Debs
		return out, c.debs(ctx, k, h, &out)
	case "dnf", "yum", "zypper":
		k.form = bundle.RPMs
		return out, c.rpmPackages(ctx, k, h, &out)
	}
	return out, fault.New(fault.Stopped, "manager-not-supported", "bundles are made for hosts with apt, dnf and zypper",
		"cannot make a bundle for %s: what it needs cannot be resolved for a host with %q", h.Name, out.Manager)
}

// dir is a directory of the cache, root's or this user's alone.
func (c *Collection) dir(name string) (string, error) {
	dir := filepath.Join(c.Cache, name)
	// What is above is not ours alone: builds from source are done below /var/cache/rdmactl by another user.
	if err := errors.Join(os.MkdirAll(filepath.Dir(c.Cache), 0o755), os.MkdirAll(dir, 0o700)); err != nil {
		return "", fault.New(fault.Failed, "cannot-write", "name a directory of your own with --cache", "cannot use the cache %s: %w", c.Cache, err)
	}
	return dir, nil
}

// Lock keeps others from the cache until the returned function is called.
func (c *Collection) Lock() (unlock func() error, err error) {
	dir, err := c.dir(".")
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot use the cache %s: %w", c.Cache, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		held := fault.New(fault.Locked, "locked", "wait until it has ended, or name another directory with --cache", "cannot use the cache %s: another `rdmactl bundle create` is at work there", c.Cache)
		return nil, errors.Join(held, f.Close())
	}
	return f.Close, nil
}

// Repositories are the bundle's repositories and their contents.
func (c *Collection) Repositories(ctx context.Context, s bundle.Signer) ([]bundle.Repository, []bundle.Blob, error) {
	var repos []bundle.Repository
	var all []bundle.Blob
	for _, id := range c.order {
		k := c.kinds[id]
		r := bundle.Repository{ID: id, Form: k.form, PackageKeys: k.keys, Sources: k.sources, Packages: len(k.debs) + len(k.rpms)}
		var blobs []bundle.Blob
		var err error
		if k.form == bundle.RPMs {
			r.Files, blobs, err = c.rpmRepository(ctx, k, s)
		} else {
			r.Files, blobs, err = bundle.DebRepository(id, k.debs, s, c.Now)
		}
		if err != nil {
			return nil, nil, err
		}
		for _, b := range k.builds {
			r.Files, blobs = append(r.Files, bundle.File{Path: b.name, SHA256: b.blob.SHA256}), append(blobs, b.blob)
		}
		slices.SortFunc(r.Files, func(a, b bundle.File) int { return strings.Compare(a.Path, b.Path) })
		repos, all = append(repos, r), append(all, blobs...)
	}
	return repos, all, nil
}

func (k *kind) from(sources ...string) {
	for _, s := range sources {
		if !slices.Contains(k.sources, s) {
			k.sources = append(k.sources, s)
		}
	}
}

// watch tells the meter how a directory grows, until the returned function is called.
func (c *Collection) watch(dir string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	before := sizeOf(dir)
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				c.Meter.At(sizeOf(dir) - before)
				return
			case <-time.After(200 * time.Millisecond):
				c.Meter.At(sizeOf(dir) - before)
			}
		}
	}()
	return func() { close(done); <-ended }
}

func sizeOf(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error { // files come and go meanwhile
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}

// nothing is the fault of a host for which no source is named.
func nothing(h Host, id string) error {
	return fault.New(fault.Stopped, "no-repository", "name its repositories with --mirror or --sources, and their key with --key",
		"cannot resolve packages for %s: this machine is no %s, and no repository of it is named", h.Name, fmt.Sprintf("%q", id))
}
