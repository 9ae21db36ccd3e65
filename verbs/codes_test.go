package verbs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
)

// TestCodesAreRegistered reads the constants of this package, so a new code cannot be forgotten in the
// registry that `rdmactl explain` prints.
func TestCodesAreRegistered(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Code" {
			return true
		}
		code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		n++
		c, ok := facts.LookupCode(code)
		if !ok || c.Summary == "" || c.Remedy == "" {
			t.Errorf("%s is not registered with what it means and what to do", code)
		}
		return true
	})
	if n < 20 {
		t.Errorf("only %d codes were found", n)
	}
	if _, ok := facts.LookupCode("no-such-code"); ok {
		t.Error("the registry knows everything")
	}
}
