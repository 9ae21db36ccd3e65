package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/rdmactl/rdmactl/detect"
	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/plan/rules"
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
	opts := &queryOptions{wishOptions: wishOptions{etc: g.etc}}
	cmd := &cobra.Command{
		Use:   "query --distro ID --version-id VERSION [--kernel RELEASE] [--arch ARCH] [--card GENERATION]...",
		Short: "Say which stacks a host could have that does not exist yet",
		Long: `Answer as "plan --compare" does, for a host that is described here instead of read: before a distribution, a
kernel or a card is bought. The other flags mean what they mean for "plan".

The host is a fresh installation: it has the distribution's package manager and no package of any RDMA stack,
so nothing would go, and the headers of a kernel of the distribution are not installed but come from its
repositories. All else that is not said counts as unknown, not as absent.

Without --kernel the answer is for the distribution's first kernel of that release, and a note says which: of a
rebuild of RHEL (rocky, almalinux, centos, ol) RHEL's of the same minor release, of Oracle Linux the one that
vendors' tables print where they do (often UEK), of Debian the one that they print for the point release, else
that of Debian's archive, of openSUSE Leap from 15.3 on that of SLES of the same number. Where none is known a
note says so and what to pass, and what depends on the kernel stays unknown.

Upper and lower case of --distro are the same. A point release of Debian (12.5) and a service pack (15-SP5 of
SLES, 22.03-SP3 of openEuler) are understood.

The exit code is 0 when there is an answer, whatever it is: the verdicts are in it.` + exitStatus(0, fault.Failed, fault.Usage),
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
	if !rules.IsMachine(strings.ToLower(opts.arch)) {
		return fault.New(fault.Usage, string(rules.ArchUnknown), "write it as `uname -m` prints it: x86_64, aarch64, ppc64le, s390x",
			"cannot ask the matrix: --arch %q is no architecture that Linux runs on", opts.arch)
	}
	if opts.kernel != "" && !facts.IsKernelRelease(opts.kernel) {
		return fault.New(fault.Usage, "bad-kernel", "name a kernel as `uname -r` does", "cannot ask the matrix: --kernel %q is not the release of a kernel", opts.kernel)
	}
	known, err := opts.loadMatrix()
	if err != nil {
		return err
	}
	h, err := describe(known, opts.distro, opts.versionID, opts.arch)
	if err != nil {
		return err
	}
	if opts.kernel != "" {
		h.kernel = opts.kernel
	} else {
		h.setDefaultKernel(known)
	}
	docs, err := host.ParseEvidence("the command line", h.evidence())
	if err != nil {
		return err
	}
	src := source{name: h.id + " " + h.version, reader: host.NewReplay(docs[0])}
	src.facts = fresh(detect.Host(ctx, src.reader))
	req, profile, err := opts.wish(src, "")
	if err != nil {
		return err
	}
	c, err := plan.SideBySide(src.facts, profile, known, req)
	if err != nil {
		return err
	}
	if err := g.one(answer{value: c, table: func(w io.Writer) error { return plan.RenderComparison(w, c, g.color()) }}); err != nil {
		return err
	}
	for _, note := range h.notes {
		fmt.Fprintf(g.err, "note: %s\n", note)
	}
	return nil
}

// fresh adds what is known of every new installation: no package of an RDMA stack, and headers that are yet
// to be installed. Of a kernel that the distribution did not make nobody knows where its headers are.
func fresh(f facts.Facts) facts.Facts {
	const source = "a fresh installation (matrix query)"
	f.Packages.Installed = facts.None[[]facts.Package](source)
	f.Packages.Broken = facts.None[[]facts.Package](source)
	f.Packages.Held = facts.None[[]string](source)
	f.Packages.Holds = facts.None[[]facts.Hold](source)
	f.Packages.OFEDInfo = facts.None[string](source)
	f.Packages.Vendor = facts.None[facts.VendorStack](source)
	f.Modules.DKMS = facts.None[[]facts.DKMSPackage](source)
	f.Modules.VendorSymbols = facts.None[[]string](source)
	f.Managed = facts.None[map[string]string](source)
	if f.Kernel.HeadersPackage.IsKnown() {
		f.Kernel.Headers = facts.None[string](source)
	}
	return f
}

// notPlain finds what cannot be part of an id or a version.
func notPlain(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-+~", r))
}

// today is the day by the host's clock.
func today(r host.Reader) string { return r.Now().UTC().Format("2006-01-02") }
