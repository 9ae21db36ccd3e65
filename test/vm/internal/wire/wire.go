// Package wire is the protocol between the harness and its agent inside a virtual machine.
//
// A frame is an 8 byte mark, two big-endian uint32 lengths (header, body), a JSON header and a raw
// body. The mark lets either side find the next frame after the other one died in the middle of
// one, which is what a reboot or a cut power line does.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// PortName is the name of the virtio-serial port that carries the frames.
const PortName = "rdmactl.ctl"

// MaxBody bounds one frame's body in bytes; larger files travel in pieces.
const MaxBody = 4 << 20

const maxHeader = 1 << 20

const mark = "\x01RDMACT\n"

// Limits are resource limits of a process, in bytes or counts. A nil value keeps what the agent has.
type Limits struct {
	Memlock *Limit `json:"memlock,omitempty"`
	NoFile  *Limit `json:"nofile,omitempty"`
}

// Limit is a soft and a hard limit. Unlimited is ^uint64(0).
type Limit struct {
	Soft uint64 `json:"soft"`
	Hard uint64 `json:"hard"`
}

// Exec describes one process.
type Exec struct {
	Argv []string `json:"argv"`
	// Env is added to the agent's small environment (PATH, HOME, USER, LANG=C.UTF-8).
	Env []string `json:"env,omitempty"`
	Dir string   `json:"dir,omitempty"`
	// User is a name in the machine's /etc/passwd; empty is root.
	User   string `json:"user,omitempty"`
	Limits Limits `json:"limits"`
	// PTY gives the process a terminal of its own, as its session leader.
	PTY bool `json:"pty,omitempty"`
	// TimeoutMS kills the process group; 0 is no limit.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
}

// Request is one call. Op names which fields it reads.
type Request struct {
	ID uint64 `json:"id"`
	// Op is hello, start, wait, signal, hangup, put, get, clock, manifest or sync.
	Op   string `json:"op"`
	Exec *Exec  `json:"exec,omitempty"` // start; the body is standard input

	Proc   uint64 `json:"proc,omitempty"`    // wait, signal, hangup
	WaitMS int64  `json:"wait_ms,omitempty"` // wait
	Signal int    `json:"signal,omitempty"`  // signal: to the process group

	Path   string `json:"path,omitempty"`   // put, get
	Mode   uint32 `json:"mode,omitempty"`   // put: permission bits
	Offset int64  `json:"offset,omitempty"` // put, get
	Limit  int64  `json:"limit,omitempty"`  // get

	UnixNano int64 `json:"unix_nano,omitempty"` // clock

	Roots  []string `json:"roots,omitempty"`  // manifest
	Except []string `json:"except,omitempty"` // manifest
}

// Response answers the request with the same ID.
type Response struct {
	ID    uint64 `json:"id"`
	Error string `json:"error,omitempty"`

	BootID string `json:"boot_id,omitempty"` // hello

	Proc    uint64  `json:"proc,omitempty"`   // start
	Done    bool    `json:"done,omitempty"`   // wait: the process has ended
	Exit    int     `json:"exit,omitempty"`   // wait: exit status, -1 when a signal ended it
	Signal  int     `json:"signal,omitempty"` // wait: the signal that ended it
	Timeout bool    `json:"timeout,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	// PeakKiB is the largest resident size of the process and those it waited for.
	PeakKiB int64 `json:"peak_kib,omitempty"`
	// Stdout and Stderr are how many bytes of the body belong to each, in this order.
	Stdout int `json:"stdout,omitempty"`
	Stderr int `json:"stderr,omitempty"`

	Size int64 `json:"size,omitempty"` // get: the file's whole size
}

// Write sends one frame in a single Write call.
func Write(w io.Writer, header any, body []byte) error {
	h, err := json.Marshal(header)
	if err != nil {
		return fmt.Errorf("cannot encode a frame: %w", err)
	}
	if len(h) > maxHeader || len(body) > MaxBody {
		return fmt.Errorf("cannot send a frame: header of %d or body of %d bytes is too large", len(h), len(body))
	}
	buf := make([]byte, 0, len(mark)+8+len(h)+len(body))
	buf = append(buf, mark...)
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(h)))
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(body)))
	buf = append(buf, h...)
	buf = append(buf, body...)
	_, err = w.Write(buf)
	return err
}

// Read finds the next whole frame, decodes its header and returns its body. Bytes before the mark,
// and frames whose lengths or header make no sense, are skipped.
func Read(r io.ByteReader, full io.Reader, header any) ([]byte, error) {
	for {
		if err := seek(r); err != nil {
			return nil, err
		}
		var lengths [8]byte
		if _, err := io.ReadFull(full, lengths[:]); err != nil {
			return nil, err
		}
		nh, nb := binary.BigEndian.Uint32(lengths[:4]), binary.BigEndian.Uint32(lengths[4:])
		if nh > maxHeader || nb > MaxBody {
			continue
		}
		h := make([]byte, nh)
		if _, err := io.ReadFull(full, h); err != nil {
			return nil, err
		}
		body := make([]byte, nb)
		if _, err := io.ReadFull(full, body); err != nil {
			return nil, err
		}
		if json.Unmarshal(h, header) != nil {
			continue
		}
		return body, nil
	}
}

func seek(r io.ByteReader) error {
	window := make([]byte, 0, len(mark))
	for string(window) != mark {
		b, err := r.ReadByte()
		if err != nil {
			return err
		}
		if len(window) == len(mark) {
			window = append(window[:0], window[1:]...)
		}
		window = append(window, b)
	}
	return nil
}
