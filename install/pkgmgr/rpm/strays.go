package rpm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// sweep takes away what rpm was writing when it was killed: it gives each file a name of its own first,
// FILE;6b0d8fc7 with the number of its transaction, and no later transaction looks for those of another.
// Only names beside files of the packages themselves are taken for that: of those that are installed, and of those
// whose package files are still there.
func (t Tool) sweep(ctx context.Context, u Unfinished) error {
	list, files := []string{}, slices.Clone(u.Packages)
	for _, p := range u.Comes {
		res, err := t.Query(ctx, "", "rpm", "-ql", NEVRA(p.Package))
		if err != nil {
			return err
		}
		if res.Exit == 0 { // else it did not come, or not yet
			list = append(list, filesIn(res.Stdout)...)
		}
		if p.File != "" {
			files = append(files, p.File)
		}
	}
	for _, f := range files {
		there, err := exists(t.Host, f)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		out, err := t.Ask(ctx, "rpm", "-qp", "--nosignature", "-l", f)
		if err != nil {
			return err
		}
		list = append(list, filesIn(out)...)
	}
	strays, err := t.strays(list)
	if err != nil {
		return err
	}
	return t.Drop(strays)
}

// filesIn reads `rpm -ql`, which has a sentence for a package without files.
func filesIn(out string) []string {
	files := []string{}
	for line := range strings.Lines(out) {
		if line = strings.TrimRight(line, "\n"); strings.HasPrefix(line, "/") {
			files = append(files, path.Clean(line))
		}
	}
	return files
}

// strays are the half-written files beside those of packages.
func (t Tool) strays(files []string) ([]string, error) {
	suffix := regexp.MustCompile(`;[0-9a-f]{8}$`)
	owned, dirs := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		owned[f] = true
		dirs[path.Dir(f)] = true
	}
	out := []string{}
	for dir := range dirs {
		names, err := t.Host.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot look for half-written files in %s: %w", dir, err)
		}
		for _, name := range names {
			file := path.Join(dir, name)
			if at := suffix.FindStringIndex(file); at != nil && owned[file[:at[0]]] && !owned[file] {
				out = append(out, file)
			}
		}
	}
	sort.Strings(out)
	return out, nil
}
