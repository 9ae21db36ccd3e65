package verbs

import (
	"encoding/binary"
	"fmt"
)

// guard is the number of bytes before and behind a destination that must stay as they were.
const guard = 64

// pattern fills b with bytes that depend on seed and position (splitmix64), so that a byte of another
// transfer, of another place or of another direction is not taken for the right one.
func pattern(b []byte, seed uint64) {
	var word [8]byte
	for i := 0; i < len(b); i += len(word) {
		z := (seed+1)*0xd1342543de82ef95 + uint64(i/len(word)+1)*0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		binary.LittleEndian.PutUint64(word[:], z^z>>31)
		copy(b[i:], word[:])
	}
}

// prefill fills a destination with the complement of what is expected there, so each byte that is
// not written is seen, whatever the pattern; the guards get a pattern of their own.
func prefill(dst, want []byte, seed uint64) {
	pattern(dst, ^seed)
	for i, w := range want {
		dst[guard+i] = ^w
	}
}

// compare checks a destination with its guards byte by byte. It returns nil or what is wrong.
func compare(dst, want []byte, seed uint64) error {
	guards := make([]byte, len(dst))
	pattern(guards, ^seed)
	body := dst[guard : guard+len(want)]
	wrong, unwritten, first := 0, 0, -1
	for i, w := range want {
		if body[i] == w {
			continue
		}
		if first < 0 {
			first = i
		}
		wrong++
		if body[i] == ^w {
			unwritten++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d bytes are wrong, %d of them were never written; the first at offset %d is 0x%02x instead of 0x%02x",
			wrong, len(want), unwritten, first, body[first], want[first])
	}
	for i := range dst {
		if i >= guard && i < guard+len(want) {
			continue
		}
		if dst[i] != guards[i] {
			return fmt.Errorf("a byte at offset %d, outside the %d bytes of the message, was written", i-guard, len(want))
		}
	}
	return nil
}
