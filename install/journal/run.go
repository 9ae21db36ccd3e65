package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
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

	size int64 // of the part that is whole
	file *os.File
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
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return fmt.Errorf("cannot write journal %s: %w", path, err)
		}
		if r.Torn > 0 {
			if err := f.Truncate(r.size); err != nil {
				f.Close()
				return fmt.Errorf("cannot cut the torn line off journal %s: %w", path, err)
			}
		}
		r.file = f
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
	if err := syncDir(r.Dir); err != nil {
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
	err := r.file.Close()
	r.file = nil
	return err
}
