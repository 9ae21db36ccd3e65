package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/install/bundle"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// proofOptions say what shows that a bundle is the one that is meant.
type proofOptions struct {
	sha256 string
	keys   []string
	trust  bool
}

func (o *proofOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.sha256, "sha256", "", "the bundle's SHA-256, 64 hex `DIGITS`, as `bundle create` printed it")
	f.StringArrayVar(&o.keys, "key", nil, "trust the OpenPGP public key in `FILE` to have signed the bundle (may be repeated)")
}

// proof reads the keys.
func (o proofOptions) proof() (bundle.Proof, error) {
	if o.sha256 != "" && (len(o.sha256) != 64 || strings.Trim(strings.ToLower(o.sha256), "0123456789abcdef") != "") {
		return bundle.Proof{}, fault.New(fault.Usage, "usage", "sha256sum prints it", "cannot use --sha256 %q: it is not 64 hex digits", o.sha256)
	}
	keys, err := supplyOptions{keys: o.keys}.readKeys()
	return bundle.Proof{SHA256: o.sha256, Keys: keys, Trust: o.trust}, err
}

// bundleInfo is the JSON form of a bundle.
type bundleInfo struct {
	bundle.Manifest
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	// ProvenBy says what shows that it is the one that is meant, empty when nothing was given.
	ProvenBy string `json:"proven_by,omitempty"`
}

func shownBundle(file string, m bundle.Manifest, sum string, bytes int64, proven string) bundleInfo {
	return bundleInfo{Manifest: m, File: file, SHA256: sum, Bytes: bytes, ProvenBy: proven}
}

func newBundleInspectCmd(g *globalOptions) *cobra.Command {
	opts := &proofOptions{}
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Verify a bundle and show for which hosts it is, and what it holds",
		Long: `Read the whole file and compare each content with the manifest, and the manifest with its signature. That shows
that the bundle is whole, not who made it: give --sha256 or --key to prove that as well. Nothing is unpacked.` +
			exitStatus(0, fault.Failed, fault.Usage),
		Example: "  rdmactl bundle inspect rdma.bundle\n  rdmactl bundle inspect rdma.bundle --key site.asc -o json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fault.New(fault.Usage, "usage", "name one bundle", "cannot inspect %d files", len(args))
			}
			return runBundleInspect(cmd.Context(), args[0], *opts, g)
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func runBundleInspect(ctx context.Context, file string, opts proofOptions, g *globalOptions) error {
	opts.trust = true // to be looked at
	b, by, err := opts.open(ctx, file, g)
	if err != nil {
		return err
	}
	defer b.Close()
	if opts.sha256 == "" && len(opts.keys) == 0 {
		by = ""
	}
	info := shownBundle(file, b.Manifest, b.SHA256(), b.Size, by)
	return g.one(answer{value: info, table: func(w io.Writer) error {
		if err := tableOfHosts(w, b.Manifest); err != nil {
			return err
		}
		proven := "nothing was given that proves who made it"
		if by != "" {
			proven = "proven by " + by
		}
		_, err := fmt.Fprintf(w, "\n%s: %s in %d files, whole, sha256 %s\nmade %s by rdmactl %s, signed by %s; %s\n", file, install.BytesText(b.Size),
			len(b.Manifest.Contents), info.SHA256, b.Manifest.Made.Format(time.RFC3339), b.Manifest.Tool, b.Manifest.Fingerprint, proven)
		return err
	}})
}

// open opens, verifies and proves a bundle. The caller closes it.
func (o proofOptions) open(ctx context.Context, file string, g *globalOptions) (*bundle.Bundle, string, error) {
	proof, err := o.proof()
	if err != nil {
		return nil, "", err
	}
	b, err := bundle.Open(file)
	if err != nil {
		return nil, "", ofBundle(file, err)
	}
	progress := newMeter(g)
	progress.Begin(file, "verify", len(b.Manifest.Contents), b.Size)
	sum, err := b.Verify(ctx, progress.add)
	progress.End()
	if err == nil {
		err = carried(file, sum)
	}
	by := ""
	if err == nil {
		by, err = b.Prove(proof, time.Now())
	}
	if err != nil {
		_ = b.Close() // it was only read
		if ctx.Err() != nil {
			err = fault.New(fault.Interrupted, "interrupted", "", "interrupted; nothing was changed")
		}
		return nil, "", ofBundle(file, err)
	}
	return b, by, nil
}

// ofBundle names the file that is at fault.
func ofBundle(file string, err error) error {
	const begin = "cannot use the bundle: "
	var f *fault.Error
	if !errors.As(err, &f) || !strings.HasPrefix(f.Msg, begin) {
		return err
	}
	return fault.New(f.Kind, f.Code, f.Hint, "cannot use the bundle %s: %s", file, strings.TrimPrefix(f.Msg, begin))
}

// carried compares a bundle with the checksum that lies beside it, if one does. Whoever could change the one
// could change the other: it shows damage on the way, and proves nothing else.
func carried(file, sum string) error {
	data, err := readRegular(file+".sha256", 4096)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fault.New(fault.Usage, "faulty-bundle", "remove that file, or get it again", "cannot read %s.sha256: %w", file, err)
	}
	have, _, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	if !strings.EqualFold(have, sum) {
		return fault.New(fault.Usage, "faulty-bundle", "get both files again",
			"cannot use the bundle %s: its SHA-256 is %s, and %s.sha256 beside it has another one", file, sum, file)
	}
	return nil
}

// tableOfHosts is for whom a bundle is.
func tableOfHosts(w io.Writer, m bundle.Manifest) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "HOST\tSYSTEM\tKERNEL\tPACKAGES\tPLAN")
	for _, h := range m.Hosts {
		fmt.Fprintf(tw, "%s\t%s %s %s\t%s\t%d\t%s\n", h.Name, h.Distro, h.Release, h.Arch, h.Kernel, len(h.Packages), h.Plan)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, r := range m.Repositories {
		fmt.Fprintf(w, "repository %s: %d packages, from %s\n", r.ID, r.Packages, strings.Join(r.Sources, "; "))
	}
	for _, h := range m.Hosts {
		if h.Installed == bundle.InstalledNotTold {
			fmt.Fprintf(w, "note: %s: its evidence does not list all of its packages; what it may have already is in the bundle too\n", h.Name)
		}
		for _, n := range h.Notes {
			fmt.Fprintf(w, "note: %s: %s\n", h.Name, n)
		}
	}
	return nil
}
