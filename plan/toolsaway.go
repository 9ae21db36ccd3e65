package plan

import "slices"

// ToolsAwayStep is the id of the step that removes what was installed for a build alone.
const ToolsAwayStep = "remove-build-tools"

// toolsAway adds the step that removes what an earlier step has brought to build with, where that is asked for: behind
// all that the build is needed for, and before it is verified without them.
func toolsAway(steps []Step, req Request) []Step {
	if !req.RemoveBuildDeps || !slices.ContainsFunc(steps, func(s Step) bool { return s.Kind == KindBuild }) {
		return steps
	}
	tools := slices.IndexFunc(steps, func(s Step) bool { return s.ID == BuildToolsStep })
	if tools < 0 {
		return steps // all of it was here before
	}
	at := 0
	for i, s := range steps {
		if s.Kind == KindBuild || s.Kind == KindUse || changesPackages(s) {
			at = i + 1
		}
	}
	return slices.Insert(slices.Clone(steps), at, Step{
		ID: ToolsAwayStep, Kind: KindRemove, Summary: "remove the packages that were installed for the build alone",
		Why:     "asked for by --remove-build-deps; what was here before stays, and so do shared libraries, which the build may have been linked to",
		Changes: Changes{BroughtBy: BuildToolsStep},
		Undo:    "nothing: without the build they are not needed, and were not here before", Root: true,
	})
}
