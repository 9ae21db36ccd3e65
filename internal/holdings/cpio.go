package holdings

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// cpioHeader is one file of a cpio archive.
type cpioHeader struct {
	name string
	mode uint32 // as in stat(2)
	size int64
}

// walkCPIO goes through a cpio archive in the format of rpm payloads ("new ASCII").
func walkCPIO(ctx context.Context, r io.Reader, name string, each func(cpioHeader, io.Reader) error) error {
	in := limit(ctx, r, maxStream, name+" unpacked")
	for range maxEntries {
		h, err := nextCPIO(in)
		if err != nil {
			return damaged(name, err)
		}
		if h.name == "TRAILER!!!" {
			return nil
		}
		body := io.LimitReader(in, h.size)
		if err := each(h, body); err != nil {
			return damaged(name, err)
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			return damaged(name, err)
		}
		if err := skip(in, h.size); err != nil {
			return damaged(name, err)
		}
	}
	return refuse(hintHostile, "%s has more than %d files", name, maxEntries)
}

func nextCPIO(r io.Reader) (cpioHeader, error) {
	var raw [110]byte
	if _, err := io.ReadFull(r, raw[:]); err != nil {
		return cpioHeader{}, err
	}
	if magic := string(raw[:6]); magic != "070701" && magic != "070702" {
		return cpioHeader{}, errors.New("an entry of the cpio archive does not start as one")
	}
	var fields [13]uint32
	for i := range fields {
		b, err := hex.DecodeString(string(raw[6+8*i : 14+8*i]))
		if err != nil {
			return cpioHeader{}, fmt.Errorf("an entry of the cpio archive has no number where one must be: %w", err)
		}
		fields[i] = uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	}
	length := int64(fields[11])
	if length < 1 || length > maxPath+1 {
		return cpioHeader{}, refuse(hintHostile, "a name in the cpio archive has %d bytes", length)
	}
	name := make([]byte, length)
	if _, err := io.ReadFull(r, name); err != nil {
		return cpioHeader{}, err
	}
	if name[length-1] != 0 {
		return cpioHeader{}, errors.New("a name in the cpio archive does not end")
	}
	return cpioHeader{string(name[:length-1]), fields[1], int64(fields[6])}, skip(r, 110+length)
}

// skip reads the bytes that fill n up to a multiple of 4.
func skip(r io.Reader, n int64) error {
	var pad [4]byte
	_, err := io.ReadFull(r, pad[:(4-n%4)%4])
	return err
}
