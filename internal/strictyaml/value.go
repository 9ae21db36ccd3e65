package strictyaml

import (
	"encoding"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

const (
	// maxAliased bounds the nodes that are decoded through aliases in one document. A file of a
	// hundred bytes can otherwise ask for billions of values.
	maxAliased = 10000
	// maxDepth bounds nesting; the deepest file of this project has less than ten levels.
	maxDepth = 200
)

// decoder decodes one document and collects what is wrong with it.
type decoder struct {
	file     string
	problems Problems
	aliased  int          // nodes decoded through aliases so far
	open     []*yaml.Node // aliases being followed, to find loops
	depth    int
	listed   map[reflect.Type]bool // structs whose known keys a message has listed
	fields   map[reflect.Type]fields
	ours     bool // see ours
	stopped  bool // the alias or depth limit was hit; reported once
}

func (d *decoder) problem(n *yaml.Node, format string, args ...any) {
	d.problems = append(d.problems, Problem{position(d.file, n), fmt.Sprintf(format, args...)})
}

// value decodes n into out. What names the value in messages.
func (d *decoder) value(n *yaml.Node, out reflect.Value, what label) {
	if d.stopped {
		return
	}
	if d.depth++; d.depth > maxDepth {
		d.problem(n, "nested deeper than %d levels", maxDepth)
		d.stopped = true
		return
	}
	defer func() { d.depth-- }()
	if len(d.open) > 0 {
		if d.aliased++; d.aliased > maxAliased {
			d.problem(d.open[0], "aliases expand to more than %d values", maxAliased)
			d.stopped = true
			return
		}
	}
	if n.Kind == yaml.AliasNode {
		d.alias(n, out, what)
		return
	}
	if out.CanAddr() && n.ShortTag() != "!!null" {
		if text, ok := out.Addr().Interface().(encoding.TextUnmarshaler); ok {
			d.text(n, text, what)
			return
		}
	}
	switch out.Kind() {
	case reflect.Pointer:
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
			out.SetZero()
			return
		}
		out.Set(reflect.New(out.Type().Elem()))
		d.value(n, out.Elem(), what)
	case reflect.Struct:
		if d.wants(n, yaml.MappingNode, "a mapping", what) {
			d.structure(n, out)
		}
	case reflect.Map:
		if d.wants(n, yaml.MappingNode, "a mapping", what) {
			d.mapping(n, out)
		}
	case reflect.Slice:
		if d.wants(n, yaml.SequenceNode, "a list", what) {
			d.list(n, out, what)
		}
	case reflect.Interface:
		d.anything(n, out, what)
	default:
		if d.wants(n, yaml.ScalarNode, kindName(out.Kind()), what) {
			d.scalar(n, out, what)
		}
	}
}

func (d *decoder) alias(n *yaml.Node, out reflect.Value, what label) {
	if n.Alias == nil || slices.Contains(d.open, n.Alias) {
		d.problem(n, "alias %s contains itself", d.aliasName(n.Value))
		return
	}
	d.open = append(d.open, n.Alias)
	d.value(n.Alias, out, what)
	d.open = d.open[:len(d.open)-1]
}

// wants checks the kind of a node. A missing value is an error of its own: "key:" with nothing
// after it may mean an empty list, an empty text or a value that was forgotten.
func (d *decoder) wants(n *yaml.Node, kind yaml.Kind, wanted string, what label) bool {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		fix := `"" for an empty text`
		switch kind {
		case yaml.SequenceNode:
			fix = "[] for an empty list"
		case yaml.MappingNode:
			fix = "{} for an empty mapping"
		}
		d.problem(n, "%s has no value; write %s or remove the key", what, fix)
		return false
	}
	if n.Kind != kind {
		d.problem(n, "%s must be %s, not %s", what, wanted, d.describe(n, what))
		return false
	}
	return true
}

func (d *decoder) text(n *yaml.Node, out encoding.TextUnmarshaler, what label) {
	var s string
	if !d.wants(n, yaml.ScalarNode, "a string", what) || !d.str(n, &s, what) {
		return
	}
	if err := out.UnmarshalText([]byte(s)); err != nil {
		if !d.ours && !safeWord.MatchString(s) {
			d.problem(n, "%s has not the form that it must have", what)
			return
		}
		d.problem(n, "%s: %v", what, err)
	}
}

func (d *decoder) list(n *yaml.Node, out reflect.Value, what label) {
	name := what.String()
	// Grown as it is decoded: a limit that stops the decoding also bounds the memory.
	list := reflect.MakeSlice(out.Type(), 0, min(len(n.Content), 64))
	for i, item := range n.Content {
		if d.stopped {
			break
		}
		element := reflect.New(out.Type().Elem()).Elem()
		d.value(item, element, label{name, labelItem, i})
		list = reflect.Append(list, element)
	}
	out.Set(list)
}

func (d *decoder) mapping(n *yaml.Node, out reflect.Value) {
	m := reflect.MakeMap(out.Type())
	d.pairs(n, func(key, value *yaml.Node) {
		k := reflect.New(out.Type().Key()).Elem()
		before := len(d.problems)
		name := key.Value
		if !d.ours && !safeWord.MatchString(name) {
			name = "…"
		}
		d.value(key, k, label{text: name, kind: labelKey})
		element := reflect.New(out.Type().Elem()).Elem()
		d.value(value, element, label{text: name, kind: labelQuoted})
		if len(d.problems) == before {
			m.SetMapIndex(k, element)
		}
	})
	out.Set(m)
}

