package rpm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// noted reads a list of paths that note has written, none if there is no such file.
func (t Tool) noted(file string) ([]string, error) {
	text, err := t.Host.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	var list []string
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	return list, nil
}

// note writes a list of paths, each once; an empty one is no file.
func (t Tool) note(file string, list []string) error {
	if len(list) == 0 {
		return t.Drop([]string{file})
	}
	slices.Sort(list)
	text, err := json.Marshal(slices.Compact(list))
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	if err := t.Writer.MkdirAll(path.Dir(file), 0o700); err != nil {
		return fmt.Errorf("cannot make %s: %w", path.Dir(file), err)
	}
	if err := t.Writer.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	return nil
}
