package plan

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// narrow is the width of a comparison in characters: that of a terminal nobody has made wider.
const narrow = 80

// RenderComparison writes a comparison for people: what each stack is, what it costs, then what each would
// mean. Two tables, because one of all columns fits no terminal.
func RenderComparison(w io.Writer, c Comparison, color bool) error {
	var b bytes.Buffer
	head := renderer{color: color, columns: narrow}
	head.wrap("", "  ", c.Summary, bold)
	b.WriteString(head.text.String() + "\n")
	if err := compareTable(&b, "STACK\tVERSION\tSTATUS\tVERDICT\tAGE\tSUPPORTED UNTIL", c, func(s Compared) []string {
		end := s.SupportEnd
		if s.SupportBasis == "computed" {
			end += " (computed)"
		}
		return []string{dash(s.Version), string(s.Status), string(s.Verdict), ageOf(s.AgeMonths), dash(end)}
	}); err != nil {
		return err
	}
	b.WriteString("\n")
	if err := compareTable(&b, "STACK\tDOWNLOAD\tDISK\tCOMPILE\tREBOOT\tGO\tMODULES", c, func(s Compared) []string {
		gone := "?"
		if s.PackagesTold {
			gone = strconv.Itoa(len(s.Goes))
		}
		row := []string{s.Download.short(), s.Disk.short(), s.Minutes.short(), yesNo(s.Reboot, s.Verdict), gone, dash(s.Modules)}
		if s.Verdict == StackRefused {
			row = []string{"-", "-", "-", "-", "-", "-"}
		}
		return row
	}); err != nil {
		return err
	}
	r := renderer{color: color, columns: narrow}
	r.wrap("", "  ", compareLegend, "")
	for _, s := range c.Stacks {
		r.heading(s.Stack.Stack)
		for _, reason := range s.Reasons {
			r.wrap("  ", "    ", reason.Code+": "+reason.Text, "")
		}
		for _, w := range s.Warnings {
			r.wrap("  ", "    ", "warning "+w.Code+": "+w.Text, "")
		}
		lines := []struct {
			name string
			list []string
		}{
			{"released", one(s.Released)},
			{"download", one(s.Download.long())},
			{"disk", one(s.Disk.long())},
			{"compile time", one(s.Minutes.long())},
			{"next kernel", one(s.NextKernel)},
			{"packages that go", s.Goes},
			{"modules won", s.Gains},
			{"lost", s.Losses},
			{"licence", one(s.Licence)},
		}
		for _, line := range lines {
			refused := s.Verdict == StackRefused && (line.name == "download" || line.name == "disk" || line.name == "compile time")
			if len(line.list) > 0 && !refused {
				r.wrap("  ", "    ", line.name+": "+strings.Join(line.list, ", "), "")
			}
		}
	}
	b.WriteString(r.text.String())
	_, err := w.Write(b.Bytes())
	return err
}

// compareLegend explains the signs of the amounts.
const compareLegend = "+: dependencies come on top (--resolve tells them); ~: another count, see below; " +
	"<=: the longest that was seen; ?: not known, see below; GO: packages that go"

// compareTable writes one line a stack, its name first.
func compareTable(w io.Writer, head string, c Comparison, row func(Compared) []string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, head)
	for _, s := range c.Stacks {
		fmt.Fprintln(table, printable(s.Stack.Stack)+"\t"+strings.Join(row(s), "\t"))
	}
	return table.Flush()
}

// short is the amount in a table; compareLegend explains its signs.
func (a Amount) short() string {
	if a.Value == nil {
		return "?"
	}
	switch a.Scope {
	case ScopeNamed, ScopeBuild:
		return mebibytes(*a.Value) + "+" // and what the solver adds
	case ScopeHeld, ScopeRequired:
		return "~" + mebibytes(*a.Value)
	}
	return mebibytes(*a.Value)
}

// long says what is counted and what told it, or why it is not known.
func (a Amount) long() string {
	text := "not known: " + a.Reason
	if a.Value != nil {
		text = mebibytes(*a.Value) + ", " + a.Text
	}
	return withSource(text, a.Source)
}

func (m Minutes) short() string {
	switch {
	case m.To == nil:
		return "?"
	case *m.To == 0:
		return "no"
	case m.From == nil:
		return fmt.Sprintf("<= %d min", *m.To)
	case *m.From == *m.To:
		return fmt.Sprintf("%d min", *m.To)
	}
	return fmt.Sprintf("%d-%d min", *m.From, *m.To)
}

// long is empty where nothing is compiled.
func (m Minutes) long() string {
	switch {
	case m.To == nil:
		return withSource("not known: "+m.Reason, m.Source)
	case *m.To == 0:
		return ""
	case m.From == nil:
		return withSource(fmt.Sprintf("up to %d minutes, seen with %s", *m.To, m.MeasuredOn), m.Source)
	case *m.From == *m.To:
		return withSource(fmt.Sprintf("%s, seen with %s", plural(*m.To, "minute"), m.MeasuredOn), m.Source)
	}
	return withSource(fmt.Sprintf("%d to %d minutes, seen with %s", *m.From, *m.To, m.MeasuredOn), m.Source)
}

func withSource(text, source string) string {
	if source == "" {
		return text
	}
	return text + " (" + source + ")"
}

// ageOf is an age in a table.
func ageOf(months *int) string {
	if months == nil {
		return "-"
	}
	return fmt.Sprintf("%d mo", *months)
}

func dash(text string) string {
	if strings.TrimSpace(text) == "" {
		return "-"
	}
	return text
}

func yesNo(is bool, v Verdict) string {
	switch {
	case v == StackRefused:
		return "-"
	case is:
		return "yes"
	}
	return "no"
}

// one is a list of a text, empty when there is none.
func one(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
