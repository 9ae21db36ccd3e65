package main

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/rdmactl/rdmactl/install"
)

// meter shows on a terminal how many bytes of something are there; elsewhere it is quiet.
type meter struct {
	w     io.Writer // nil: quiet
	label string
	total int64
	now   atomic.Int64
	shown time.Time
}

func newMeter(g *globalOptions) *meter {
	m := &meter{}
	if f, ok := g.err.(*os.File); ok && isTerminal(f) && g.format() == "table" {
		m.w = g.err
	}
	return m
}

// Begin names what is done.
func (m *meter) Begin(host, what string, packages int, bytes int64) {
	m.label, m.total, m.shown = fmt.Sprintf("%s: %s %d files", host, what, packages), bytes, time.Time{}
	m.now.Store(0)
	m.show()
}

// At says how many bytes are there.
func (m *meter) At(bytes int64) {
	m.now.Store(bytes)
	m.show()
}

func (m *meter) add(bytes int64) {
	m.now.Add(bytes)
	m.show()
}

// End finishes the line.
func (m *meter) End() {
	if m.w != nil && m.label != "" {
		m.shown = time.Time{}
		m.show()
		fmt.Fprintln(m.w)
	}
	m.label = ""
}

func (m *meter) show() {
	if m.w == nil || m.label == "" || time.Since(m.shown) < 200*time.Millisecond {
		return
	}
	m.shown = time.Now()
	of := ""
	if m.total >= 0 {
		of = " of " + install.BytesText(m.total)
	}
	fmt.Fprintf(m.w, "\r\x1b[K%s, %s%s", m.label, install.BytesText(m.now.Load()), of)
}
