package profiles

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// Default is the profile of a plan that names none.
const Default = "lts"

// BuiltIn is Resolved.File of a profile that comes with rdmactl.
const BuiltIn = "built-in"

//go:embed *.yaml
var embedded embed.FS

// resolved are the built-in profiles as they come out of their files: reading YAML for each host of a
// fleet would cost more than its plan. A test keeps them in step with the files.
//
//go:embed resolved/*.json
var resolved embed.FS

// Own are the profiles of a host beside the built-in ones: files NAME.yaml.
type Own interface {
	// Names are the files' names without .yaml; none where there is no directory.
	Names() ([]string, error)
	// Read gives the path and the text of NAME.yaml, or an error that is fs.ErrNotExist.
	Read(name string) (file string, data []byte, err error)
}

// Library finds profiles by name. The zero Library has the built-in ones.
type Library struct {
	Own Own // may be nil
}

// Names are the names of all profiles, sorted.
func (l Library) Names() ([]string, error) {
	names, err := builtIn()
	if err != nil || l.Own == nil {
		return names, err
	}
	own, err := l.Own.Names()
	if err != nil {
		return names, fault.New(fault.Usage, "faulty-profile", "see that the directory may be read", "cannot list profiles: %w", err)
	}
	names = append(names, own...)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Load returns the profile of a name. An empty name means Default.
func (l Library) Load(name string) (Resolved, error) {
	if name == "" {
		name = Default
	}
	found, err := l.find(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Resolved{}, l.unknown(name)
	}
	if err != nil {
		return Resolved{}, err
	}
	if found.source == BuiltIn {
		return decoded(name)
	}
	return l.resolve(found, nil)
}

// decoded is a built-in profile in its resolved form.
func decoded(name string) (Resolved, error) {
	out := Resolved{File: BuiltIn}
	data, err := resolved.ReadFile("resolved/" + name + ".json")
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return Resolved{}, fmt.Errorf("cannot read the built-in profile %q: %w", name, err)
	}
	return out, nil
}

// LoadFile reads the text of one profile; file names it in messages.
func (l Library) LoadFile(file string, data []byte) (Resolved, error) {
	return l.resolve(text{file: file, source: file, data: data}, nil)
}

// text is a profile that was found, not yet read.
type text struct {
	file   string // in messages
	source string // for Resolved.File
	name   string // that the profile must have; empty: any
	data   []byte
}

func (l Library) unknown(name string) error {
	hint := "`rdmactl profiles list` lists them"
	if names, err := l.Names(); err == nil {
		hint = "profiles are " + strings.Join(names, ", ")
	}
	return fault.New(fault.Usage, "unknown-profile", hint, "cannot load profile %q: there is none of this name", name)
}

// find looks for a name; fs.ErrNotExist says that there is none. A name is checked before it becomes the
// name of a file.
func (l Library) find(name string) (text, error) {
	if CheckName(name) != nil {
		return text{}, fs.ErrNotExist
	}
	file := name + ".yaml"
	data, err := embedded.ReadFile(file)
	if err == nil {
		return text{file: "profiles/" + file, source: BuiltIn, name: name, data: data}, l.notTaken(name)
	}
	if l.Own == nil {
		return text{}, fs.ErrNotExist
	}
	at, data, err := l.Own.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return text{}, fs.ErrNotExist
	}
	if err != nil {
		return text{}, fault.New(fault.Usage, "faulty-profile", "see that the file may be read", "cannot read profile %q: %w", name, err)
	}
	return text{file: at, source: at, name: name, data: data}, nil
}

// notTaken refuses a file that has the name of a built-in profile: which of the two was meant could only
// be guessed. A directory that cannot be read hides nothing from those who may not read it.
func (l Library) notTaken(name string) error {
	if l.Own == nil {
		return nil
	}
	if file, _, err := l.Own.Read(name); err == nil {
		return fault.New(fault.Usage, "faulty-profile", "give the file and the profile in it another name; `extends: "+name+"` takes the built-in one over",
			"cannot load profile %q: it is built in, and %s has its name", name, file)
	}
	return nil
}

// List returns the names of the built-in profiles, sorted.
func List() ([]string, error) { return builtIn() }

// Load returns one built-in profile. An empty name means Default.
func Load(name string) (Profile, error) {
	r, err := Library{}.Load(name)
	return r.Profile, err
}

// LoadFile reads the text of one profile, which may extend built-in ones; file names it in messages. A
// profile decides what root writes and loads, so nothing in it is guessed: everything wrong is reported
// with its position.
func LoadFile(file string, data []byte) (Profile, error) {
	r, err := Library{}.LoadFile(file, data)
	return r.Profile, err
}

func builtIn() ([]string, error) {
	entries, err := embedded.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("cannot list profiles: %w", err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), path.Ext(entry.Name())))
	}
	slices.Sort(names)
	return names, nil
}
