package matrix

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
	"github.com/rdmactl/rdmactl/internal/version"
)

// Cost is what building or installing releases of a stack took once, or is said to take. It is of the machine
// and the release that it names, and nothing computes another's from it.
type Cost struct {
	ID    string `json:"id" yaml:"id"`
	Stack string `json:"stack" yaml:"stack"`
	// Versions are constraints on the releases that it is of, any of them; empty where the source names none.
	Versions []string `json:"versions,omitempty" yaml:"versions,omitempty"`
	// Minutes is the time of compiling; with UpTo the longest that was seen. 0: the source tells none.
	Minutes int  `json:"minutes,omitempty" yaml:"minutes,omitempty"`
	UpTo    bool `json:"up_to,omitempty" yaml:"up_to,omitempty"`
	// DiskMB is the space on disk in 10^6 bytes, and Disk what it is of: "installed", the files of an
	// installation, or "required", the free space that the vendor asks for.
	DiskMB int    `json:"disk_mb,omitempty" yaml:"disk_mb,omitempty"`
	Disk   string `json:"disk,omitempty" yaml:"disk,omitempty"`
	// On is what it was seen with: processors, compiler, system, options.
	On     string   `json:"on" yaml:"on"`
	Source []string `json:"source" yaml:"source"`
	// At is where a file has the entry; the zero Pos is the built-in matrix.
	At strictyaml.Pos `json:"-" yaml:"-"`
}

// Costs are those of a stack, in the order of the matrix: of this version, and of others or of none in
// particular.
func (x *Index) Costs(stack string, v version.StackVersion) (exact, others []Cost) {
	for _, c := range x.m.Costs {
		switch {
		case c.Stack != stack:
		case x.Meets(c.Versions, v):
			exact = append(exact, c)
		default:
			others = append(others, c)
		}
	}
	return exact, others
}

func (c *checker) cost(path []any, k Cost, seen map[string]bool) {
	c.required(path, "id", k.ID, "stack", k.Stack, "on", k.On)
	c.match(at(path, "id"), idPattern, k.ID, "an id, such as rdma-core-64")
	c.repeated(seen, path, "cost "+k.ID, "cost "+k.ID)
	c.stack(path, k.Stack)
	c.constraints(at(path, "versions"), k.Versions)
	c.oneOf(at(path, "disk"), k.Disk, "installed", "required")
	switch {
	case k.Minutes < 0:
		c.say(at(path, "minutes"), "%d is no time", k.Minutes)
	case k.DiskMB < 0:
		c.say(at(path, "disk_mb"), "%d is not a size", k.DiskMB)
	case k.Minutes == 0 && k.DiskMB == 0:
		c.say(path, "it tells neither minutes nor disk_mb")
	case (k.DiskMB > 0) != (k.Disk != ""):
		c.say(path, "disk_mb and disk belong together")
	case k.UpTo && k.Minutes == 0:
		c.say(at(path, "up_to"), "it has no minutes")
	}
	c.source(path, k.Source)
}

// Of names what the entry was seen with: the releases, then the machine.
func (k Cost) Of() string {
	if len(k.Versions) == 0 {
		return k.On
	}
	names := slices.Clone(k.Versions)
	for i, text := range names {
		names[i] = strings.TrimPrefix(text, "= ")
	}
	return strings.Join(names, " or ") + " on " + k.On
}
