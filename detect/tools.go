package detect

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

// tool is a program to look for.
type tool struct {
	name string
	dirs string   // below /, without /usr: "bin" or "sbin"
	of   []string // packages that show that it is there
}

// toolList are what DKMS and add-kernel-support need (compiler, make, perl, libelf's programs are the
// distribution's), what signs, what makes the initramfs, and what the cards are looked at with.
func toolList() []tool {
	return []tool{
		{"gcc", "bin", []string{"gcc"}},
		{"make", "bin", []string{"make"}},
		{"ld", "bin", []string{"binutils"}},
		{"perl", "bin", []string{"perl", "perl-base"}},
		{"patch", "bin", []string{"patch"}},
		{"zstd", "bin", []string{"zstd"}},
		{"dkms", "sbin", []string{"dkms"}},
		{"rpmbuild", "bin", []string{"rpm-build"}},
		{"createrepo_c", "bin", []string{"createrepo_c"}},
		{"mokutil", "bin", []string{"mokutil"}},
		{"openssl", "bin", []string{"openssl"}},
		{"weak-modules", "sbin", nil},
		{"dracut", "bin", []string{"dracut"}},
		{"update-initramfs", "sbin", []string{"initramfs-tools"}},
		{"mkinitcpio", "bin", []string{"mkinitcpio"}},
		{"mst", "bin", []string{"mft"}},
		{"mlxconfig", "bin", []string{"mft"}},
		{"mstconfig", "bin", []string{"mstflint"}},
		{"mlxfwmanager", "bin", []string{"mft"}},
		{"opensm", "sbin", []string{"opensm"}},
		{"rdma", "sbin", []string{"iproute2", "iproute"}},
	}
}

var firstVersion = regexp.MustCompile(`\b[0-9]+(?:\.[0-9]+)+\b`)

// tools looks for programs. The package list is used where the files are not told.
func (p probe) tools() []facts.Tool {
	list := toolList()
	out := make([]facts.Tool, len(list))
	for i, t := range list {
		out[i] = p.tool(t)
	}
	return out
}

func (p probe) tool(t tool) facts.Tool {
	out := facts.Tool{Name: t.name}
	dirs := []string{"/usr/" + t.dirs, "/usr/local/" + t.dirs}
	if t.dirs == "sbin" {
		dirs = append(dirs, "/sbin", "/usr/bin") // not merged, or merged the other way, as in Fedora 42
	} else {
		dirs = append(dirs, "/bin")
	}
	absent := 0
	for _, dir := range dirs {
		file := dir + "/" + t.name
		_, err := p.r.Stat(file)
		if err == nil {
			out.Path = facts.Is(file, file)
			break
		}
		f := field("", file, err)
		if f.IsAbsent() {
			absent++
		} else if out.Path.Source == "" || f.Error != "" {
			out.Path = f
		}
	}
	if absent == len(dirs) {
		out.Path = facts.None[string](dirs[0])
	}
	if !p.evidence() {
		return out
	}
	line := t.name + " --version"
	if _, told := p.commands()[line]; !told {
		fill(&out.Path, p.whichTold(t.name))
		return out
	}
	if res, err := p.r.Query(p.ctx, t.name, "--version"); err == nil && res.Exit == 0 {
		if v := firstVersion.FindString(lastWords(res.Stdout)); v != "" {
			out.Version = facts.Is(v, line)
		}
		fill(&out.Path, facts.Is("", line))
	} else if notInstalled(err) {
		fill(&out.Path, facts.None[string](line))
	}
	fill(&out.Path, p.whichTold(t.name))
	return out
}

// lastWords drops what stands in parentheses on the first line: "gcc (Ubuntu 9.4.0-1ubuntu1) 9.4.0".
func lastWords(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')'); open >= 0 && end > open {
		line = line[:open] + line[end+1:]
	}
	return line
}

// toolsOfPackages marks programs as there whose package is.
func toolsOfPackages(tools []facts.Tool, packages facts.Field[[]facts.Package]) {
	for i, t := range toolList() {
		if !tools[i].Path.IsUnknown() {
			continue
		}
		for _, pkg := range packages.Or(nil) {
			if slices.Contains(t.of, pkg.Name) {
				tools[i].Path = facts.Is("", packages.Source)
				break
			}
		}
	}
}

// initramfsTool names what makes the initramfs. A distribution has one of them; where two are
// installed, update-initramfs is Debian's and stands in front of dracut there.
func initramfsTool(tools []facts.Tool, d facts.Distro) facts.Field[string] {
	names := []struct{ tool, name string }{{"dracut", "dracut"}, {"update-initramfs", "initramfs-tools"}, {"mkinitcpio", "mkinitcpio"}}
	if d.Family.Or("") == "debian" {
		names[0], names[1] = names[1], names[0]
	}
	absent, source := 0, ""
	for _, n := range names {
		at := slices.IndexFunc(tools, func(t facts.Tool) bool { return t.Name == n.tool })
		path := tools[at].Path
		if path.IsKnown() {
			return facts.Is(n.name, path.Source)
		}
		if source = path.Source; path.IsAbsent() {
			absent++
		}
	}
	if absent == len(names) {
		return facts.None[string](source)
	}
	return facts.Field[string]{Source: source}
}
