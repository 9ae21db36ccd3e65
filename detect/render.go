package detect

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rdmactl/rdmactl/facts"
)

const (
	renderWidth = 100 // columns
	labelWidth  = 20
)

// Render prints the layers from the application down to the card, each with what is there and where
// it comes from, and last the host. "none" is known to be absent; "unknown" says why it is.
func Render(w io.Writer, f facts.Facts, color bool) error {
	t := &table{color: color, gather: f.Origin == "evidence"}
	t.rows("Application limits", memlockRow(f.Memlock))
	t.rows("Verbs library", libraryRows(f)...)
	t.rows("Providers", providerRows(f)...)
	if rows := builtRows(f.Userspace.Built); len(rows) > 0 {
		t.rows("Built libraries", rows...)
	}
	t.rows("Device nodes", nodesRow(f.Nodes))
	t.rows("Kernel ULPs", modulesRow(f.Modules, "rdma_cm", "rdma_ucm", "ib_umad", "ib_ipoib", "nvme_rdma", "rpcrdma", "ib_iser", "ib_srp", "smc"))
	t.rows("Verbs modules", modulesRow(f.Modules, "ib_core", "ib_uverbs"))
	t.rows("Driver", driverRow(f))
	t.rows("RDMA devices", rdmaRows(f.RDMA)...)
	t.rows("Network interface", netdevRows(f)...)
	if rows := useRows(f.Uses); len(rows) > 0 {
		t.rows("In use by", rows...)
	}
	t.rows("Card", cardRows(f.PCI)...)
	t.rows("Login session", sessionRow(f.Access))
	t.rows("Proxies", proxyRows(f.Packages.Proxies)...)
	t.rows("Host", hostRow(f))
	if len(t.notTold) > 0 {
		t.gather = false
		t.rows("Not told", strings.Join(t.notTold, ", "))
	}
	_, err := io.WriteString(w, t.out.String())
	return err
}

// table lays out labelled rows within the width.
type table struct {
	out   strings.Builder
	color bool
	// gather puts what evidence does not tell into one last row.
	gather  bool
	notTold []string
}

func (t *table) rows(label string, rows ...string) {
	if t.gather && len(rows) == 1 {
		if source, ok := notTold(rows[0]); ok {
			t.notTold = append(t.notTold, label+source)
			return
		}
	}
	if len(rows) == 0 {
		rows = []string{"none"}
	}
	for _, row := range rows {
		for _, line := range wrap(printable(row), renderWidth-labelWidth) {
			fmt.Fprintf(&t.out, "%s%s\n", t.label(label), t.paint(line))
			label = ""
		}
	}
}

var notToldRow = regexp.MustCompile(`^(?:[a-z0-9_ ]+: )?unknown \(not told(?:: (.*))?\)$`)

// notTold says that a row is nothing but silence, and what would tell.
func notTold(row string) (source string, ok bool) {
	m := notToldRow.FindStringSubmatch(row)
	if m == nil {
		return "", false
	}
	if m[1] != "" {
		source = " (" + m[1] + ")"
	}
	return source, true
}

func (t *table) label(label string) string {
	padded := fmt.Sprintf("%-*s", labelWidth, label)
	if !t.color || label == "" {
		return padded
	}
	return "\x1b[1m" + padded + "\x1b[0m"
}

// paint marks what a person looks for first.
func (t *table) paint(line string) string {
	if t.color && (line == "none" || strings.HasPrefix(line, "unknown") || strings.Contains(line, " DOWN ")) {
		return "\x1b[33m" + line + "\x1b[0m"
	}
	return line
}

// printable keeps what a host's files say from acting on the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// wrap breaks text between words; what has no blank is broken anywhere.
func wrap(text string, width int) []string {
	var lines []string
	line, used := "", 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		if line != "" && used+1+n > width {
			lines = append(lines, line)
			line, used = "  ", 2
		}
		for used+n > width {
			runes := []rune(word)
			lines = append(lines, line+string(runes[:width-used]))
			word = string(runes[width-used:])
			n, line, used = utf8.RuneCountInString(word), "  ", 2
		}
		if strings.TrimSpace(line) != "" {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	return append(lines, line)
}

// shown prints a field: its value, "none", or "unknown" with the reason.
func shown[T any](f facts.Field[T], print func(T) string) string {
	switch {
	case f.IsKnown():
		return print(f.Value)
	case f.IsAbsent():
		return "none"
	}
	return unknownText(f.Source, f.Error)
}

func unknownText(source, reason string) string {
	switch {
	case reason != "":
		return "unknown (" + reason + ")"
	case source != "":
		return "unknown (not told: " + source + ")"
	}
	return "unknown (not told)"
}

func text(s string) string { return s }

// brief prints a field within a line, where a reason would be in the way.
func brief(f facts.Field[string]) string {
	switch {
	case f.IsKnown():
		return f.Value
	case f.IsAbsent():
		return "none"
	}
	return "unknown"
}
