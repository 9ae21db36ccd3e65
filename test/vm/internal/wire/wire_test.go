package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRoundTrip(t *testing.T) {
	var buf bytes.Buffer
	in := Request{ID: 7, Op: "put", Path: "/x", Mode: 0o600}
	if err := Write(&buf, in, []byte("body\x01RDMACT\nwith a mark")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(&buf)
	var out Request
	body, err := Read(r, r, &out)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(in, out); d != "" {
		t.Error(d)
	}
	if string(body) != "body\x01RDMACT\nwith a mark" {
		t.Errorf("body %q", body)
	}
}

// A peer that died left half a frame, or noise; the next whole frame is found all the same.
func TestReadResynchronises(t *testing.T) {
	for name, rubbish := range map[string][]byte{
		"noise":           []byte("kernel says hello\n\x01RDMA"),
		"absurd lengths":  append([]byte(mark), 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0),
		"header not JSON": append([]byte(mark), 0, 0, 0, 2, 0, 0, 0, 0, 'n', 'o'),
	} {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			buf.Write(rubbish)
			if err := Write(&buf, Response{ID: 3, BootID: "b"}, nil); err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReader(&buf)
			var out Response
			if _, err := Read(r, r, &out); err != nil {
				t.Fatal(err)
			}
			if out.ID != 3 || out.BootID != "b" {
				t.Errorf("got %+v", out)
			}
		})
	}
}

func TestReadReportsCutFrame(t *testing.T) {
	var buf bytes.Buffer
	if err := Write(&buf, Response{ID: 1}, []byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(bytes.NewReader(buf.Bytes()[:buf.Len()-1]))
	var out Response
	if _, err := Read(r, r, &out); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v, want unexpected EOF", err)
	}
}

func TestWriteRefusesLargeBody(t *testing.T) {
	if err := Write(io.Discard, Response{}, make([]byte, MaxBody+1)); err == nil {
		t.Error("a body over MaxBody was sent")
	}
}
