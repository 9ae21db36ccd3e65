package rpm

import (
	"fmt"
	"slices"
	"strings"
)

// savedFile lists the NAME.rpmsave files that our removals of packages left: the edited configuration
// of those packages, for when they are put back. One that lay there before is not in it.
const savedFile = "/var/lib/rdmactl/rpm-saved.json"

// Saved notes the NAME.rpmsave files among those that came beside.
func (t Tool) Saved(files []string) error {
	came := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !strings.HasSuffix(f, ".rpmsave") })
	if len(came) == 0 {
		return nil
	}
	list, err := t.noted(savedFile)
	if err != nil {
		return err
	}
	return t.note(savedFile, append(list, came...))
}

// unsave puts noted files back whose package is there again, with its own text in their place.
func (t Tool) unsave() error {
	list, err := t.noted(savedFile)
	if err != nil || len(list) == 0 {
		return err
	}
	left := []string{}
	for _, saved := range list {
		config := strings.TrimSuffix(saved, ".rpmsave")
		there, err := exists(t.Host, config)
		if err != nil {
			return err
		}
		still, err := exists(t.Host, saved)
		if err != nil {
			return err
		}
		switch {
		case !still:
		case !there:
			left = append(left, saved)
		default:
			if err := t.Writer.Rename(saved, config); err != nil {
				return fmt.Errorf("cannot put %s back: %w", config, err)
			}
		}
	}
	return t.note(savedFile, left)
}
