package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rdmactl/rdmactl/detect"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/install/bundle"
	"github.com/rdmactl/rdmactl/install/bundle/supply"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles/matrix"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type bundleCreateOptions struct {
	wishOptions
	hosts        []string
	kernel       string
	mirrors      []string
	sources      []string
	signKey      string
	out          string
	cache        string
	allowUnknown bool
}

func (o *bundleCreateOptions) addFlags(f *pflag.FlagSet) {
	o.wishOptions.addFlags(f)
	f.StringArrayVar(&o.hosts, "for", nil, "the host of the evidence in `FILE`, from detect --save (may be repeated; a directory of *.yaml too)")
	f.StringVar(&o.kernel, "kernel", "", "plan for the kernel `RELEASE` instead of the host's")
	f.StringArrayVar(&o.mirrors, "mirror", nil, "take the distribution's packages from `\"ADDRESS [SUITE COMPONENT...]\"`, for some hosts only with DISTRIBUTION-RELEASE= before it (may be repeated)")
	f.StringArrayVar(&o.sources, "sources", nil, "take them from the repositories in `FILE`, a .list, .sources or .repo (may be repeated)")
	f.StringVar(&o.signKey, "sign-key", "", "sign with the OpenPGP private key in `FILE` instead of one made for this bundle")
	f.StringVar(&o.out, "out", "", "write the bundle to `FILE`, and its checksum to FILE.sha256")
	f.StringVar(&o.cache, "cache", "", "keep downloads in `DIR`; a command that was cut off goes on with them")
	f.BoolVar(&o.allowUnknown, "allow-unknown", false, "take a stack that nothing documents for a host (see the plan's warning)")
}

