package plan

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan/rules"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// NoProfile is the name of the profile that wants nothing: what is left is what the distribution's packages do by
// themselves.
const NoProfile = "none"

// Nothing is the profile that wants nothing.
func Nothing() profiles.Profile {
	return profiles.Profile{
		APIVersion: "rdmactl/v1", Kind: "Profile", Name: NoProfile, Summary: "nothing beside what the distribution has installed",
		Prefer: []string{"inbox"}, Branches: "all", Hardware: "optional",
	}
}

// Uninstall plans how every stack on a host goes that is not the distribution's own, to profile p on the distribution's
// stack: a vendor's packages, and builds, which are those that rdmactl has made. A host without either has nothing to
// do, whatever p asks for.
func Uninstall(f facts.Facts, p profiles.Profile, m *matrix.Index, req Request, builds []facts.BuiltLibrary) (Plan, error) {
	req.Stack = "inbox"
	if err := check(p, req); err != nil {
		return Plan{}, err
	}
	in := rules.NewInput(f, p, rules.Asked{Named: true, Matrix: m, Day: day(f, req), Kernel: req.Kernel, Cards: stated(req)})
	vendor := rules.Leaves(in) || len(rules.InTheWay(in)) > 0 && !rules.AwaitsBoot(in)
	if !vendor && len(builds) == 0 {
		out := usePlan()
		out.Verdict, out.Profile, out.Manager = NothingToDo, p.Name, f.Packages.Manager.Or("")
		out.Chosen = &Choice{Stack: "inbox", Method: "packages", Modules: rules.ModulesInbox, Status: Present}
		out.Summary = "nothing to do: no stack but the distribution's own is on this host"
		for _, w := range rules.Warnings(rules.Judge(in, rules.Inbox)) {
			if w.Code == rules.AwaitingBoot {
				out.Summary += "; a vendor's modules are in memory until the next boot"
				out.Warnings = append(out.Warnings, reason(w))
			}
		}
		return out, nil
	}
	own := slices.ContainsFunc(f.Userspace.Libibverbs.Or(nil), func(l facts.Libibverbs) bool { return Distribution(l.Path) })
	var out Plan
	if vendor || !own && p.Name != NoProfile {
		var err error
		if out, err = Make(f, p, m, req); err != nil || out.Verdict == Refuse {
			return out, err
		}
	} else {
		out = usePlan()
		out.Profile, out.ProfileFrom, out.Manager = p.Name, req.ProfileFrom, f.Packages.Manager.Or("")
		out.Chosen = &Choice{Stack: "inbox", Method: "packages", Modules: rules.ModulesInbox, Status: Present}
	}
	gone := []string{}
	if text := leaves(in); text != "" {
		gone = append(gone, text)
	}
	more := buildsAway(f, builds)
	for _, b := range builds {
		gone = append(gone, "rdma-core "+printable(b.Version.Or("of unknown version"))+" in "+printable(b.Prefix))
	}
	out.Steps = insertedBefore(out.Steps, more)
	if len(more) > 0 && !slices.ContainsFunc(out.Steps, func(s Step) bool { return s.Kind == KindVerify || s.Reboot }) && in.Running() {
		out.Steps = append(out.Steps, verifyStep(in))
	}
	out.Verdict = Install
	if len(out.Steps) == 0 {
		out.Verdict = NothingToDo
	}
	out.Summary = "takes " + strings.Join(gone, " and ") + " away, and leaves the distribution's own stack (" + plural(len(out.Steps), "step") + ")"
	words, back := []string{"sudo rdmactl uninstall"}, "`rdmactl rollback`"
	if image := imageOf(in, req); image != "" {
		words = append(words, "--root "+quoted(image))
		if req.Kernel != "" {
			words = append(words, "--kernel "+quoted(req.Kernel))
		}
		back = InImage(back, image)
	}
	if name := profileWord(out, req); name != "inbox" {
		words = append(words, "--to-profile "+quoted(name))
	}
	if ByHand(out) == "" {
		out.Next = []Hint{{Command: strings.Join(words, " "), Text: "carries out these steps, each journalled; " + back + " takes them back"}}
	}
	return out, nil
}

// buildsAway give programs the distribution's library again and remove builds.
func buildsAway(f facts.Facts, builds []facts.BuiltLibrary) []Step {
	if len(builds) == 0 {
		return nil
	}
	var out []Step
	if slices.ContainsFunc(builds, func(l facts.BuiltLibrary) bool { return !l.Active.IsKnown() || l.Active.Value }) {
		out = append(out, Step{
			ID: "use", Kind: KindUse, Summary: "make the distribution's library the one that programs get by default",
			Why:     useWhy,
			Changes: Changes{Use: &UseChange{Stack: "inbox"}},
			Undo:    "put the loader's configuration back, so that programs get what they get now", Root: true,
		})
	}
	var trees []string
	for _, b := range builds {
		trees = append(trees, b.Prefix)
	}
	slices.Sort(trees)
	return append(out, Step{
		ID: "remove-builds", Kind: KindRemove, Summary: "remove " + strings.Join(trees, ", "),
		Why:     "rdmactl built what is in there, and nothing of it is used any more; what runs keeps what it has loaded",
		Changes: Changes{Trees: trees},
		Undo:    "put them back as they were", Root: true,
	})
}

// insertedBefore puts steps before the first that brings the stack into use or proves it.
func insertedBefore(steps, more []Step) []Step {
	at := slices.IndexFunc(steps, func(s Step) bool {
		return slices.Contains([]Kind{KindUdev, KindModules, KindServices, KindActivate, KindVerify}, s.Kind)
	})
	if at < 0 {
		at = len(steps)
	}
	return slices.Insert(slices.Clone(steps), at, more...)
}
