package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/version"
	"github.com/rdmactl/rdmactl/plan/rules"
)

// Use plans the switch of the library that programs get by default: to a build of rdma-core on this host, the
// newest if version is empty, or with stack "inbox" back to the distribution's own. The error is a *fault.Error
// that says why it cannot be.
func Use(f facts.Facts, stack, version string) (Plan, error) {
	out := usePlan()
	if stack == "inbox" {
		return useInbox(out, f)
	}
	lib, err := Build(f.Userspace.Built, stack, version)
	if err != nil {
		return Plan{}, err
	}
	if err := Mixed(lib); err != nil {
		return Plan{}, err
	}
	name := "rdma-core " + lib.Version.Or(version)
	out.Chosen = &Choice{Stack: "rdma-core", Version: lib.Version.Or(version), Method: "source", Modules: "inbox", Status: Present}
	if lib.Active.Or(false) {
		out.Verdict, out.Summary = NothingToDo, name+" is what programs get by default already ("+lib.Path+")"
		return out, nil
	}
	out.Summary = "switch the default library to " + name + " in " + lib.Prefix
	out.Steps = []Step{{
		ID: "use", Kind: KindUse, Summary: "make " + name + " the library that programs get by default",
		Why:     useWhy + rulesWhy(ownRules(f)),
		Changes: Changes{Use: &UseChange{Stack: "rdma-core", Version: lib.Version.Or(version), Prefix: lib.Prefix, Rules: ownRules(f)}},
		Undo:    "put the loader's configuration back, so that programs get what they get now", Root: true,
	}}
	out.Steps = append(out.Steps, verifyUse(f)...)
	return out, nil
}

const useWhy = "programs find the library by the loader's configuration, and its providers must be of the same build; what runs already keeps what it has"

// ownRules says whether a build has to bring udev's rules: those of a package named rdma-core, which all distributions
// and vendors call so, name devices and load modules for any library.
func ownRules(f facts.Facts) bool {
	installed, told := rules.InstalledPackages(f)
	return told && !slices.ContainsFunc(installed, func(p facts.Package) bool { return p.Name == "rdma-core" })
}

func rulesWhy(own bool) string {
	if !own {
		return ""
	}
	return "; its udev rules name devices and load modules, since no rdma-core package does"
}

func usePlan() Plan {
	return Plan{
		Schema: Schema, Verdict: Install, Stacks: []Stack{}, Steps: []Step{}, Reasons: []Reason{}, Warnings: []Reason{}, Next: []Hint{},
	}
}

func useInbox(out Plan, f facts.Facts) (Plan, error) {
	if f.Userspace.Built.IsUnknown() {
		return Plan{}, fault.New(fault.Stopped, "builds-unknown", "", "cannot switch the default library: whether builds of rdma-core are here is not known: %s", told(f.Userspace.Built))
	}
	builds := f.Userspace.Built.Or(nil)
	own := slices.IndexFunc(f.Userspace.Libibverbs.Or(nil), func(l facts.Libibverbs) bool { return Distribution(l.Path) })
	out.Chosen = &Choice{Stack: "inbox", Method: "packages", Modules: "inbox", Status: Present}
	if !slices.ContainsFunc(builds, func(l facts.BuiltLibrary) bool { return !l.Active.IsKnown() || l.Active.Value }) {
		out.Verdict, out.Summary = NothingToDo, "the distribution's library is what programs get by default already"
		if own < 0 {
			out.Summary = "no build is what programs get by default; the distribution's own library is not installed"
		}
		return out, nil
	}
	if own < 0 {
		return Plan{}, fault.New(fault.Stopped, "no-inbox-library", "`rdmactl install --profile inbox` installs it",
			"cannot switch the default library to the distribution's own: no libibverbs is in its directories")
	}
	out.Summary = "switch the default library to the distribution's own (" + f.Userspace.Libibverbs.Value[own].Path + ")"
	out.Steps = []Step{{
		ID: "use", Kind: KindUse, Summary: "make the distribution's library the one that programs get by default",
		Why:     useWhy + "; builds stay where they are",
		Changes: Changes{Use: &UseChange{Stack: "inbox"}},
		Undo:    "put the loader's configuration back, so that programs get what they get now", Root: true,
	}}
	out.Steps = append(out.Steps, verifyUse(f)...)
	return out, nil
}

