package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/rdmactl/rdmactl"

// source is one file of the module, by its path below the module's root.
type source struct {
	path, text string
}

// unit is one package of the module without its tests.
type unit struct {
	dir      string
	files    []*ast.File
	assembly string // text of its .s files
}

// pure are the packages, with those below them, that do no input or output, themselves or through
// a package of this module.
func pure() []string { return []string{"plan", "doctor", "profiles", "facts"} }

// effects are the imports that reach outside of the process. Addresses and URLs as values do not.
func effects(imported string) bool {
	if slices.Contains([]string{"net/netip", "net/url"}, imported) {
		return false
	}
	for _, root := range []string{"os", "net", "syscall", "io/ioutil", "plugin", "unsafe", "golang.org/x/sys", "golang.org/x/term", "github.com/ebitengine/purego", "github.com/vishvananda/netlink"} {
		if imported == root || strings.HasPrefix(imported, root+"/") {
			return true
		}
	}
	return false
}

// below says that dir is one of the packages or stands below one.
func below(dir string, packages ...string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return dir == p || strings.HasPrefix(dir, p+"/") })
}

// check returns what the sources do that the design forbids, sorted.
func check(sources []source) ([]string, error) {
	units, positions, err := parse(sources)
	if err != nil {
		return nil, err
	}
	var wrong []string
	report := func(at token.Pos, format string, args ...any) {
		p := positions.Position(at)
		wrong = append(wrong, fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, args...)))
	}
	for _, dir := range sorted(units) {
		u := units[dir]
		for _, name := range strings.Split(dir, "/") {
			if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc", "shared"}, name) {
				wrong = append(wrong, fmt.Sprintf("%s: a package is named for what it holds, not %s", dir, name))
			}
		}
		for _, file := range u.files {
			checkFile(u, file, report)
		}
		if below(dir, pure()...) {
			wrong = append(wrong, reach(units, dir, nil, map[string]bool{})...)
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong), nil
}

func parse(sources []source) (map[string]*unit, *token.FileSet, error) {
	units, positions := map[string]*unit{}, token.NewFileSet()
	for _, s := range sources {
		dir := path.Dir(s.path)
		if units[dir] == nil {
			units[dir] = &unit{dir: dir}
		}
		u := units[dir]
		if strings.HasSuffix(s.path, ".s") {
			u.assembly += s.text
			continue
		}
		file, err := parser.ParseFile(positions, s.path, s.text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		u.files = append(u.files, file)
	}
	return units, positions, nil
}

func sorted(units map[string]*unit) []string {
	var dirs []string
	for dir := range units {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return dirs
}

func imports(file *ast.File) []string {
	var all []string
	for _, spec := range file.Imports {
		all = append(all, strings.Trim(spec.Path.Value, `"`))
	}
	return all
}

// reach follows imports within the module and returns each chain that ends outside of the process.
func reach(units map[string]*unit, dir string, chain []string, seen map[string]bool) []string {
	if seen[dir] || units[dir] == nil {
		return nil
	}
	seen[dir] = true
	chain = append(slices.Clone(chain), dir)
	var wrong []string
	for _, file := range units[dir].files {
		for _, imported := range imports(file) {
			if effects(imported) {
				wrong = append(wrong, fmt.Sprintf("%s does no I/O, but reaches %s", chain[0], strings.Join(append(slices.Clone(chain), imported), " -> ")))
			}
			if next, ok := strings.CutPrefix(imported, module+"/"); ok {
				wrong = append(wrong, reach(units, next, chain, seen)...)
			}
		}
	}
	return wrong
}

func checkFile(u *unit, file *ast.File, report func(token.Pos, string, ...any)) {
	for _, spec := range file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		if strings.HasPrefix(imported, "github.com/spf13/") && !below(u.dir, "cmd/rdmactl") {
			report(spec.Pos(), "%s stays in cmd/rdmactl", imported)
		}
		if below(u.dir, "detect") && (effects(imported) || strings.HasPrefix(imported, module+"/verbs") || strings.HasPrefix(imported, module+"/install")) {
			report(spec.Pos(), "detect only reads, through host.Reader: it must not import %s", imported)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		name, ok := selector.X.(*ast.Ident)
		if !ok {
			return true
		}
		if below(u.dir, "detect") && importsAs(file, name.Name) == module+"/host" &&
			slices.Contains([]string{"Writer", "NewLive", "NewRooted", "NewDryRun", "Live", "Rooted", "DryRun", "Command"}, selector.Sel.Name) {
			report(selector.Pos(), "detect only reads, through host.Reader: it must not use host.%s", selector.Sel.Name)
		}
		if below(u.dir, pure()...) && importsAs(file, name.Name) == "time" && slices.Contains([]string{"Now", "Since", "Until"}, selector.Sel.Name) {
			report(selector.Pos(), "the day is an input here: it must not use time.%s", selector.Sel.Name)
		}
		return true
	})
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == "init" && d.Recv == nil {
				report(d.Pos(), "func init() runs before anyone asked for it")
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				checkVars(u, file, d, report)
			}
		}
	}
}

