package host

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// listing is the names in a directory. Hidden says that names with a leading dot are among them.
type listing struct {
	names  []string
	hidden bool
}

func (l listing) lacks(name string) bool {
	return name != "" && !slices.Contains(l.names, name) && (l.hidden || !strings.HasPrefix(name, "."))
}

// lsEntry is one line of "ls -l".
type lsEntry struct {
	info   FileInfo
	target string // of a link
}

// addLs takes the listing from a recorded ls of one path. An ls that failed or printed the path
// itself listed no directory.
func (r *Replay) addLs(key string, a Answer) {
	fields := strings.Split(key, " ")
	if fields[0] != "ls" || a.Exit != 0 || a.Stderr != "" {
		return
	}
	flags, p := "", ""
	for _, f := range fields[1:] {
		switch {
		case strings.HasPrefix(f, "--"):
			return
		case strings.HasPrefix(f, "-"):
			flags += f[1:]
		case p == "" && path.IsAbs(f):
			p = path.Clean(f)
		default:
			return
		}
	}
	// -R lists more than one directory, -i, -s and -Z add columns, -F and -p add to names.
	if p == "" || strings.Trim(flags, "1aAlhdntrS") != "" {
		return
	}
	lines := slices.DeleteFunc(strings.Split(strings.ReplaceAll(a.Stdout, "\r", ""), "\n"), func(s string) bool { return s == "" })
	self := strings.Contains(flags, "d")
	l := listing{names: []string{}, hidden: strings.ContainsAny(flags, "aA")}
	for _, line := range lines {
		if !strings.ContainsAny(flags, "ln") {
			if line == p && len(lines) == 1 {
				self = true
			}
			// A terminal prints several names a line, two or more spaces apart or by tabs.
			l.names = append(l.names, columns.Split(strings.TrimSpace(line), -1)...)
			continue
		}
		if strings.HasPrefix(line, "total ") {
			continue
		}
		name, entry, ok := parseLsLine(line)
		switch {
		case !ok:
			return
		case name == p:
			r.stats[p], self = entry, true
			r.imply([]string{p})
		case path.IsAbs(name) || name == "." || name == "..":
		default:
			l.names = append(l.names, name)
			r.stats[path.Join(p, name)] = entry
		}
	}
	if self {
		return
	}
	l.names = slices.DeleteFunc(l.names, func(s string) bool { return s == "." || s == ".." || strings.Contains(s, "/") })
	slices.Sort(l.names)
	l.names = slices.Compact(l.names)
	if old, ok := r.listings[p]; ok {
		// Several forms of ls on one directory: the one with hidden names tells more. Commands
		// come in no order, so the choice must not depend on it.
		l.names = slices.Compact(slices.Sorted(slices.Values(append(l.names, old.names...))))
		l.hidden = l.hidden || old.hidden
	}
	r.listings[p] = l
}

var (
	columns = regexp.MustCompile(`\t+| {2,}`)
	// mode, links, owner, group, size or "major, minor", time in two or three words, name
	lsLine = regexp.MustCompile(`^([-bcdlps])([-rwxsStT]{9})[.+@]?\s+\d+\s+(\S+)\s+(\S+)\s+(?:(\d+),\s*(\d+)|(\S+))\s+` +
		`(?:\S+\s+\d+\s+[\d:]+|\d{4}-\d\d-\d\d\s+\d\d:\d\d(?::\d\d\S*)?(?:\s+[+-]\d{4})?)\s(.+)$`)
)

func parseLsLine(line string) (string, lsEntry, bool) {
	m := lsLine.FindStringSubmatch(line)
	if m == nil {
		return "", lsEntry{}, false
	}
	entry := lsEntry{info: FileInfo{Mode: lsMode(m[1], m[2]), Owner: m[3], Group: m[4], Size: -1}}
	if uid, err := strconv.ParseUint(m[3], 10, 32); err == nil {
		entry.info.UID, entry.info.Owner = uint32(uid), ""
	}
	if gid, err := strconv.ParseUint(m[4], 10, 32); err == nil {
		entry.info.GID, entry.info.Group = uint32(gid), ""
	}
	number := func(s string) uint32 {
		v, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			return 0 // the pattern let only digits through: more than 32 bits is no device number
		}
		return uint32(v)
	}
	if m[5] != "" {
		entry.info.Major, entry.info.Minor = number(m[5]), number(m[6])
	} else if size, err := strconv.ParseInt(m[7], 10, 64); err == nil {
		entry.info.Size = size
	}
	name := m[8]
	if m[1] == "l" {
		if n, target, ok := strings.Cut(name, " -> "); ok {
			name, entry.target = n, target
		}
	}
	return name, entry, true
}

// lsMode reads the ten letters of "ls -l".
func lsMode(kind, letters string) fs.FileMode {
	var mode fs.FileMode
	switch kind {
	case "d":
		mode = fs.ModeDir
	case "l":
		mode = fs.ModeSymlink
	case "c":
		mode = fs.ModeDevice | fs.ModeCharDevice
	case "b":
		mode = fs.ModeDevice
	case "p":
		mode = fs.ModeNamedPipe
	case "s":
		mode = fs.ModeSocket
	}
	special := []fs.FileMode{fs.ModeSetuid, fs.ModeSetgid, fs.ModeSticky}
	for i, c := range letters {
		bit := fs.FileMode(1) << (8 - i)
		switch c {
		case 'r', 'w', 'x':
			mode |= bit
		case 's', 't':
			mode |= bit | special[i/3]
		case 'S', 'T':
			mode |= special[i/3]
		}
	}
	return mode
}
