package matrix

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// matrixPage is docs/matrix.md: what a person looks up, not each row.
func matrixPage(t testing.TB, m *Matrix) []byte {
	t.Helper()
	x, err := NewIndex(m)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{x: x}
	p.say(`# The compatibility matrix

This page is made from the YAML files in profiles/matrix by %s and checked by a test; change the files, not
the page. Each entry there names its source.

## How to read it

A row of a release is evidence, and the evidence decides the status of a combination:

| word | evidence |
|---|---|
| supported | a row of the vendor's table of systems, or named as added by release notes |
| community | the same, where the table says community support |
| present | a repository or bundle at hand holds packages for exactly this system, architecture and kernel ("rdmactl matrix import") |
| unknown | neither: driver containers, other products' matrices, names of bundles and tests of others say that something was made, not that it is supported |
| unsupported | the table was seen whole and lacks the system, or a rule excludes it |

A missing row is unknown, not a no, unless the table was seen whole. IDs are those of os-release in lower
case; SLES service packs are 15.N; a RHEL row covers the rebuilds that it names.
`, "`go generate ./profiles/matrix`")
	p.branches()
	p.cards()
	p.systems()
	p.builds()
	p.rdmaCore()
	p.inbox()
	p.say(`
## Extend it

Files in /etc/rdmactl/matrix.d, and those named with --matrix, add branches, releases, rows of releases that
are there, and whole entries. What contradicts an entry (another date, another rule) is an error that names
both. "rdmactl matrix lint FILE" checks a file, with line and column:

` + "```yaml" + `
apiVersion: rdmactl/v1
kind: Matrix
releases:
  - stack: mlnx-ofed
    version: "24.10-4.1.4.0"
    branch: "24.10"
    lts: "yes"
    rows:
      - {evidence: documented-table, id: rhel, version_id: "9.6", arch: x86_64, model: primary}
    source: [the vendor's answer to case 4711]
` + "```" + `

What was collected and is not in the matrix stands in profiles/matrix/left-out.yaml, by group, with the reason.
`)
	return p.out.Bytes()
}

type page struct {
	x   *Index
	out bytes.Buffer
}

func (p *page) say(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

func (p *page) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	p.say("| %s |\n", strings.Join(cells, " | "))
}

func (p *page) head(cells ...string) {
	p.row(cells...)
	p.say("|%s\n", strings.Repeat("---|", len(cells)))
}

// of are the releases of a branch, the newest first.
func (p *page) of(b Branch) []*Release {
	var list []*Release
	for _, r := range p.x.Releases(b.Stack) {
		if r.Branch == b.Name {
			list = append(list, r)
		}
	}
	return list
}

func (p *page) branches() {
	p.say("\n## Branches\n\n")
	p.head("stack", "branch", "releases", "newest", "start", "end", "remark")
	for _, stack := range []string{"doca-ofed", "mlnx-ofed", "ofed", "rdma-core"} {
		for _, b := range p.x.Branches(stack) {
			list := p.of(b)
			newest := ""
			for _, r := range list {
				if r.Withdrawn == "" {
					newest = r.Version
					if r.Date != "" {
						newest += " (" + r.Date + ")"
					}
					break
				}
			}
			name := b.Name
			if b.LTS {
				name += " **LTS**"
			}
			end := ""
			switch {
			case b.EndStated != "":
				end = b.EndStated + ", stated"
			case b.EndComputed != "":
				end = b.EndComputed + ", computed"
			}
			remark := b.Title
			if b.NeverChosen != "" {
				remark = "never chosen: " + b.NeverChosen
			}
			p.row(stack, name, fmt.Sprint(len(list)), newest, b.Start, end, remark)
		}
	}
	p.say("\nA computed end is the start plus three years, which the vendor states as the length of an LTS.\n")
}

// served says which cards a release serves by the rules, and by its own list where there is no rule.
func (p *page) served(r *Release) []string {
	served := map[string]bool{}
	for _, c := range r.Cards {
		served[c] = true
	}
	v := p.x.VersionOf(r)
	for _, rule := range p.x.Matrix().Cards {
		if rule.Stack == r.Stack {
			served[rule.Card] = p.x.Meets(rule.Allowed, v)
		}
	}
	maps.DeleteFunc(served, func(_ string, yes bool) bool { return !yes })
	return slices.Sorted(maps.Keys(served))
}

func (p *page) cards() {
	p.say("\n## Cards\n\nWhat the newest release of each branch serves. A PCI id in a driver is not support.\n\n")
	p.head("stack", "branch", "cards")
	for _, stack := range []string{"doca-ofed", "mlnx-ofed"} {
		first, last, cards := "", "", ""
		flush := func() {
			if first != last {
				last += " to " + first
			}
			if first != "" {
				p.row(stack, last, cards)
			}
		}
		for _, b := range p.x.Branches(stack) {
			list := p.of(b)
			if len(list) == 0 || b.NeverChosen != "" {
				continue
			}
			if served := strings.Join(p.served(list[0]), ", "); served != cards {
				flush()
				first, cards = b.Name, served
			}
			last = b.Name
		}
		flush()
	}
	p.say("\nSince when the kernel's own driver and rdma-core know a card (distributions add cards to older kernels):\n\n")
	p.head("card", "driver", "kernel", "rdma-core", "remark")
	for _, d := range p.x.Matrix().CardDrivers {
		p.row(d.Card, d.Driver, d.FirstKernel, d.FirstCore, d.Note)
	}
}

func (p *page) systems() {
	p.say("\n## Systems\n\nOf the newest release of each LTS branch that is known with any, and of the newest branch. Not every page of\nthe vendor could be read: most tables are known in part only.\n")
	for _, stack := range []string{"doca-ofed", "mlnx-ofed"} {
		for i, b := range p.x.Branches(stack) {
			if !b.LTS && i > 0 || b.NeverChosen != "" {
				continue
			}
			for _, r := range p.of(b) {
				if len(r.Rows) > 0 {
					p.release(r)
					break
				}
			}
		}
	}
}

