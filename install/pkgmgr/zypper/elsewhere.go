package zypper

import (
	"context"
	"errors"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
	"github.com/rdmactl/rdmactl/plan"
)

// Elsewhere returns a manager of another host, of which nothing is known to be installed: what it brings is whole by
// itself. It fetches and solves on this machine with this machine's zypper, in an empty root below dir, where it
// keeps what was downloaded before, and installs nothing. The machine need not be one of SUSE's.
func Elsewhere(ctx context.Context, w host.Writer, dir string, other rpm.Other) (*Manager, error) {
	conf, home := dir+"/zypp.conf", dir+"/home"
	// The architecture has no option. Where rpm has its database is a macro of this machine, which libzypp looks for
	// below the other root; Debian's depends on the user.
	away, err := other.Prepare(w, dir, "ZYPP_CONF="+conf, "HOME="+home)
	if err != nil {
		return nil, err
	}
	err = pkgmgr.WriteFiles(w, []pkgmgr.File{
		{Path: conf, Data: []byte("[main]\narch = " + other.Arch + "\nmultiversion = provides:multiversion(kernel)\n"), Mode: 0o600},
		{Path: home + "/.rpmmacros", Data: []byte("%_dbpath /var/lib/rpm\n"), Mode: 0o600},
	})
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
	if err := out.Trust(ctx, keys); err != nil {
		return nil, err
	}
	out.staged.elsewhere = []string{"--root", other.Root(dir)}
	if other.Release != "" {
		out.staged.elsewhere = append(out.staged.elsewhere, "--releasever", other.Release)
	}
	return out, nil
}

// PackageFiles are the packages of actions that come, with their files.
func (m *Manager) PackageFiles(ctx context.Context, actions []plan.ResolvedPackage) ([]pkgmgr.PackageFile, error) {
	return m.Tool.PackageFiles(actions, func(a plan.ResolvedPackage) (string, error) {
		files, err := m.files(ctx, []plan.ResolvedPackage{a})
		if err != nil {
			return "", err
		}
		return files[0], nil
	})
}
