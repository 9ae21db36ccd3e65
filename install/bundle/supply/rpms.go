package supply

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/install/bundle"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/dnf"
	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
	"github.com/rdmactl/rdmactl/install/pkgmgr/zypper"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// rpmFile is a package with its name in the repository.
type rpmFile struct {
	name string
	blob bundle.Blob
}

// rpmManager is what stands for a host with one of the managers of RPMs.
func (c *Collection) rpmManager(ctx context.Context, manager, dir string, other rpm.Other) (pkgmgr.Collecting, error) {
	program, elsewhere := "dnf", func() (pkgmgr.Collecting, error) { return dnf.Elsewhere(ctx, c.Writer, dir, other) }
	if manager == "zypper" {
		program, elsewhere = "zypper", func() (pkgmgr.Collecting, error) { return zypper.Elsewhere(ctx, c.Writer, dir, other) }
	}
	if _, err := exec.LookPath(program); err != nil {
		return nil, fault.New(fault.Stopped, "not-installed", "install "+program+" on this machine: Debian, Ubuntu and Fedora have it too",
			"cannot resolve packages for a host with %s: %s is not installed here", manager, program)
	}
	return elsewhere()
}

// rpmPackages collects the packages of a host with dnf or zypper.
func (c *Collection) rpmPackages(ctx context.Context, k *kind, h Host, out *bundle.Host) error {
	other, keys, err := c.rpmSources(ctx, k, h)
	if err != nil {
		return err
	}
	dir, err := c.dir(k.id)
	if err != nil {
		return err
	}
	pm, err := c.rpmManager(ctx, out.Manager, dir, other)
	if err != nil {
		return err
	}
	var got install.Gathered
	gather := func(p plan.Plan) error {
		stop := func() {}
		got, err = install.Gather(ctx, pm, p, func(sol plan.Solution) {
			c.Meter.Begin(h.Name, "download", len(sol.Actions), sol.DownloadBytes)
			stop = c.watch(filepath.Join(dir, "cache"))
		})
		stop()
		c.Meter.End()
		return err
	}
	// What the host has of the stack comes along in the version that goes with the others: where one is replaced,
	// those that need exactly it must be.
	if whole := withInstalled(h); gather(whole) != nil {
		out.Notes = append(out.Notes, "packages of the stack that the host has cannot be brought along: "+err.Error())
		if err := gather(h.Plan); err != nil {
			return c.explained(h, "rpm", got.Notes, err)
		}
	}
	if err := checkRPMReleases(h, slices.DeleteFunc(slices.Clone(other.Repos), func(r pkgmgr.Repository) bool { return !strings.HasPrefix(r.ID, "mirror-") }), got.Solution.Actions); err != nil {
		return err
	}
	out.Packages, out.Notes = got.Solution.Actions, append(out.Notes, got.Notes...)
	files, err := pm.PackageFiles(ctx, got.Solution.Actions)
	if err != nil {
		return err
	}
	for _, f := range files {
		name := rpm.FileName(f.Package)
		if i := slices.IndexFunc(k.rpms, func(o rpmFile) bool { return o.name == name }); i >= 0 {
			continue
		}
		blob, err := bundle.FileBlob(f.File)
		if err != nil {
			return err
		}
		k.rpms = append(k.rpms, rpmFile{name, blob})
	}
	for _, key := range keys {
		if !slices.Contains(k.keys, key) {
			k.keys = append(k.keys, key)
		}
	}
	return nil
}

// withInstalled is the plan of a host with the packages of RDMA stacks that it has, but for those that go.
func withInstalled(h Host) plan.Plan {
	named := map[string]bool{}
	for _, s := range h.Plan.Steps {
		for _, c := range s.Changes.Packages {
			named[c.Name] = true
		}
	}
	extra := plan.Step{ID: "installed", Kind: plan.KindPackages}
	for _, p := range h.Facts.Packages.Installed.Or(nil) {
		if !named[p.Name] && !strings.HasPrefix(p.Name, "kernel") {
			named[p.Name] = true
			extra.Changes.Packages = append(extra.Changes.Packages, plan.PackageChange{Name: p.Name, Action: "install", Optional: true})
		}
	}
	out := h.Plan
	if len(extra.Changes.Packages) > 0 {
		out.Steps = append(slices.Clone(out.Steps), extra)
	}
	return out
}

