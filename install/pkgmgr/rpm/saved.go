package rpm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// savedFile lists the NAME.rpmsave files that our removals of packages left: the edited configuration
// of those packages, for when they are put back. One that lay there before is not in it.
const savedFile = "/var/lib/rdmactl/rpm-saved.json"

func (t Tool) savedList() ([]string, error) {
	text, err := t.Host.ReadFile(savedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", savedFile, err)
	}
	var list []string
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", savedFile, err)
	}
	return list, nil
}

func (t Tool) writeSaved(list []string) error {
	if len(list) == 0 {
		return t.Drop([]string{savedFile})
	}
	slices.Sort(list)
	text, err := json.Marshal(slices.Compact(list))
	if err != nil {
		return fmt.Errorf("cannot note saved files: %w", err)
	}
	if err := t.Writer.MkdirAll(path.Dir(savedFile), 0o700); err != nil {
		return fmt.Errorf("cannot make %s: %w", path.Dir(savedFile), err)
	}
	if err := t.Writer.WriteFile(savedFile, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("cannot note saved files in %s: %w", savedFile, err)
	}
	return nil
}

// Saved notes the NAME.rpmsave files among those that came beside.
func (t Tool) Saved(files []string) error {
	came := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !strings.HasSuffix(f, ".rpmsave") })
	if len(came) == 0 {
		return nil
	}
	list, err := t.savedList()
	if err != nil {
		return err
	}
	return t.writeSaved(append(list, came...))
}

// unsave puts noted files back whose package is there again, with its own text in their place.
func (t Tool) unsave() error {
	list, err := t.savedList()
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
	return t.writeSaved(left)
}
