package detect

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// memlock reads how much memory may be pinned.
func (p probe) memlock() facts.Memlock {
	m := facts.Memlock{PAM: p.pamMemlock()}
	const source = "/proc/self/limits"
	if p.told.IsImage() {
		m.Soft.Source, m.Hard.Source = source, source
		return m
	}
	text, err := p.text(source)
	if err == nil {
		soft, hard, err := parseLimits(text)
		m.Soft, m.Hard = field(soft, source, err), field(hard, source, err)
	} else {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("/proc is not mounted")
		}
		m.Soft, m.Hard = field("", source, err), field("", source, err)
	}
	if p.evidence() {
		fill(&m.Soft, p.ulimit("ulimit -l", "ulimit -Sl", "ulimit -S -l"))
		fill(&m.Hard, p.ulimit("ulimit -Hl", "ulimit -H -l"))
	}
	return m
}

// parseLimits reads "Max locked memory  SOFT  HARD  bytes".
func parseLimits(text string) (soft, hard string, err error) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "Max locked memory")
		words := strings.Fields(rest)
		if !ok || len(words) < 2 {
			continue
		}
		for _, word := range words[:2] {
			if _, err := strconv.ParseUint(word, 10, 64); err != nil && word != "unlimited" {
				return "", "", fmt.Errorf("locked memory of %q is neither bytes nor unlimited", word)
			}
		}
		return words[0], words[1], nil
	}
	return "", "", errors.New("no line says how much memory may be locked")
}

// ulimit reads the shell's answer, which is in KiB.
func (p probe) ulimit(lines ...string) facts.Field[string] {
	text, line := p.firstTold(lines...)
	text = strings.TrimSpace(text)
	if text == "" {
		return facts.Field[string]{Source: lines[0]}
	}
	if text == "unlimited" {
		return facts.Is(text, line)
	}
	kib, err := strconv.ParseUint(text, 10, 50)
	if err != nil {
		return unknown[string](line, "%q is neither a number nor unlimited", text)
	}
	return facts.Is(strconv.FormatUint(kib<<10, 10), line)
}

// pamMemlock collects the memlock lines of pam_limits, "file: line".
func (p probe) pamMemlock() facts.Field[[]string] {
	const dir = "/etc/security/limits.d"
	files := []string{"/etc/security/limits.conf"}
	names, complete, err := p.listed(dir)
	told := complete || errors.Is(err, fs.ErrNotExist)
	for _, name := range names {
		if strings.HasSuffix(name, ".conf") {
			files = append(files, path.Join(dir, name))
		}
	}
	var lines []string
	var failed error
	for _, file := range files {
		text, err := p.text(file)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, host.ErrUnknown) {
				failed = fmt.Errorf("cannot read %s: %w", file, err)
			}
			continue
		}
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, "#")
			if words := strings.Fields(line); len(words) == 4 && words[2] == "memlock" {
				lines = append(lines, file+": "+strings.Join(words, " "))
			}
		}
	}
	switch {
	case len(lines) > 0:
		return facts.Is(lines, dir)
	case failed != nil:
		return facts.Failed[[]string](dir, failed)
	case !told:
		return facts.Field[[]string]{Source: dir}
	}
	return facts.None[[]string](dir)
}
