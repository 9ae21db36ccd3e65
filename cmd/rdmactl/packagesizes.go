package main

import (
	"slices"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// namesForSizes are the packages that a comparison of stacks may ask a host of this family for, by any built-in
// profile: with their sizes in it, evidence gives the answer that its host gives.
func namesForSizes(f facts.Facts) ([]string, error) {
	family := f.Distro.Family.Or("")
	var names []string
	add := func(list []profiles.Package) {
		for _, p := range list {
			names = append(names, p.Name)
		}
	}
	all, err := profiles.List()
	if err != nil {
		return nil, err
	}
	for _, name := range all {
		p, err := profiles.Load(name)
		if err != nil {
			return nil, err
		}
		add(p.Packages[family])
		if p.Build != nil {
			add(p.Build.Packages[family])
		}
	}
	if headers, ok := f.Kernel.HeadersPackage.Get(); ok {
		names = append(names, headers)
	}
	known, err := matrix.Embedded()
	if err != nil {
		return nil, err
	}
	for _, layout := range known.Layouts {
		if layout.Family == family || layout.Family == "" {
			names = append(names, layout.Needs...) // what vendors build modules with
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
