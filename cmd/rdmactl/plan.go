package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/rdmactl/rdmactl/detect"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wishOptions are the flags that say what the user wants; plan and install share them.
type wishOptions struct {
	etc     string // where profiles of one's own are, see streams
	profile string
	stack   string
	version string
	method  string
	cards   []string
	netdev  string
	date    string
	supplyOptions
	activate string
	aside    bool // what programs of an image get by default is left alone
	upgrade  bool
	firmware bool
	// acceptEOL takes a stack that nobody maintains; installer is the vendor's own in the source, nil for none.
	acceptEOL bool
	installer *plan.Installer
	hold      bool
	// removeBuildDeps takes away what was installed to build with.
	removeBuildDeps bool
	own             []plan.OwnHold // that earlier runs set, where the journals can be read
	matrix          []string
	loaded          map[string]profiles.Profile // each is read once for all hosts
}

func (o *wishOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.profile, "profile", "", "the intent: `NAME` of a profile (see `rdmactl profiles list`) or a file; default that of /etc/rdmactl/config.yaml, else lts")
	f.StringVar(&o.stack, "stack", "", "one `STACK`: inbox, rdma-core, ofed, mlnx-ofed or doca-ofed")
	f.StringVar(&o.version, "version", "", "`VERSION` of the stack")
	f.StringVar(&o.method, "method", "", "how the stack is installed, where it has several `WAYS`: for rdma-core source (the default: built into a directory of its own) or source-package (built as the distribution's kind of packages, which replace its own); for mlnx-ofed vendor-script (the installer of a bundle that --sha256 or --signature proves)")
	f.BoolVar(&o.acceptEOL, "accept-eol", false, "take a stack that nobody maintains any more: ofed, the OpenFabrics Alliance's of 2019")
	f.StringSliceVar(&o.cards, "card", nil, "state hardware that cannot be seen: `GENERATION`, such as connectx-5 (may be repeated)")
	f.StringVar(&o.netdev, "netdev", "", "network interface under a Soft-RoCE device; default: the one of the default route")
	f.BoolVar(&o.upgrade, "upgrade", false, "move to the newest release of the stack's branch although an older one serves")
	f.BoolVar(&o.firmware, "firmware", false, "also install the vendor's package that burns the cards' firmware, which no rollback takes back")
	f.BoolVar(&o.hold, "hold", false, "keep the stack's packages at their version: apt-mark hold, dnf versionlock or zypper addlock, until rdmactl changes the stack")
	f.BoolVar(&o.removeBuildDeps, "remove-build-deps", false, "when a build from source is done, remove the packages that were installed for it; shared libraries stay")
	o.supplyOptions.addFlags(f)
	f.StringVar(&o.activate, "activate", "", "when the stack comes into use: auto (the default), live, reboot, or none")
	f.StringArrayVar(&o.matrix, "matrix", nil, "add the matrix files at `PATH`, a file or a directory of *.yaml, to the built-in ones (may be repeated)")
	f.StringVar(&o.date, "date", "", "answer for the day `YYYY-MM-DD` instead of today")
}

// request merges the flags over what an evidence asks for.
func (o *wishOptions) request(told host.Told, kernel string) plan.Request {
	req := plan.Request{
		Profile: o.profile, Stack: o.stack, Version: o.version, Method: o.method, Cards: o.cards, Netdev: o.netdev,
		Date: o.date, Kernel: kernel, Upgrade: o.upgrade, Firmware: o.firmware, Installer: o.installer, AcceptEOL: o.acceptEOL, Hold: o.hold, RemoveBuildDeps: o.removeBuildDeps, Own: o.own, Activate: o.activate, Aside: o.aside, Matrix: o.matrix,
	}
	if told.Kind == "root" {
		req.Root = told.Root
	}
	if told.Request == nil {
		return req
	}
	for _, m := range []struct {
		flag *string
		told string
	}{
		{&req.Profile, told.Request.Profile},
		{&req.Stack, told.Request.Stack},
		{&req.Version, told.Request.Version},
		{&req.Method, told.Request.Method},
		{&req.Kernel, told.Request.TargetKernel},
	} {
		if *m.flag == "" {
			*m.flag = m.told
		}
	}
	return req
}

// make makes the plan of one host by what known knows.
func (o *wishOptions) make(s source, known *matrix.Index, kernel string) (plan.Plan, error) {
	req, profile, err := o.wish(s, kernel)
	if err != nil {
		return plan.Plan{}, err
	}
	return plan.Make(s.facts, profile, known, req)
}

