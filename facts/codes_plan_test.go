package facts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPlanCodes reads the planner's source: each constant of type Code is registered here and used
// there, and each registered code is such a constant.
func TestPlanCodes(t *testing.T) {
	var registered []string
	for _, c := range planCodes() {
		if c.Summary == "" || c.Remedy == "" {
			t.Errorf("%s lacks a summary or a remedy", c.Code)
		}
		if slices.Contains(registered, c.Code) {
			t.Errorf("%s is registered twice", c.Code)
		}
		registered = append(registered, c.Code)
	}
	declared := map[string]string{} // constant: code
	uses := map[string]int{}
	for _, dir := range []string{"../plan", "../plan/rules"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				switch node := n.(type) {
				case *ast.ValueSpec:
					if !isCode(node.Type) {
						return true
					}
					for i, name := range node.Names {
						literal, ok := node.Values[i].(*ast.BasicLit)
						if !ok {
							t.Errorf("%s: %s is not a plain string", file, name.Name)
							continue
						}
						text, err := strconv.Unquote(literal.Value)
						if err != nil {
							t.Fatal(err)
						}
						declared[name.Name] = text
					}
					return false
				case *ast.KeyValueExpr:
					if key, ok := node.Key.(*ast.Ident); ok && key.Name == "Code" {
						if literal, ok := node.Value.(*ast.BasicLit); ok {
							t.Errorf("%s: the code %s has no constant", file, literal.Value)
						}
					}
				case *ast.Ident:
					uses[node.Name]++
				}
				return true
			})
		}
	}
	if len(declared) < 20 {
		t.Fatalf("found only %d codes in the planner; its source has moved", len(declared))
	}
	for name, code := range declared {
		if !slices.Contains(registered, code) {
			t.Errorf("%s (%s) is not registered", code, name)
		}
		if uses[name] == 0 {
			t.Errorf("%s (%s) is never used", code, name)
		}
	}
	for _, code := range registered {
		found := false
		for _, have := range declared {
			found = found || have == code
		}
		if !found {
			t.Errorf("%s is registered and the planner does not know it", code)
		}
	}
}

func isCode(e ast.Expr) bool {
	switch node := e.(type) {
	case *ast.Ident:
		return node.Name == "Code"
	case *ast.SelectorExpr:
		return node.Sel.Name == "Code"
	}
	return false
}
