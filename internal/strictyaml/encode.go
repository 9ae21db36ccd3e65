package strictyaml

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Encode writes v as one document that Decode reads back to the same value: keys of maps sorted,
// fields in their order, texts of several lines as literal blocks where that is exact. Fields
// tagged omitempty are left out when they are zero or an empty map or list.
func Encode(v any) ([]byte, error) {
	node, err := nodeOf(reflect.ValueOf(v))
	if err != nil {
		return nil, fmt.Errorf("cannot write %T as YAML: %w", v, err)
	}
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	if err := enc.Encode(node); err != nil {
		return nil, fmt.Errorf("cannot write %T as YAML: %w", v, err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("cannot write %T as YAML: %w", v, err)
	}
	return buf.Bytes(), nil
}

// nodeOf builds the nodes itself: yaml.v3 3.0.1 writes some strings so that it reads them back
// as others (a key "\n" becomes "", "<<" becomes a merge key).
func nodeOf(v reflect.Value) (*yaml.Node, error) {
	if !v.IsValid() {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}, nil
	}
	if text, ok := v.Interface().(encoding.TextMarshaler); ok && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		raw, err := text.MarshalText()
		if err != nil {
			return nil, err
		}
		return stringNode(string(raw)), nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return nodeOf(v.Elem())
	case reflect.String:
		return stringNode(v.String()), nil
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatBool(v.Bool())}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatInt(v.Int(), 10)}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatUint(v.Uint(), 10)}, nil
	case reflect.Float32, reflect.Float64:
		node := new(yaml.Node)
		return node, node.Encode(v.Float())
	case reflect.Slice:
		return listNode(v)
	case reflect.Map:
		return mapNode(v)
	case reflect.Struct:
		node := &yaml.Node{Kind: yaml.MappingNode}
		return node, addFields(node, v)
	default:
		return nil, fmt.Errorf("a %s has no form in YAML", v.Type())
	}
}

func listNode(v reflect.Value) (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.SequenceNode}
	if v.Len() == 0 {
		node.Style = yaml.FlowStyle
	}
	for i := range v.Len() {
		item, err := nodeOf(v.Index(i))
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, item)
	}
	return node, nil
}

func mapNode(v reflect.Value) (*yaml.Node, error) {
	if v.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("the keys of a %s are not strings", v.Type())
	}
	node := &yaml.Node{Kind: yaml.MappingNode}
	if v.Len() == 0 {
		node.Style = yaml.FlowStyle
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		value, err := nodeOf(v.MapIndex(key))
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, keyNode(key.String()), value)
	}
	return node, nil
}

func addFields(node *yaml.Node, v reflect.Value) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() || field.Type == reflect.TypeFor[Pos]() {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if name == "-" {
			continue
		}
		opts := strings.Split(options, ",")
		if slices.Contains(opts, "inline") && field.Type.Kind() == reflect.Struct {
			if err := addFields(node, v.Field(i)); err != nil {
				return err
			}
			continue
		}
		if slices.Contains(opts, "omitempty") && isEmpty(v.Field(i)) {
			continue
		}
		if name == "" {
			name = strings.ToLower(field.Name)
		}
		value, err := nodeOf(v.Field(i))
		if err != nil {
			return err
		}
		node.Content = append(node.Content, keyNode(name), value)
	}
	return nil
}

func isEmpty(v reflect.Value) bool {
	if k := v.Kind(); k == reflect.Map || k == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}

// keyNode never is a block, which YAML allows only after "?".
func keyNode(s string) *yaml.Node {
	node := stringNode(s)
	if node.Style == yaml.LiteralStyle {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// stringNode chooses how a string is written: literal for texts of lines that a block keeps
// exactly, base64 for what is not UTF-8, double-quoted for what needs escapes or would be another
// type, plain for the rest.
func stringNode(s string) *yaml.Node {
	if !utf8.ValidString(s) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!binary", Value: base64.StdEncoding.EncodeToString([]byte(s))}
	}
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	plain := yaml.Node{Kind: yaml.ScalarNode, Value: s}
	switch {
	case !blockSafe(s) || s != strings.TrimLeft(s, " \t\n\u00a0"):
		// A block that starts with space or an empty line needs an indentation indicator, which
		// yaml.v3 3.0.1 writes wrongly for some texts.
		node.Style = yaml.DoubleQuotedStyle
	case strings.Contains(s, "\n"):
		node.Style = yaml.LiteralStyle
	case plain.ShortTag() != "!!str" || s == "" || s == "<<":
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// blockSafe says that a text has only characters that need no escape: no carriage returns, no
// control characters besides tab, no special line breaks, no invalid UTF-8.
func blockSafe(s string) bool {
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
		case r < 0x20 || r == 0x7f || (r >= 0x80 && r < 0xa0):
			return false
		case r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == utf8.RuneError:
			return false
		case r > 0xffff || !unicode.IsPrint(r) && r != '\u00a0':
			return false
		}
	}
	return true
}
