package matrix

import (
	"cmp"
	"slices"
)

// SystemRow is a row of a release, found by the system that it is about.
type SystemRow struct {
	// Release is the position in Releases of the stack, Position the one in the release's Rows.
	Release, Position int
	Row               *Row
}

// addSystemRows files the rows of the releases under each id that they name or cover.
func (x *Index) addSystemRows() error {
	for stack, releases := range x.releases {
		byID := map[string][]SystemRow{}
		for at, r := range releases {
			for i := range r.Rows {
				row := &r.Rows[i]
				one := SystemRow{Release: at, Position: i, Row: row}
				byID[row.ID] = append(byID[row.ID], one)
				for k, id := range row.Covers {
					if id != row.ID && !slices.Contains(row.Covers[:k], id) {
						byID[id] = append(byID[id], one)
					}
				}
			}
		}
		x.systemRows[stack] = byID
	}
	return nil
}

// SystemRows are the rows of a stack's releases that name or cover a distribution's id, or another one that
// it is like (empty for none): the newest release first, those of one in its own order, none twice.
func (x *Index) SystemRows(stack, id, like string) []SystemRow {
	own, others := x.systemRows[stack][id], x.systemRows[stack][like]
	if like == "" || like == id || len(others) == 0 {
		return own
	}
	if len(own) == 0 {
		return others
	}
	out := make([]SystemRow, 0, len(own)+len(others))
	for len(own) > 0 && len(others) > 0 {
		switch order := own[0].compare(others[0]); {
		case order < 0:
			out, own = append(out, own[0]), own[1:]
		case order > 0:
			out, others = append(out, others[0]), others[1:]
		default:
			out, own, others = append(out, own[0]), own[1:], others[1:]
		}
	}
	return append(append(out, own...), others...)
}

func (r SystemRow) compare(o SystemRow) int {
	return cmp.Or(cmp.Compare(r.Release, o.Release), cmp.Compare(r.Position, o.Position))
}
