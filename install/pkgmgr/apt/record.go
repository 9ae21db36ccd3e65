package apt

import (
	"strconv"
	"strings"
)

// record is one paragraph of an index.
type record struct {
	text   string            // without Filename
	fields map[string]string // by their names in lower case, first lines only
}

func (r record) bytes() int64 {
	n, err := strconv.ParseInt(r.fields["size"], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// parseRecords reads what apt-cache show prints.
func parseRecords(out string) []record {
	all := []record{}
	for paragraph := range strings.SplitSeq(out, "\n\n") {
		r := record{fields: map[string]string{}}
		var text strings.Builder
		dropped := false
		for line := range strings.Lines(paragraph) {
			line = strings.TrimRight(line, "\n")
			if line == "" {
				continue
			}
			if line[0] == ' ' || line[0] == '\t' {
				if !dropped {
					text.WriteString(line + "\n")
				}
				continue
			}
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				continue
			}
			name = strings.ToLower(name)
			if _, twice := r.fields[name]; twice {
				dropped = true
				continue
			}
			r.fields[name] = strings.TrimSpace(value)
			if dropped = name == "filename"; !dropped {
				text.WriteString(line + "\n")
			}
		}
		if r.fields["package"] != "" {
			r.text = text.String()
			all = append(all, r)
		}
	}
	return all
}
