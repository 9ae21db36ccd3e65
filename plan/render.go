package plan

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// notResolved is the code of a warning that the package manager was not asked, or not about all of it.
const notResolved = "not-resolved"

// width is the widest line of the table, in characters.
const width = 100

// Render writes p for a person: the answer first, then the stacks, the steps with why and undo,
// warnings, and what to type next.
func Render(w io.Writer, p Plan, color bool) error {
	r := renderer{color: color, solver: p.Solver}
	tone := map[Verdict]string{Install: bold, NothingToDo: green, Refuse: red}[p.Verdict]
	r.wrap("", "  ", p.Summary, tone)
	if from := p.ProfileFrom; from != "" && from != FromFlag && from != FromDefault {
		r.wrap("  ", "    ", "profile "+printable(p.Profile)+" is from "+printable(from), "")
	}
	if len(p.Reasons) > 0 && p.Verdict == Refuse {
		// The first reason is the summary, so only its code and source are new.
		first := "reason: " + p.Reasons[0].Code
		if p.Reasons[0].Source != "" {
			first += " (told by " + p.Reasons[0].Source + ")"
		}
		r.wrap("  ", "    ", first, "")
		for _, reason := range p.Reasons[1:] {
			r.reason("  also: ", reason)
		}
	}
	if len(p.Looked) > 0 {
		r.heading("Looked at")
		for _, line := range p.Looked {
			r.wrap("  ", "    ", line, "")
		}
	}
	r.stacks(p)
	r.steps(p)
	if len(p.Warnings) > 0 {
		r.heading("Warnings")
		for _, warning := range p.Warnings {
			r.reason("  ", warning)
		}
	}
	if p.Solver != nil && (len(p.Solver.Actions) > 0 || !slices.ContainsFunc(p.Warnings, func(w Reason) bool { return w.Code == notResolved })) {
		r.solution(p.Solver)
	}
	if p.Reboot {
		r.line("")
		r.wrap("", "", "It takes effect with the next boot of that kernel; rdmactl never starts one.", "")
	}
	if len(p.Next) > 0 {
		r.heading("Next")
		for _, hint := range p.Next {
			r.wrap("  ", "    ", hint.Command, bold)
			r.wrap("      ", "      ", hint.Text, "")
		}
	}
	_, err := io.WriteString(w, r.text.String())
	return err
}

