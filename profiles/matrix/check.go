package matrix

import (
	"fmt"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
	"github.com/rdmactl/rdmactl/internal/version"
)

// Bounds of what a file may hold: values are copied into plans and printed.
const (
	maxText     = 2000   // bytes of one text
	maxList     = 200000 // entries of one list
	maxPattern  = 300    // bytes of one regular expression
	maxProgram  = 2000   // instructions that it compiles to
	maxPatterns = 500    // regular expressions of one file
)

var (
	idPattern          = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,40}$`)
	versionIDPattern   = regexp.MustCompile(`^[a-z0-9][a-z0-9._+-]{0,40}$`)
	stackVersion       = regexp.MustCompile(`^[0-9]+([.-][0-9]+)*([._-][A-Za-z0-9]+)*$`)
	branchName         = regexp.MustCompile(`^([0-9]+([.][0-9]+)*|main)$`)
	packageName        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+._-]{0,200}[*]?$`)
	leftPath           = regexp.MustCompile(`^/(?:etc|opt|usr/src)(?:/[A-Za-z0-9][A-Za-z0-9@._-]*)+$`)
	moduleName         = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,60}$`)
	kernelName         = regexp.MustCompile(`^[0-9]+[A-Za-z0-9.+~_-]{0,100}$`)
	cardName           = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	devicePattern      = regexp.MustCompile(`^[0-9a-f]{4}$`)
	checksumPattern    = regexp.MustCompile(`^[0-9a-f]{64}$`)
	fingerprintPattern = regexp.MustCompile(`^([0-9A-F]{40}|[0-9A-F]{64})$`)
	optionPattern      = regexp.MustCompile(`^[A-Z0-9_]{2,60}$`)
	// dayOrMonth is checked by time.Parse as well.
	dayOrMonth = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$`)
)

// stacks are those that releases can be of; inbox has none of its own.
func stacks() []string { return []string{"inbox", "rdma-core", "ofed", "mlnx-ofed", "doca-ofed"} }

func evidences() []string {
	return []string{string(DocumentedTable), string(DriverContainer), string(ThirdParty), string(BundleName), string(Tested)}
}

// checker collects what is wrong in one document.
type checker struct {
	place    strictyaml.Place
	patterns int // read so far
	all      strictyaml.Problems
}

// at appends a step without touching the steps that others share.
func at(path []any, steps ...any) []any { return append(slices.Clip(path), steps...) }

func (c *checker) say(path []any, format string, args ...any) {
	c.all = append(c.all, strictyaml.Problem{Pos: c.place.Value(path...), Text: fmt.Sprintf(format, args...)})
}

// required says which keys of the mapping at path are missing.
func (c *checker) required(path []any, keysAndValues ...string) {
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		if keysAndValues[i+1] == "" {
			c.say(path, "key %q is missing", keysAndValues[i])
		}
	}
}

// match checks a value that may be empty.
func (c *checker) match(path []any, pattern *regexp.Regexp, value, what string) {
	if value != "" && !pattern.MatchString(value) {
		c.say(path, "%q is not %s", value, what)
	}
}

func (c *checker) each(path []any, pattern *regexp.Regexp, values []string, what string) {
	for i, v := range values {
		if v == "" {
			c.say(at(path, i), "%s must not be empty", what)
			continue
		}
		c.match(at(path, i), pattern, v, what)
	}
}

func (c *checker) oneOf(path []any, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		c.say(path, "%q is not one of %s", value, strings.Join(allowed, ", "))
	}
}

func (c *checker) constraints(path []any, values []string) {
	for i, v := range values {
		if _, err := version.ParseConstraint(v); err != nil {
			c.say(at(path, i), "%v", err)
		}
	}
}

func (c *checker) pattern(path []any, text string) {
	if len(text) > maxPattern {
		c.say(path, "the regular expression is longer than %d bytes", maxPattern)
		return
	}
	if _, err := regexp.Compile(text); err != nil {
		c.say(path, "%q is not a regular expression: %v", text, err)
		return
	}
	// Counted repetitions make a short text a large program, which the index keeps.
	if parsed, err := syntax.Parse(text, syntax.Perl); err == nil {
		if program, err := syntax.Compile(parsed.Simplify()); err != nil || len(program.Inst) > maxProgram {
			c.say(path, "the regular expression is too costly: repeat less")
		}
	}
	if c.patterns++; c.patterns == maxPatterns+1 {
		c.say(path, "the file has more than %d regular expressions", maxPatterns)
	}
}

func (c *checker) date(path []any, value string) {
	if value == "" {
		return
	}
	layout := time.DateOnly
	if len(value) == len("2006-01") {
		layout = "2006-01"
	}
	if _, err := time.Parse(layout, value); err != nil || !dayOrMonth.MatchString(value) {
		c.say(path, "%q is not a day (2024-10-31) or a month (2024-10)", value)
	}
}

// source: nothing in the matrix is without one.
func (c *checker) source(path []any, sources []string) {
	if len(sources) == 0 {
		c.say(path, "key \"source\" is missing")
	}
	for i, s := range sources {
		if strings.TrimSpace(s) == "" {
			c.say(at(path, "source", i), "a source must say something")
		}
	}
}

// repeated says where a key that must be single stands again.
func (c *checker) repeated(seen map[string]bool, path []any, key, what string) {
	if seen[key] {
		c.say(path, "%s is already given in this file", what)
	}
	seen[key] = true
}

// texts checks each text of a value: printable, valid UTF-8 and bounded. Texts are printed on terminals
// and written into files that root reads.
func (c *checker) texts(path []any, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		c.text(path, v.String())
	case reflect.Slice:
		if v.Len() > maxList {
			c.say(path, "has more than %d entries", maxList)
			return
		}
		for i := range v.Len() {
			c.texts(at(path, i), v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			c.text(at(path, key.String()), key.String())
			c.texts(at(path, key.String()), v.MapIndex(key))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.Type == reflect.TypeFor[strictyaml.Pos]() {
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			c.texts(at(path, name), v.Field(i))
		}
	}
}

func (c *checker) text(path []any, s string) {
	switch {
	case len(s) > maxText:
		c.say(path, "is longer than %d bytes", maxText)
	case !utf8.ValidString(s):
		c.say(path, "is not UTF-8")
	default:
		if i := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			c.say(path, "must be one line of printable text, byte %d is not", i)
		}
	}
}
