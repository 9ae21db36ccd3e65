package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/rdmactl/rdmactl/detect"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type detectOptions struct {
	sourceOptions
	save     string
	noRedact bool
}

func (o *detectOptions) addFlags(f *pflag.FlagSet) {
	o.sourceOptions.addFlags(f)
	f.StringVar(&o.save, "save", "", "write the evidence of this host to `FILE` (mode 0600), for a ticket or another machine")
	f.BoolVar(&o.noRedact, "no-redact", false, "with --save: keep GUIDs, MACs, serial numbers, addresses and names as they are")
}

func newDetectCmd(g *globalOptions) *cobra.Command {
	opts := &detectOptions{}
	cmd := &cobra.Command{
		Use:     "detect",
		GroupID: "main",
		Short:   "Show what this host has, from the application down to the card",
		Long: `Show kernel, distribution, RDMA devices, modules, libraries and cards of this host. Nothing is changed,
no module is loaded, and no root is needed; what an ordinary user cannot see is shown as unknown.

A saved evidence file (--save) holds the files and commands that were read. GUIDs, MAC and IP
addresses, serial numbers, host and user names are replaced, the same value by the same pseudonym, and
credentials are never written. "--evidence FILE" answers from it on any machine, with the same result.` +
			exitStatus(0, fault.Failed, fault.Usage),
		Example: "  rdmactl detect\n  rdmactl detect --save host.yaml\n  rdmactl detect --evidence host.yaml -o json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDetect(cmd.Context(), *opts, g)
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func runDetect(ctx context.Context, opts detectOptions, g *globalOptions) error {
	if opts.noRedact && opts.save == "" {
		return fault.New(fault.Usage, "usage", "add --save FILE", "cannot use --no-redact: nothing is saved")
	}
	if opts.save != "" {
		return runDetectSave(ctx, opts, g)
	}
	out := &printer{g: g}
	return opts.each(ctx, g, func(s source, several bool) error {
		return out.add(answer{
			host: s.hostName(), value: s.facts,
			table: func(w io.Writer) error { return detect.Render(w, s.facts, g.color()) },
		}, several)
	})
}

// runDetectSave records this host (or an image) and writes the evidence, then shows what it holds.
func runDetectSave(ctx context.Context, opts detectOptions, g *globalOptions) error {
	if len(opts.evidence) > 0 {
		return fault.New(fault.Usage, "usage", "copy the file instead", "cannot save: --evidence is already a saved host")
	}
	var reader host.Reader = host.NewLive()
	if opts.root != "" {
		r, err := host.NewRooted(opts.root)
		if err != nil {
			return fault.New(fault.Usage, "usage", "name the directory of an unpacked image", "cannot read the image %s: %w", opts.root, err)
		}
		reader = r
	}
	recorder := host.NewRecorder(reader)
	f := detect.HostWithKernel(ctx, recorder, opts.kernel)
	// The sizes are for plan --compare on another machine and no part of what is shown here.
	names, err := namesForSizes(f)
	if err != nil {
		return fmt.Errorf("cannot save evidence: %w", err)
	}
	detect.PackageSizes(ctx, recorder, f, names)
	// And the packages with their relations are for a bundle that is made for this host.
	detect.PackageRelations(ctx, recorder, f)
	// The day of the evidence is the one that the facts were given, so that the answers agree.
	at, err := time.Parse(time.RFC3339, f.RecordedAt.Value)
	if err != nil {
		return fmt.Errorf("cannot save evidence: the clock of the host is not told: %w", err)
	}
	evidence, err := recorder.Evidence(host.RecordOptions{NoRedact: opts.noRedact, RecordedAt: at})
	if err != nil {
		return fmt.Errorf("cannot save evidence: %w", err)
	}
	if opts.kernel != "" { // what is answered from the evidence is answered for it as well
		asked := host.Request{}
		if evidence.Request != nil {
			asked = *evidence.Request
		}
		asked.TargetKernel = opts.kernel
		evidence.Request = &asked
	}
	data, err := evidence.Marshal()
	if err != nil {
		return fmt.Errorf("cannot save evidence: %w", err)
	}
	if err := writePrivate(opts.save, data, g.out); err != nil {
		return err
	}
	if opts.save != "-" {
		fmt.Fprintf(g.err, "evidence of this host is in %s (%d bytes)\n", opts.save, len(data))
		return g.print([]answer{{value: f, table: func(w io.Writer) error { return detect.Render(w, f, g.color()) }}}, false)
	}
	return nil
}
