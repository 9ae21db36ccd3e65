package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"

	"gopkg.in/yaml.v3"
)

// Decode decodes exactly one document into out, a pointer to a struct with yaml tags.
// A type that implements encoding.TextUnmarshaler is decoded from a string.
func Decode(file string, data []byte, out any) error {
	target := reflect.ValueOf(out)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("cannot decode %s: the target %T is not a pointer", file, out)
	}
	var problems Problems
	count := 0
	eachNode(file, data, &problems, func(doc *yaml.Node) {
		count++
		switch {
		case count == 2:
			problems = append(problems, Problem{position(file, doc), "a second document starts here; only one is allowed"})
		case count == 1:
			d := decoder{file: file, listed: map[reflect.Type]bool{}, ours: ours(doc)}
			d.value(doc, target.Elem(), label{text: "document"})
			problems = append(problems, d.problems...)
		}
	})
	if count == 0 && len(problems) == 0 {
		problems = append(problems, Problem{Pos{file, 1, 1}, "the file has no document"})
	}
	return Fail(problems)
}

// DecodeAll decodes every document of a stream and calls each with those that are well-formed.
// Empty documents are skipped; a stream without any document is an error. What each returns is
// collected like a problem of the document, and the stream is read to its end. Place tells where
// in the file each value of the document stands.
func DecodeAll[T any](file string, data []byte, each func(T, Place) error) error {
	var problems Problems
	listed := map[reflect.Type]bool{}
	count := 0
	eachNode(file, data, &problems, func(doc *yaml.Node) {
		if doc.Kind == yaml.ScalarNode && doc.ShortTag() == "!!null" && doc.Value == "" {
			return
		}
		count++
		var out T
		d := decoder{file: file, listed: listed, ours: ours(doc)}
		d.value(doc, reflect.ValueOf(&out).Elem(), label{text: "document"})
		problems = append(problems, d.problems...)
		if len(d.problems) > 0 {
			return
		}
		if err := each(out, Place{file, doc}); err != nil {
			var own Problems
			if errors.As(err, &own) {
				problems = append(problems, own...)
				return
			}
			problems = append(problems, Problem{position(file, doc), err.Error()})
		}
	})
	if count == 0 && len(problems) == 0 {
		problems = append(problems, Problem{Pos{file, 1, 1}, "the file has no document"})
	}
	return Fail(problems)
}

// eachNode parses a stream and gives the content of each document.
func eachNode(file string, data []byte, problems *Problems, each func(*yaml.Node)) {
	parser := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := parser.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			*problems = append(*problems, syntaxProblem(file, data, err))
			return
		}
		if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
			continue
		}
		each(doc.Content[0])
	}
}

func position(file string, n *yaml.Node) Pos {
	return Pos{File: file, Line: max(n.Line, 1), Column: max(n.Column, 1)}
}
