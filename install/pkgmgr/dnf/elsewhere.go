package dnf

import (
	"context"
	"errors"
	"slices"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
	"github.com/rdmactl/rdmactl/plan"
)

// Elsewhere returns a manager of another host, of which nothing is known to be installed: what it brings is
// whole by itself. It fetches and solves on this machine with this machine's dnf, in an empty root below dir,
// where it keeps what was downloaded before, and installs nothing.
func Elsewhere(ctx context.Context, w host.Writer, dir string, other rpm.Other) (*Manager, error) {
	away, err := other.Prepare(w, dir)
	if err != nil {
		return nil, err
	}
	staged, err := New(away).WithOnly(ctx, dir, other.Repos)
	if err != nil {
		return nil, err
	}
	out, ok := staged.(*Manager)
	if !ok {
		return nil, errors.New("cannot stage with this package manager")
	}
	keys, err := other.Lay(w, dir)
	if err != nil {
		return nil, err
	}
	out.staged.keys = append(out.staged.keys, keys...)
	slices.Sort(out.staged.keys)
	out.staged.elsewhere = []string{"--installroot=" + other.Root(dir), "--forcearch=" + other.Arch}
	if other.Release != "" {
		out.staged.elsewhere = append(out.staged.elsewhere, "--releasever="+other.Release)
	}
	if other.Platform != "" {
		out.staged.elsewhere = append(out.staged.elsewhere, "--setopt=module_platform_id="+other.Platform)
	}
	return out, nil
}

// PackageFiles are the packages of actions that come, with their files.
func (m *Manager) PackageFiles(ctx context.Context, actions []plan.ResolvedPackage) ([]pkgmgr.PackageFile, error) {
	d, err := m.dialect()
	if err != nil {
		return nil, err
	}
	return m.Tool.PackageFiles(actions, func(a plan.ResolvedPackage) (string, error) {
		files, err := m.files(ctx, d, []plan.ResolvedPackage{a})
		if err != nil {
			return "", err
		}
		return files[0], nil
	})
}
