package matrix

import (
	"reflect"
	"strings"
)

// SectionCount is how many entries a section of the matrix has.
type SectionCount struct {
	Section string `json:"section"` // as in the files: releases, cards, ...
	Entries int    `json:"entries"`
}

// Sections counts the entries of each section that has any, in the order of the files.
func (m *Matrix) Sections() []SectionCount {
	counts := []SectionCount{}
	v := reflect.ValueOf(*m)
	for i := range v.NumField() {
		if n := v.Field(i).Len(); n > 0 {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			counts = append(counts, SectionCount{name, n})
		}
	}
	return counts
}
