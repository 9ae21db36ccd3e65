package host

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// readFile answers for a path as it is written; errElsewhere if this path is not told.
func (r *Replay) readFile(p string) ([]byte, error) {
	if text, ok := r.evidence.Files[p]; ok {
		return []byte(text), nil
	}
	if err := r.own(catKey(p)); err != nil {
		return nil, err
	}
	if answer, ok := r.evidence.Commands[catKey(p)]; ok {
		if answer.Exit == 0 && answer.Stderr == "" {
			return []byte(answer.Stdout), nil
		}
		if err := refusal(answer); err != nil {
			return nil, err
		}
	}
	if _, linked := r.target(p); linked {
		return nil, errElsewhere
	}
	return nil, r.refusedOr(p, errElsewhere)
}

func (r *Replay) readDir(p string) ([]string, error) {
	if l, ok := r.listings[p]; ok {
		return append([]string{}, l.names...), nil
	}
	if err := r.own(lsKey(p)); err != nil {
		return nil, err
	}
	if answer, ok := r.evidence.Commands[lsKey(p)]; ok {
		if err := refusal(answer); err != nil {
			return nil, err
		}
	}
	if _, linked := r.target(p); linked {
		return nil, errElsewhere
	}
	return nil, r.refusedOr(p, errElsewhere)
}

func (r *Replay) readlink(p string) (string, error) {
	if target, ok := r.target(p); ok {
		return target, nil
	}
	if err := r.own(readlinkKey(p)); err != nil {
		return "", err
	}
	if answer, ok := r.evidence.Commands[readlinkKey(p)]; ok && answer.Exit != 0 {
		if err := refusal(answer); err != nil {
			return "", err
		}
		if answer.Stderr == "" && r.shown(p) {
			return "", syscall.EINVAL // readlink prints nothing about what is there and is no link
		}
	}
	// Only who looked at the path itself knows that it is no link: a file or directory that stands
	// in the evidence may have been read through one.
	if answer, ok := r.evidence.Commands[lstatKey(p)]; ok {
		if info, ok := parseStatLine(answer.Stdout); ok && info.Mode&fs.ModeSymlink == 0 {
			return "", syscall.EINVAL
		}
	}
	if entry, ok := r.stats[p]; ok && entry.info.Mode&fs.ModeSymlink == 0 {
		return "", syscall.EINVAL
	}
	return "", r.refusedOr(p, errElsewhere)
}

// own is what reading a path told apart from a command of the same words.
func (r *Replay) own(key string) error {
	if answer, ok := r.evidence.Commands[ownKey(key)]; ok {
		return refusal(answer)
	}
	return nil
}

// target is a link's target, from links, a readlink command or "ls -l".
func (r *Replay) target(p string) (string, bool) {
	if target, ok := r.evidence.Links[p]; ok {
		return target, true
	}
	if answer, ok := r.evidence.Commands[readlinkKey(p)]; ok && answer.Exit == 0 {
		if target := strings.TrimRight(answer.Stdout, "\r\n"); target != "" {
			return target, true
		}
	}
	if entry, ok := r.stats[p]; ok && entry.target != "" {
		return entry.target, true
	}
	return "", false
}

func (r *Replay) stat(p string, follow bool) (FileInfo, error) {
	key := lstatKey(p)
	if follow {
		key = statKey(p)
	}
	if err := r.own(key); err != nil {
		return FileInfo{}, err
	}
	var recorded *FileInfo
	if answer, ok := r.evidence.Commands[key]; ok {
		if err := refusal(answer); err != nil {
			return FileInfo{}, err
		}
		if info, ok := parseStatLine(answer.Stdout); ok {
			recorded = &info
		}
	}
	if node, ok := r.evidence.Nodes[p]; ok {
		return nodeInfo(node, recorded), nil
	}
	if recorded != nil {
		return *recorded, nil
	}
	_, linked := r.target(p)
	if linked && follow {
		return FileInfo{}, errElsewhere
	}
	if linked {
		return FileInfo{Mode: fs.ModeSymlink | 0o777, Size: -1}, nil
	}
	if entry, ok := r.stats[p]; ok {
		return entry.info, nil
	}
	if text, ok := r.evidence.Files[p]; ok {
		size := int64(len(text))
		if r.Truncated(p) {
			size = -1
		}
		return FileInfo{Size: size}, nil
	}
	if r.implied[p] {
		return FileInfo{Mode: fs.ModeDir, Size: -1}, nil
	}
	if answer, ok := r.evidence.Commands[catKey(p)]; ok && answer.Exit == 0 && answer.Stderr == "" {
		return FileInfo{Size: int64(len(answer.Stdout))}, nil
	}
	dir, name := path.Split(p)
	if l, ok := r.listings[path.Clean(dir)]; ok && name != "" && slices.Contains(l.names, name) {
		return FileInfo{Mode: fs.ModeIrregular, Size: -1}, r.refusedOr(p, nil)
	}
	return FileInfo{}, r.refusedOr(p, errElsewhere)
}

