package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

// answer is one host's result: an object for JSON and YAML, a function for people.
type answer struct {
	host  string
	value any
	table func(w io.Writer) error
}

// print writes the answers: one as a document, several as one compact JSON object a line with the
// host first.
func (g *globalOptions) print(answers []answer, several bool) error {
	for i, a := range answers {
		switch g.format() {
		case "json":
			if err := printJSON(g.out, a, several); err != nil {
				return err
			}
		case "yaml":
			if several {
				fmt.Fprintln(g.out, "---")
			}
			if err := printYAML(g.out, a, several); err != nil {
				return err
			}
		default:
			if several {
				if i > 0 {
					fmt.Fprintln(g.out)
				}
				fmt.Fprintf(g.out, "== %s\n", a.host)
			}
			if err := a.table(g.out); err != nil {
				return fmt.Errorf("cannot print: %w", err)
			}
		}
	}
	return nil
}

func printJSON(w io.Writer, a answer, several bool) error {
	data, err := encode(a, several)
	if err != nil {
		return err
	}
	if !several {
		var b bytes.Buffer
		if err := json.Indent(&b, data, "", "  "); err != nil {
			return fmt.Errorf("cannot print JSON: %w", err)
		}
		data = b.Bytes()
	}
	_, err = fmt.Fprintf(w, "%s\n", data)
	return err
}

func printYAML(w io.Writer, a answer, several bool) error {
	data, err := encode(a, several)
	if err != nil {
		return err
	}
	text, err := strictyaml.FromJSON(data)
	if err != nil {
		return fmt.Errorf("cannot print YAML: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// encode gives compact JSON, with the host put first when the answer is one of several.
func encode(a answer, several bool) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(a.value); err != nil {
		return nil, fmt.Errorf("cannot print JSON: %w", err)
	}
	data := bytes.TrimSpace(b.Bytes())
	if !several || len(data) < 2 || data[0] != '{' {
		return data, nil
	}
	name, err := json.Marshal(a.host)
	if err != nil {
		return nil, fmt.Errorf("cannot print JSON: %w", err)
	}
	sep := ","
	if bytes.Equal(data, []byte("{}")) {
		sep = ""
	}
	return append([]byte(`{"host":`+string(name)+sep), data[1:]...), nil
}
