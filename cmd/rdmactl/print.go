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

// one writes one answer as a document.
func (g *globalOptions) one(a answer) error { return (&printer{g: g}).add(a, false) }

// print writes all answers.
func (g *globalOptions) print(answers []answer, several bool) error {
	p := &printer{g: g}
	for _, a := range answers {
		if err := p.add(a, several); err != nil {
			return err
		}
	}
	return nil
}

// printer writes answers as they come: one as a document, several (and one of a place that could have held
// several, globalOptions.lines) as one compact JSON object a line with the host first.
type printer struct {
	g *globalOptions
	n int
}

func (p *printer) add(a answer, several bool) error {
	g := p.g
	several = several || g.lines
	p.n++
	switch g.format() {
	case "json":
		return printJSON(g.out, a, several)
	case "yaml":
		if several {
			fmt.Fprintln(g.out, "---")
		}
		return printYAML(g.out, a, several)
	}
	if several {
		if p.n > 1 {
			fmt.Fprintln(g.out)
		}
		fmt.Fprintf(g.out, "== %s\n", a.host)
	}
	if err := a.table(g.out); err != nil {
		return fmt.Errorf("cannot print: %w", err)
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