// importsAs returns the path that a file imports under a name.
func importsAs(file *ast.File, name string) string {
	for _, spec := range file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		if spec.Name != nil && spec.Name.Name == name || spec.Name == nil && path.Base(imported) == name {
			return imported
		}
	}
	return ""
}

// checkVars lets package-level variables be only what nobody assigns: errors to compare with,
// compiled patterns, embedded files, interface assertions and symbols of assembly.
func checkVars(u *unit, file *ast.File, decl *ast.GenDecl, report func(token.Pos, string, ...any)) {
	for _, s := range decl.Specs {
		spec, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, name := range spec.Names {
			switch {
			case name.Name == "_":
			case i < len(spec.Values) && len(spec.Values) == len(spec.Names) && constant(file, spec.Values[i]):
			case len(spec.Values) == 0 && (embedded(decl.Doc) || embedded(spec.Doc)):
			case len(spec.Values) == 0 && strings.Contains(u.assembly, "·"+name.Name):
			default:
				report(name.Pos(), "package-level variable %s: pass the value in, or make it a constant or a function", name.Name)
			}
		}
	}
}

func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// constant says that a value is made once and has no state that its users could change.
func constant(file *ast.File, value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	name, ok := selector.X.(*ast.Ident)
	if !ok {
		return false
	}
	return slices.Contains([]string{"errors.New", "fmt.Errorf", "regexp.MustCompile"}, importsAs(file, name.Name)+"."+selector.Sel.Name)
}

// load reads the module's own sources, without tests.
func load(root string) ([]source, error) {
	var sources []source
	err := filepath.WalkDir(root, func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && p != root && (name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
			return filepath.SkipDir
		}
		if entry.IsDir() || strings.HasSuffix(name, "_test.go") || !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".s") {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		sources = append(sources, source{filepath.ToSlash(rel), string(data)})
		return nil
	})
	return sources, err
}

