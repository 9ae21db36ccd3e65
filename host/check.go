package host

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

// checker collects what is wrong with one host's evidence. At is where it stands in its file, zero
// for evidence that a recorder made.
type checker struct {
	at       strictyaml.Place
	problems strictyaml.Problems
}

func (c *checker) add(pos strictyaml.Pos, format string, args ...any) {
	c.problems = append(c.problems, strictyaml.Problem{Pos: pos, Text: fmt.Sprintf(format, args...)})
}

// check tells what the types cannot: the header, that paths are absolute and clean, because a path
// that is never looked up would silently be lost, and that the evidence does not contradict itself.
func (e *Evidence) check(at strictyaml.Place, top bool) strictyaml.Problems {
	c := &checker{at: at}
	if e.APIVersion != EvidenceAPIVersion && (top || e.APIVersion != "") {
		c.add(at.Value("apiVersion"), "apiVersion must be %q, not %q", EvidenceAPIVersion, e.APIVersion)
	}
	if e.Kind != EvidenceKind && (top || e.Kind != "") {
		c.add(at.Value("kind"), "kind must be %q, not %q", EvidenceKind, e.Kind)
	}
	if !top && len(e.Peers) > 0 {
		c.add(at.Key("peers"), "a peer cannot have peers")
	}
	if e.RecordedAt != "" {
		if _, err := time.Parse(time.RFC3339, e.RecordedAt); err != nil {
			c.add(at.Value("recorded_at"), "recorded_at must be a time such as 2025-01-31T12:00:00Z, not %q", e.RecordedAt)
		}
	}
	if e.Request != nil {
		c.choice(e.Request.Intent, "intent", "install", "use", "verify")
		c.choice(e.Request.Stack, "stack", "inbox", "rdma-core", "ofed", "mlnx-ofed", "doca-ofed")
	}
	checkPaths(c, "files", e.Files)
	checkPaths(c, "links", e.Links)
	checkPaths(c, "dirs", e.Dirs)
	checkPaths(c, "nodes", e.Nodes)
	c.onePlace(e)
	c.texts(e)
	for _, p := range sortedKeys(e.Nodes) {
		if _, err := e.Nodes[p].mode(); err != nil {
			c.add(at.Value("nodes", p, "mode"), "nodes %q: %v", p, err)
		}
	}
	for _, dir := range sortedKeys(e.Dirs) {
		for i, name := range e.Dirs[dir] {
			if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
				c.add(at.Value("dirs", dir, i), "dirs %q: %q is not a name", dir, name)
			}
		}
	}
	for i, p := range e.Peers {
		if p == nil {
			c.add(at.Value("peers", i), "a peer is empty")
			continue
		}
		c.problems = append(c.problems, p.check(at.Under("peers", i), false)...)
	}
	return c.problems
}

// choice checks a value of the request that has few.
func (c *checker) choice(value, key string, choices ...string) {
	if value != "" && !slices.Contains(choices, value) {
		c.add(c.at.Value("request", key), "request.%s must be one of %s, not %q", key, strings.Join(choices, ", "), value)
	}
}

// onePlace refuses a path that is two things. A link may stand beside what it leads to: reading
// follows it.
func (c *checker) onePlace(e *Evidence) {
	is := map[string]string{}
	one := func(section, what string, paths []string) {
		for _, p := range paths {
			if earlier, ok := is[p]; ok {
				c.add(c.at.Key(section, p), "%s: %q is %s, and %s", section, p, what, earlier)
				continue
			}
			is[p] = what + " in " + section
		}
	}
	one("files", "a file", sortedKeys(e.Files))
	one("dirs", "a directory", sortedKeys(e.Dirs))
	one("nodes", "a device node", sortedKeys(e.Nodes))
}

// texts refuses NUL: no path can have it, and what holds it is no text.
func (c *checker) texts(e *Evidence) {
	const why = "holds a NUL byte, which no text has"
	for _, p := range sortedKeys(e.Files) {
		if strings.ContainsRune(e.Files[p], 0) {
			c.add(c.at.Value("files", p), "files %q %s", p, why)
		}
	}
	for _, p := range sortedKeys(e.Links) {
		if strings.ContainsRune(e.Links[p], 0) {
			c.add(c.at.Value("links", p), "links %q %s", p, why)
		}
	}
	for _, key := range sortedKeys(e.Commands) {
		a := e.Commands[key]
		switch {
		case strings.ContainsRune(key, 0):
			c.add(c.at.Key("commands", key), "the command %q %s", key, why)
		case strings.ContainsRune(a.Stdout, 0):
			c.add(c.at.Value("commands", key, "stdout"), "stdout of %q %s", key, why)
		case strings.ContainsRune(a.Stderr, 0):
			c.add(c.at.Value("commands", key, "stderr"), "stderr of %q %s", key, why)
		}
	}
}

func checkPaths[V any](c *checker, section string, m map[string]V) {
	for _, p := range sortedKeys(m) {
		switch {
		case strings.ContainsRune(p, 0):
			c.add(c.at.Key(section, p), "%s: %q holds a NUL byte, which no path has", section, p)
		case !strings.HasPrefix(p, "/") || path.Clean(p) != p:
			c.add(c.at.Key(section, p), "%s: %q is not an absolute path without \".\", \"..\" and doubled or trailing slashes", section, p)
		}
	}
}
