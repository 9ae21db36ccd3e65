package strictyaml

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// fields are where the values of a type of struct go.
type fields struct {
	byKey map[string][]int // indexes as reflect.Value.FieldByIndex takes them
	pos   [][]int          // fields of type Pos
}

// fieldsOf maps keys to the settable fields of a type of struct, inlined ones included. A document has many
// of one type, so a decoder works it out once.
func (d *decoder) fieldsOf(of reflect.Type) fields {
	f, known := d.fields[of]
	if !known {
		f = fields{byKey: map[string][]int{}}
		f.add(of, nil)
		if d.fields == nil {
			d.fields = map[reflect.Type]fields{}
		}
		d.fields[of] = f
	}
	return f
}

func (f *fields) add(of reflect.Type, above []int) {
	for i := range of.NumField() {
		field := of.Field(i)
		if !field.IsExported() {
			continue
		}
		at := append(slices.Clip(above), i)
		if field.Type == reflect.TypeFor[Pos]() {
			f.pos = append(f.pos, at)
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if name == "-" {
			continue
		}
		if slices.Contains(strings.Split(options, ","), "inline") && field.Type.Kind() == reflect.Struct {
			f.add(field.Type, at)
			continue
		}
		if name == "" {
			name = strings.ToLower(field.Name)
		}
		f.byKey[name] = at
	}
}

// suggestion names the nearest known key. When none is near it lists them all, once for each type
// of struct: a file with many keys of another format would repeat the list on each line.
func (d *decoder) suggestion(key string, of reflect.Type) string {
	known := slices.Sorted(maps.Keys(d.fieldsOf(of).byKey))
	best, bestDistance := "", 3
	for _, name := range known {
		n := distance(plain(key), plain(name))
		if n < bestDistance && n < len(name) {
			best, bestDistance = name, n
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	if len(known) == 0 || d.listed[of] {
		return ""
	}
	d.listed[of] = true
	return "; known keys are " + strings.Join(known, ", ")
}

// plain lets RecordedAt and recorded-at be as near to recorded_at as they look.
func plain(key string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(key))
}

// distance is the number of letters to add, drop or replace (Levenshtein), or a large number when
// the lengths alone tell that it is above 2.
func distance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 1000
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