func TestModule(t *testing.T) {
	sources, err := load(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(sources, func(s source) bool { return s.path == "host/host.go" }) {
		t.Fatalf("host/host.go is not among the %d files: the scan looks at the wrong place", len(sources))
	}
	wrong, err := check(sources)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

// TestCheckerSees gives the checker sources that are wrong in one way each, and a twin that is right.
func TestCheckerSees(t *testing.T) {
	for name, tt := range map[string]struct {
		sources []source
		want    []string
	}{
		"os in plan":     {[]source{{"plan/a.go", "package plan\nimport \"os\"\nvar _ = os.Args\n"}}, []string{"plan does no I/O, but reaches plan -> os"}},
		"os/exec below":  {[]source{{"plan/rules/a.go", "package rules\nimport _ \"os/exec\"\n"}}, []string{"plan/rules does no I/O, but reaches plan/rules -> os/exec"}},
		"net in doctor":  {[]source{{"doctor/a.go", "package doctor\nimport _ \"net/http\"\n"}}, []string{"doctor does no I/O, but reaches doctor -> net/http"}},
		"values of net":  {[]source{{"facts/a.go", "package facts\nimport _ \"net/netip\"\n"}}, nil},
		"similar name":   {[]source{{"planner/a.go", "package planner\nimport _ \"os\"\n"}, {"plan/a.go", "package plan\nimport _ \"oss\"\n"}}, nil},
		"x/sys in facts": {[]source{{"facts/a.go", "package facts\nimport _ \"golang.org/x/sys/unix\"\n"}}, []string{"facts does no I/O, but reaches facts -> golang.org/x/sys/unix"}},
		"through another": {
			[]source{
				{"plan/a.go", "package plan\nimport _ \"" + module + "/internal/x\"\n"},
				{"internal/x/a.go", "package x\nimport _ \"" + module + "/internal/y\"\n"},
				{"internal/y/a.go", "package y\nimport _ \"syscall\"\n"},
			},
			[]string{"plan does no I/O, but reaches plan -> internal/x -> internal/y -> syscall"},
		},
		"through a pure one": {
			[]source{{"plan/a.go", "package plan\nimport _ \"" + module + "/internal/x\"\n"}, {"internal/x/a.go", "package x\nimport _ \"strings\"\n"}}, nil,
		},
		"clock in plan":      {[]source{{"plan/a.go", "package plan\nimport \"time\"\nfunc f() time.Time { return time.Now() }\n"}}, []string{"plan/a.go:3: the day is an input here: it must not use time.Now"}},
		"clock elsewhere":    {[]source{{"install/a.go", "package install\nimport \"time\"\nfunc f() time.Time { return time.Now() }\n"}}, nil},
		"cobra in install":   {[]source{{"install/a.go", "package install\nimport _ \"github.com/spf13/cobra\"\n"}}, []string{"install/a.go:2: github.com/spf13/cobra stays in cmd/rdmactl"}},
		"cobra in cmd":       {[]source{{"cmd/rdmactl/a.go", "package main\nimport _ \"github.com/spf13/cobra\"\n"}}, nil},
		"os in detect":       {[]source{{"detect/a.go", "package detect\nimport _ \"os\"\n"}}, []string{"detect/a.go:2: detect only reads, through host.Reader: it must not import os"}},
		"verbs in detect":    {[]source{{"detect/a.go", "package detect\nimport _ \"" + module + "/verbs\"\n"}}, []string{"detect/a.go:2: detect only reads, through host.Reader: it must not import " + module + "/verbs"}},
		"purego in detect":   {[]source{{"detect/a.go", "package detect\nimport _ \"github.com/ebitengine/purego\"\n"}}, []string{"detect/a.go:2: detect only reads, through host.Reader: it must not import github.com/ebitengine/purego"}},
		"Writer in detect":   {[]source{{"detect/a.go", "package detect\nimport h \"" + module + "/host\"\nfunc f(w h.Writer) {}\n"}}, []string{"detect/a.go:3: detect only reads, through host.Reader: it must not use host.Writer"}},
		"Reader in detect":   {[]source{{"detect/a.go", "package detect\nimport \"" + module + "/host\"\nfunc f(r host.Reader) {}\n"}}, nil},
		"init":               {[]source{{"udev/a.go", "package udev\nfunc init() {}\n"}}, []string{"udev/a.go:2: func init() runs before anyone asked for it"}},
		"method init":        {[]source{{"udev/a.go", "package udev\ntype t int\nfunc (t) init() {}\n"}}, nil},
		"map":                {[]source{{"udev/a.go", "package udev\nvar table = map[string]int{}\n"}}, []string{"udev/a.go:2: package-level variable table: pass the value in, or make it a constant or a function"}},
		"string":             {[]source{{"udev/a.go", "package udev\nvar a, b = \"x\", 1\n"}}, []string{"udev/a.go:2: package-level variable a: pass the value in, or make it a constant or a function", "udev/a.go:2: package-level variable b: pass the value in, or make it a constant or a function"}},
		"mutex":              {[]source{{"udev/a.go", "package udev\nimport \"sync\"\nvar mu sync.Mutex\n"}}, []string{"udev/a.go:3: package-level variable mu: pass the value in, or make it a constant or a function"}},
		"own errors package": {[]source{{"udev/a.go", "package udev\nimport errors \"example.com/counted\"\nvar e = errors.New(\"x\")\n"}}, []string{"udev/a.go:3: package-level variable e: pass the value in, or make it a constant or a function"}},
		"allowed variables": {
			[]source{
				{"udev/a.go", "package udev\nimport (\n\"embed\"\n\"errors\"\n\"fmt\"\n\"regexp\"\n)\nvar (\nerrA = errors.New(\"a\")\nerrB = fmt.Errorf(\"b: %w\", errA)\nre = regexp.MustCompile(`x`)\n_ fmt.Stringer = (*T)(nil)\n)\n//go:embed x\nvar files embed.FS\nvar loop byte\ntype T int\nfunc (*T) String() string { return \"\" }\n"},
				{"udev/a.s", "TEXT ·loop(SB), 4, $0\n"},
			},
			nil,
		},
		"symbol without assembly": {[]source{{"udev/a.go", "package udev\nvar loop byte\n"}}, []string{"udev/a.go:2: package-level variable loop: pass the value in, or make it a constant or a function"}},
		"util":                    {[]source{{"internal/util/a.go", "package util\n"}, {"install/common/x/a.go", "package x\n"}}, []string{"install/common/x: a package is named for what it holds, not common", "internal/util: a package is named for what it holds, not util"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := check(tt.sources)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := check([]source{{"plan/a.go", "pakage plan\n"}}); err == nil {
		t.Error("a file that cannot be parsed gave no error")
	}
}
