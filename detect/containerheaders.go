package detect

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

// containerHeaders finds the headers' package among those that the entrypoint of a driver container printed: it
// installs them before it builds, and a ticket has nothing of the node's file system.
func (p probe) containerHeaders(name facts.Field[string]) facts.Field[string] {
	if !p.evidence() || !name.IsKnown() {
		return facts.Field[string]{}
	}
	text, from := p.firstTold("entrypoint", "/root/entrypoint.sh", "entrypoint.sh")
	if !slices.Contains(strings.Fields(text), name.Value) {
		return facts.Field[string]{}
	}
	return facts.Is(name.Value, from)
}
