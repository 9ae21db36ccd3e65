package matrix

import "github.com/rdmactl/rdmactl/internal/version"

// Listed is a release with what the planner asks of each one for every host, so that it is looked up once.
type Listed struct {
	Release *Release
	Version version.StackVersion
	Branch  *Branch // nil when the matrix has none of its name
	layouts map[string]*Layout
	layout  *Layout // for families that no layout names
}

// Layout is Index.Layout for the release; nil when the matrix tells no packaging for the family.
func (l *Listed) Layout(family string) *Layout {
	if layout, named := l.layouts[family]; named {
		return layout
	}
	return l.layout
}

// Listed are the releases of a stack as Releases has them.
func (x *Index) Listed(stack string) []Listed { return x.listed[stack] }

func (x *Index) addListed() error {
	for stack, releases := range x.releases {
		list := make([]Listed, len(releases))
		for i, r := range releases {
			l := &list[i]
			l.Release, l.Version, l.layouts = r, x.VersionOf(r), map[string]*Layout{}
			if b, ok := x.Branch(stack, r.Branch); ok {
				l.Branch = b
			}
			l.layout, _ = x.Layout(stack, l.Version, "")
			for k := range x.layouts[stack] {
				family := x.layouts[stack][k].Family
				if _, done := l.layouts[family]; !done {
					l.layouts[family], _ = x.Layout(stack, l.Version, family)
				}
			}
		}
		x.listed[stack] = list
	}
	return nil
}