func (d *decoder) structure(n *yaml.Node, out reflect.Value) {
	fields := d.fieldsOf(out.Type())
	for _, at := range fields.pos {
		out.FieldByIndex(at).Set(reflect.ValueOf(position(d.file, n)))
	}
	d.pairs(n, func(key, value *yaml.Node) {
		at, ok := fields.byKey[key.Value]
		if !ok || key.Kind != yaml.ScalarNode {
			d.problem(key, "unknown key %s%s", d.quoted(key.Value, "that is no name"), d.suggestion(key.Value, out.Type()))
			return
		}
		d.value(value, out.FieldByIndex(at), label{text: key.Value})
	})
}

// pairs gives each key and value once and reports repeated and merge keys.
func (d *decoder) pairs(n *yaml.Node, each func(key, value *yaml.Node)) {
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			d.problem(key, "a key must be a string, not %s", d.describe(key, label{}))
			continue
		}
		if key.ShortTag() == "!!merge" {
			d.problem(key, "merge keys (<<) are not supported; write the keys out")
			continue
		}
		if earlier, ok := first[key.Value]; ok {
			d.problem(key, "key %s is already given at line %d", d.quoted(key.Value, "that is no name"), earlier.Line)
			continue
		}
		first[key.Value] = key
		each(key, value)
	}
}

func (d *decoder) scalar(n *yaml.Node, out reflect.Value, what label) {
	switch out.Kind() {
	case reflect.String:
		var s string
		if d.str(n, &s, what) {
			out.SetString(s)
		}
	case reflect.Bool:
		var b bool
		if n.ShortTag() != "!!bool" || n.Decode(&b) != nil {
			d.problem(n, "%s must be true or false, not %s", what, d.describe(n, what))
			return
		}
		out.SetBool(b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		var i int64
		if n.ShortTag() != "!!int" || n.Decode(&i) != nil || out.OverflowInt(i) {
			d.problem(n, "%s must be a whole number of %d bits, not %s", what, out.Type().Bits(), d.describe(n, what))
			return
		}
		out.SetInt(i)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		var u uint64
		if n.ShortTag() != "!!int" || n.Decode(&u) != nil || out.OverflowUint(u) {
			d.problem(n, "%s must be a whole number from 0 of %d bits, not %s", what, out.Type().Bits(), d.describe(n, what))
			return
		}
		out.SetUint(u)
	case reflect.Float32, reflect.Float64:
		var f float64
		if tag := n.ShortTag(); (tag != "!!float" && tag != "!!int") || n.Decode(&f) != nil {
			d.problem(n, "%s must be a number, not %s", what, d.describe(n, what))
			return
		}
		out.SetFloat(f)
	default:
		d.problem(n, "%s cannot be decoded into a %s", what, out.Type())
	}
}

// str accepts strings only. Text that is not UTF-8 is written as !!binary.
func (d *decoder) str(n *yaml.Node, out *string, what label) bool {
	switch n.ShortTag() {
	case "!!str":
		*out = n.Value
		return true
	case "!!binary":
		// YAML allows white space within base64.
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
		if err != nil {
			d.problem(n, "%s is marked as !!binary and is not base64: %v", what, err)
			return false
		}
		*out = string(raw)
		return true
	default:
		d.problem(n, "%s must be a string, not %s; quote it%s", what, d.describe(n, what), d.example(n))
		return false
	}
}

// anything decodes into an interface: strings, numbers, booleans, lists and mappings by string.
func (d *decoder) anything(n *yaml.Node, out reflect.Value, what label) {
	if out.NumMethod() != 0 {
		d.problem(n, "%s cannot be decoded into a %s", what, out.Type())
		return
	}
	var v any
	var target reflect.Value
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		target = reflect.ValueOf(&m).Elem()
	case yaml.SequenceNode:
		s := []any{}
		target = reflect.ValueOf(&s).Elem()
	default:
		switch n.ShortTag() {
		case "!!null":
			out.SetZero()
			return
		case "!!bool":
			target = reflect.ValueOf(new(bool)).Elem()
		case "!!int":
			target = reflect.ValueOf(new(int64)).Elem()
		case "!!float":
			target = reflect.ValueOf(new(float64)).Elem()
		default:
			target = reflect.ValueOf(new(string)).Elem()
		}
	}
	// The depth and alias counts of this node were taken on entry; the second visit is free of
	// aliases, since n is not one.
	d.value(n, target, what)
	v = target.Interface()
	out.Set(reflect.ValueOf(v))
}

func kindName(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	default:
		return "a number"
	}
}

// describe names what stands in the file. A file that is nothing but a text may be a secret: its text is never
// told.
func (d *decoder) describe(n *yaml.Node, what label) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	value := n.Value
	if len(value) > 40 {
		value = strings.ToValidUTF8(value[:40], "") + "…"
	}
	hidden := !d.ours && (what == label{text: "document"} || !safeWord.MatchString(n.Value))
	kind, text := "", value
	switch tag := n.ShortTag(); tag {
	case "!!str":
		kind, text = "string", strconv.Quote(value)
	case "!!int", "!!float":
		kind = "number"
	case "!!bool":
		kind = "boolean"
	case "!!null":
		return "nothing"
	case "!!timestamp":
		kind = "date"
	default:
		if hidden || !safeWord.MatchString(strings.TrimLeft(tag, "!")) {
			return "a value with a tag"
		}
		return fmt.Sprintf("%s tagged %s", strconv.Quote(value), tag)
	}
	if hidden {
		return "a " + kind
	}
	return "the " + kind + " " + text
}

// example shows how a value is quoted, where it may be shown.
func (d *decoder) example(n *yaml.Node) string {
	if !d.ours && !safeWord.MatchString(n.Value) {
		return ""
	}
	return ": " + strconv.Quote(n.Value)
}

// aliasName is an alias for a message.
func (d *decoder) aliasName(name string) string {
	if !d.ours && !safeWord.MatchString(name) {
		return "of no plain name"
	}
	return "*" + name
}
