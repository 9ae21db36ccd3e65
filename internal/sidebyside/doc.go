// Package sidebyside gives one program or service the verbs library of one stack: the library, its providers
// and the driver configuration together, since libibverbs opens only providers of its own private ABI
// (IBVERBS_PRIVATE_NN) and finds no device otherwise.
//
// libibverbs has the directories of its providers and of its driver configuration compiled in, so that naming
// the library to the loader (LD_LIBRARY_PATH) brings all three: Look proves that they are of one build. What an
// environment becomes is computed by pure functions: Enter, Back, Script and DropIn.
package sidebyside

import (
	"regexp"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// Wish is a stack as --stack names it: "inbox", "rdma-core" for the newest build, "rdma-core@56.1", or
// "rdma-core@/opt/rdma-core/mine" for the build in a directory.
type Wish struct {
	Stack   string
	Version string // empty for the newest; a directory if it starts with a slash
}

var (
	wishVersion = regexp.MustCompile(`^v?[0-9]+(\.[0-9]+)*$`)
	wishPrefix  = regexp.MustCompile(`^(/[A-Za-z0-9_.+-]+)+$`)
)

// ParseWish reads what --stack names.
func ParseWish(text string) (Wish, error) {
	stack, version, at := strings.Cut(text, "@")
	const hint = "name rdma-core@VERSION (such as rdma-core@65.0), rdma-core for the newest build, or inbox; `rdmactl use` shows what is there"
	wrong := func(why string) error {
		return fault.New(fault.Usage, "usage", hint, "cannot use stack %q: %s", text, why)
	}
	switch stack {
	case "inbox":
		if at {
			return Wish{}, wrong("the distribution's own stack has one version, which the package manager decides")
		}
		return Wish{Stack: stack}, nil
	case "rdma-core":
		if at && !wishVersion.MatchString(version) && !wishPrefix.MatchString(version) {
			return Wish{}, wrong("what follows the @ is neither a version nor a directory")
		}
		return Wish{Stack: stack, Version: strings.TrimPrefix(version, "v")}, nil
	case "mlnx-ofed", "doca-ofed", "ofed":
		return Wish{}, wrong("it takes the place of the distribution's own library and cannot stand beside it")
	}
	return Wish{}, wrong("there is no such stack")
}
