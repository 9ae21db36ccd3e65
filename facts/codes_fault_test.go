package facts

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFaultCodes reads the source of the program: each code that an error or a warning of a run can carry has an entry
// here, so that `rdmactl explain` knows what a script has been given.
func TestFaultCodes(t *testing.T) {
	all := map[string]bool{}
	for _, c := range Codes() {
		if c.Summary == "" || c.Remedy == "" {
			t.Errorf("%s lacks a summary or a remedy", c.Code)
		}
		if all[c.Code] {
			t.Errorf("%s is registered twice", c.Code)
		}
		all[c.Code] = true
	}
	s := scan(t, "..")
	for code, at := range s.found {
		if !all[code] {
			t.Errorf("%s (%s) has no entry", code, at)
		}
	}
	for _, what := range s.unclear {
		t.Errorf("nothing tells which code this is: %s", what)
	}
	if len(s.found) < 120 {
		t.Errorf("only %d codes were found: the source has moved", len(s.found))
	}
	for _, c := range faultCodes() {
		if s.found[c.Code] == "" {
			t.Errorf("%s is registered and no error carries it", c.Code)
		}
	}
}

// TestFaultCodesAreFound is the twin: codes of every form are found in a source that has them.
func TestFaultCodesAreFound(t *testing.T) {
	dir := t.TempDir()
	const text = `package a

import "x/internal/fault"

const named = "by-constant"

type Code string

const Typed Code = "by-type"

func f(in error) error {
	const code, hint = "by-local", ""
	mine := func(code string) error { return fault.New(1, code, "", "") }
	mine("by-closure")
	other("", "by-parameter")
	fault.New(1, "by-literal", "", "")
	fault.New(1, named, "", "")
	fault.New(1, string(Typed), "", "")
	fault.New(1, code, hint, "")
	chosen := "by-default"
	if in != nil {
		chosen = "by-choice"
	}
	fault.New(1, chosen, hint, "")
	fault.New(1, in.(*fault.Error).Code, hint, "")
	_ = fault.Error{Kind: 1, Code: "by-field"}
	_ = Reason{Code: "by-reason"}
	fault.New(1, strange()+"x", "", "")
	return nil
}

func other(what, code string) error { return fault.New(1, code, "", "") }
`
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := scan(t, dir)
	for _, code := range []string{"constant", "type", "local", "closure", "parameter", "literal", "default", "choice", "field", "reason"} {
		if s.found["by-"+code] == "" {
			t.Errorf("by-%s is not found", code)
		}
	}
	if len(s.found) != 10 || len(s.unclear) != 1 {
		t.Errorf("found %v, unclear %v", s.found, s.unclear)
	}
}

// codeScan finds codes in a tree of Go source, without type information: names are told apart by package and function.
type codeScan struct {
	files   *token.FileSet
	found   map[string]string // code: a place that has it
	unclear []string
	consts  map[string]string // name, as the package of the constant has it and as others name it: its text
}

func scan(t *testing.T, root string) *codeScan {
	t.Helper()
	s := &codeScan{files: token.NewFileSet(), found: map[string]string{}, consts: map[string]string{}}
	packages := map[string][]*ast.File{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"test", "testdata", "tools", ".git", ".ci"}, d.Name()) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(s.files, path, nil, 0)
		if err == nil {
			packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, files := range packages {
		for _, f := range files {
			for _, decl := range f.Decls {
				if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.CONST {
					for name, text := range constants(d) {
						s.consts[dir+" "+name], s.consts[f.Name.Name+"."+name] = text, text
					}
				}
			}
		}
	}
	for dir, files := range packages {
		for _, f := range files {
			for _, decl := range f.Decls {
				if d, ok := decl.(*ast.FuncDecl); ok && d.Body != nil {
					s.function(dir, files, d)
				}
			}
		}
	}
	return s
}

// constants are the constants of a declaration that are texts.
func constants(d *ast.GenDecl) map[string]string {
	out := map[string]string{}
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, name := range v.Names {
			if i < len(v.Values) {
				if text, ok := literal(v.Values[i]); ok {
					out[name.Name] = text
				}
			}
		}
	}
	return out
}

func literal(e ast.Expr) (string, bool) {
	if b, ok := e.(*ast.BasicLit); ok && b.Kind == token.STRING {
		text, err := strconv.Unquote(b.Value)
		return text, err == nil
	}
	return "", false
}

