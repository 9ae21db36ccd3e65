package verbs

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"
)

// Summary is the report in one line: the verdict, and for all but a pass the check that decided it.
func (r Report) Summary() string {
	worst := worstCheck(r.Checks)
	if r.Verdict == Pass || worst == nil {
		return r.headline()
	}
	return fmt.Sprintf("%s: %s (%s)", r.Verdict, worst.Detail, worst.Code)
}

// headline is the verdict with what it is about: the ports that passed, or the code and the place of
// the check that decided it. Its detail follows with the checks.
func (r Report) headline() string {
	if r.Verdict == Pass {
		var ports []string
		for _, d := range r.Devices {
			if len(d.Tests) > 0 {
				ports = append(ports, fmt.Sprintf("%s port %d", d.Device, d.Port))
			}
		}
		return "pass: " + strings.Join(ports, ", ")
	}
	worst := worstCheck(r.Checks)
	if worst == nil {
		return string(r.Verdict)
	}
	text := fmt.Sprintf("%s: %s", r.Verdict, worst.Code)
	if where := worst.where(); where != "" {
		text += " on " + where
	}
	return text
}

// where is the device and the port of a check, empty when it is about the host.
func (c Check) where() string {
	if c.Device == "" || c.Port == 0 {
		return c.Device
	}
	return c.Device + " port " + strconv.Itoa(c.Port)
}

// worstCheck is the first check of the gravest status that is not a pass.
func worstCheck(checks []Check) *Check {
	for _, status := range []Status{Fail, NotTestable, Warn} {
		for i := range checks {
			if checks[i].Status == status {
				return &checks[i]
			}
		}
	}
	return nil
}

// Render prints a report for a person: the verdict, what was measured on each port, and what is wrong
// with its remedy. It fits 100 columns but for long paths.
func Render(w io.Writer, r Report, color bool) {
	line := func(tone Status, mark, text string) {
		text = wrapped(text, "  ")
		if rest, ok := strings.CutPrefix(text, mark); ok && mark != "" {
			text = paint(tone, mark, color) + rest
		}
		fmt.Fprint(w, text)
	}
	head := strings.TrimSuffix(wrapped(r.headline(), "  "), "\n")
	fmt.Fprintln(w, paint(r.Verdict, head, color))
	if r.Library != nil {
		line("", "", fmt.Sprintf("library: %s, private ABI %d", r.Library.Path, r.Library.PrivateABI))
	}
	for _, d := range r.Devices {
		renderPort(w, d)
	}
	shown := false
	for _, c := range r.Checks {
		if c.Status == Pass {
			continue
		}
		if !shown {
			fmt.Fprintln(w)
			shown = true
		}
		where := string(c.Layer)
		if c.Device != "" {
			where += ", " + c.where()
		}
		line(c.Status, string(c.Status), fmt.Sprintf("%s [%s] %s: %s", c.Status, c.Code, where, c.Detail))
		for _, e := range c.Evidence {
			fmt.Fprint(w, "  "+wrapped("seen: "+e, "    "))
		}
		if c.Remedy != "" {
			fmt.Fprint(w, "  "+wrapped("to do: "+c.Remedy, "    "))
		}
	}
	if len(r.Devices) > 0 {
		fmt.Fprintln(w, "\nThe traffic stayed inside the host: cable, switch and fabric were not tested.")
	}
}

// width is the widest line but for the two columns that some lines are moved by, in characters.
const width = 98

// wrapped is text in lines of at most width characters, those after the first behind indent. A word
// that is longer stays whole: paths must be copied as one. What could steer a terminal is replaced,
// since the text may come from a library.
func wrapped(text, indent string) string {
	var out strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		word = strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return '?'
		}, word)
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			out.WriteString("\n" + indent)
			column = len(indent)
		default:
			out.WriteString(" ")
			column++
		}
		out.WriteString(word)
		column += n
	}
	return out.String() + "\n"
}

func renderPort(w io.Writer, d DevicePort) {
	parts := []string{}
	for _, p := range []string{d.State, d.LinkLayer, d.Rate} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if d.GID != nil {
		gid := fmt.Sprintf("GID %d %s %s", d.GID.Index, d.GID.Type, d.GID.Address)
		if d.GID.Netdev != "" {
			gid += " on " + d.GID.Netdev
		}
		parts = append(parts, gid)
	}
	if d.LID != nil {
		parts = append(parts, fmt.Sprintf("LID %d", *d.LID))
	}
	if d.MTU > 0 {
		parts = append(parts, fmt.Sprintf("MTU %d", d.MTU))
	}
	fmt.Fprint(w, "\n"+wrapped(fmt.Sprintf("%s port %d: %s", d.Device, d.Port, strings.Join(parts, ", ")), "  "))
	if len(d.Tests) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "op\tmeasure\tbytes\tcount\tp50 us\tp99 us\tmax us\tGb/s\tMmsg/s\tCPU us\tstatus\t")
	for _, test := range d.Tests {
		var p50, p99, most *float64
		kind := ""
		if l := test.Latency; l != nil {
			p50, p99, most = l.P50, l.P99, l.Max
			kind = " (" + l.Kind + ")"
		}
		fmt.Fprintf(t, "%s\t%s%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", test.Op, test.Measure, kind, test.Size, test.Iterations,
			figure(p50), figure(p99), figure(most), figure(test.Gbps), figure(test.Mpps), figure(test.CPU), test.Status)
	}
	_ = t.Flush() // errors of w show at the caller's next write
	for _, test := range d.Tests {
		if test.Detail != "" && test.Status != Pass {
			fmt.Fprint(w, "  "+wrapped(fmt.Sprintf("%s %s of %d bytes: %s", test.Op, test.Measure, test.Size, test.Detail), "    "))
		}
	}
}

// figure prints three significant digits, and a dash for what was not measured.
func figure(f *float64) string {
	if f == nil {
		return "-"
	}
	return strconv.FormatFloat(*f, 'g', 3, 64)
}

// paint gives a verdict its colour on a terminal.
func paint(s Status, text string, color bool) string {
	if !color {
		return text
	}
	code := "33" // yellow
	switch s {
	case Pass:
		code = "32"
	case Fail:
		code = "31"
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
