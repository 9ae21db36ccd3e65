package host

import (
	"fmt"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

// The header of an evidence document.
const (
	EvidenceAPIVersion = "rdmactl/v1"
	EvidenceKind       = "Evidence"
)

// Evidence is one host in a file: what a recorder saw, or what a person typed together from a
// ticket. What is not in it is unknown, never absent.
type Evidence struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	// Title is a neutral headline. It is printed, never parsed.
	Title string `yaml:"title,omitempty"`
	// RecordedAt is RFC 3339. The day is an input of plans: a vendor's branch has an end.
	RecordedAt string `yaml:"recorded_at,omitempty"`
	// Context is where the reader stood.
	Context *Context `yaml:"context,omitempty"`
	Request *Request `yaml:"request,omitempty"`
	// Files maps absolute paths to text, newline included; an empty string is an empty file.
	Files map[string]string `yaml:"files,omitempty"`
	// Links maps absolute paths to targets as readlink prints them, often relative.
	Links map[string]string `yaml:"links,omitempty"`
	// Dirs maps absolute directories to the names in them; an empty list is listed and empty.
	Dirs  map[string][]string `yaml:"dirs,omitempty"`
	Nodes map[string]Node     `yaml:"nodes,omitempty"`
	// Commands maps command lines, arguments joined by one space, to their answers.
	Commands map[string]Answer `yaml:"commands,omitempty"`
	// Peers are further hosts. One whose context says container: false, under evidence that says
	// container: true, is the host that the container runs on.
	Peers []*Evidence `yaml:"peers,omitempty"`
	// Inferred names keys that do not stand literally in the source, as "commands.uname -r".
	Inferred []string `yaml:"inferred,omitempty"`
	// Truncated names paths whose text was cut.
	Truncated []string `yaml:"truncated,omitempty"`

	At strictyaml.Pos `yaml:"-"`
}

// Context is the position of the reader. A field left out is not told.
type Context struct {
	Container        *bool  `yaml:"container,omitempty"`
	ContainerRuntime string `yaml:"container_runtime,omitempty"`
	UID              *int   `yaml:"uid,omitempty"`
	// Image says that it is a root file system that does not run.
	Image bool `yaml:"image,omitempty"`
}

// Node is a device node.
type Node struct {
	Mode  string `yaml:"mode"` // permission bits in octal, as "0600"
	Owner string `yaml:"owner,omitempty"`
	Group string `yaml:"group,omitempty"`
	Major uint32 `yaml:"major,omitempty"`
	Minor uint32 `yaml:"minor,omitempty"`
}

// Answer is what a command printed. Exit 0 also stands for "not told", 1 for "failed, number not
// told", 127 with "command not found" for a program that is not installed.
type Answer struct {
	Stdout string `yaml:"stdout,omitempty"`
	Stderr string `yaml:"stderr,omitempty"`
	Exit   int    `yaml:"exit,omitempty"`
}

// ParseEvidence reads a stream of evidence documents. File names the source in messages.
func ParseEvidence(file string, data []byte) ([]*Evidence, error) {
	var all []*Evidence
	err := strictyaml.DecodeAll(file, data, func(e *Evidence, at strictyaml.Place) error {
		if e == nil {
			return fmt.Errorf("the document is empty")
		}
		all = append(all, e)
		if problems := e.check(at, true); len(problems) > 0 {
			return problems
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Marshal writes the evidence as one YAML document, the same bytes for the same evidence.
func (e *Evidence) Marshal() ([]byte, error) { return strictyaml.Encode(e) }

// Save writes the evidence to an absolute path, readable by its owner only: even redacted it tells
// how a host is set up.
func (e *Evidence) Save(w Writer, path string) error {
	data, err := e.Marshal()
	if err != nil {
		return err
	}
	if err := w.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("cannot save evidence %s: %w", path, inner(err))
	}
	return nil
}