// verifyUse proves the switch by traffic, where there is a host to send it.
func verifyUse(f facts.Facts) []Step {
	if f.Origin == "root" {
		return nil
	}
	return []Step{{
		ID: "verify", Kind: KindVerify, Summary: "send and compare real data through the verbs of each active port",
		Why:  "only traffic proves that kernel, library, provider and device work together",
		Undo: "nothing to undo",
	}}
}

// Distribution says whether a library is in the directories of the distribution's packages, where vendors'
// packages put theirs as well: not one below /opt or /usr/local, which no package of the system owns.
func Distribution(file string) bool {
	for _, dir := range []string{"/usr/lib", "/usr/lib64", "/lib", "/lib64"} {
		if strings.HasPrefix(file, dir+"/") {
			return true
		}
	}
	return false
}

// Build is the build of a version on the host, the newest if version is empty. A version that starts with a
// slash is the directory of a build. The error is a *fault.Error.
func Build(built facts.Field[[]facts.BuiltLibrary], stack, want string) (facts.BuiltLibrary, error) {
	none := facts.BuiltLibrary{}
	if stack != "rdma-core" {
		return none, fault.New(fault.Usage, "usage", "the stacks that stand side by side are rdma-core@VERSION and inbox; others replace the distribution's own library, `rdmactl install` switches to them",
			"cannot use stack %q beside another", printable(stack))
	}
	if built.IsUnknown() {
		return none, fault.New(fault.Stopped, "builds-unknown", "", "cannot look for builds of rdma-core: %s", told(built))
	}
	builds := built.Or(nil)
	var there []string
	for _, l := range builds {
		there = append(there, printable(l.Version.Or("unknown version"))+" ("+printable(l.Prefix)+")")
	}
	hint := "`rdmactl install --stack rdma-core --activate none --source FILE --sha256 DIGITS` builds one beside what programs get"
	if len(there) > 0 {
		hint = "built are " + strings.Join(there, ", ") + "; " + hint
	}
	if want == "" {
		newest := none
		for _, l := range builds {
			if newest.Prefix == "" || newer(l, newest) {
				newest = l
			}
		}
		if newest.Prefix == "" {
			return none, fault.New(fault.Stopped, "not-built", hint, "cannot use rdma-core: no build of it is on this host")
		}
		return newest, nil
	}
	var found []facts.BuiltLibrary
	for _, l := range builds {
		if v, ok := l.Version.Get(); l.Prefix == want || ok && plainNumber(v) == plainNumber(strings.TrimPrefix(want, "v")) {
			found = append(found, l)
		}
	}
	// The usual place of a version wins over other builds of it.
	for _, l := range found {
		if l.Prefix == want || len(found) > 1 && path.Base(l.Prefix) == want {
			return l, nil
		}
	}
	switch len(found) {
	case 0:
		return none, fault.New(fault.Stopped, "not-built", hint, "cannot use rdma-core %s: it is not built on this host", printable(want))
	case 1:
		return found[0], nil
	}
	return none, fault.New(fault.Stopped, "several-builds", "name the directory of one: rdma-core@"+printable(found[0].Prefix),
		"cannot use rdma-core %s: %d builds are of this version: %s and %s", printable(want), len(found), printable(found[0].Prefix), printable(found[1].Prefix))
}

// newer compares two builds by their versions; one without loses, and of two equal ones the first name wins.
func newer(a, b facts.BuiltLibrary) bool {
	av, aErr := version.ParseStack(a.Version.Or(""))
	bv, bErr := version.ParseStack(b.Version.Or(""))
	switch {
	case aErr != nil:
		return false
	case bErr != nil:
		return true
	}
	return av.Compare(bv) > 0
}