const (
	bold  = "\x1b[1m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	reset = "\x1b[0m"
)

type renderer struct {
	text    strings.Builder
	color   bool
	columns int // the widest line, 0 for width
	// solver is the package manager's answer, which says what becomes of a package; nil where it was not asked.
	solver *Solution
}

func (r *renderer) line(text string) { r.text.WriteString(strings.TrimRight(text, " ") + "\n") }

func (r *renderer) heading(text string) {
	r.line("")
	r.wrap("", "", text, bold)
}

// wrap writes text in lines of at most width characters, the first after first, the others after
// rest. A word that is longer stays whole: paths must be copied as one.
func (r *renderer) wrap(first, rest, text, tone string) {
	current := first
	empty := true
	most := r.columns
	if most == 0 {
		most = width
	}
	flush := func() {
		if r.color && tone != "" {
			body := strings.TrimLeft(current, " ")
			r.line(current[:len(current)-len(body)] + tone + body + reset)
			return
		}
		r.line(current)
	}
	for _, word := range strings.Fields(printable(text)) {
		switch {
		case empty:
			current += word
		case utf8.RuneCountInString(current)+1+utf8.RuneCountInString(word) > most:
			flush()
			current = rest + word
		default:
			current += " " + word
		}
		empty = false
	}
	flush()
}

func (r *renderer) reason(indent string, reason Reason) {
	text := reason.Code + ": " + reason.Text
	if reason.Source != "" {
		text += " (" + reason.Source + ")"
	}
	r.wrap(indent, "    ", text, "")
}

func (r *renderer) stacks(p Plan) {
	r.heading("Stacks")
	r.line(fmt.Sprintf("  %-10s %-16s %-9s %-12s %s", "STACK", "VERSION", "VERDICT", "STATUS", "INSTALLED"))
	said := map[string]bool{}
	if p.Verdict == Refuse {
		for _, reason := range p.Reasons {
			said[reason.Text] = true
		}
	}
	for _, s := range p.Stacks {
		r.line(fmt.Sprintf("  %-10s %-16s %-9s %-12s %s", s.Stack, dash(printable(s.Version)), s.Verdict, s.Status, dash(printable(s.Installed))))
		// The first two reasons decide about what is not chosen; the JSON form has all of them.
		for i, reason := range s.Reasons {
			if i == 2 && len(s.Reasons) > 3 && s.Verdict != StackChosen {
				var codes []string
				for _, more := range s.Reasons[i:] {
					codes = append(codes, more.Code)
				}
				r.wrap("      ", "        ", "also: "+strings.Join(codes, ", "), "")
				break
			}
			if said[reason.Text] {
				r.line("      " + reason.Code + ": as above")
				continue
			}
			said[reason.Text] = true
			r.wrap("      ", "        ", reason.Code+": "+reason.Text, "")
		}
	}
	r.wrap("  ", "  ", legend(p.Stacks), "")
}

// legend explains the words of STATUS that are in the table.
func legend(stacks []Stack) string {
	var said []string
	for _, word := range []struct {
		status Status
		means  string
	}{
		{Supported, "documented as supported"},
		{Community, "documented as community support"},
		{Present, "the repository or bundle at hand, or the distribution's, holds it"},
		{Unknown, "no source says that it works, nor that it does not"},
		{Unsupported, "ruled out by the reason below it"},
	} {
		if slices.ContainsFunc(stacks, func(s Stack) bool { return s.Status == word.status }) {
			said = append(said, string(word.status)+": "+word.means)
		}
	}
	return strings.Join(said, "; ")
}

func (r *renderer) steps(p Plan) {
	if len(p.Steps) == 0 {
		return
	}
	r.heading("Steps")
	for i, s := range p.Steps {
		number := fmt.Sprintf("  %d. ", i+1)
		pad := strings.Repeat(" ", len(number))
		var marks []string
		if s.Root {
			marks = append(marks, "root")
		}
		if s.Network {
			marks = append(marks, "network")
		}
		if s.Reboot {
			marks = append(marks, "reboot")
		}
		head := s.ID + ": " + s.Summary
		if len(marks) > 0 {
			head += " [" + strings.Join(marks, ", ") + "]"
		}
		r.wrap(number, pad, head, bold)
		r.what(pad, s.Changes)
		r.wrap(pad+"why:  ", pad+"      ", s.Why, "")
		undo := s.Undo
		if s.Kind == KindFiles {
			undo = "restore the former file" // the JSON form says what that means
		}
		r.wrap(pad+"undo: ", pad+"      ", undo, "")
	}
}

// action says what becomes of a package: as the package manager has answered, else what it may do.
func (r *renderer) action(p PackageChange) string {
	if p.Action != "replace" && p.Action != "restore" {
		return p.Action
	}
	if r.solver != nil && len(r.solver.Actions) > 0 {
		i := slices.IndexFunc(r.solver.Actions, func(a ResolvedPackage) bool { return a.Name == p.Name })
		switch {
		case i < 0:
			return "keep"
		case r.solver.Actions[i].Action == "remove":
			return "remove"
		}
		return p.Action
	}
	switch {
	case p.Action == "replace":
		return "replace, remove or keep"
	case p.Optional:
		return "restore or remove"
	}
	return p.Action
}

// what lists the packages and modules of a step, each with its reason. Files and units are in the
// summary already.
func (r *renderer) what(pad string, c Changes) {
	first := pad + "what: "
	line := func(name, why string, optional bool) {
		if optional {
			name += " (optional)"
		}
		if why != "" {
			name += ": " + why
		}
		r.wrap(first, pad+"        ", name, "")
		first = pad + "      "
	}
	for _, p := range c.Packages {
		name := p.Name
		if p.Action != "install" {
			name = r.action(p) + " " + name
			if c.Script != nil && p.Action == "replace" {
				name = "remove " + p.Name
			}
		}
		line(name, p.Why, p.Optional && p.Action != "restore")
	}
	if c.Script != nil {
		line("run "+printable(c.Script.Command()), "", false)
	}
	if c.Hold != nil {
		held(line, *c.Hold)
	}
	for _, tree := range c.Trees {
		line("remove "+printable(tree), "", false)
	}
	var bare []string
	for _, m := range c.Modules {
		if m.Why == "" {
			bare = append(bare, m.Name)
			continue
		}
		line(m.Name, m.Why, m.Optional)
	}
	if len(bare) > 0 {
		line(strings.Join(bare, ", "), "", false)
	}
	if c.Repository != nil {
		if b := c.Repository.Bundle; b != nil {
			line(b.File, "SHA-256 "+b.SHA256, false)
			line(c.Repository.URL, "where it is unpacked to, "+size(b.Bytes), false)
		} else {
			line(c.Repository.URL, "", false)
		}
		line(c.Repository.File, "where the package manager finds it", false)
		key := c.Repository.Fingerprint
		switch b := c.Repository.Bundle; {
		case b != nil && b.OwnIndex:
			key = "of a key that the run makes"
		case key == "":
			key = "not told by any source"
		}
		line("fingerprint of the key", key, false)
	}
	if c.Build != nil {
		for _, option := range c.Build.Options {
			line(option, "", false)
		}
	}
}

func (r *renderer) solution(s *Solution) {
	if s == nil {
		return
	}
	r.heading("Answer of " + s.Manager)
	for _, a := range s.Actions {
		from := ""
		if a.From != "" {
			from = a.From + " -> "
		}
		r.wrap("  ", "    ", fmt.Sprintf("%s %s:%s %s%s %s", a.Action, a.Name, a.Arch, from, a.Version, a.Origin), "")
	}
	r.line(fmt.Sprintf("  download %s, installed %s", size(s.DownloadBytes), size(s.InstalledBytes)))
}

func size(bytes int64) string {
	switch {
	case bytes < 0:
		return "not told"
	case bytes < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}

// printable drops what could steer a terminal: facts may come from a file that someone else wrote.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, text)
}
