package supply

import (
	"errors"
	"time"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/openpgpkey"
)

// Keys are the public keys of files that a person named, each armored and alone, without those that are not in
// force.
func Keys(texts []string, now time.Time) ([]string, error) {
	var out []string
	for _, text := range texts {
		list, err := openpgpkey.Read([]byte(text))
		if err != nil {
			return nil, fault.New(fault.Usage, "key-wrong", "name a file with an OpenPGP public key", "cannot use a key of --key: %w", err)
		}
		var problems []error
		taken := 0
		for _, e := range list {
			armored, _, err := openpgpkey.Pick([]byte(text), openpgpkey.Fingerprint(e), now)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			out, taken = append(out, string(armored)), taken+1
		}
		if taken == 0 {
			return nil, fault.New(fault.Usage, "key-wrong", "get the key that is in force now", "cannot use a key of --key: %w", errors.Join(problems...))
		}
	}
	return out, nil
}
