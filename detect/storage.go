package detect

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// storedDirs are the directories that an installation writes to.
func storedDirs() []string { return []string{"/", "/var", "/usr", "/opt", "/boot", "/tmp"} }

// storage asks df for free space.
func (p probe) storage() []facts.FileSystem {
	if p.told.IsImage() {
		return []facts.FileSystem{} // it is asked when the root is written to
	}
	const source = "df -P -B 1"
	dirs := storedDirs()
	res, err := p.r.Query(p.ctx, append(strings.Fields(source), dirs...)...)
	if line := p.recorded(source + " /"); errors.Is(err, host.ErrUnknown) && line != "" {
		// Another release of this program asked for other directories.
		dirs = strings.Fields(line)[4:]
		res, err = p.r.Query(p.ctx, strings.Fields(line)...)
	}
	var out []facts.FileSystem
	if err != nil {
		for _, dir := range dirs {
			out = append(out, facts.FileSystem{Path: dir, FreeBytes: field(int64(0), source, err)})
		}
		return out
	}
	free, err := parseDf(res.Stdout)
	for _, dir := range dirs {
		fs := facts.FileSystem{Path: dir}
		switch {
		case strings.Contains(res.Stderr, "df: "+dir+": ") || strings.Contains(res.Stderr, "df: '"+dir+"': "):
			fs.FreeBytes = facts.None[int64](source)
		case err != nil:
			fs.FreeBytes = facts.Failed[int64](source, err)
		case len(free) == 0:
			fs.FreeBytes = facts.Failed[int64](source, errors.New("df printed no line for it"))
		default:
			fs.FreeBytes, fs.MountPoint = facts.Is(free[0].bytes, source), free[0].mount
			free = free[1:]
		}
		out = append(out, fs)
	}
	return out
}

// freeSpace is one line of df.
type freeSpace struct {
	bytes int64
	mount string
}

// parseDf reads the free bytes of each line, in the order of the directories that df was asked for:
// Filesystem 1-blocks Used Available Capacity Mounted-on.
func parseDf(text string) ([]freeSpace, error) {
	var free []freeSpace
	first := true
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if first || len(words) == 0 {
			first = false
			continue
		}
		// A source may have blanks in it; the percentage is a fixed point.
		at := -1
		for i, word := range words {
			if i >= 4 && (strings.HasSuffix(word, "%") || word == "-") {
				at = i - 1
				break
			}
		}
		if at < 0 {
			return nil, fmt.Errorf("df printed %q", strings.TrimSpace(line))
		}
		n, err := strconv.ParseInt(words[at], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("df printed %q", strings.TrimSpace(line))
		}
		free = append(free, freeSpace{max(n, 0), strings.Join(words[at+2:], " ")})
	}
	return free, nil
}
