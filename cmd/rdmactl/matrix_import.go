package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/holdings"
	stackversion "github.com/rdmactl/rdmactl/internal/version"
	"github.com/rdmactl/rdmactl/profiles/matrix"
	"github.com/spf13/cobra"
)

// holdingsSchema names the JSON form of a holdingList.
const holdingsSchema = "rdmactl.holdings/v1"

type holdingList struct {
	Schema   string           `json:"schema"`
	Holdings []matrix.Holding `json:"holdings"`
	Notes    []string         `json:"notes,omitempty"`
}

type importOptions struct {
	keys          []string
	allowUnsigned bool
	save          string
	stated        holdings.Stated
	releases      []string
	etc           string // see streams
	now           func() time.Time
}

func newMatrixImportCmd(g *globalOptions) *cobra.Command {
	opts := &importOptions{etc: g.etc, now: time.Now}
	cmd := &cobra.Command{
		Use:   "import SOURCE...",
		Short: "Record which kernels and packages a repository or bundle at hand really holds",
		Long: `Read a vendor's repository (apt or rpm: a folder or an http(s) address), an MLNX_OFED bundle (unpacked, the
.tgz, or the .iso, which need not be mounted), a DOCA local repo package, or a single package, and say for
which system, architecture and exact kernels it has what. Nothing is installed or unpacked.

A repository may have several releases in one index. Each that can be installed from it is recorded by itself,
with the packages whose versions tell that they are of it and with those that it needs and that are there in
one version only. A release that lacks its metapackage, its drivers or a package that it needs is left out,
and a note says why; so does one for packages of which nothing tells whose they are. --release takes only the
releases that it names.

Signatures are judged with the keys of --key, and with keys that come with the source when the matrix knows
their fingerprint. Indexes must have the size and the checksum that the signed file states. What is unsigned,
damaged or hostile is refused, and nothing is written. --stack, --version, --distro and --version-id say what a
source does not tell itself; what contradicts its packages is refused.

With --save the answer becomes a matrix file, which replaces an earlier one of the same kind. In
/etc/rdmactl/matrix.d, or named with --matrix, it makes "plan" count what it lists as present. A release that
the matrix does not know is recorded as well, with a note: "plan" does not use it until a matrix file has an
entry for the release.` +
			exitStatus(0, fault.Failed, fault.Usage, fault.Interrupted),
		Example: "  rdmactl matrix import /srv/mirror/doca/2.9.1/rhel9.4/x86_64 --key RPM-GPG-KEY-Mellanox-SHA256\n" +
			"  rdmactl matrix import MLNX_OFED_LINUX-24.10-1.1.4.0-ubuntu22.04-x86_64.iso --save /etc/rdmactl/matrix.d/mirror.yaml\n" +
			"  rdmactl matrix import /srv/mirror/doca/all/ubuntu22.04 --release 2.9.1 --release 2.9.3",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runMatrixImport(cmd.Context(), args, *opts, g)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&opts.keys, "key", nil, "trust the OpenPGP public key in `FILE` (may be repeated)")
	f.BoolVar(&opts.allowUnsigned, "allow-unsigned", false, "also take what is not signed, or whose key is not at hand")
	f.StringArrayVar(&opts.releases, "release", nil, "take only the release `VERSION`, or all of a branch, of a source with several (may be repeated)")
	f.StringVar(&opts.save, "save", "", "also write the answer to `FILE` as a matrix file")
	f.StringVar(&opts.stated.Stack, "stack", "", "say which `STACK` it is, where the source does not tell: mlnx-ofed or doca-ofed")
	f.StringVar(&opts.stated.Version, "version", "", "say which `VERSION` it is, where the source does not tell")
	f.StringVar(&opts.stated.Distro, "distro", "", "say for which `ID` of os-release it is, where the source does not tell")
	f.StringVar(&opts.stated.VersionID, "version-id", "", "say for which `VERSION_ID` it is, where the source does not tell")
	return cmd
}

func runMatrixImport(ctx context.Context, sources []string, opts importOptions, g *globalOptions) error {
	if len(sources) == 0 {
		return fault.New(fault.Usage, "usage", "name a folder, a file or an http(s) address", "cannot import: no source was given")
	}
	if s := opts.stated.Stack; s != "" && s != "mlnx-ofed" && s != "doca-ofed" {
		return fault.New(fault.Usage, "usage", "the vendor stacks are mlnx-ofed and doca-ofed", "cannot import as %q: no vendor stack", s)
	}
	if opts.save != "" {
		if err := mayReplace(opts.save); err != nil {
			return err
		}
	}
	known, err := (&wishOptions{etc: opts.etc}).loadMatrix()
	if err != nil {
		return err
	}
	with, err := opts.trust(known)
	if err != nil {
		return err
	}
	list := holdingList{Schema: holdingsSchema, Holdings: []matrix.Holding{}}
	for _, source := range sources {
		found, err := holdings.Import(ctx, source, with)
		if err != nil {
			return err
		}
		list.Holdings = append(list.Holdings, found.Holdings...)
		list.Notes = append(list.Notes, found.Notes...)
	}
	strange := strangers(list.Holdings, known)
	list.Notes = append(list.Notes, strange...)
	if opts.save != "" {
		if err := saveHoldings(opts.save, list.Holdings); err != nil {
			return err
		}
	}
	if err := g.print([]answer{{value: list, table: func(w io.Writer) error { return tableOfHoldings(w, list) }}}, false); err != nil {
		return err
	}
	for _, note := range list.Notes {
		fmt.Fprintf(g.err, "note: %s\n", note)
	}
	switch {
	case len(strange) == len(releasesOf(list.Holdings)): // plan would use nothing of it
	case opts.save == "":
		fmt.Fprintln(g.err, "hint: with --save FILE this becomes a matrix file that `plan` can use")
	case filepath.Base(filepath.Dir(opts.save)) != "matrix.d":
		fmt.Fprintf(g.err, "hint: `rdmactl plan --matrix %s` uses it; in /etc/rdmactl/matrix.d it is used always\n", opts.save)
	}
	return nil
}

