package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/spf13/cobra"
)

// version is the release that this tree becomes.
const version = "0.1.0"

// buildInfo is what `rdmactl version` prints.
type buildInfo struct {
	Schema   string `json:"schema"`
	Version  string `json:"version"`
	Commit   string `json:"commit"` // empty when built outside a checkout
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCmd(g *globalOptions) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		GroupID: "around",
		Short:   "Show version, commit and Go release",
		Long:    "Show the version of rdmactl, the commit it was built from and the Go release." + exitStatus(0, fault.Usage),
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			info := readBuildInfo()
			return g.print([]answer{{value: info, table: func(w io.Writer) error {
				commit := info.Commit
				if commit == "" {
					commit = "unknown commit"
				} else if info.Modified {
					commit += " (modified)"
				}
				_, err := fmt.Fprintf(w, "rdmactl %s, %s, %s, %s\n", info.Version, commit, info.Go, info.Platform)
				return err
			}}}, false)
		},
	}
}

func readBuildInfo() buildInfo {
	info := buildInfo{Schema: "rdmactl.version/v1", Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			switch s.Key {
			case "vcs.revision":
				info.Commit = s.Value
			case "vcs.modified":
				info.Modified = s.Value == "true"
			}
		}
	}
	return info
}