// Mixed says why a build would find no device: its providers are not of its own private ABI. The error is a
// *fault.Error.
func Mixed(l facts.BuiltLibrary) error {
	const hint = "build it anew: `rdmactl install --stack rdma-core --version VERSION --activate none --source FILE --sha256 DIGITS`"
	stop := func(code, format string, args ...any) error {
		return fault.New(fault.Stopped, code, hint, "cannot use the build in "+printable(l.Prefix)+": "+format, args...)
	}
	abi, ok := l.PrivateABI.Get()
	if !ok {
		return stop("no-private-abi", "the private ABI of %s is not known: %s", printable(l.Path), told(l.PrivateABI))
	}
	if l.Providers.IsUnknown() {
		return stop("providers-unknown", "its providers are not known: %s", told(l.Providers))
	}
	own := 0
	for _, p := range l.Providers.Or(nil) {
		if p.PrivateABI != abi {
			return stop("mixed-providers", "its library is of private ABI %d, and the provider %s in its directory is of %d: two builds are mixed there", abi, printable(p.Path), p.PrivateABI)
		}
		own++
	}
	if own == 0 {
		return stop("no-providers", "no provider is beside %s, so it finds no device", printable(l.Path))
	}
	return nil
}

// told is why a fact is not known.
func told[T any](f facts.Field[T]) string {
	if f.Error != "" {
		return printable(f.Error)
	}
	return "nothing tells (" + printable(f.Source) + ")"
}

// UnitDropIn is the file that gives a unit its own stack.
func UnitDropIn(unit string) string { return unitDir + unit + ".d/60-rdmactl-stack.conf" }

// UseUnit plans the file that gives a service its own stack; an empty text takes it away. name is the stack as a
// person names it.
func UseUnit(f facts.Facts, name, unit, text string) (Plan, error) {
	out := usePlan()
	file := UnitDropIn(unit)
	if f.Managed.IsUnknown() {
		return Plan{}, fault.New(fault.Stopped, "files-unknown", "", "cannot plan a stack of its own for %s: whether it has one is not known: %s", printable(unit), told(f.Managed))
	}
	old, there := f.Managed.Or(nil)[file]
	sum := sha256.Sum256([]byte(text))
	switch {
	case text == "" && !there:
		out.Verdict, out.Summary = NothingToDo, unit+" has no stack of its own already: it gets the default one"
		return out, nil
	case text != "" && there && strings.EqualFold(old, hex.EncodeToString(sum[:])):
		out.Verdict, out.Summary = NothingToDo, unit+" is set to "+name+" already"
		return out, nil
	}
	change := FileChange{Path: file, Action: "write", Mode: "0644", Content: text}
	out.Summary = "give " + unit + " " + name + " as its own stack"
	summary := "write " + file
	if text == "" {
		change = FileChange{Path: file, Action: "remove"}
		out.Summary = "give " + unit + " the default stack again (" + name + ")"
		summary = "remove " + file
	}
	out.Steps = []Step{{
		ID: "unit-stack", Kind: KindFiles, Summary: summary,
		Why:     "a service gets neither the shell's environment nor the profile's PATH; a drop-in tells the loader for this unit alone",
		Changes: Changes{Files: []FileChange{change}},
		Undo:    "put the former file back, or remove the file where there was none; a file edited since is kept and named", Root: true,
	}}
	if systemd, ok := f.Platform.Systemd.Get(); !f.Platform.Systemd.IsAbsent() && (!ok || systemd) {
		out.Steps = append(out.Steps, Step{
			ID: "services", Kind: KindServices, Summary: "make systemd read the changed unit",
			Why:     "systemd reads changed units only when told; " + unit + " itself is not restarted: when that suits, only its administrator knows",
			Changes: Changes{Services: []ServiceChange{{Action: "daemon-reload"}}},
			Undo:    "make systemd read its units again after they are put back", Root: true,
		})
	}
	out.Next = []Hint{{"systemctl restart " + unit, "it keeps what it has loaded until then"}}
	return out, nil
}

// RenderUse writes a plan of Use or UseUnit for a person.
func RenderUse(w io.Writer, p Plan, color bool) error {
	r := renderer{color: color}
	r.wrap("", "  ", p.Summary, map[Verdict]string{Install: bold, NothingToDo: green}[p.Verdict])
	r.steps(p)
	if len(p.Next) > 0 && p.Verdict == Install {
		r.heading("Next")
		for _, hint := range p.Next {
			r.wrap("  ", "    ", hint.Command, bold)
			r.wrap("      ", "      ", hint.Text, "")
		}
	}
	if _, err := io.WriteString(w, r.text.String()); err != nil {
		return fmt.Errorf("cannot print: %w", err)
	}
	return nil
}
