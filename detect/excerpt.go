package detect

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
)

// excerpt is a Reader of evidence whose listings, where none was recorded, name what the evidence
// happens to hold below a directory. Such a listing is not complete: it may show that something is
// there, never that something is not.
type excerpt struct {
	host.Reader
	evidence *host.Evidence
}

// excerpt returns p's reader with made-up listings, and p's reader itself where it is no replay.
func (p probe) excerpt() host.Reader {
	replay, ok := p.r.(interface{ Evidence() *host.Evidence })
	if !ok || replay.Evidence() == nil {
		return p.r
	}
	return excerpt{p.r, replay.Evidence()}
}

func (e excerpt) ReadDir(dir string) ([]string, error) {
	names, err := e.Reader.ReadDir(dir)
	if !errors.Is(err, host.ErrUnknown) {
		return names, err
	}
	below := e.below(dir)
	if len(below) == 0 {
		return nil, err
	}
	return below, nil
}

// below names what stands in the evidence below a directory.
func (e excerpt) below(dir string) []string {
	found := map[string]bool{}
	add := func(path string) {
		if rest, ok := strings.CutPrefix(path, dir+"/"); ok && rest != "" {
			name, _, _ := strings.Cut(rest, "/")
			found[name] = true
		}
	}
	for path := range e.evidence.Files {
		add(path)
	}
	for path := range e.evidence.Links {
		add(path)
	}
	for path := range e.evidence.Nodes {
		add(path)
	}
	for path := range e.evidence.Dirs {
		add(path)
	}
	for line, answer := range e.evidence.Commands {
		words := strings.Fields(line)
		if len(words) == 2 && (words[0] == "cat" || words[0] == "readlink") && answer.Exit == 0 {
			add(words[1])
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// listed reads a directory. Complete is false where only single entries are told.
func (p probe) listed(dir string) (names []string, complete bool, err error) {
	names, err = p.r.ReadDir(dir)
	if !errors.Is(err, host.ErrUnknown) {
		return names, err == nil, err
	}
	names, partErr := p.excerpt().ReadDir(dir)
	if partErr != nil {
		return nil, false, err
	}
	return names, false, nil
}
