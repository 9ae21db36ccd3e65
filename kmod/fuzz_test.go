package kmod

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzParseModinfo: no text makes the parser panic, and what it makes of a text has no field without
// a line.
func FuzzParseModinfo(f *testing.F) {
	f.Add(sampleText)
	f.Add("filename: (builtin)\nparm:\n\tx\n")
	f.Fuzz(func(t *testing.T, text string) {
		info, err := ParseModinfo(text)
		if err != nil && !cmp.Equal(info, Info{}) {
			t.Errorf("error %v with %+v", err, info)
		}
	})
}

// FuzzDecode: no file makes the decoder panic, and what it prints can be read back.
func FuzzDecode(f *testing.F) {
	image := module(sample())
	f.Add(image)
	f.Add(appendSignature(image, []byte{0x30, 0x03, 0x06, 0x01, 0x2a}))
	f.Add([]byte(xzMagic + "\x00\x01\x69\x22\xde\x36\x02\x00\x21\x01\x10\x00"))
	f.Add([]byte("\x28\xb5\x2f\xfd\x00\x00\x00"))
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := Decode("/lib/modules/k/kernel/x.ko", bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		info, err := ParseModinfo(text)
		if err != nil {
			t.Fatalf("own text cannot be read: %v\n%s", err, text)
		}
		if info.Filename != "/lib/modules/k/kernel/x.ko" {
			t.Fatalf("filename %q", info.Filename)
		}
	})
}
