package main

import (
	"context"
	"time"

	"github.com/rdmactl/rdmactl/internal/holdings"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// findInstaller looks for the vendor's own installer in a source that is not imported.
func (o *wishOptions) findInstaller(ctx context.Context, known *matrix.Index, program string) error {
	place, err := o.place(o.source)
	if err != nil {
		return err
	}
	with, err := importOptions{keys: o.keys, now: time.Now}.trust(known)
	if err != nil {
		return err
	}
	if place, err = o.packed(ctx, place, &with); err != nil {
		return err
	}
	return o.findInstallerAt(ctx, place, program, with)
}

func (o *wishOptions) findInstallerAt(ctx context.Context, place, program string, with holdings.Options) error {
	found, err := holdings.FindInstaller(ctx, place, program, with)
	if err != nil {
		return err
	}
	o.installer = &plan.Installer{
		File: found.Origin, Directory: found.Directory, SHA256: found.SHA256, Folder: found.Folder,
		Entries: found.Entries, Bytes: found.Bytes, Version: found.Version, Proof: found.Proof,
	}
	return nil
}
