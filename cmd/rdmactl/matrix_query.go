package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/rdmactl/rdmactl/detect"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/spf13/cobra"
)

// queryOptions describe a host that does not exist yet.
type queryOptions struct {
	wishOptions
	distro    string
	versionID string
	kernel    string
	arch      string
}

func newMatrixQueryCmd(g *globalOptions) *cobra.Command {
	opts := &queryOptions{}
	cmd := &cobra.Command{
		Use:   "query --distro ID --version-id VERSION [--kernel RELEASE] [--arch ARCH] [--card GENERATION]...",
		Short: "Say which stacks a host could have that does not exist yet",
		Long: `Answer as "plan --compare" does, for a host that is described here instead of read: before a distribution, a
kernel or a card is bought. What is not said counts as unknown, not as absent.` + exitStatus(0, fault.Failed, fault.Usage),
		Example: "  rdmactl matrix query --distro rhel --version-id 9.4 --card connectx-6-dx\n" +
			"  rdmactl matrix query --distro ubuntu --version-id 24.04 --kernel 6.8.0-90-generic --card connectx-7 -o json",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runMatrixQuery(cmd.Context(), *opts, g) },
	}
	f := cmd.Flags()
	opts.addFlags(f)
	f.StringVar(&opts.distro, "distro", "", "`ID` of os-release: rhel, rocky, ubuntu, debian, sles, ...")
	f.StringVar(&opts.versionID, "version-id", "", "`VERSION_ID` of os-release: 9.4, 24.04, 15.6, ...")
	f.StringVar(&opts.kernel, "kernel", "", "`RELEASE` of the kernel as uname -r prints it; default: the first one of the distribution's release")
	f.StringVar(&opts.arch, "arch", "x86_64", "`MACHINE` as uname -m prints it")
	return cmd
}

func runMatrixQuery(ctx context.Context, opts queryOptions, g *globalOptions) error {
	for _, word := range []struct{ flag, text string }{{"distro", opts.distro}, {"version-id", opts.versionID}, {"arch", opts.arch}} {
		if word.text == "" {
			return fault.New(fault.Usage, "usage", "see `rdmactl matrix query --help`", "cannot ask the matrix: --%s is missing", word.flag)
		}
		if strings.ContainsFunc(word.text, notPlain) {
			return fault.New(fault.Usage, "usage", "write it as os-release and uname do", "cannot ask the matrix: --%s %q is not one plain word", word.flag, word.text)
		}
	}
	known, err := opts.loadMatrix()
	if err != nil {
		return err
	}
	kernel := opts.kernel
	if kernel == "" {
		if first, ok := known.GAKernel(opts.distro, opts.versionID); ok {
			kernel = first.Kernel
		}
	}
	text := "apiVersion: rdmactl/v1\nkind: Evidence\nfiles:\n  /etc/os-release: |\n" +
		fmt.Sprintf("    ID=%s\n    VERSION_ID=%q\n", opts.distro, opts.versionID) +
		"commands:\n  uname -s: {stdout: \"Linux\\n\"}\n" + fmt.Sprintf("  uname -m: {stdout: \"%s\\n\"}\n", opts.arch)
	if kernel != "" {
		if strings.ContainsFunc(kernel, notPlain) {
			return fault.New(fault.Usage, "bad-kernel", "name a kernel as `uname -r` does", "cannot ask the matrix: --kernel %q is not the release of a kernel", kernel)
		}
		text += fmt.Sprintf("  uname -r: {stdout: \"%s\\n\"}\n", kernel)
	}
	docs, err := host.ParseEvidence("the command line", []byte(text))
	if err != nil {
		return err
	}
	src := source{name: opts.distro + " " + opts.versionID, reader: host.NewReplay(docs[0])}
	src.facts = detect.Host(ctx, src.reader)
	req, profile, err := opts.wish(src, "")
	if err != nil {
		return err
	}
	c, err := plan.SideBySide(src.facts, profile, known, req)
	if err != nil {
		return err
	}
	return g.one(answer{value: c, table: func(w io.Writer) error { return plan.RenderComparison(w, c, g.color()) }})
}

// notPlain finds what cannot be part of an id, a version or a kernel release.
func notPlain(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-+~", r))
}

// today is the day by the host's clock.
func today(r host.Reader) string { return r.Now().UTC().Format("2006-01-02") }
