package holdings

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"path"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// An image is read here and not by a library: those that exist follow continuations in circles and
// allocate what a record claims, which a hostile image turns into the end of the process.
const (
	isoSector     = 2048
	isoStart      = 16       // sector of the first volume descriptor
	maxISOVolumes = 64       // volume descriptors
	maxISOFolders = 20_000   // directories of an image
	maxISORecords = 64 << 20 // bytes of all directories and continuations of an image
)

// isoImage is an ISO 9660 image (ECMA-119) with names of Rock Ridge or of Joliet.
type isoImage struct {
	file   io.ReaderAt
	size   int64
	joliet bool
	skip   int             // bytes before the system use entries of a record (SUSP, entry SP)
	seen   map[uint32]bool // sectors of the directories that were read
	read   int64           // bytes of directories and continuations so far
	count  int             // entries so far
	cut    bool            // a name is as long as those of Joliet can be, and may be cut
}

// isoRecord is one directory record.
type isoRecord struct {
	start  uint32 // sector
	length uint32 // bytes
	flags  byte
	name   []byte
	system []byte // system use area
}

const (
	isoFolder     = 1 << 1
	isoAssociated = 1 << 2 // a second content of a file, such as a resource fork; nobody shows it
	isoMore       = 1 << 7 // the file goes on in the next record
)

// takeISO gives the files of an image.
func takeISO(ctx context.Context, a taker, file io.ReaderAt, size int64) (*isoImage, error) {
	i := &isoImage{file: file, size: size, seen: map[uint32]bool{}}
	root, err := i.root(ctx)
	if err != nil {
		return nil, err
	}
	return i, i.walk(ctx, a, root, ".", 0)
}

// bytes reads a part of the image. What it may be at most is asked before anything is allocated.
func (i *isoImage) bytes(ctx context.Context, what string, at, length int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if at < 0 || length < 0 || at > i.size || length > i.size-at {
		return nil, refuse(hintDamaged, "%s would end at byte %d of the image, which has %d: it is cut short, or was never whole", what, at+length, i.size)
	}
	if i.read += length; i.read > maxISORecords {
		return nil, refuse(hintHostile, "its folders have more than %d MiB of records", maxISORecords>>20)
	}
	data := make([]byte, length)
	if _, err := i.file.ReadAt(data, at); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, refuse(hintDamaged, "%s is cut short", what)
		}
		return nil, err
	}
	return data, nil
}

// root finds the root folder: of the primary volume when that has names of Rock Ridge, else of a
// volume of Joliet. Names of ISO 9660 alone are cut and in capitals, and no index has such.
func (i *isoImage) root(ctx context.Context) (isoRecord, error) {
	var primary, joliet *isoRecord
	for n := int64(0); ; n++ {
		if n == maxISOVolumes {
			return isoRecord{}, refuse(hintHostile, "it has more than %d volume descriptors", maxISOVolumes)
		}
		if i.size < (isoStart+1)*isoSector {
			return isoRecord{}, refuse("name an ISO 9660 image that is whole", "it is no ISO image: it has %d bytes", i.size)
		}
		d, err := i.bytes(ctx, "the table of volumes", (isoStart+n)*isoSector, isoSector)
		if err != nil {
			return isoRecord{}, err
		}
		if !bytes.Equal(d[1:6], []byte("CD001")) {
			return isoRecord{}, refuse("name an ISO 9660 image that is whole", "it is no ISO image: its volume descriptor %d has no mark CD001", n+1)
		}
		kind := d[0]
		if kind == 255 {
			break
		}
		if kind != 1 && kind != 2 {
			continue
		}
		if block := binary.LittleEndian.Uint16(d[128:]); block != isoSector {
			return isoRecord{}, refuse("make the image with blocks of 2048 bytes, or import the unpacked bundle", "the image has blocks of %d bytes", block)
		}
		record, err := parseISORecord(d[156:190])
		if err != nil {
			return isoRecord{}, err
		}
		switch escape := d[88:91]; {
		case kind == 1 && primary == nil:
			primary = &record
		case kind == 2 && joliet == nil && (bytes.Equal(escape, []byte("%/@")) || bytes.Equal(escape, []byte("%/C")) || bytes.Equal(escape, []byte("%/E"))):
			joliet = &record
		}
	}
	if primary != nil {
		ridge, err := i.rockRidge(ctx, *primary)
		if err != nil {
			return isoRecord{}, err
		}
		if ridge {
			return *primary, nil
		}
	}
	if joliet == nil {
		return isoRecord{}, refuse("make the image with Rock Ridge names (genisoimage -R), or import the unpacked bundle", "the image has names of neither Rock Ridge nor Joliet, so those of the packages are cut")
	}
	i.joliet = true
	return *joliet, nil
}

func parseISORecord(b []byte) (isoRecord, error) {
	bad := refuse(hintDamaged, "a folder of the image has a record that cannot be read")
	if len(b) < 34 || int(b[0]) > len(b) || b[0] < 34 {
		return isoRecord{}, bad
	}
	b = b[:b[0]]
	end := 33 + int(b[32])
	if b[32] == 0 || end > len(b) {
		return isoRecord{}, bad
	}
	if b[26] != 0 || b[27] != 0 {
		return isoRecord{}, refuse("import the unpacked bundle", "a file of the image is interleaved with others, which is not read here")
	}
	r := isoRecord{start: binary.LittleEndian.Uint32(b[2:]), length: binary.LittleEndian.Uint32(b[10:]), flags: b[25], name: b[33:end]}
	// Both byte orders are there, and one that differs is how readers are told different stories.
	if r.start != binary.BigEndian.Uint32(b[6:]) || r.length != binary.BigEndian.Uint32(b[14:]) {
		return isoRecord{}, refuse(hintHostile, "a folder of the image has a record with two places or sizes")
	}
	if extended := uint32(b[1]); extended > 0 { // blocks of an extended attribute record
		if r.start > ^uint32(0)-extended {
			return isoRecord{}, bad
		}
		r.start += extended
	}
	if end%2 != 0 { // padded, so that the system use area starts at an even byte
		end++
	}
	if end < len(b) {
		r.system = b[end:]
	}
	return r, nil
}

