package build

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/rdmactl/rdmactl/host"
)

// LoadedLibrary is the libibverbs that the loader gives to programs, by the cache that ldconfig keeps and as
// the first of those for the host's own architecture. The error is fs.ErrNotExist when the cache has none.
func LoadedLibrary(ctx context.Context, r host.Reader) (string, error) {
	argv := []string{"ldconfig", "-p"}
	result, err := r.Query(ctx, argv...)
	if err != nil {
		return "", fmt.Errorf("cannot ask the loader for libibverbs: %w", err)
	}
	if result.Exit != 0 {
		return "", fmt.Errorf("cannot ask the loader for libibverbs: %s ended with %d: %s", strings.Join(argv, " "), result.Exit, oneLine(result.Stderr))
	}
	if file := loaded(result.Stdout, "libibverbs.so.1"); file != "" {
		return file, nil
	}
	return "", fmt.Errorf("the loader's cache has no libibverbs.so.1: %w", fs.ErrNotExist)
}

// loaded finds a library in the output of ldconfig -p, whose lines are
//
//	libibverbs.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libibverbs.so.1
//
// A host may have 32-bit libraries beside its own; those have no more than libc6 in the parentheses.
func loaded(output, soname string) string {
	foreign := ""
	for line := range strings.Lines(output) {
		left, file, ok := strings.Cut(strings.TrimSpace(line), " => ")
		name, about, _ := strings.Cut(left, " ")
		if !ok || name != soname || !path.IsAbs(file) {
			continue
		}
		kind, _, _ := strings.Cut(strings.Trim(about, "()"), ", ")
		if strings.Contains(kind, ",") {
			return file
		}
		if foreign == "" {
			foreign = file
		}
	}
	return foreign
}

// Serves says whether a file of the loader is that of a placed build.
func (m Manifest) Serves(file string) bool {
	return file == path.Join(m.Prefix, m.LibDir, path.Base(file)) && m.has(path.Join(m.LibDir, path.Base(file)))
}
