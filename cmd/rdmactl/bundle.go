package main

import (
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/spf13/cobra"
)

func newBundleCmd(g *globalOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bundle",
		GroupID: "around",
		Short:   "Take all that hosts without a network need to them in one file",
		Long: `Where there is a network, "bundle create" resolves and downloads what the plans of given hosts need, into one
file with a signed manifest and package repositories inside. On the host "rdmactl install --bundle FILE" installs
from it and uses nothing else.` + exitStatus(0, fault.Usage),
		Example: "  rdmactl detect --save host.yaml                                   # on the host\n" +
			"  rdmactl bundle create --for host.yaml --profile inbox --out rdma.bundle   # with a network\n" +
			"  sudo rdmactl install --bundle rdma.bundle --sha256 DIGITS         # on the host again",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBundleCreateCmd(g), newBundleInspectCmd(g))
	return cmd
}