// isSelf says that a record is the folder itself or the one above it.
func (r isoRecord) isSelf() bool { return len(r.name) == 1 && r.name[0] <= 1 }

// walk reads one folder and those in it. Each has a place of its own in a sound image.
func (i *isoImage) walk(ctx context.Context, a taker, folder isoRecord, name string, depth int) error {
	if i.seen[folder.start] {
		return refuse(hintHostile, "the folder %q of the image is in itself, or in two places", clip(name))
	}
	if i.seen[folder.start] = true; len(i.seen) > maxISOFolders {
		return refuse(hintHostile, "it has more than %d folders", maxISOFolders)
	}
	if depth > maxDepth {
		return refuse(hintHostile, "the path %q is too long or too deep", clip(name))
	}
	data, err := i.bytes(ctx, "the folder "+clip(name), int64(folder.start)*isoSector, int64(folder.length))
	if err != nil {
		return err
	}
	var parts []isoRecord // of one file so far
	for len(data) > 0 {
		// No record crosses the end of a sector; the rest of one is zero.
		sector := data[:min(isoSector, len(data))]
		data = data[len(sector):]
		for len(sector) > 0 && sector[0] != 0 {
			r, err := parseISORecord(sector)
			if err != nil {
				return err
			}
			sector = sector[sector[0]:]
			if i.count++; i.count > maxEntries {
				return refuse(hintHostile, "the image has more than %d files", maxEntries)
			}
			if r.isSelf() || r.flags&isoAssociated != 0 {
				continue
			}
			parts = append(parts, r)
			if r.flags&isoMore != 0 {
				continue
			}
			if err := i.take(ctx, a, parts, name, depth); err != nil {
				return err
			}
			parts = nil
		}
	}
	if len(parts) > 0 {
		return refuse(hintDamaged, "the folder %q of the image ends within a file", clip(name))
	}
	return nil
}

// take adds what the records of one entry say.
func (i *isoImage) take(ctx context.Context, a taker, parts []isoRecord, folder string, depth int) error {
	first := parts[0]
	e, err := i.entry(ctx, first)
	if err != nil {
		return err
	}
	if e.moved {
		return nil // it is read where the record that stands for it is
	}
	if e.name == "" || e.name == "." || e.name == ".." || strings.ContainsAny(e.name, "/\x00") {
		return refuse(hintHostile, "the folder %q of the image has an entry named %q, which leads out of it", clip(folder), clip(e.name))
	}
	name, err := checkPath(path.Join(folder, e.name))
	if err != nil {
		return err
	}
	switch {
	case e.kind == isoLink:
		return a.link(name, e.target, false)
	case e.kind == isoSpecial:
		return refuse(hintHostile, "%q is neither a file nor a folder nor a link", clip(name))
	case e.stands != 0:
		r, err := i.relocated(ctx, e.stands)
		if err != nil {
			return err
		}
		return i.walk(ctx, a, r, name, depth+1)
	case first.flags&isoFolder != 0:
		return i.walk(ctx, a, first, name, depth+1)
	}
	size := int64(0)
	for n, p := range parts {
		if n > 0 && int64(p.start) != int64(first.start)+size/isoSector || n < len(parts)-1 && p.length%isoSector != 0 {
			return refuse("import the unpacked bundle", "%s is in several places of the image, which is not read here", clip(name))
		}
		size += int64(p.length)
	}
	at := int64(first.start) * isoSector
	if size == 0 {
		at = 0 // writers put empty files anywhere
	}
	if at > i.size || size > i.size-at {
		return refuse(hintDamaged, "%s would end at byte %d of the image, which has %d: it is cut short, or was never whole", clip(name), at+size, i.size)
	}
	if e.packed {
		return refuse("import the unpacked bundle", "%s is packed in the image (zisofs), which is not read here", clip(name))
	}
	return a.addAt(ctx, name, io.NewSectionReader(i.file, at, size))
}

// entry tells what a record is.
func (i *isoImage) entry(ctx context.Context, r isoRecord) (isoEntry, error) {
	if !i.joliet {
		return i.ridgeEntry(ctx, r)
	}
	if len(r.name)%2 != 0 {
		return isoEntry{}, refuse(hintDamaged, "a folder of the image has a name that cannot be read")
	}
	letters := make([]uint16, 0, len(r.name)/2)
	for at := 0; at < len(r.name); at += 2 {
		letters = append(letters, binary.BigEndian.Uint16(r.name[at:]))
	}
	name := withoutVersion(string(utf16.Decode(letters)))
	// 64 characters, or 103 of writers that stretch the rule; some count what is behind the name, or one more.
	n := utf8.RuneCountInString(name)
	i.cut = i.cut || n >= 62 && n <= 65 || n >= 101 && n <= 104
	return isoEntry{name: name}, nil
}

// withoutVersion takes away the number of a file's version, which ISO 9660 has behind its name.
func withoutVersion(name string) string {
	base, number, ok := strings.Cut(name, ";")
	if !ok || strings.Trim(number, "0123456789") != "" {
		return name
	}
	return base
}
