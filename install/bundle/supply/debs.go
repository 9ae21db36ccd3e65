package supply

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/detect"
	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/install/bundle"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/apt"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// debArch is an architecture as dpkg names it.
func debArch(machine string) (string, error) {
	arch := map[string]string{"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64el"}[machine]
	if arch == "" {
		return "", fault.New(fault.Stopped, "host-not-known", "", "cannot resolve packages for the architecture %q", machine)
	}
	return arch, nil
}

// debs collects the packages of a host with apt.
func (c *Collection) debs(ctx context.Context, k *kind, h Host, out *bundle.Host) error {
	arch, err := debArch(h.Facts.Kernel.Arch.Or(""))
	if err != nil {
		return err
	}
	other := apt.Other{Arch: arch, Sources: map[string][]byte{}, Keys: map[string][]byte{}}
	if told := detect.PackageRelations(ctx, h.Reader, h.Facts); told.State == facts.Known {
		other.Status, out.Installed = []byte(told.Value), bundle.InstalledTold
	}
	if err := c.aptSources(ctx, k, h, &other); err != nil {
		return err
	}
	dir, err := c.dir(k.id)
	if err != nil {
		return err
	}
	pm, err := apt.Elsewhere(c.Writer, dir, other)
	if err != nil {
		return err
	}
	// An apt whose caller was killed downloads to its end.
	if err := pm.Wait(ctx, 10*time.Minute); err != nil {
		return fault.New(fault.Locked, "locked", "wait until it has ended, or name another directory with --cache", "cannot use the cache %s: %w", c.Cache, err)
	}
	stop := func() {}
	got, err := install.Gather(ctx, pm, h.Plan, func(sol plan.Solution) {
		c.Meter.Begin(h.Name, "download", len(sol.Actions), sol.DownloadBytes)
		archives, _ := pm.Directories()
		stop = c.watch(archives)
	})
	stop()
	c.Meter.End()
	if !other.Own {
		// First, as what is of another release often cannot be resolved either.
		if wrong := checkDebReleases(h, filepath.Join(dir, "lists")); wrong != nil {
			return wrong
		}
	}
	if err != nil {
		return c.explained(h, "apt", got.Notes, err)
	}
	out.Packages, out.Notes = got.Solution.Actions, append(out.Notes, got.Notes...)
	files, err := pm.PackageFiles(ctx, got.Solution.Actions)
	if err != nil {
		return err
	}
	older := []pkgmgr.Package{}
	for _, a := range got.Solution.Actions {
		if a.From != "" && a.Action != "remove" {
			older = append(older, pkgmgr.Package{Name: a.Name, Arch: a.Arch, Version: a.From})
		}
	}
	kept, missing, err := pm.Older(ctx, older)
	if err != nil {
		return err
	}
	for _, m := range missing {
		out.Notes = append(out.Notes, "package "+m+" would be replaced, and no repository has it any more: the host cannot keep it for a rollback, and stops before it changes anything")
	}
	for _, f := range append(files, kept...) {
		if err := k.addDeb(f); err != nil {
			return err
		}
	}
	return nil
}

// aptSources names where packages of a host come from.
func (c *Collection) aptSources(ctx context.Context, k *kind, h Host, other *apt.Other) error {
	keyring := strings.Join(c.Keys, "\n")
	for i, f := range c.Feeds {
		if !f.of(h.Facts, "apt") {
			continue
		}
		k.from(f.plainly())
		if f.Name != "" {
			other.Sources[fmt.Sprintf("%d-%s", i, f.Name)] = f.Text
			continue
		}
		option := ""
		if keyring != "" {
			other.Keys["mirror.asc"] = []byte(keyring)
			option = "[signed-by=" + apt.KeysMark + "/mirror.asc] "
		}
		suite := f.Suite
		line := strings.TrimSpace(fmt.Sprintf("deb %s%s %s %s", option, f.Address, suite, strings.Join(f.Components, " ")))
		other.Sources[fmt.Sprintf("%d-mirror.list", i)] = []byte(line + "\n")
	}
	if len(other.Sources) == 0 {
		own, err := kindID(c.Here)
		if err != nil || own != k.id {
			return nothing(h, k.id)
		}
		other.Own = true
		k.from("the sources of the machine that made the bundle")
	}
	var err error
	if other.Repos, err = install.RepositoriesOf(ctx, h.Plan, slices.Concat(c.Keys, c.VendorKeys), c.Now); err != nil {
		return err
	}
	for _, r := range other.Repos {
		k.from(pkgmgr.WithoutCredentials(c.origin(r.URL)))
	}
	return nil
}

// addDeb adds a package, once.
func (k *kind) addDeb(f pkgmgr.PackageFile) error {
	version := f.Version
	if _, rest, has := strings.Cut(version, ":"); has {
		version = rest // an epoch in the name of a file would have to be written as %3a
	}
	d := bundle.Deb{
		Blob:   bundle.Blob{Content: bundle.Content{SHA256: f.SHA256, Bytes: f.Bytes}, File: f.File},
		Name:   fmt.Sprintf("%s_%s_%s.deb", f.Name, version, f.Arch),
		Record: f.Record,
	}
	i := slices.IndexFunc(k.debs, func(o bundle.Deb) bool { return o.Name == d.Name })
	switch {
	case i < 0:
		k.debs = append(k.debs, d)
	case k.debs[i].SHA256 != d.SHA256:
		return fault.New(fault.Stopped, "packages-differ", "make a bundle for each of the hosts", "cannot make the bundle: two repositories have different packages %s", filepath.Base(d.Name))
	}
	return nil
}
