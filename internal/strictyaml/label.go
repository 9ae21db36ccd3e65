package strictyaml

import "strconv"

// label names a value in messages. Few values have one, so the text is made when a message needs it.
type label struct {
	text string
	kind labelKind
	n    int
}

type labelKind int

const (
	labelPlain  labelKind = iota // the key of a field
	labelQuoted                  // a key of a mapping, for its value
	labelKey                     // the key itself
	labelItem                    // the n-th of a list
)

func (l label) String() string {
	switch l.kind {
	case labelQuoted:
		return strconv.Quote(l.text)
	case labelKey:
		return "key " + strconv.Quote(l.text)
	case labelItem:
		return l.text + "[" + strconv.Itoa(l.n) + "]"
	case labelPlain:
	}
	return l.text
}
