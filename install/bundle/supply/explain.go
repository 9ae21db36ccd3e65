package supply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// explained words a failure to collect what a host needs: it was not the host that failed but what stands for it, so
// what helps is another mirror or key. notes are what the package manager said of repositories that it did not reach.
func (c *Collection) explained(h Host, form string, notes []string, err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return fmt.Errorf("%s: %w", h.Name, err)
	}
	var named, unreached []string
	for _, feed := range c.Feeds {
		if feed.of(h.Facts, form) {
			named = append(named, feed.plainly())
		}
	}
	for _, n := range notes {
		text, ok := strings.CutPrefix(n, "repository: ")
		// apt says the same three times over.
		if ok && !strings.HasPrefix(text, "Err:") && !strings.Contains(text, "Some index files failed") && !slices.Contains(unreached, text) {
			unreached = append(unreached, text)
		}
	}
	text, hint := f.Msg, f.Hint
	switch f.Code {
	case "package-not-found":
		if len(unreached) > 0 {
			text, _, _ = strings.Cut(text, " (the list of no repository is here") // that is of the host's own sources
			text += "; not reached: " + strings.Join(unreached, "; ")
			hint = "see that this machine reaches the mirror, with its suite and components: "
		} else {
			hint = "name the suite, component or mirror that has it: "
		}
		hint += `--mirror "ADDRESS SUITE COMPONENT..." may be repeated, and the key of each is given with --key FILE`
		if form == "rpm" {
			hint = strings.Replace(hint, "ADDRESS SUITE COMPONENT...", "ADDRESS", 1)
		}
		if len(named) == 0 {
			hint = "update this machine's own lists, or name the repository that has it with --mirror or --sources, and its key with --key FILE"
		}
	case "repository-signature":
		switch {
		case strings.Contains(text, "does not have a Release file"):
			hint = `there is no index: see that the address and the suite of --mirror "ADDRESS SUITE COMPONENT..." are right`
		case len(c.Keys) == 0:
			hint = "give the public key of who publishes the mirror with --key FILE, got over a way that you trust; " + hint
		default:
			hint = "see that --key has the public key of who publishes each of the mirrors; " + hint
		}
	}
	if len(named) > 0 && !strings.Contains(text, named[0]) {
		text += "; asked for: " + strings.Join(named, "; ")
	}
	return fault.New(f.Kind, f.Code, hint, "%s: %w", h.Name, &worded{text, err})
}

// worded is an error with more said.
type worded struct {
	text string
	err  error
}

func (w *worded) Error() string { return w.text }
func (w *worded) Unwrap() error { return w.err }
