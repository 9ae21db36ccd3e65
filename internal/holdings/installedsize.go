package holdings

import (
	"math"
	"strconv"
	"strings"
)

// installedSize reads Installed-Size of a deb, an estimate in KiB that the packager's tools make and that may
// be left out (Debian Policy 5.6.20), into bytes. 0 is none: it decides nothing, so that a faulty one is no
// reason to refuse a package.
func installedSize(text string) int64 {
	kib, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || kib < 0 || kib > math.MaxInt64>>10 {
		return 0
	}
	return kib << 10
}
