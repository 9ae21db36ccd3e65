package rpm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// directoriesFile lists the directories that our transactions made for packages. rpm makes those above a package's
// files, and removes only those that a package owns: of the vendors' packages none owns /opt/mellanox, or the
// directory of its modules.
const directoriesFile = "/var/lib/rdmactl/rpm-directories.json"

// NoteDirectories writes down, before a transaction, the directories that it will make for package files.
func (t Tool) NoteDirectories(ctx context.Context, packages []string) error {
	above := map[string]bool{}
	for part := range slices.Chunk(packages, 100) {
		out, err := t.Ask(ctx, append([]string{"rpm", "-qp", "--nosignature", "-l"}, part...)...)
		if err != nil {
			return err
		}
		for _, f := range filesIn(out) {
			for dir := path.Dir(f); dir != "/" && !above[dir]; dir = path.Dir(dir) {
				above[dir] = true
			}
		}
	}
	missing := []string{}
	for dir := range above {
		there, err := exists(t.Host, dir)
		if err != nil {
			return err
		}
		if !there {
			missing = append(missing, dir)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	list, err := t.noted(directoriesFile)
	if err != nil {
		return err
	}
	return t.note(directoriesFile, append(list, missing...))
}

// DropDirectories removes what NoteDirectories noted, as far as nothing is in it and no package owns it. The rest
// stays noted.
func (t Tool) DropDirectories(ctx context.Context) error {
	list, err := t.noted(directoriesFile)
	if err != nil || len(list) == 0 {
		return err
	}
	for _, dir := range list {
		if !path.IsAbs(dir) || path.Clean(dir) != dir || dir == "/" {
			return fmt.Errorf("cannot read %s: %q is no directory of a package", directoriesFile, dir)
		}
	}
	// It ends with 1 if one of them is nobody's, or is gone.
	res, err := t.Query(ctx, "", append([]string{"rpm", "-qf"}, list...)...)
	if err != nil {
		return err
	}
	slices.Sort(list)
	left := []string{}
	for _, dir := range slices.Backward(slices.Compact(list)) { // what is in a directory comes before it
		empty, err := t.empty(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case !empty || !strings.Contains(res.Stdout, "file "+dir+" is not owned by any package\n"):
			left = append(left, dir)
			continue
		}
		if err := t.Drop([]string{dir}); err != nil {
			return err
		}
	}
	return t.note(directoriesFile, left)
}

// empty says whether a directory is one, with nothing in it.
func (t Tool) empty(dir string) (bool, error) {
	info, err := t.Host.Lstat(dir)
	if err != nil {
		return false, fmt.Errorf("cannot look at %s: %w", dir, err)
	}
	if !info.Mode.IsDir() {
		return false, nil // someone put something else in its place
	}
	names, err := t.Host.ReadDir(dir)
	if err != nil {
		return false, fmt.Errorf("cannot look into %s: %w", dir, err)
	}
	return len(names) == 0, nil
}