// wish settles what is asked for one host.
func (o *wishOptions) wish(s source, kernel string) (plan.Request, profiles.Profile, error) {
	told := s.reader.Told()
	if req := told.Request; o.profile == "" && req != nil && isFileName(req.Profile) {
		// Evidence may come from a stranger; it does not choose files of this machine to read.
		return plan.Request{}, profiles.Profile{}, fault.New(fault.Usage, "faulty-evidence", "give the file with --profile if you mean it",
			"cannot plan for the profile that the evidence names: %q is a file, and evidence may only name a profile", req.Profile)
	}
	req := o.request(told, kernel)
	if err := o.ask(&req); err != nil {
		return req, profiles.Profile{}, err
	}
	if told.Kind == "evidence" && told.Image {
		if err := o.forSavedImage(s, &req); err != nil {
			return req, profiles.Profile{}, err
		}
	}
	if req.Date == "" && !s.facts.RecordedAt.IsKnown() {
		req.Date = today(host.NewLive()) // a ticket seldom tells its day
	}
	configured, err := o.chooseProfile(&req, told.Kind)
	if err != nil {
		return req, profiles.Profile{}, err
	}
	name := req.Profile
	if name == "" {
		name = defaultProfile
	}
	if p, ok := o.loaded[name]; ok {
		return req, p, nil
	}
	p, err := openProfile(newLibrary(o.etc), name)
	if err != nil && req.ProfileFrom == configured.file && configured.file != "" {
		err = configured.unusable(err)
	}
	if err != nil {
		return req, profiles.Profile{}, err
	}
	if o.loaded == nil {
		o.loaded = map[string]profiles.Profile{}
	}
	o.loaded[name] = p.Profile
	return req, p.Profile, nil
}

// chooseProfile settles which profile is meant and who said so: the flag, the evidence's request, the
// configuration of this machine, else the default. What a host in a file is answered must not depend on the
// machine that reads it, so evidence is not asked about with a configuration.
func (o *wishOptions) chooseProfile(req *plan.Request, kind string) (config, error) {
	switch {
	case o.profile != "":
		req.ProfileFrom = plan.FromFlag
	case req.Profile != "":
		req.ProfileFrom = plan.FromEvidence
	default:
		req.ProfileFrom = plan.FromDefault
		if req.Stack != "" || kind == "evidence" {
			return config{}, nil
		}
		c, err := readConfig(o.etc)
		if err != nil || c.profile() == "" {
			return config{}, err
		}
		req.Profile, req.ProfileFrom = c.profile(), c.file
		return c, nil
	}
	return config{}, nil
}

type planOptions struct {
	sourceOptions
	wishOptions
	resolve  bool
	compare  bool
	out      string
	detailed bool
}

func (o *planOptions) addFlags(f *pflag.FlagSet) {
	o.sourceOptions.addFlags(f)
	o.wishOptions.addFlags(f)
	f.BoolVar(&o.resolve, "resolve", false, "ask the package manager's solver for the exact packages (no root, changes nothing)")
	f.BoolVar(&o.compare, "compare", false, "put the five stacks side by side for this host")
	f.StringVar(&o.out, "out", "", "also write the plan as JSON to `FILE`, for install --plan")
	f.BoolVar(&o.detailed, "detailed-exitcode", false, "exit 9 when there is something to install")
}