func (s *codeScan) function(dir string, files []*ast.File, d *ast.FuncDecl) {
	ast.Inspect(d.Body, func(n ast.Node) bool {
		switch node := n.(type) {
		case *ast.CallExpr:
			if called(node.Fun) == "fault.New" && len(node.Args) > 2 {
				s.take(dir, files, d, node.Args[1])
			}
		case *ast.CompositeLit:
			if name := called(node.Type); name != "fault.Error" && name != "Reason" && name != "plan.Reason" {
				return true
			}
			for _, e := range node.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok && called(kv.Key) == "Code" {
					s.take(dir, files, d, kv.Value)
				}
			}
		}
		return true
	})
}

// called is a name, or a name of a package, as it is written.
func called(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if x := called(e.X); x != "" {
			return x + "." + e.Sel.Name
		}
	}
	return ""
}

// take notes the codes that an expression in function d can be.
func (s *codeScan) take(dir string, files []*ast.File, d *ast.FuncDecl, e ast.Expr) {
	at := s.files.Position(e.Pos()).String()
	if text, ok := literal(e); ok {
		s.found[text] = at
		return
	}
	switch e := e.(type) {
	case *ast.CallExpr: // string(rules.X)
		if called(e.Fun) == "string" && len(e.Args) == 1 {
			s.take(dir, files, d, e.Args[0])
			return
		}
		if sel, ok := e.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "problemOf" {
			return
		}
	case *ast.SelectorExpr:
		if text, ok := s.consts[called(e)]; ok {
			s.found[text] = at
			return
		}
		if e.Sel.Name == "Code" || e.Sel.Name == "code" { // handed on from where it was found
			return
		}
	case *ast.Ident:
		if s.local(dir, files, d, e) {
			return
		}
		if text, ok := s.consts[dir+" "+e.Name]; ok {
			s.found[text] = at
			return
		}
	}
	s.unclear = append(s.unclear, fmt.Sprintf("%s in %s", at, d.Name.Name))
}

// local looks for what a variable, constant or parameter of a function can be.
func (s *codeScan) local(dir string, files []*ast.File, d *ast.FuncDecl, name *ast.Ident) bool {
	there := false
	ast.Inspect(d.Body, func(n ast.Node) bool {
		switch node := n.(type) {
		case *ast.GenDecl:
			if text, ok := constants(node)[name.Name]; ok && node.Tok == token.CONST {
				s.found[text], there = s.files.Position(node.Pos()).String(), true
			}
		case *ast.AssignStmt:
			for i, left := range node.Lhs {
				if called(left) == name.Name && len(node.Lhs) == len(node.Rhs) {
					there = true
					s.take(dir, files, d, node.Rhs[i])
				}
				// A closure that takes the code, and is called below.
				if lit, ok := closure(node, i); ok && lit.Pos() <= name.Pos() && name.Pos() < lit.End() {
					if at := parameter(lit.Type, name.Name); at >= 0 {
						there = true
						s.calls(dir, files, d, called(left), at)
					}
				}
			}
		}
		return true
	})
	if at := parameter(d.Type, name.Name); at >= 0 && !there {
		there = true
		for _, f := range files {
			for _, decl := range f.Decls {
				if other, ok := decl.(*ast.FuncDecl); ok && other.Body != nil {
					s.calls(dir, files, other, d.Name.Name, at)
				}
			}
		}
	}
	return there
}

func closure(a *ast.AssignStmt, i int) (*ast.FuncLit, bool) {
	if len(a.Lhs) != len(a.Rhs) {
		return nil, false
	}
	lit, ok := a.Rhs[i].(*ast.FuncLit)
	return lit, ok
}

// calls takes the argument of each call of a function in d.
func (s *codeScan) calls(dir string, files []*ast.File, d *ast.FuncDecl, name string, at int) {
	ast.Inspect(d.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) <= at {
			return true
		}
		to := called(call.Fun)
		if to == name || strings.HasSuffix(to, "."+name) {
			s.take(dir, files, d, call.Args[at])
		}
		return true
	})
}

// parameter is the place of a parameter, -1 for none.
func parameter(f *ast.FuncType, name string) int {
	at := 0
	for _, field := range f.Params.List {
		for _, one := range field.Names {
			if one.Name == name {
				return at
			}
			at++
		}
	}
	return -1
}
