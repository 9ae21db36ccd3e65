package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const journalName = "journal.jsonl"

// Run is one opened run.
type Run struct {
	ID  string
	Dir string
	// Entries are those that were read and those appended since.
	Entries []Entry
	// Torn is the number of bytes of a last line that a power cut left incomplete, 0 if none. They
	// are ignored, and cut off by the next Append.
	Torn int

	store Store
	in    string // the run's directory below the store
	size  int64  // of the part that is whole
	file  *os.File
	root  *os.Root
}

// Parse reads the lines of a journal. torn is the length of an incomplete last line, which a power
// cut leaves; any other fault is an error naming the line.
func Parse(data []byte) (entries []Entry, torn int, err error) {
	rest := data
	for line := 1; len(rest) > 0; line++ {
		end := bytes.IndexByte(rest, '\n')
		// A file system may give back zeros for a block whose length was written before its data.
		if end < 0 || len(bytes.Trim(rest, "\x00")) == 0 {
			return entries, len(rest), nil
		}
		var e Entry
		dec := json.NewDecoder(bytes.NewReader(rest[:end]))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&e); err != nil {
			return nil, 0, fmt.Errorf("line %d is corrupt: %w", line, err)
		}
		if dec.More() {
			return nil, 0, fmt.Errorf("line %d is corrupt: more than one entry", line)
		}
		if e.Seq != line {
			return nil, 0, fmt.Errorf("line %d is corrupt: it has number %d", line, e.Seq)
		}
		if e.Event == "" {
			return nil, 0, fmt.Errorf("line %d is corrupt: no event", line)
		}
		entries = append(entries, e)
		rest = rest[end+1:]
	}
	return entries, 0, nil
}

// Append numbers an entry, writes it and returns when it is on the disk.
func (r *Run) Append(e Entry) error {
	path := filepath.Join(r.Dir, journalName)
	if r.file == nil {
		root, err := r.store.open()
		if err != nil {
			return err
		}
		f, err := r.open(root, journalName, os.O_WRONLY)
		if err != nil {
			root.Close()
			return fmt.Errorf("cannot write journal %s: %w", path, err)
		}
		if r.Torn > 0 {
			if err := f.Truncate(r.size); err != nil {
				f.Close()
				root.Close()
				return fmt.Errorf("cannot cut the torn line off journal %s: %w", path, err)
			}
		}
		r.file, r.root = f, root
	}
	e.Seq = len(r.Entries) + 1
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.UTC()
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("cannot write journal %s: %w", path, err)
	}
	line = append(line, '\n')
	if _, err := r.file.WriteAt(line, r.size); err != nil {
		return fmt.Errorf("cannot write journal %s: %w", path, err)
	}
	if err := r.file.Sync(); err != nil {
		return fmt.Errorf("cannot write journal %s: %w", path, err)
	}
	if err := r.store.syncDir(r.root, r.in); err != nil {
		return err
	}
	r.size += int64(len(line))
	r.Torn = 0
	r.Entries = append(r.Entries, e)
	return nil
}

// Close closes the journal's file.
func (r *Run) Close() error {
	if r.file == nil {
		return nil
	}
	err := errors.Join(r.file.Close(), r.root.Close())
	r.file, r.root = nil, nil
	return err
}
