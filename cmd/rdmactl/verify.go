package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/verbs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type verifyOptions struct {
	device string
	port   int
	quick  bool
	limit  time.Duration
}

func (o *verifyOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.device, "device", "", "test only this RDMA `DEVICE`, such as mlx5_0")
	f.IntVar(&o.port, "port", 0, "test only this port `NUMBER` of the device")
	f.BoolVar(&o.quick, "quick", false, "seconds instead of tens of seconds: fewer sizes and samples")
	f.DurationVar(&o.limit, "timeout", 3*time.Minute, "give up after this time")
}

func newVerifyCmd(g *globalOptions) *cobra.Command {
	opts := &verifyOptions{}
	cmd := &cobra.Command{
		Use:     "verify",
		GroupID: "main",
		Short:   "Send verbs traffic through each active port, check every byte, and measure",
		Long: `Connect two RC queue pairs of each active port with each other and send SEND, RDMA WRITE, RDMA READ and
atomics through the device; every byte is checked, latency and bandwidth are measured. No root is needed
where the device nodes and the memlock limit allow it.

The traffic stays inside the host: cable, switch and fabric are not tested.` +
			exitStatus(0, fault.Failed, fault.Usage, fault.Unhealthy, fault.Interrupted),
		Example: "  rdmactl verify\n  rdmactl verify --device mlx5_0 --quick -o json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runVerify(cmd.Context(), *opts, g)
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func runVerify(ctx context.Context, opts verifyOptions, g *globalOptions) error {
	switch {
	case opts.port < 0 || opts.port > 255:
		return fault.New(fault.Usage, "usage", "ports count from 1", "cannot test port %d", opts.port)
	case opts.port != 0 && opts.device == "":
		return fault.New(fault.Usage, "usage", "add --device", "cannot test port %d: no device was named", opts.port)
	case opts.limit <= 0:
		return fault.New(fault.Usage, "usage", "give a time such as 3m", "cannot use --timeout %s", opts.limit)
	}
	report, err := loopback(ctx, verbs.Request{Device: opts.device, Port: opts.port, Quick: opts.quick}, opts.limit)
	if err != nil {
		if ctx.Err() != nil {
			return fault.New(fault.Interrupted, "interrupted", "", "verification was interrupted")
		}
		return err
	}
	if err := g.print([]answer{{value: report, table: func(w io.Writer) error { verbs.Render(w, report, g.color()); return nil }}}, false); err != nil {
		return err
	}
	switch report.Verdict {
	case verbs.Fail, verbs.NotTestable:
		return exitError{fault.Unhealthy}
	}
	return nil
}

// loopback runs the verbs test in a child process.
func loopback(ctx context.Context, req verbs.Request, limit time.Duration) (verbs.Report, error) {
	return verbs.Run(ctx, verbs.RunOptions{Args: []string{verbsWorker}, Deadline: limit}, req)
}

// newEnv is what install works with: the host, and verification as its last step.
func newEnv(w host.Writer) install.Env {
	return install.Env{
		Host:  w,
		Paths: install.DefaultPaths(),
		Tool:  version,
		Verify: func(ctx context.Context) (install.Outcome, error) {
			report, err := loopback(ctx, verbs.Request{Quick: true}, 3*time.Minute)
			if err != nil {
				return install.Outcome{}, err
			}
			data, err := json.Marshal(report)
			if err != nil {
				return install.Outcome{}, fmt.Errorf("cannot keep the verification: %w", err)
			}
			return install.Outcome{Verdict: string(report.Verdict), Summary: report.Summary(), Report: data}, nil
		},
	}
}
