package verbs

import (
	"bufio"
	"encoding/json"
	"io"
	"sync"
)

// ProgressFD is the file descriptor on which the worker writes its progress.
const ProgressFD = 3

// Stage is what the worker is doing. The last one announced is where it was when it crashed or hung.
type Stage string

// The stages, in order.
const (
	StageStart       Stage = "start"
	StageLoadLibrary Stage = "load-library"
	StageListDevices Stage = "list-devices"
	StageOpen        Stage = "open-device"
	StageQuery       Stage = "query-port"
	StageRegister    Stage = "register-memory"
	StageCreateQP    Stage = "create-queue-pair"
	StageConnect     Stage = "connect"
	StageIntegrity   Stage = "compare-data"
	StageMeasure     Stage = "measure"
	StageClose       Stage = "close-device"
	StageDone        Stage = "done"
)

// startUp says that no device has been opened yet: no driver was at work, only this program, the
// loader and the kernel's list of devices.
func (s Stage) startUp() bool {
	return s == StageStart || s == StageLoadLibrary || s == StageListDevices
}

// progressRecord is one line of progress: a stage that begins, or a result that is settled. So what
// was found before a crash is not lost with the worker.
type progressRecord struct {
	Stage   Stage       `json:"stage,omitempty"`
	Device  string      `json:"device,omitempty"`
	Port    int         `json:"port,omitempty"`
	Library *Library    `json:"library,omitempty"`
	Check   *Check      `json:"check,omitempty"`
	Tested  *DevicePort `json:"tested,omitempty"`
}

// announcer writes progress records.
type announcer struct{ w io.Writer }

// say writes one record. Progress is for the case that the worker does not come to its end; when the
// reader is gone there is nobody left to tell, so a failed write is no error.
func (a announcer) say(r progressRecord) {
	line, err := json.Marshal(r)
	if err != nil || a.w == nil {
		return
	}
	_, _ = a.w.Write(append(line, '\n'))
}

// progress collects the records of a worker.
type progress struct {
	mu      sync.Mutex
	last    progressRecord
	partial Report
}

// maxProgressRecords bounds what a worker can make its parent hold.
const maxProgressRecords = 4096

// read takes in records until the worker's end is closed. Lines that are no records end it: the
// worker writes nothing else, so they come from memory that something has overwritten.
func (p *progress) read(r io.Reader) {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 4096), 1<<20)
	for n := 0; sc.Scan() && n < maxProgressRecords; n++ {
		var rec progressRecord
		if json.Unmarshal(sc.Bytes(), &rec) != nil {
			break
		}
		p.add(rec)
	}
	// Nothing must block the worker's writes.
	_, _ = io.Copy(io.Discard, r)
}

func (p *progress) add(rec progressRecord) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case rec.Stage != "":
		p.last = rec
	case rec.Library != nil:
		p.partial.Library = rec.Library
	case rec.Check != nil:
		p.partial.Checks = append(p.partial.Checks, *rec.Check)
	case rec.Tested != nil:
		p.partial.Devices = append(p.partial.Devices, *rec.Tested)
	}
}

func (p *progress) state() (progressRecord, Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := newReport()
	out.Library = p.partial.Library
	out.Checks = append(out.Checks, p.partial.Checks...)
	out.Devices = append(out.Devices, p.partial.Devices...)
	return p.last, out
}
