package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/holdings"
	"github.com/rdmactl/rdmactl/internal/openpgpkey"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/plan/rules"
	"github.com/rdmactl/rdmactl/profiles/matrix"
	"github.com/spf13/pflag"
)

// supplyOptions say where a stack comes from and what proves it; plan and install share them.
type supplyOptions struct {
	source      string
	keys        []string
	sha256      string
	signature   string
	trustSource bool
	// fetched is the file that an address was fetched to, and found the keys that came with a source and are
	// known by their fingerprint.
	fetched string
	found   []string
}

func (o *supplyOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.source, "source", "", "where the stack comes from: a vendor's repository (folder or `ADDRESS`) or packed bundle (.tgz, .iso, doca-host .deb or .rpm); for rdma-core a tarball, .dsc, directory or address")
	f.StringArrayVar(&o.keys, "key", nil, "trust the OpenPGP public key in `FILE` for what comes from --source (may be repeated)")
	f.StringVar(&o.sha256, "sha256", "", "checksum of the source file of rdma-core, or of a packed bundle, 64 hex `DIGITS`")
	f.StringVar(&o.signature, "signature", "", "detached OpenPGP signature of the source file of rdma-core, or of a packed bundle, a `FILE` or address; needs --key")
	f.BoolVar(&o.trustSource, "trust-source", false, "build rdma-core from a directory of your own without other proof")
}

// place is the source as it holds for any working directory.
func (o supplyOptions) place(name string) (string, error) {
	if name == "" || strings.Contains(name, "://") {
		return name, nil
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("cannot tell where %s is: %w", name, err)
	}
	return abs, nil
}

// ask puts the source into a request.
func (o supplyOptions) ask(req *plan.Request) error {
	var err error
	if req.Source, err = o.place(o.source); err != nil {
		return err
	}
	if req.Signature, err = o.place(o.signature); err != nil {
		return err
	}
	for _, file := range o.keys {
		at, err := o.place(file)
		if err != nil {
			return err
		}
		req.Keys = append(req.Keys, at)
	}
	req.SHA256 = strings.ToLower(o.sha256)
	return nil
}

// check refuses what does not go together.
func (o supplyOptions) check() error {
	usage := func(hint, format string, args ...any) error {
		return fault.New(fault.Usage, "usage", hint, format, args...)
	}
	switch {
	case o.source == "" && o.sha256 != "", o.source == "" && o.signature != "", o.source == "" && o.trustSource:
		return usage("name the source with --source", "cannot verify a source that is not named")
	case o.sha256 != "" && (len(o.sha256) != 64 || strings.Trim(strings.ToLower(o.sha256), "0123456789abcdef") != ""):
		return usage("sha256sum prints it", "cannot use --sha256 %q: it is not 64 hex digits", o.sha256)
	case o.signature != "" && len(o.keys) == 0:
		return usage("give the public key of who signed it with --key", "cannot verify the signature %s: no key was given", o.signature)
	}
	return nil
}

// readKeys are the texts of the key files.
func (o supplyOptions) readKeys() ([]string, error) {
	var out []string
	for _, file := range o.keys {
		data, err := readRegular(file, maxSmall)
		if err != nil {
			return nil, fault.New(fault.Usage, "usage", "name a file with an OpenPGP public key", "cannot read key file %s: %w", file, err)
		}
		list, err := openpgpkey.Read(data)
		if err != nil || bytes.Contains(data, []byte("-----BEGIN PGP")) {
			out = append(out, string(data)) // what is wrong with it is said where it is used
			continue
		}
		for _, e := range list { // a run keeps them as text
			text, err := openpgpkey.Armor(e)
			if err != nil {
				return nil, fault.New(fault.Usage, "usage", "name a file with an OpenPGP public key", "cannot read key file %s: %w", file, err)
			}
			out = append(out, string(text))
		}
	}
	return out, nil
}

// options are what a run is told of the source.
func (o supplyOptions) options(into *install.Options) error {
	keys, err := o.readKeys()
	if err != nil {
		return err
	}
	into.Keys, into.TrustSource = append(keys, o.found...), o.trustSource
	into.Fetched = o.fetched
	if uid, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32); err == nil && o.trustSource {
		into.TrustUsers = append(into.TrustUsers, uint32(uid)) // whoever typed sudo owns the directory
	}
	return nil
}

