package ibv

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// mapping is one line of /proc/self/maps.
type mapping struct {
	start, end uintptr
	exec       bool
	path       string
}

// readMaps parses /proc/self/maps. Lines that are not understood are left out.
func readMaps(r io.Reader) ([]mapping, error) {
	var out []mapping
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) < 5 {
			continue
		}
		from, to, ok := strings.Cut(f[0], "-")
		if !ok {
			continue
		}
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		m := mapping{start: uintptr(start), end: uintptr(end), exec: strings.Contains(f[1], "x")}
		if len(f) > 5 {
			m.path = strings.Join(f[5:], " ")
		}
		out = append(out, m)
	}
	return out, sc.Err()
}

// find returns the mapping that holds addr.
func find(maps []mapping, addr uintptr) (mapping, bool) {
	for _, m := range maps {
		if addr >= m.start && addr < m.end {
			return m, true
		}
	}
	return mapping{}, false
}
