package install

import (
	"crypto/sha256"
	"fmt"
	"time"
)

// releaseOf is the text of a Release file of a flat apt repository that has this index and nothing else.
func releaseOf(packages []byte, now time.Time) []byte {
	return fmt.Appendf(nil, "Origin: rdmactl\nLabel: rdmactl\nDescription: packages of a vendor's bundle\nDate: %s\nSHA256:\n %x %d Packages\n",
		now.UTC().Format("Mon, 02 Jan 2006 15:04:05 UTC"), sha256.Sum256(packages), len(packages))
}
