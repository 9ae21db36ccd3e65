//go:build linux && (amd64 || arm64) && !noverbs

package ibv

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// arena is the one piece of memory that C sees: work requests, attributes and data buffers. It lies
// outside the Go heap, so no Go pointer is ever stored where C reads it and nothing moves.
type arena struct {
	mem  []byte
	base uintptr
	used int
}

const arenaAlign = 64 // a cache line

func newArena(size int) (*arena, error) {
	page := unix.Getpagesize()
	size = (size + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("cannot map %d bytes: %w", size, err)
	}
	// A fork must not turn pages that the device writes to into copies.
	if err := unix.Madvise(mem, unix.MADV_DONTFORK); err != nil {
		return nil, fmt.Errorf("cannot keep %d bytes out of forks: %w", size, err)
	}
	return &arena{mem: mem, base: uintptr(unsafe.Pointer(&mem[0]))}, nil
}

// alloc returns size zeroed bytes, aligned to align (a power of two).
func (a *arena) alloc(size, align int) (block, error) {
	start := (a.used + align - 1) &^ (align - 1)
	if size < 0 || start+size > len(a.mem) {
		return block{}, fmt.Errorf("cannot reserve %d bytes: %d of %d are in use", size, a.used, len(a.mem))
	}
	a.used = start + size
	b := block{mem: a.mem[start : start+size : start+size], addr: a.base + uintptr(start)}
	clear(b.mem)
	return b, nil
}

// release gives back what was reserved since used had the value mark.
func (a *arena) release(mark int) { a.used = mark }

func (a *arena) close() error { return unix.Munmap(a.mem) }

// block is a part of an arena with its address.
type block struct {
	mem  []byte
	addr uintptr
}

func (b block) u8(o offset) uint8      { return b.mem[o] }
func (b block) u16(o offset) uint16    { return binary.NativeEndian.Uint16(b.mem[o:]) }
func (b block) u32(o offset) uint32    { return binary.NativeEndian.Uint32(b.mem[o:]) }
func (b block) u64(o offset) uint64    { return binary.NativeEndian.Uint64(b.mem[o:]) }
func (b block) put8(o offset, v uint8) { b.mem[o] = v }
func (b block) put16(o offset, v int)  { binary.NativeEndian.PutUint16(b.mem[o:], uint16(v)) }
func (b block) put32(o offset, v int)  { binary.NativeEndian.PutUint32(b.mem[o:], uint32(v)) }
func (b block) putPtr(o offset, v uintptr) {
	binary.NativeEndian.PutUint64(b.mem[o:], uint64(v))
}
func (b block) putU32(o offset, v uint32) { binary.NativeEndian.PutUint32(b.mem[o:], v) }
func (b block) putU64(o offset, v uint64) { binary.NativeEndian.PutUint64(b.mem[o:], v) }

// The structures that the library allocates are read in place. The detour over the address of the
// variable is how a foreign address becomes a pointer without the Go heap being concerned.

func foreign(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }

func peek32(addr uintptr, o offset) uint32 { return *(*uint32)(foreign(addr + uintptr(o))) }

func peekPtr(addr uintptr, o offset) uintptr { return *(*uintptr)(foreign(addr + uintptr(o))) }

// peekString reads a C string of at most limit bytes.
func peekString(addr uintptr, limit int) string {
	if addr == 0 {
		return ""
	}
	var out []byte
	for i := range limit {
		c := *(*byte)(foreign(addr + uintptr(i)))
		if c == 0 {
			break
		}
		out = append(out, c)
	}
	return string(out)
}
