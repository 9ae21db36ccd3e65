package profiles

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

// maxChain is how many profiles may extend one another.
const maxChain = 8

// resolve reads one profile and those that it extends. chain are the names of those that led here.
func (l Library) resolve(t text, chain []string) (Resolved, error) {
	d, place, err := decode(t.file, t.data)
	if err != nil {
		return Resolved{}, err
	}
	problems := d.problems(place)
	if t.name != "" && string(d.Name) != t.name && d.Name != "" {
		problems = append(problems, strictyaml.Problem{
			Pos: place.Value("name"), Text: "the file of profile " + string(d.Name) + " must be called " + string(d.Name) + ".yaml",
		})
	}
	if err := strictyaml.Fail(problems); err != nil {
		return Resolved{}, err
	}
	base := Resolved{Origins: map[string]string{}}
	if d.Extends != "" {
		if base, err = l.base(d, place, append(slices.Clone(chain), string(d.Name))); err != nil {
			return Resolved{}, err
		}
	}
	out, problems := base.overlay(d, place)
	out.File = t.source
	return out, strictyaml.Fail(problems)
}

// base is the profile that a document extends.
func (l Library) base(d document, place strictyaml.Place, chain []string) (Resolved, error) {
	fail := func(words string) (Resolved, error) {
		return Resolved{}, strictyaml.Fail(strictyaml.Problems{{Pos: place.Value("extends"), Text: words}})
	}
	name := string(d.Extends)
	if slices.Contains(chain, name) {
		return fail("extends goes in a circle: " + strings.Join(append(chain, name), " extends "))
	}
	if len(chain) >= maxChain {
		return fail("more than 8 profiles extend one another: " + strings.Join(chain, ", "))
	}
	t, err := l.find(name)
	if errors.Is(err, fs.ErrNotExist) {
		hint := ""
		if names, err := l.Names(); err == nil {
			hint = "; profiles are " + strings.Join(names, ", ")
		}
		return fail("there is no profile \"" + name + "\"" + hint)
	}
	if err != nil {
		return Resolved{}, err
	}
	return l.resolve(t, chain)
}

// decode reads the one document of a file.
func decode(file string, data []byte) (document, strictyaml.Place, error) {
	var doc document
	var place strictyaml.Place
	count := 0
	err := strictyaml.DecodeAll(file, data, func(d document, p strictyaml.Place) error {
		if count++; count > 1 {
			return errors.New("a second document starts here; only one is allowed")
		}
		doc, place = d, p
		return nil
	})
	return doc, place, err
}
