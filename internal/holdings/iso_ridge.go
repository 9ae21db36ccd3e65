package holdings

import (
	"context"
	"encoding/binary"
	"strings"
)

// Kinds of entries of an image beside files and folders.
const (
	isoLink = iota + 1
	isoSpecial
)

// isoEntry is what the system use entries of a record tell (SUSP and RRIP, IEEE P1281 and P1282).
type isoEntry struct {
	name   string
	kind   int
	target string // of a symbolic link
	stands uint32 // sector of the folder that the record stands for, which was too deep for ISO 9660
	moved  bool   // the folder itself, in the place that it was moved to
	packed bool   // zisofs
}

const (
	maxISOAreas = 16       // continuations of one record
	maxISOArea  = 16 << 10 // bytes of one continuation
	maxISOName  = 255      // bytes of a name
)

// rockRidge says whether the primary volume has names of Rock Ridge: the first record of its root says so.
func (i *isoImage) rockRidge(ctx context.Context, root isoRecord) (bool, error) {
	self, err := i.self(ctx, root.start)
	if err != nil {
		return false, err
	}
	s := self.system
	if len(s) < 7 || string(s[:2]) != "SP" || s[4] != 0xbe || s[5] != 0xef {
		return false, nil
	}
	i.skip = int(s[6])
	named := false
	// The root's own entries start at once, whatever is skipped in those of others.
	err = i.systemUse(ctx, s, func(kind string, data []byte) error {
		switch kind {
		case "ER":
			if len(data) >= 4 && len(data)-4 >= int(data[0]) {
				id := string(data[4 : 4+int(data[0])])
				named = named || id == "RRIP_1991A" || id == "IEEE_P1282" || id == "IEEE_1282"
			}
		case "RR": // drafts before 1.12, whose writers left out ER
			named = true
		}
		return nil
	})
	return named, err
}

// self reads the first record of a folder, which is about the folder itself.
func (i *isoImage) self(ctx context.Context, sector uint32) (isoRecord, error) {
	data, err := i.bytes(ctx, "a folder", int64(sector)*isoSector, isoSector)
	if err != nil {
		return isoRecord{}, err
	}
	r, err := parseISORecord(data)
	if err == nil && (len(r.name) != 1 || r.name[0] != 0) {
		err = refuse(hintDamaged, "a folder of the image does not start with itself")
	}
	return r, err
}

// relocated is the folder that a record stands for.
func (i *isoImage) relocated(ctx context.Context, sector uint32) (isoRecord, error) {
	r, err := i.self(ctx, sector)
	if err == nil && r.start != sector {
		err = refuse(hintHostile, "a folder of the image says that it is elsewhere")
	}
	return r, err
}

// systemUse gives each entry of a system use area, with what follows its length and version, and follows
// its continuations.
func (i *isoImage) systemUse(ctx context.Context, area []byte, each func(kind string, data []byte) error) error {
	for n := 0; ; n++ {
		if n > maxISOAreas {
			return refuse(hintHostile, "an entry of the image has more than %d continuations", maxISOAreas)
		}
		next, err := splitSystemUse(area, each)
		if err != nil || next == nil {
			return err
		}
		if next.length > maxISOArea {
			return refuse(hintHostile, "an entry of the image goes on for %d bytes", next.length)
		}
		if area, err = i.bytes(ctx, "an entry", int64(next.sector)*isoSector+int64(next.offset), int64(next.length)); err != nil {
			return err
		}
	}
}

type continuation struct{ sector, offset, length uint32 }

func splitSystemUse(area []byte, each func(kind string, data []byte) error) (*continuation, error) {
	var next *continuation
	for len(area) >= 4 && area[0] != 0 {
		length := int(area[2])
		if length < 4 || length > len(area) {
			return nil, refuse(hintDamaged, "an entry of the image has a field of %d bytes that cannot be read", length)
		}
		kind, data := string(area[:2]), area[4:length]
		area = area[length:]
		switch {
		case kind == "ST":
			return next, nil
		case kind != "CE":
			if err := each(kind, data); err != nil {
				return nil, err
			}
		case next != nil || len(data) < 24:
			return nil, refuse(hintDamaged, "an entry of the image goes on in no place or in two")
		default:
			next = &continuation{binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[8:]), binary.LittleEndian.Uint32(data[16:])}
		}
	}
	return next, nil
}

// ridgeEntry reads the fields of Rock Ridge that say name, kind and place of an entry.
func (i *isoImage) ridgeEntry(ctx context.Context, r isoRecord) (isoEntry, error) {
	e := isoEntry{}
	area := r.system
	if i.skip > len(area) {
		area = nil
	} else {
		area = area[i.skip:]
	}
	named := false
	var target linkTarget
	err := i.systemUse(ctx, area, func(kind string, data []byte) error {
		switch kind {
		case "NM":
			if len(data) < 1 || data[0]&6 != 0 || len(e.name)+len(data)-1 > maxISOName {
				return refuse(hintHostile, "an entry of the image has a name of more than %d bytes, or none", maxISOName)
			}
			named = true
			e.name += string(data[1:])
		case "PX":
			if len(data) < 8 {
				return refuse(hintDamaged, "an entry of the image has a mode that cannot be read")
			}
			switch binary.LittleEndian.Uint32(data) & 0o170000 {
			case 0o120000:
				e.kind = isoLink
			case 0o100000, 0o040000:
			default:
				e.kind = isoSpecial
			}
		case "SL":
			if len(data) < 1 {
				return refuse(hintDamaged, "an entry of the image has a link that cannot be read")
			}
			e.kind = isoLink
			return target.add(data[1:])
		case "CL":
			if len(data) < 8 || binary.LittleEndian.Uint32(data) == 0 {
				return refuse(hintDamaged, "an entry of the image stands for a folder that cannot be read")
			}
			e.stands = binary.LittleEndian.Uint32(data)
		case "RE":
			e.moved = true
		case "ZF":
			e.packed = true
		}
		return nil
	})
	if err != nil {
		return isoEntry{}, err
	}
	if e.target = target.String(); e.kind == isoLink && e.target == "" {
		return isoEntry{}, refuse(hintDamaged, "an entry of the image is a link to nothing")
	}
	if !named { // as the folder rr_moved of some writers
		e.name = withoutVersion(string(r.name))
	}
	return e, nil
}

// linkTarget puts the target of a symbolic link together from the components that Rock Ridge has it in.
type linkTarget struct {
	text strings.Builder
	more bool // the last component goes on
}

func (l *linkTarget) String() string { return l.text.String() }

func (l *linkTarget) add(components []byte) error {
	for len(components) > 0 {
		if len(components) < 2 || len(components)-2 < int(components[1]) {
			return refuse(hintDamaged, "an entry of the image has a link that cannot be read")
		}
		flags, word := components[0], string(components[2:2+int(components[1])])
		components = components[2+int(components[1]):]
		switch {
		case flags&8 != 0:
			word = "/"
		case flags&4 != 0:
			word = ".."
		case flags&2 != 0:
			word = "."
		}
		if have := l.text.String(); have != "" && !l.more && !strings.HasSuffix(have, "/") {
			l.text.WriteByte('/')
		}
		l.text.WriteString(word)
		if l.more = flags&1 != 0; l.text.Len() > maxPath {
			return refuse(hintHostile, "an entry of the image is a link to more than %d bytes", maxPath)
		}
	}
	return nil
}
