package strictyaml_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyImporter keeps every YAML file behind the strict rules: a package that decodes by itself
// would accept what this one refuses.
func TestOnlyImporter(t *testing.T) {
	root := filepath.Join("..", "..")
	own := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && path != root && entry.Name() != "..") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Logf("%s is not parsed: %v", path, err)
			return nil
		}
		for _, imported := range file.Imports {
			if name := strings.Trim(imported.Path.Value, `"`); !strings.Contains(name, "yaml") || name == "github.com/rdmactl/rdmactl/internal/strictyaml" {
				continue
			}
			if filepath.Dir(path) == filepath.Join(root, "internal", "strictyaml") {
				own++
				continue
			}
			t.Errorf("%s imports %s; use internal/strictyaml", path, imported.Path.Value)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if own == 0 {
		t.Error("the scan did not see this package's own import of yaml.v3")
	}
}