func (p *page) release(r *Release) {
	p.say("\n### %s %s\n\n", r.Stack, r.Version)
	p.head("system", "status", "architectures", "evidence")
	type line struct{ archs, kinds []string }
	lines := map[string]*line{}
	for _, row := range r.Rows {
		status := "unknown"
		if row.Evidence == DocumentedTable {
			status = "supported"
			if row.Model == "community" {
				status = "community"
			}
		}
		key := row.ID + " " + row.VersionID + "\x00" + status
		if lines[key] == nil {
			lines[key] = &line{}
		}
		lines[key].kinds = append(lines[key].kinds, string(row.Evidence))
		if row.Arch != "" {
			lines[key].archs = append(lines[key].archs, row.Arch)
		}
	}
	unique := func(list []string) string {
		slices.Sort(list)
		return strings.Join(slices.Compact(list), ", ")
	}
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		system, status, _ := strings.Cut(key, "\x00")
		p.row(system, status, unique(lines[key].archs), unique(lines[key].kinds))
	}
	switch {
	case r.Complete:
		p.say("\nThe table was seen whole: a system that is missing is unsupported.\n")
	case len(r.CompleteFor) > 0:
		p.say("\nThe table was seen whole for %s.\n", strings.Join(r.CompleteFor, ", "))
	}
}

func (p *page) builds() {
	p.say("\n## Kernels known to break or to work\n\nBeyond the tables. Confidence is how well it is founded.\n\n")
	p.head("stack", "versions", "kernels", "systems", "result", "what is known", "confidence")
	for _, b := range p.x.Matrix().Builds {
		result := "fails"
		switch {
		case b.Works:
			result = "works"
		case b.Optional:
			result = "optional modules fail"
		}
		p.row(b.Stack, strings.Join(b.Versions, " or "), strings.Join(append(slices.Clone(b.Kernels), b.KernelNames...), " or "),
			strings.Join(b.Distros, ", "), result, b.Text, b.Confidence)
	}
}

func (p *page) rdmaCore() {
	p.say("\n## rdma-core\n\nA provider loads only into a libibverbs of the same private ABI.\n\n")
	p.head("releases", "private ABI", "tagged")
	list := slices.Clone(p.x.Releases("rdma-core"))
	slices.Reverse(list)
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1].PrivateABI == list[i].PrivateABI {
			j++
		}
		span, dates := list[i].Version, list[i].Date
		if j > i {
			span, dates = span+" to "+list[j].Version, dates+" to "+list[j].Date
		}
		abi := fmt.Sprint(list[i].PrivateABI)
		if list[i].PrivateABI == 0 {
			abi = "none or not known"
		}
		p.row(span, abi, dates)
		i = j + 1
	}
}

func (p *page) inbox() {
	p.say("\n## What distributions ship\n\n")
	p.head("system", "kernel", "rdma-core", "private ABI", "known", "remark")
	for _, r := range p.x.Matrix().Inbox {
		abi := ""
		if r.PrivateABI > 0 {
			abi = fmt.Sprint(r.PrivateABI)
		}
		name := r.ID + " " + r.VersionID
		if r.Flavour != "" {
			name += " (" + r.Flavour + ")"
		}
		p.row(name, r.Kernel, r.RDMACore, abi, r.Sure, r.Note)
	}
}

// TestPageTellsWhatCounts: the answers that people look up are in the page.
func TestPageTellsWhatCounts(t *testing.T) {
	m := fromFiles(t)
	text := string(matrixPage(t, m))
	for _, want := range []string{
		"| doca-ofed | 3.2 **LTS** |", "| 2025-10 | 2028-10, computed |", "5.4-3.7.5.0", "connectx-9", "| 34.0 to 56.0 | 34 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if n := strings.Count(text, "\n"); n > 500 {
		t.Errorf("%d lines are a dump, not a page", n)
	}
	x, err := NewIndex(m)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{x: x}
	for _, tc := range []struct {
		stack, version, card string
		want                 bool
	}{
		{"mlnx-ofed", "4.9-7.1.0.0", "connectx-3", true},
		{"mlnx-ofed", "5.1-0.6.6.0", "connectx-3", false},
		{"mlnx-ofed", "24.10-4.1.4.0", "connectx-4", true},
		{"doca-ofed", "2.9.4", "connectx-4", true},
		{"doca-ofed", "2.10.0", "connectx-4", false},
		{"mlnx-ofed", "5.4-3.4.0.0", "connectx-7", false},
		{"mlnx-ofed", "5.4-3.5.8.0", "connectx-7", true},
		{"mlnx-ofed", "5.5-1.0.3.2", "connectx-7", false},
		{"mlnx-ofed", "5.6-1.0.3.3", "connectx-7", true},
		{"mlnx-ofed", "24.10-4.1.4.0", "bluefield-3", false},
		{"doca-ofed", "2.9.4", "bluefield-3", true},
		{"doca-ofed", "2.9.4", "connectx-8", false},
		{"doca-ofed", "2.10.0", "connectx-8", true},
		{"doca-ofed", "3.2.3", "connectx-9", false},
		{"doca-ofed", "3.3.0", "connectx-9", true},
	} {
		r, ok := x.Find(tc.stack, tc.version)
		if !ok {
			t.Errorf("%s %s is missing", tc.stack, tc.version)
			continue
		}
		if got := slices.Contains(p.served(r), tc.card); got != tc.want {
			t.Errorf("%s %s serves %s: %v", tc.stack, tc.version, tc.card, got)
		}
	}
}
