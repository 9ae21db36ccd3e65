package plan

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// RenderComparison writes a comparison for people: one line a stack, then what each would mean.
func RenderComparison(w io.Writer, c Comparison, color bool) error {
	var b bytes.Buffer
	head := renderer{color: color}
	head.wrap("", "  ", c.Summary, bold)
	b.WriteString(head.text.String() + "\n")
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STACK\tVERSION\tSTATUS\tVERDICT\tRELEASED\tSUPPORTED UNTIL\tMODULES\tCOMPILES\tREBOOT\tDOWNLOAD\tGO")
	for _, s := range c.Stacks {
		gone := "?"
		if s.PackagesTold && s.Verdict != StackRefused {
			gone = strconv.Itoa(len(s.Goes))
		} else if s.Verdict == StackRefused {
			gone = "-"
		}
		end := s.SupportEnd
		if s.SupportBasis == "computed" {
			end += " (computed)"
		}
		released := dash(s.Released)
		if s.AgeMonths >= 0 {
			released += fmt.Sprintf(" (%d months)", s.AgeMonths)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Stack.Stack, dash(s.Version), s.Status, s.Verdict, released,
			dash(end), dash(s.Modules), yesNo(s.Compiles, s.Verdict), yesNo(s.Reboot, s.Verdict), unknownSize(s.Bytes), gone)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	r := renderer{color: color}
	for _, s := range c.Stacks {
		r.heading(s.Stack.Stack)
		for _, reason := range s.Reasons {
			r.wrap("  ", "    ", reason.Code+": "+reason.Text, "")
		}
		for _, line := range []struct {
			name string
			list []string
		}{{"compile time", one(s.CompileTime)}, {"next kernel", one(s.NextKernel)}, {"packages that go", s.Goes}, {"modules won", s.Gains}, {"lost", s.Losses}, {"licence", one(s.Licence)}} {
			if len(line.list) > 0 {
				r.wrap("  ", "    ", line.name+": "+strings.Join(line.list, ", "), "")
			}
		}
	}
	b.WriteString(r.text.String())
	_, err := w.Write(b.Bytes())
	return err
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

// unknownSize is a size, or a question mark where only the solver or the repository can tell.
func unknownSize(n int64) string {
	if n == 0 {
		return "?"
	}
	return size(n)
}

// one is a list of a text, empty when there is none.
func one(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