// nodeInfo takes what people edit, the node, before what a recorder noted beside it; the numbers
// of owner and group are only in the note, and stand for them while the names still are the same.
func nodeInfo(n Node, recorded *FileInfo) FileInfo {
	info := FileInfo{Mode: fs.ModeDevice | fs.ModeCharDevice, Owner: n.Owner, Group: n.Group, Major: n.Major, Minor: n.Minor, Size: -1}
	if recorded != nil {
		info.Mode, info.Size, info.ModTime = recorded.Mode.Type(), recorded.Size, recorded.ModTime
		if recorded.Owner == n.Owner {
			info.UID = recorded.UID
		}
		if recorded.Group == n.Group {
			info.GID = recorded.GID
		}
	}
	if mode, err := n.mode(); err == nil {
		info.Mode |= mode
	}
	return info
}

// refusal is the error that a failed command on one path told, nil if it told none.
func refusal(a Answer) error {
	if a.Exit == exitNoRun && strings.HasPrefix(a.Stderr, markPrefix) {
		return markedError(a.Stderr)
	}
	if a.Exit == 0 && a.Stderr == "" {
		return nil
	}
	if errno, ok := errnoOf(a.Stderr); ok {
		return errno
	}
	return nil
}

// refusedOr is what other listed commands on exactly this path say about it.
func (r *Replay) refusedOr(p string, otherwise error) error {
	if answer, ok := r.evidence.Commands[absenceKey(p)]; ok {
		if err := refusal(answer); err != nil {
			return err
		}
	}
	if errno, ok := r.refused(p); ok {
		return errno
	}
	return otherwise
}

// refused looks for failed commands on exactly this path. Only absence, and a refusal to see the
// path at all, hold for every question: that cat may not read a file says nothing about its mode.
func (r *Replay) refused(p string) (syscall.Errno, bool) {
	if !r.asked[p] {
		return 0, false
	}
	for _, program := range []string{"ls -d", "ls", "ls -l", "ls -ld", "ls -la", "ls -al", "cat", "readlink", "readlink -f", "stat", "file"} {
		answer, ok := r.evidence.Commands[program+" "+p]
		if !ok || answer.Exit == 0 && answer.Stderr == "" || strings.HasPrefix(answer.Stderr, markPrefix) {
			continue
		}
		errno, told := errnoOf(answer.Stderr)
		switch {
		case told && errno == syscall.ENOENT:
			return errno, true
		case told && (program == "ls -d" || errno == syscall.EACCES && strings.Contains(answer.Stderr, "cannot access")):
			return errno, true
		case program == "readlink" && answer.Exit != 0 && answer.Stderr == "" && answer.Stdout == "" && !r.shown(p):
			// readlink prints nothing about a path that is missing or is no link.
			return syscall.ENOENT, true
		}
	}
	if answer, ok := r.evidence.Commands["test -e "+p]; ok && answer.Exit == 1 {
		return syscall.ENOENT, true
	}
	return 0, false
}

// shown says that p stands in the evidence as something other than a link.
func (r *Replay) shown(p string) bool {
	_, file := r.evidence.Files[p]
	_, node := r.evidence.Nodes[p]
	return file || node || r.implied[p]
}
