package apt

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// unpacking is where dpkg has the control files of the package that it unpacks, until it unpacks another.
const unpacking = "/var/lib/dpkg/tmp.ci"

// strays are files that dpkg was unpacking when it was killed, under the names NAME.dpkg-new that it gives them
// first. When that package comes again, dpkg takes its own away; when another version comes, which has no file of
// such a name, nobody does. Below /etc they are left alone: there such a name is also that of a configuration file
// whose package waits to be configured.
func (m *Manager) strays() ([]string, error) {
	sums, err := m.Host.ReadFile(unpacking + "/md5sums")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot tell what dpkg was unpacking: %w", err)
	}
	listed, dirs := map[string]bool{}, []string{}
	for line := range strings.Lines(string(sums)) {
		_, name, ok := strings.Cut(strings.TrimRight(line, "\n"), "  ")
		file := path.Clean("/" + name)
		if !ok || strings.HasPrefix(file, "/etc/") {
			continue
		}
		if dir := path.Dir(file); !listed[dir+"/"] {
			listed[dir+"/"] = true
			dirs = append(dirs, dir)
		}
		listed[file] = true
	}
	var out []string
	for _, dir := range dirs {
		names, err := m.Host.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot look for half-unpacked files in %s: %w", dir, err)
		}
		for _, name := range names {
			base, ok := strings.CutSuffix(name, ".dpkg-new")
			if !ok {
				continue
			}
			file := path.Join(dir, name)
			info, err := m.Host.Lstat(file)
			if err != nil {
				return nil, fmt.Errorf("cannot look at %s: %w", file, err)
			}
			// The sums tell of regular files only; links have no other text than where they lead.
			if info.Mode.IsRegular() && listed[path.Join(dir, base)] || info.Mode&fs.ModeSymlink != 0 {
				out = append(out, file)
			}
		}
	}
	return out, nil
}
