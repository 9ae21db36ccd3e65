package main

import (
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/spf13/cobra"
)

func newCompletionCmd(g *globalOptions) *cobra.Command {
	return &cobra.Command{
		Use:     "completion bash|zsh|fish",
		GroupID: "around",
		Short:   "Print a completion script for a shell",
		Long: `Print a completion script. For bash, for example:

  rdmactl completion bash > /usr/share/bash-completion/completions/rdmactl` + exitStatus(0, fault.Usage),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				switch args[0] {
				case "bash":
					return cmd.Root().GenBashCompletionV2(g.out, true)
				case "zsh":
					return cmd.Root().GenZshCompletion(g.out)
				case "fish":
					return cmd.Root().GenFishCompletion(g.out, true)
				}
			}
			return fault.New(fault.Usage, "usage", "name one of bash, zsh and fish", "cannot print a completion script: no such shell")
		},
	}
}