// rpmSources names where packages of a host come from, and the keys that sign them.
func (c *Collection) rpmSources(ctx context.Context, k *kind, h Host) (rpm.Other, []string, error) {
	release := h.Facts.Distro.VersionID.Or("")
	if h.Facts.Distro.Family.Or("") != "suse" { // whose repositories have the service pack in their addresses
		release, _, _ = strings.Cut(release, ".")
	}
	other := rpm.Other{Release: release, Arch: h.Facts.Kernel.Arch.Or(""), Files: map[string][]byte{}, Keys: map[string][]byte{}}
	if h.Facts.Distro.Family.Or("") == "rhel" && h.Facts.Distro.ID.Or("") != "fedora" {
		other.Platform = "platform:el" + release
	}
	keys := slices.Clone(c.Keys)
	for i, f := range c.Feeds {
		if !f.of(h.Facts, "rpm") {
			continue
		}
		k.from(f.plainly())
		if f.Name != "" {
			named, err := keysOf(f)
			if err != nil {
				return other, nil, err
			}
			keys = append(keys, named...)
			other.Files[fmt.Sprintf("%d-%s", i, f.Name)] = f.Text
			continue
		}
		if len(c.Keys) == 0 {
			return other, nil, fault.New(fault.Usage, "usage", "give the distribution's public key with --key", "cannot use the mirror %s: no key verifies what it offers", f.plainly())
		}
		other.Repos = append(other.Repos, f.repository(fmt.Sprintf("mirror-%d", i), []byte(strings.Join(c.Keys, "\n"))))
	}
	if len(other.Repos)+len(other.Files) == 0 {
		if err := c.ownRepos(k, h, &other, &keys); err != nil {
			return other, nil, err
		}
	}
	vendor, err := install.RepositoriesOf(ctx, h.Plan, slices.Concat(c.Keys, c.VendorKeys), c.Now)
	if err != nil {
		return other, nil, err
	}
	for _, r := range vendor {
		k.from(pkgmgr.WithoutCredentials(c.origin(r.URL)))
		keys = append(keys, string(r.Key))
	}
	other.Repos = append(other.Repos, vendor...)
	for i, key := range keys {
		other.Keys[fmt.Sprintf("key-%d.asc", i)] = []byte(key)
	}
	return other, keys, nil
}

// ownRepos are the repositories of this machine, for a host of the same release.
func (c *Collection) ownRepos(k *kind, h Host, other *rpm.Other, keys *[]string) error {
	if own, err := kindID(c.Here); err != nil || own != k.id {
		return nothing(h, k.id)
	}
	dir := "/etc/yum.repos.d"
	if h.Facts.Packages.Manager.Or("") == "zypper" {
		dir = "/etc/zypp/repos.d"
	}
	names, err := c.Writer.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", dir, err)
	}
	for _, n := range names {
		if !strings.HasSuffix(n, ".repo") {
			continue
		}
		text, err := c.Writer.ReadFile(dir + "/" + n)
		if err != nil {
			return fmt.Errorf("cannot read %s/%s: %w", dir, n, err)
		}
		named, err := keysOf(Feed{Name: n, Text: text})
		if err != nil {
			return err
		}
		other.Files[n], *keys = text, append(*keys, named...)
	}
	k.from("the repositories of the machine that made the bundle")
	return nil
}

// keysOf are the keys that a .repo file names on this machine.
func keysOf(f Feed) ([]string, error) {
	var out []string
	for line := range strings.Lines(string(f.Text)) {
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.TrimSpace(name) != "gpgkey" {
			continue
		}
		for _, address := range strings.Fields(strings.ReplaceAll(value, ",", " ")) {
			u, err := url.Parse(address)
			if err != nil || u.Scheme != "file" || strings.Contains(address, "$") {
				continue // it has to be given with --key
			}
			data, err := os.ReadFile(u.Path)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("cannot read the key that %s names: %w", f.Name, err)
			}
			if text := string(data); !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out, nil
}

// rpmRepository are the files of a repository of packages, with a signed index.
func (c *Collection) rpmRepository(ctx context.Context, k *kind, s bundle.Signer) (files []bundle.File, blobs []bundle.Blob, err error) {
	base, err := c.dir("index")
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp(base, k.id+"-")
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a repository: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Mkdir(filepath.Join(dir, "packages"), 0o755); err != nil {
		return nil, nil, fmt.Errorf("cannot make a repository: %w", err)
	}
	slices.SortFunc(k.rpms, func(a, b rpmFile) int { return strings.Compare(a.name, b.name) })
	for _, r := range k.rpms {
		at := "packages/" + r.name
		if err := os.Symlink(r.blob.File, filepath.Join(dir, at)); err != nil {
			return nil, nil, fmt.Errorf("cannot make a repository: %w", err)
		}
		files, blobs = append(files, bundle.File{Path: at, SHA256: r.blob.SHA256}), append(blobs, r.blob)
	}
	program, err := exec.LookPath("createrepo_c")
	if err != nil {
		return nil, nil, fault.New(fault.Stopped, "not-installed", "install createrepo_c on this machine", "cannot make a bundle for hosts with rpm: createrepo_c is not installed")
	}
	out, err := exec.CommandContext(ctx, program, "--quiet", "--no-database", "--general-compress-type=gz", dir).CombinedOutput()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot index the packages: createrepo_c: %w: %s", err, strings.TrimSpace(string(out[:min(len(out), 400)])))
	}
	entries, err := os.ReadDir(filepath.Join(dir, "repodata"))
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the index: %w", err)
	}
	add := func(name string, data []byte) {
		b := bundle.TextBlob(data)
		files, blobs = append(files, bundle.File{Path: "repodata/" + name, SHA256: b.SHA256}), append(blobs, b)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, "repodata", e.Name()))
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read the index: %w", err)
		}
		add(e.Name(), data)
		if e.Name() == "repomd.xml" {
			signature, err := s.Detached(data)
			if err != nil {
				return nil, nil, err
			}
			add(e.Name()+".asc", signature)
		}
	}
	return files, blobs, nil
}