func newBundleCreateCmd(g *globalOptions) *cobra.Command {
	opts := &bundleCreateOptions{wishOptions: wishOptions{etc: g.etc}}
	cmd := &cobra.Command{
		Use:   "create --for FILE --out FILE",
		Short: "Resolve and download what hosts need, into one file",
		Long: `Plan for each host of --for as "install" would there, have the package manager of this machine resolve the plan
with the packages that the host has, and write all that the host lacks into one file. What several hosts need is
in it once.

The distribution's packages come from this machine's own repositories where it is the same distribution and
release, else from those named with --mirror or --sources; the vendor's from --source. Signatures are always
verified: by the keys of --key, those that a file of sources names, or the machine's own.

Evidence that was saved with this version has the whole list of the host's packages, where it has apt. For other
hosts everything that the plan needs comes along, also what the host may have; the answer says which it was.

A second call after one that was cut off downloads only the rest. The SHA-256 that is printed at the end is what
"install --bundle" wants as --sha256: carry it another way than the file.` +
			exitStatus(0, fault.Failed, fault.Usage, fault.Refused, fault.Stopped, fault.Locked, fault.Interrupted),
		Example: "  rdmactl bundle create --for host.yaml --profile inbox --out rdma.bundle\n" +
			"  rdmactl bundle create --for hosts/ --stack doca-ofed --version 2.9.1 --source /srv/mirror/doca --key DOCA.asc --out doca.bundle\n" +
			"  rdmactl bundle create --for old.yaml --mirror \"https://deb.example.com/debian bullseye main\" --out old.bundle",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := runBundleCreate(cmd.Context(), *opts, g)
			if err != nil && cmd.Context().Err() != nil { // whatever it broke off in
				return fault.New(fault.Interrupted, "interrupted", "the same command goes on with what was downloaded", "interrupted; no bundle was written")
			}
			return err
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func runBundleCreate(ctx context.Context, opts bundleCreateOptions, g *globalOptions) (err error) {
	defer func() { err = errors.Join(err, opts.drop()) }()
	switch {
	case len(opts.hosts) == 0:
		return fault.New(fault.Usage, "usage", "save the host with `rdmactl detect --save host.yaml`, and give that file with --for", "cannot make a bundle: no host was given")
	case opts.out == "" || opts.out == "-":
		return fault.New(fault.Usage, "usage", "name a file with --out", "cannot make a bundle: no file to write was given")
	}
	if err := placeFor(opts.out); err != nil { // before hours of downloading, not after
		return err
	}
	signer, err := opts.signer()
	if err != nil {
		return err
	}
	known, err := opts.loadMatrix()
	if err != nil {
		return err
	}
	if known, err = opts.supply(ctx, known); err != nil {
		return err
	}
	collection, meter, err := opts.collection(ctx, g)
	if err != nil {
		return err
	}
	unlock, err := collection.Lock()
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }() // it was only held
	m := bundle.Manifest{Made: collection.Now.UTC().Truncate(time.Second), Tool: version}
	lines := g.lines
	err = (&sourceOptions{evidence: opts.hosts, kernel: opts.kernel}).each(ctx, g, func(s source, _ bool) error {
		h, err := opts.host(ctx, collection, s, known)
		if err == nil {
			m.Hosts = append(m.Hosts, h)
		}
		return err
	})
	g.lines = lines // one bundle, however many hosts
	if err != nil {
		return err
	}
	var blobs []bundle.Blob
	if m.Repositories, blobs, err = collection.Repositories(ctx, signer); err != nil {
		return err
	}
	var sum int64
	for _, b := range blobs {
		sum += b.Bytes
	}
	meter.Begin(opts.out, "write", len(blobs), sum)
	made, err := bundle.Write(ctx, opts.out, m, blobs, signer, meter.add)
	meter.End()
	if err != nil {
		return err
	}
	return g.one(answer{value: shownBundle(opts.out, made.Manifest, made.SHA256, made.Bytes, ""), table: func(w io.Writer) error {
		return tableOfMade(w, opts.out, made)
	}})
}

// placeFor looks whether a file can be written, and leaves nothing there.
func placeFor(file string) error {
	fail := func(err error) error {
		return fault.New(fault.Failed, "cannot-write", "choose a directory that you may write and that has room", "cannot write the bundle %s: %w", file, cause(err))
	}
	if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() {
		return fault.New(fault.Usage, "cannot-write", "name a new file, or an ordinary one", "cannot write the bundle %s: it is %s", file, kindOf(info.Mode()))
	}
	probe, err := os.CreateTemp(filepath.Dir(file), ".rdmactl-*")
	if err != nil {
		return fail(err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return fail(err)
	}
	return nil
}

func (o *bundleCreateOptions) signer() (bundle.Signer, error) {
	if o.signKey == "" {
		return bundle.NewSigner(time.Now())
	}
	data, err := readRegular(o.signKey, maxSmall)
	if err != nil {
		return bundle.Signer{}, fault.New(fault.Usage, "usage", "name a file with an OpenPGP private key", "cannot read key file %s: %w", o.signKey, err)
	}
	return bundle.ReadSigner(data, time.Now())
}

// collection is what hosts are added to.
func (o *bundleCreateOptions) collection(ctx context.Context, g *globalOptions) (*supply.Collection, *meter, error) {
	texts, err := o.readKeys()
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	keys, err := supply.Keys(texts, now)
	if err != nil {
		return nil, nil, err
	}
	cache, err := o.cacheDir()
	if err != nil {
		return nil, nil, err
	}
	live := host.NewLive()
	progress := newMeter(g)
	c := &supply.Collection{VendorKeys: o.found, Fetched: o.fetched, Writer: live, Here: detect.Host(ctx, live), Cache: cache, Keys: keys, Now: now, Meter: progress}
	for _, text := range o.mirrors {
		f, err := supply.ParseMirror(text)
		if err != nil {
			return nil, nil, err
		}
		c.Feeds = append(c.Feeds, f)
	}
	for _, text := range o.sources {
		file, f, err := supply.ParseSourcesName(text)
		if err != nil {
			return nil, nil, err
		}
		if f.Text, err = readRegular(file, maxSmall); err != nil {
			return nil, nil, fault.New(fault.Usage, "usage", "name a file that you may read", "cannot read the sources %s: %w", file, err)
		}
		c.Feeds = append(c.Feeds, f)
	}
	return c, progress, nil
}

// cacheDir is the directory of downloads.
func (o *bundleCreateOptions) cacheDir() (string, error) {
	dir := o.cache
	switch {
	case dir != "":
	case os.Geteuid() == 0:
		dir = "/var/cache/rdmactl/create"
	default:
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fault.New(fault.Usage, "usage", "name a directory with --cache", "cannot tell where downloads are kept: %w", err)
		}
		dir = filepath.Join(base, "rdmactl", "create")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("cannot tell where %s is: %w", dir, err)
	}
	return abs, nil
}

// host plans for one host and collects what the plan needs.
func (o *bundleCreateOptions) host(ctx context.Context, c *supply.Collection, s source, known *matrix.Index) (bundle.Host, error) {
	req, profile, err := o.wish(s, o.kernel)
	if err != nil {
		return bundle.Host{}, err
	}
	p, err := plan.Make(s.facts, profile, known, req)
	if err != nil {
		return bundle.Host{}, err
	}
	if f := plan.Fault(p); f != nil {
		return bundle.Host{}, f
	}
	if len(o.mirrors)+len(o.sources) == 0 && p.Manager == "apt" { // dnf is given keys for this machine's own repositories too
		if err := o.useless(p); err != nil {
			return bundle.Host{}, err
		}
	}
	if err := install.Allowed(p, o.allowUnknown); err != nil {
		return bundle.Host{}, err
	}
	if err := install.Able(p); err != nil {
		return bundle.Host{}, err
	}
	if slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Kind == plan.KindVendorScript }) {
		return bundle.Host{}, fault.New(fault.Stopped, "stack-not-installable", "leave --method vendor-script away, or carry the vendor's bundle and give it to `rdmactl install --source`",
			"cannot collect what the installer of %s needs: it takes packages from the host's repositories as it likes", p.Chosen.Stack)
	}
	out := bundle.Request{
		Profile: profile, Stack: req.Stack, Version: req.Version, Method: req.Method, Cards: req.Cards, Netdev: req.Netdev, Upgrade: req.Upgrade, Firmware: req.Firmware, Hold: req.Hold,
		Unknown: o.allowUnknown,
	}
	if p.Chosen != nil && slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Kind == plan.KindRepository }) {
		for _, h := range known.Matrix().Holdings {
			if h.Stack == p.Chosen.Stack {
				out.Holdings = append(out.Holdings, h)
			}
		}
	}
	return c.Add(ctx, supply.Host{Name: s.hostName(), Facts: s.facts, Reader: s.reader, Plan: p, Request: out})
}

// tableOfMade is what was made, for a person.
func tableOfMade(w io.Writer, file string, made bundle.Made) error {
	if err := tableOfHosts(w, made.Manifest); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s: %s, sha256 %s\nsigned by %s\ninstall it with: rdmactl install --bundle %s --sha256 %s\n",
		file, install.BytesText(made.Bytes), made.SHA256, made.Manifest.Fingerprint, filepath.Base(file), made.SHA256)
	return err
}