func newPlanCmd(g *globalOptions) *cobra.Command {
	opts := &planOptions{wishOptions: wishOptions{etc: g.etc}}
	cmd := &cobra.Command{
		Use:     "plan",
		GroupID: "main",
		Short:   "Say which RDMA stack this host can have, why, and by which steps",
		Long: `Give a verdict for each of the five stacks and the steps that take this host to the chosen one. Nothing is
changed and no root is needed. Without --profile or --stack the answer is for the profile that
/etc/rdmactl/config.yaml names, else for "lts"; of a host in a file for the one that the file asks for, else for
"lts".

A host without an RDMA card is refused (exit 3) with what was looked at and what can be done. With more than
one host (--evidence repeated, or a directory) the exit code is 0 when each got an answer, refusals
included; the verdicts are in the answers.` +
			exitStatus(0, fault.Failed, fault.Usage, fault.Refused, fault.Stopped, fault.Changes),
		Example: "  rdmactl plan\n  rdmactl plan --profile soft --resolve\n  rdmactl plan --evidence host.yaml -o json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runPlan(cmd.Context(), *opts, g)
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func runPlan(ctx context.Context, opts planOptions, g *globalOptions) (err error) {
	defer func() { err = errors.Join(err, opts.drop()) }()
	if opts.resolve && len(opts.evidence) > 0 {
		return fault.New(fault.Usage, "usage", "run `rdmactl plan --resolve` on the host itself",
			"cannot resolve packages: the host is not here")
	}
	if opts.root != "" {
		if err := opts.planImage(opts.root, opts.kernel); err != nil {
			return err
		}
	}
	opts.knowHolds(g)
	known, err := opts.loadMatrix()
	if err != nil {
		return err
	}
	if known, err = opts.supply(ctx, known); err != nil {
		return err
	}
	if _, err := opts.readKeys(); err != nil { // as an install of this plan would
		return err
	}
	var planned *plan.Plan // the one host's, without the solver's answer, which each run asks for anew
	var refused *fault.Error
	var changes bool
	out := &printer{g: g}
	err = opts.each(ctx, g, func(s source, several bool) error {
		if opts.out != "" && several {
			return fault.New(fault.Usage, "usage", "give one host", "cannot write %s: the answer is about several hosts", opts.out)
		}
		p, err := opts.make(s, known, opts.kernel)
		if err != nil {
			return err
		}
		if !several {
			if err := opts.useless(p); err != nil {
				return err
			}
		}
		planned = &p
		opts.noteHolds(p, g)
		if several {
			planned = nil
		} else {
			refused = plan.Fault(p) // of several, every host got its answer
		}
		changes = changes || p.Verdict == plan.Install
		if opts.compare {
			c, err := opts.comparison(ctx, s, known)
			if err != nil {
				return err
			}
			if from := p.ProfileFrom; !slices.Contains([]string{plan.FromFlag, plan.FromEvidence, plan.FromDefault}, from) && g.format() == "table" {
				fmt.Fprintf(g.err, "note: profile %s is from %s\n", p.Profile, from)
			}
			return out.add(answer{host: s.hostName(), value: c, table: func(w io.Writer) error { return plan.RenderComparison(w, c, g.color()) }}, several)
		}
		shown := p
		if opts.resolve && p.Verdict == plan.Install {
			if err := install.Able(p); err != nil {
				return err
			}
			solution, left, err := install.Resolve(ctx, s.reader, p)
			if err != nil {
				return err
			}
			shown.Solver = &solution
			shown.Warnings = append(slices.Clone(p.Warnings), left...)
		}
		return out.add(answer{
			host: s.hostName(), value: shown,
			table: func(w io.Writer) error { return plan.Render(w, shown, g.color()) },
		}, several)
	})
	if err != nil {
		return err
	}
	noteUnfinished(opts.sourceOptions, g)
	if opts.out != "" && planned != nil {
		data, err := json.MarshalIndent(planned, "", "  ")
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", opts.out, err)
		}
		if err := writePrivate(opts.out, append(data, '\n'), g.out); err != nil {
			return err
		}
	}
	switch {
	case refused != nil:
		return exitError{refused.Kind}
	case changes && opts.detailed:
		return exitError{fault.Changes}
	}
	return nil
}

// comparison puts the stacks side by side for one host. What their packages weigh is asked for here and for
// nothing else: a plan does without, and is there in a tenth of the time.
func (o *planOptions) comparison(ctx context.Context, s source, known *matrix.Index) (plan.Comparison, error) {
	req, profile, err := o.wish(s, o.kernel)
	if err != nil {
		return plan.Comparison{}, err
	}
	told := s.facts
	if len(o.evidence) > 0 { // it has what it has: the names are in it
		told.Packages.Sizes = detect.PackageSizes(ctx, s.reader, told, nil)
		return plan.SideBySide(told, profile, known, req)
	}
	c, err := plan.SideBySide(told, profile, known, req)
	if err != nil {
		return plan.Comparison{}, err
	}
	var names []string
	for _, stack := range c.Stacks {
		names = append(names, stack.Added...)
	}
	told.Packages.Sizes = detect.PackageSizes(ctx, s.reader, told, names)
	return plan.SideBySide(told, profile, known, req)
}

// noteUnfinished says beside a plan for this host that a run is at work or was cut off: what the plan
// sees is then half-way. Only root can know; the journals are root's.
func noteUnfinished(opts sourceOptions, g *globalOptions) {
	if len(opts.evidence) > 0 || opts.root != "" || os.Geteuid() != 0 || g.format() == "json" {
		return
	}
	var f *fault.Error
	if err := install.Ready(newEnv(host.NewLive())); errors.As(err, &f) {
		fmt.Fprintf(g.err, "note: %s\nhint: %s\n", f.Msg, f.Hint)
	}
}

// defaultProfile is the profile that plan answers for when nothing is named.
const defaultProfile = "lts"
