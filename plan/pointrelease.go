package plan

import (
	"regexp"
	"slices"

	"github.com/rdmactl/rdmactl/plan/rules"
)

// PointRelease says that a release is judged as the one that it mends.
const PointRelease rules.Code = "point-release"

var pointNumber = regexp.MustCompile(`^([0-9]+)\.0*[1-9][0-9]*$`)

// pointRelease is the release X.1, X.2 and so on of rdma-core that a text names, when X.0 is known. Upstream keeps a
// branch of each release for about four years and numbers its fixes so; a list of them would never be whole.
func pointRelease(all []*rules.Candidate, text string) []*rules.Candidate {
	parts := pointNumber.FindStringSubmatch(text)
	if parts == nil || len(all) == 0 || all[0].Release.Stack != "rdma-core" {
		return nil
	}
	base := ofVersion(all, parts[1]+".0")
	if len(base) != 1 {
		return nil
	}
	mended := *base[0]
	release := *mended.Release
	release.Version, release.Date = text, "" // the date is that of X.0
	mended.Release = &release
	mended.Reasons = append(slices.Clone(mended.Reasons), rules.Finding{
		Code: PointRelease, Source: "github:linux-rdma/rdma-core Documentation/stable.md",
		Text: text + " is judged as " + base[0].Release.Version + ", which it mends: upstream puts only fixes into a release of this number",
	})
	return []*rules.Candidate{&mended}
}
