package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/sidebyside"
	"github.com/rdmactl/rdmactl/plan"
)

const useSchema = "rdmactl.use/v1"

// useReport is what is there and what programs get.
type useReport struct {
	Schema string `json:"schema"`
	// Default is what programs get by the loader's cache, as --stack names it; empty if it is neither a build nor the
	// distribution's own, or if nothing is. DefaultLibrary is its file.
	Default        string `json:"default"`
	DefaultLibrary string `json:"default_library"`
	// DefaultKnown says whether the loader's cache could be asked.
	DefaultKnown bool       `json:"default_known"`
	Stacks       []useStack `json:"stacks"`
	Units        []useUnit  `json:"units"`
}

// useStack is one library.
type useStack struct {
	Name       string   `json:"name"` // as --stack takes it
	Stack      string   `json:"stack"`
	Version    string   `json:"version"`
	Prefix     string   `json:"prefix"`
	Library    string   `json:"library"`
	PrivateABI *int     `json:"private_abi"`
	Providers  []string `json:"providers"`
	Default    bool     `json:"default"`
	Problem    string   `json:"problem"` // why it cannot be used, empty if it can
	Code       string   `json:"code"`    // of the problem
}

// useUnit is a service with a stack of its own.
type useUnit struct {
	Unit  string `json:"unit"`
	Stack string `json:"stack"`
	File  string `json:"file"`
}

func showUse(here source, h build.Host, all sidebyside.Copies, native string) answer {
	doc := useReport{Schema: useSchema, DefaultLibrary: all.Default, DefaultKnown: all.Told, Stacks: []useStack{}, Units: []useUnit{}}
	copies := []sidebyside.Copy{}
	if all.Inbox != nil {
		copies = append(copies, *all.Inbox)
	}
	for _, c := range append(copies, all.Builds...) {
		s := useStack{Name: c.Name(), Stack: c.Stack, Version: c.Version, Prefix: c.Prefix, Library: c.Library, Providers: c.Providers(), Default: all.IsDefault(c)}
		if abi, ok := c.Facts.PrivateABI.Get(); ok {
			s.PrivateABI = &abi
		}
		err := c.Check(native)
		if err == nil {
			_, err = sidebyside.Intact(h, c)
		}
		if f := (*fault.Error)(nil); errors.As(err, &f) {
			s.Problem, s.Code = f.Msg, f.Code
		}
		if s.Default {
			doc.Default = s.Name
		}
		doc.Stacks = append(doc.Stacks, s)
	}
	for file := range here.facts.Managed.Or(nil) {
		unit := strings.TrimSuffix(path.Base(path.Dir(file)), ".d")
		if file == plan.UnitDropIn(unit) {
			doc.Units = append(doc.Units, useUnit{unit, stackOfUnit(here.reader, file), file})
		}
	}
	slices.SortFunc(doc.Units, func(a, b useUnit) int { return strings.Compare(a.Unit, b.Unit) })
	return answer{value: doc, table: doc.render}
}

// stackOfUnit is the stack that a drop-in names, empty if an edit took it away.
func stackOfUnit(r host.Reader, file string) string {
	data, err := r.ReadFile(file)
	if err != nil {
		return ""
	}
	_, rest, ok := strings.Cut(string(data), sidebyside.StackVariable+"=")
	name, _, _ := strings.Cut(rest, `"`)
	if _, err := sidebyside.ParseWish(name); !ok || err != nil {
		return ""
	}
	return name
}

func (d useReport) render(w io.Writer) error {
	switch {
	case !d.DefaultKnown:
		fmt.Fprintln(w, "what programs get by default is not known: the loader's cache cannot be asked (ldconfig -p)")
	case d.DefaultLibrary == "":
		fmt.Fprintln(w, "programs get no verbs library by default: the loader's cache has none")
	case d.Default == "":
		fmt.Fprintf(w, "programs get %s by default, which is neither the distribution's own nor a build\n", d.DefaultLibrary)
	default:
		fmt.Fprintf(w, "programs get %s by default (%s)\n", d.Default, d.DefaultLibrary)
	}
	if len(d.Stacks) > 0 {
		fmt.Fprintln(w)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "  STACK\tVERSION\tABI\tPROVIDERS\tLIBRARY")
		for _, s := range d.Stacks {
			mark := "  "
			if s.Default {
				mark = "* "
			}
			abi := "-"
			if s.PrivateABI != nil {
				abi = fmt.Sprint(*s.PrivateABI)
			}
			fmt.Fprintf(t, "%s%s\t%s\t%s\t%d\t%s\n", mark, s.Name, orDash(s.Version), abi, len(s.Providers), s.Library)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	for _, s := range d.Stacks {
		if s.Problem != "" {
			fmt.Fprintf(w, "problem: %s (%s)\n", s.Problem, s.Code)
		}
	}
	for _, u := range d.Units {
		fmt.Fprintf(w, "unit: %s has %s of its own (%s)\n", u.Unit, orDash(u.Stack), u.File)
	}
	return nil
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
