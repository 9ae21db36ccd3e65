package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Compare lists what differs between two plans, one line for each value, empty when they are equal.
// The package manager's own answer is left out: it is asked for anew by every run. Who named the profile is no
// part of what was agreed to: an install of a plan names the plan's own.
func Compare(agreed, now Plan) []string {
	agreed.Solver, now.Solver = nil, nil
	agreed.ProfileFrom, now.ProfileFrom = "", ""
	var diff []string
	a, errA := tree(agreed)
	b, errB := tree(now)
	for _, err := range []error{errA, errB} {
		if err != nil {
			diff = append(diff, fmt.Sprintf("cannot compare: %v", err))
		}
	}
	if len(diff) > 0 {
		return diff
	}
	return compare("", a, b, diff)
}

// tree is the JSON form of a plan: plans are equal when their JSON is.
func tree(p Plan) (any, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, err
	}
	return out, nil
}

func compare(path string, a, b any, diff []string) []string {
	if reflect.DeepEqual(a, b) {
		return diff
	}
	switch left := a.(type) {
	case map[string]any:
		right, ok := b.(map[string]any)
		if !ok {
			break
		}
		keys := maps.Clone(left)
		maps.Copy(keys, right)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			diff = member(join(path, key), left, right, key, diff)
		}
		return diff
	case []any:
		right, ok := b.([]any)
		if !ok {
			break
		}
		for i := range max(len(left), len(right)) {
			at := fmt.Sprintf("%s[%d]", path, i)
			switch {
			case i >= len(left):
				diff = append(diff, at+" is new: "+short(right[i]))
			case i >= len(right):
				diff = append(diff, at+" is gone: "+short(left[i]))
			default:
				diff = compare(at, left[i], right[i], diff)
			}
		}
		return diff
	}
	was, is := shortPair(a, b)
	return append(diff, fmt.Sprintf("%s was %s, is %s", path, was, is))
}

func member(path string, left, right map[string]any, key string, diff []string) []string {
	l, inLeft := left[key]
	r, inRight := right[key]
	switch {
	case !inLeft:
		return append(diff, path+" is new: "+short(r))
	case !inRight:
		return append(diff, path+" is gone: "+short(l))
	}
	return compare(path, l, r, diff)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// shortPair shows two values that differ: whole where they are short, and else from a little before
// the first difference.
func shortPair(a, b any) (was, is string) {
	const most, before, after = 120, 20, 80
	left, right := []rune(asJSON(a)), []rune(asJSON(b))
	if len(left) <= most && len(right) <= most {
		return printable(string(left)), printable(string(right))
	}
	at := 0
	for at < min(len(left), len(right)) && left[at] == right[at] {
		at++
	}
	from := max(0, at-before)
	cut := func(text []rune) string {
		out := string(text[from:min(len(text), at+after)])
		if from > 0 {
			out = "... " + out
		}
		if at+after < len(text) {
			out += " ..."
		}
		return printable(out)
	}
	return cut(left), cut(right)
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// short shows a value in at most 120 bytes, and of a longer one its two ends.
func short(v any) string {
	text := asJSON(v)
	if len(text) > 120 {
		text = text[:60] + " ... " + text[len(text)-50:]
	}
	return printable(text)
}
