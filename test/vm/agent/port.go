package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/test/vm/internal/wire"
)

// port is the guest's end of the virtio-serial port. Reads return nothing while the host's end is
// closed (also for a while after a snapshot was loaded), so reading waits and tries again.
type port struct {
	fd int
	mu sync.Mutex // one frame at a time
}

func openPort() (*port, error) {
	for {
		names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil || strings.TrimSpace(string(text)) != wire.PortName {
				continue
			}
			dev := "/dev/" + filepath.Base(filepath.Dir(name))
			fd, err := unix.Open(dev, unix.O_RDWR|unix.O_CLOEXEC, 0)
			if err != nil {
				return nil, fmt.Errorf("cannot open %s: %w", dev, err)
			}
			return &port{fd: fd}, nil
		}
		// udev has not loaded virtio_console yet.
		time.Sleep(50 * time.Millisecond)
	}
}

func (p *port) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(p.fd, b)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n > 0:
			return n, nil
		default:
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func (p *port) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := unix.Write(p.fd, b[done:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return done, err
		}
		if n == 0 {
			return done, io.ErrShortWrite
		}
		done += n
	}
	return done, nil
}

func (p *port) send(r wire.Response, body []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return wire.Write(p, r, body)
}

func serve() error {
	p, err := openPort()
	if err != nil {
		return err
	}
	a, err := newAgent()
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(p, 1<<16)
	for {
		var req wire.Request
		body, err := wire.Read(in, in, &req)
		if err != nil {
			return fmt.Errorf("cannot read a request: %w", err)
		}
		go func() {
			resp, out, err := a.do(req, body)
			if err != nil {
				resp.Error = err.Error()
			}
			resp.ID = req.ID
			if err := p.send(resp, out); err != nil {
				fmt.Fprintln(os.Stderr, "agent: cannot answer:", err)
			}
		}()
	}
}
