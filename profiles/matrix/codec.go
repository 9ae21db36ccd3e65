package matrix

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

// The decoded form of a matrix: a line that names it, a checksum of the types it was written for, each
// text once, then the values. Decoding takes its texts from the one string that is embedded, which is
// what makes it cheap: the JSON of the same matrix took ten times as long.
//
// A value is: a text its number in the table; a number zigzag; a list or map its length and its entries;
// a struct a mask of the fields that are not empty and these.
const magic = "rdmactl matrix 1\n"

var errCut = errors.New("it ends too early")

// encode writes a matrix so that decode reads the same back.
func encode(m *Matrix) []byte {
	e := &encoder{numbers: map[string]uint64{}}
	e.value(reflect.ValueOf(*m))
	out := binary.BigEndian.AppendUint32([]byte(magic), shape())
	out = binary.AppendUvarint(out, uint64(len(e.texts)))
	for _, text := range e.texts {
		out = binary.AppendUvarint(out, uint64(len(text)))
	}
	return append(append(out, strings.Join(e.texts, "")...), e.out...)
}

type encoder struct {
	numbers map[string]uint64
	texts   []string
	out     []byte
}

func (e *encoder) text(s string) {
	n, known := e.numbers[s]
	if !known {
		n = uint64(len(e.texts))
		e.numbers[s] = n
		e.texts = append(e.texts, s)
	}
	e.out = binary.AppendUvarint(e.out, n)
}

func (e *encoder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		e.text(v.String())
	case reflect.Bool: // only true is ever written: see Struct
	case reflect.Int, reflect.Int64:
		e.out = binary.AppendVarint(e.out, v.Int())
	case reflect.Slice:
		e.out = binary.AppendUvarint(e.out, uint64(v.Len()))
		for i := range v.Len() {
			e.value(v.Index(i))
		}
	case reflect.Map:
		e.out = binary.AppendUvarint(e.out, uint64(v.Len()))
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, key := range keys {
			e.text(key.String())
			e.value(v.MapIndex(key))
		}
	case reflect.Struct:
		var mask uint64
		for i := range v.NumField() {
			if kept(v.Type().Field(i)) && !empty(v.Field(i)) {
				mask |= 1 << i
			}
		}
		e.out = binary.AppendUvarint(e.out, mask)
		for i := range v.NumField() {
			if mask&(1<<i) != 0 {
				e.value(v.Field(i))
			}
		}
	}
}

// kept leaves out where a file had the entry.
func kept(f reflect.StructField) bool { return f.Type != reflect.TypeFor[strictyaml.Pos]() }

func empty(v reflect.Value) bool {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		return v.Len() == 0
	}
	return v.IsZero()
}

// shape is a checksum of the types: what was written for others is refused.
func shape() uint32 {
	var b strings.Builder
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		b.WriteString(t.Kind().String())
		switch t.Kind() {
		case reflect.Slice, reflect.Map:
			walk(t.Elem())
		case reflect.Struct:
			for i := range t.NumField() {
				if f := t.Field(i); kept(f) {
					b.WriteString(" " + f.Name + " ")
					walk(f.Type)
				}
			}
			b.WriteString("end")
		}
	}
	walk(reflect.TypeFor[Matrix]())
	return crc32.ChecksumIEEE([]byte(b.String()))
}

// decode reads what encode wrote.
func decode(data string) (*Matrix, error) {
	rest, ok := strings.CutPrefix(data, magic)
	if !ok || len(rest) < 4 {
		return nil, errors.New("it is not the decoded form of a matrix")
	}
	d := &decoder{rest: rest[4:]}
	if binary.BigEndian.Uint32([]byte(rest[:4])) != shape() {
		return nil, errors.New("it was written for other types")
	}
	d.readTexts()
	var m Matrix
	d.value(reflect.ValueOf(&m).Elem())
	switch {
	case d.err != nil:
		return nil, d.err
	case d.rest != "":
		return nil, fmt.Errorf("%d bytes follow its end", len(d.rest))
	}
	return &m, nil
}

type decoder struct {
	rest  string
	texts []string
	err   error
}

func (d *decoder) readTexts() {
	lengths := make([]int, d.length())
	sum := 0
	for i := range lengths {
		lengths[i] = d.length()
		sum += lengths[i]
	}
	if d.err != nil || sum > len(d.rest) {
		d.err = cmp.Or(d.err, errCut)
		return
	}
	d.texts = make([]string, len(lengths))
	for i, n := range lengths {
		d.texts[i], d.rest = d.rest[:n], d.rest[n:]
	}
}

func (d *decoder) uvarint() uint64 {
	var x uint64
	for i := 0; i < len(d.rest) && i < binary.MaxVarintLen64; i++ {
		b := d.rest[i]
		x |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			d.rest = d.rest[i+1:]
			return x
		}
	}
	d.err = cmp.Or(d.err, errCut)
	return 0
}

// length is never more than what is left: each entry of a list takes a byte at least.
func (d *decoder) length() int {
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.err = cmp.Or(d.err, errCut)
		return 0
	}
	return int(n)
}

func (d *decoder) text() string {
	n := d.uvarint()
	if n >= uint64(len(d.texts)) {
		d.err = cmp.Or(d.err, errors.New("it has no text of that number"))
		return ""
	}
	return d.texts[n]
}

func (d *decoder) value(v reflect.Value) {
	if d.err != nil {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(d.text())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		x := d.uvarint()
		v.SetInt(int64(x>>1) ^ -int64(x&1))
	case reflect.Slice:
		d.list(v)
	case reflect.Map:
		n := d.length()
		v.Set(reflect.MakeMapWithSize(v.Type(), n))
		for range n {
			key := reflect.ValueOf(d.text())
			value := reflect.New(v.Type().Elem()).Elem()
			d.value(value)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i, mask := 0, d.uvarint(); mask != 0 && i < v.NumField(); i, mask = i+1, mask>>1 {
			if mask&1 != 0 {
				d.value(v.Field(i))
			}
		}
	}
}

func (d *decoder) list(v reflect.Value) {
	n := d.length()
	if texts, ok := v.Addr().Interface().(*[]string); ok { // most lists are of texts
		*texts = make([]string, n)
		for i := range *texts {
			(*texts)[i] = d.text()
		}
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		d.value(v.Index(i))
	}
}