// builds says that the source is to be compiled: the stack, or the first that the profile prefers, is rdma-core.
func (o *wishOptions) builds() (bool, error) {
	if o.stack != "" || o.profile == "" {
		return o.stack == "rdma-core", nil
	}
	p, err := openProfile(newLibrary(o.etc), o.profile)
	if err != nil {
		return false, err
	}
	return p.Prefer[0] == "rdma-core", nil
}

// packed makes ready for the import of a packed bundle, and gives the file of it. A repository that is none must be
// signed itself.
func (o *wishOptions) packed(ctx context.Context, place string, with *holdings.Options) (string, error) {
	if !isPacked(place) {
		if o.sha256 != "" || o.signature != "" {
			return "", fault.New(fault.Usage, "usage", "a repository proves itself by its signature: give its key with --key",
				"cannot verify %s by a checksum or signature of a file: it is no file", o.source)
		}
		with.OrElse = "give the packed bundle, and its checksum with --sha256"
		return place, nil
	}
	with.OrElse = "prove the whole file: by its checksum from where you trust it with --sha256, or by a detached signature with --signature and --key"
	with.SHA256 = o.sha256
	if o.signature != "" {
		at, err := o.place(o.signature)
		if err != nil {
			return "", err
		}
		if with.Signature, err = readSignature(ctx, at); err != nil {
			return "", err
		}
	}
	if !strings.Contains(place, "://") {
		return place, nil
	}
	file, err := fetchBundle(ctx, place)
	if err != nil {
		return "", err
	}
	o.fetched, with.Origin = file, place
	return file, nil
}

// drop removes what was fetched for the plan.
func (o *supplyOptions) drop() error {
	if o.fetched == "" {
		return nil
	}
	if err := os.RemoveAll(filepath.Dir(o.fetched)); err != nil {
		return fmt.Errorf("cannot remove what was fetched: %w", err)
	}
	return nil
}

// supply reads what a vendor's repository at hand holds, so that the plan chooses among that. Of one that
// holds a single release the request is for that release.
func (o *wishOptions) supply(ctx context.Context, known *matrix.Index) (*matrix.Index, error) {
	if err := o.supplyOptions.check(); err != nil {
		return nil, err
	}
	if err := o.takesNothing(); err != nil {
		return nil, err
	}
	if o.source == "" {
		return known, nil
	}
	if builds, err := o.builds(); err != nil || builds {
		return known, err
	}
	if o.trustSource {
		return nil, fault.New(fault.Usage, "usage", "prove a vendor's source by its repository's signature with --key, or the whole file with --sha256; --trust-source is for --stack rdma-core",
			"cannot take %s without a proof: it is not a source of rdma-core that is built here", o.source)
	}
	if o.stack == "ofed" { // its file has no repository
		return known, o.findInstaller(ctx, known, plan.OFAInstaller)
	}
	place, err := o.place(o.source)
	if err != nil {
		return nil, err
	}
	with, err := importOptions{keys: o.keys, now: time.Now}.trust(known)
	if err != nil {
		return nil, err
	}
	with.Stated = holdings.Stated{Stack: o.stack, Version: o.version}
	if place, err = o.packed(ctx, place, &with); err != nil {
		return nil, err
	}
	found, err := holdings.Import(ctx, place, with)
	if err != nil {
		return nil, err
	}
	o.found = found.Keys
	if strange := strangers(found.Holdings, known); len(strange) == len(releasesOf(found.Holdings)) {
		return nil, fault.New(fault.Usage, "cannot-import", "`rdmactl matrix import "+o.source+"` says how to add the release", "cannot plan from %s: %s", o.source, strange[0])
	}
	if names := releasesOf(found.Holdings); len(names) == 1 && o.stack == "" {
		o.stack, o.version, _ = strings.Cut(names[0], " ")
	}
	if o.method == rules.ByVendorScript {
		if err := o.findInstallerAt(ctx, place, plan.MLNXInstaller, with); err != nil {
			return nil, err
		}
	}
	merged, err := matrix.Merge(known.Matrix(), &matrix.Matrix{Holdings: found.Holdings})
	if err != nil {
		return nil, err
	}
	return matrix.NewIndex(merged)
}