// releasesOf are the releases that holdings are of, "STACK VERSION", each once.
func releasesOf(list []matrix.Holding) []string {
	var out []string
	for _, h := range list {
		if name := h.Stack + " " + h.Version; !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// strangers has a note for each release that the matrix does not know, of which a plan takes nothing.
func strangers(list []matrix.Holding, known *matrix.Index) []string {
	var notes []string
	for _, name := range releasesOf(list) {
		stack, release, _ := strings.Cut(name, " ")
		if _, ok := known.Find(stack, release); ok {
			continue
		}
		branch := release
		if v, err := stackversion.ParseStack(release); err == nil {
			if b, ok := known.BranchOf(stack, v); ok {
				branch = b.Name
			} else if parts := strings.FieldsFunc(release, func(r rune) bool { return r == '.' || r == '-' }); len(parts) > 1 {
				branch = parts[0] + "." + parts[1]
			}
		}
		add := fmt.Sprintf("releases: [{stack: %s, version: %q, branch: %q, lts: unknown, source: [%q]}]", stack, release, branch, "where you know it from")
		if _, ok := known.Branch(stack, branch); !ok {
			add = fmt.Sprintf("branches: [{stack: %s, name: %q, lts: false, versions: [\"~> %s.0\"], source: [%q]}] and ", stack, branch, branch, "where you know it from") + add
		}
		notes = append(notes, fmt.Sprintf("the matrix does not know %s, so `plan` takes nothing of it; to add the release, write a file in /etc/rdmactl/matrix.d with "+
			"apiVersion: rdmactl/v1, kind: Matrix, %s; `rdmactl matrix lint` checks it", name, add))
	}
	return notes
}

// trust gathers keys and known fingerprints.
func (o importOptions) trust(known *matrix.Index) (holdings.Options, error) {
	with := holdings.Options{AllowUnsigned: o.allowUnsigned, Stated: o.stated, Releases: o.releases, Known: known, Now: o.now()}
	for _, file := range o.keys {
		data, err := readRegular(file, maxSmall)
		if err != nil {
			return with, fault.New(fault.Usage, "cannot-import", "name a file with the vendor's public key", "cannot read key file %s: %w", file, err)
		}
		with.Keys = append(with.Keys, holdings.KeyFile{Name: file, Data: data})
	}
	builtIn, err := matrix.Embedded()
	if err != nil {
		return with, err
	}
	for _, l := range builtIn.Layouts {
		for _, k := range l.Keys {
			if k.Kind == "packages" && k.Fingerprint != "" {
				with.Fingerprints = append(with.Fingerprints, k.Fingerprint)
			}
		}
	}
	return with, nil
}

// mayReplace refuses to overwrite anything but the result of an earlier import.
func mayReplace(path string) error {
	refusal := func(why string) error {
		return fault.New(fault.Usage, "cannot-write", "name a new file, or one that an earlier import wrote", "cannot write %s: %s", path, why)
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return refusal(cause(err).Error())
	}
	if !info.Mode().IsRegular() {
		return refusal("it is " + kindOf(info.Mode()))
	}
	data, err := readRegular(path, maxMatrix)
	if err != nil {
		return refusal(cause(err).Error())
	}
	m, err := matrix.Load(path, data)
	if err != nil || m == nil {
		return refusal("it is another kind of file")
	}
	m.Holdings = nil
	if !reflect.DeepEqual(*m, matrix.Matrix{}) {
		return refusal("it is a matrix file with other sections than holdings")
	}
	return nil
}

func saveHoldings(path string, list []matrix.Holding) error {
	data, err := holdings.Document(list)
	if err != nil {
		return err
	}
	if _, err := matrix.Load(path, data); err != nil {
		return fmt.Errorf("cannot write %s: what was found is no sound matrix: %w", path, err)
	}
	return writePrivate(path, data, nil)
}

func tableOfHoldings(w io.Writer, list holdingList) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "STACK\tVERSION\tSYSTEM\tARCH\tKERNELS\tPACKAGES\tSIGNED BY")
	for _, h := range list.Holdings {
		kernels := append([]string{}, h.Kernels...)
		if h.DKMS {
			kernels = append(kernels, "DKMS")
		}
		if len(kernels) == 0 {
			kernels = []string{"none"}
		}
		if more := len(kernels) - 3; more > 0 {
			kernels = append(kernels[:3], fmt.Sprintf("and %d more", more))
		}
		signed := h.Signed
		if signed == "" {
			signed = "nobody known"
		}
		fmt.Fprintf(t, "%s\t%s\t%s %s\t%s\t%s\t%d\t%s\n", h.Stack, h.Version, h.ID, h.VersionID, h.Arch, strings.Join(kernels, ", "), len(h.Packages), signed)
	}
	return t.Flush()
}
