package rules

import (
	"slices"

	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Names says whether a version that a user writes means a release: its own version, or that of the
// drivers in it, whole or as far as it is written ("5.4", "24.10", "25.1.0" for the drivers 25.01-0.6.0.0
// of DOCA 2.10.0). Leading zeros and the kind of separator make no difference.
func Names(asked string, r *matrix.Release) bool {
	want := digitsOf(asked)
	if len(want) == 0 {
		return false
	}
	for _, text := range []string{r.Version, r.Driver} {
		if have := digitsOf(text); len(have) >= len(want) && slices.Equal(have[:len(want)], want) {
			return true
		}
	}
	return false
}
