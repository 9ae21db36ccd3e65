package vm

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rdmactl/rdmactl/test/vm/internal/wire"
)

// errLost says that the machine went away while a call was under way.
var errLost = errors.New("the machine went away")

// client speaks to a machine's agent. It may be used by several goroutines.
type client struct {
	conn net.Conn
	wmu  sync.Mutex

	mu      sync.Mutex
	last    uint64
	pending map[uint64]chan answer
	err     error // why the connection ended
}

type answer struct {
	resp wire.Response
	body []byte
	err  error
}

func newClient(conn net.Conn) *client {
	c := &client{conn: conn, pending: map[uint64]chan answer{}}
	go c.receive()
	return c
}

func (c *client) receive() {
	in := bufio.NewReaderSize(c.conn, 1<<16)
	for {
		var resp wire.Response
		body, err := wire.Read(in, in, &resp)
		if err != nil {
			c.drop(fmt.Errorf("%w: %w", errLost, err), true)
			return
		}
		c.mu.Lock()
		ch := c.pending[resp.ID]
		delete(c.pending, resp.ID)
		c.mu.Unlock()
		if ch != nil {
			ch <- answer{resp, body, nil}
		}
	}
}

// drop fails what waits for an answer; with end, also whatever is asked later.
func (c *client) drop(err error, end bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if end {
		c.err = err
	}
	for id, ch := range c.pending {
		ch <- answer{err: err}
		delete(c.pending, id)
	}
}

// call sends a request and waits for its answer. An error from the agent is an error.
func (c *client) call(req wire.Request, body []byte, timeout time.Duration) (wire.Response, []byte, error) {
	ch := make(chan answer, 1)
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return wire.Response{}, nil, c.err
	}
	c.last++
	req.ID = c.last
	c.pending[req.ID] = ch
	c.mu.Unlock()

	c.wmu.Lock()
	err := c.conn.SetWriteDeadline(time.Now().Add(timeout))
	if err == nil {
		err = wire.Write(c.conn, req, body)
	}
	c.wmu.Unlock()
	if err != nil {
		c.forget(req.ID)
		return wire.Response{}, nil, fmt.Errorf("cannot ask the agent for %s: %w", req.Op, err)
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case a := <-ch:
		if a.err == nil && a.resp.Error != "" {
			a.err = fmt.Errorf("agent: %s: %s", req.Op, a.resp.Error)
		}
		return a.resp, a.body, a.err
	case <-timer.C:
		c.forget(req.ID)
		return wire.Response{}, nil, fmt.Errorf("the agent did not answer %s within %v", req.Op, timeout)
	}
}

func (c *client) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// hello waits until an agent answers whose boot is not the one named, and returns its boot id. A
// greeting sent to a machine that is about to reboot is lost, so it is sent again every second.
func (c *client) hello(notBoot string, timeout time.Duration) (string, error) {
	deadline := time.Now().Add(timeout)
	for {
		resp, _, err := c.call(wire.Request{Op: "hello"}, nil, time.Second)
		if err == nil && resp.BootID != notBoot {
			c.drop(errLost, false)
			return resp.BootID, nil
		}
		if errors.Is(err, errLost) {
			return "", err
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("no agent answered within %v", timeout)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (c *client) close() { _ = c.conn.Close() }
