package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// Offline says that a run installs from a repository that lies on the host, and asks no other: those that the
// host has configured are left alone, and nothing of this one is configured for good.
type Offline struct {
	// Dir is the repository's directory on the host, which only root can enter. It goes when the run has ended.
	Dir string `json:"dir"`
	// Repository is how the package manager finds it.
	Repository pkgmgr.Repository `json:"repository"`
}

// FromBundle is a plan as it is carried out with what a bundle holds: the packages of its repositories are in
// the bundle's, so the step that would configure a vendor's address is left out, and nothing is fetched.
// source is the file of a stack that is built, by checksum, empty for none.
func FromBundle(p plan.Plan, source, sha256 string) (plan.Plan, error) {
	steps := []plan.Step{}
	for _, s := range p.Steps {
		if s.Kind == plan.KindRepository {
			continue
		}
		s.Network = false
		if s.Kind == plan.KindBuild && s.Changes.Build != nil {
			if source == "" {
				return p, fault.New(fault.Stopped, "not-in-bundle", "make a bundle with the source: rdmactl bundle create --source FILE --sha256 DIGITS",
					"cannot build %s: the bundle has no source of it", s.Changes.Build.Version)
			}
			b := *s.Changes.Build
			b.Source, b.SHA256, b.Signature = source, sha256, ""
			s.Changes.Build = &b
		}
		steps = append(steps, s)
	}
	p.Steps = steps
	return p, nil
}

// seal has the package manager know the repository of the run and no other. Once that is gone, as it is after
// the run, it knows none.
func (r *run) seal(ctx context.Context) error {
	sealed, ok := r.base.(pkgmgr.Sealed)
	if !ok {
		return fault.New(fault.Stopped, "manager-not-supported", "", "cannot install from a bundle with %s", r.base.Name())
	}
	repos, dir := []pkgmgr.Repository{r.order.Offline.Repository}, r.stagingDir()
	if _, err := r.host.Lstat(r.order.Offline.Dir); errors.Is(err, fs.ErrNotExist) {
		repos, dir = nil, dir+"-none"
	} else if err != nil {
		return fmt.Errorf("cannot look at %s: %w", r.order.Offline.Dir, err)
	}
	pm, err := sealed.WithOnly(ctx, dir, repos)
	if err != nil {
		return managerFault("cannot use the bundle's repository", err)
	}
	r.pm = pm
	return nil
}

// unseal removes what was unpacked for the run, and takes back the trust in its keys.
func (r *run) unseal(ctx context.Context) error {
	if r.order.Offline == nil {
		return nil
	}
	return errors.Join(r.untrust(ctx), RemoveOffline(r.env.Host, *r.order.Offline))
}

// RemoveOffline removes what was unpacked for a run.
func RemoveOffline(h host.Writer, o Offline) error {
	opener, ok := h.(host.DirOpener)
	if !ok {
		return errors.New("cannot remove directories of this kind of host")
	}
	parent, err := opener.OpenDir(path.Dir(o.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", path.Dir(o.Dir), err)
	}
	defer parent.Close()
	if err := parent.RemoveAll(path.Base(o.Dir)); err != nil {
		return fmt.Errorf("cannot remove %s: %w", o.Dir, err)
	}
	for _, dir := range []string{path.Dir(o.Dir), path.Dir(path.Dir(o.Dir))} {
		if h.Remove(dir) != nil {
			break // something else is in it
		}
	}
	return nil
}

// OfflineManager is the package manager of a host that knows the repository of o and no other, with its lists
// read: for a dry run. What it keeps is in the directory of o.
func OfflineManager(ctx context.Context, h host.Writer, manager string, o Offline) (pkgmgr.Manager, error) {
	base, err := managerOf(manager, h, nil)
	if err != nil {
		return nil, err
	}
	sealed, ok := base.(pkgmgr.Sealed)
	if !ok {
		return nil, fault.New(fault.Stopped, "manager-not-supported", "", "cannot install from a bundle with %s", base.Name())
	}
	dir := path.Join(o.Dir, "lists-of-a-dry-run")
	pm, err := sealed.WithOnly(ctx, dir, []pkgmgr.Repository{o.Repository})
	if err != nil {
		return nil, managerFault("cannot use the bundle's repository", err)
	}
	_, err = pm.Refresh(ctx)
	if u, ok := pm.(pkgmgr.Untrusting); ok { // lists that were read are not verified again
		err = errors.Join(err, u.Untrust(ctx, dir))
	}
	if err != nil {
		return nil, managerFault("cannot trust the bundle's repository", err)
	}
	return pm, nil
}
