package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/rdmactl/rdmactl/host"
)

// verboseReader says on w which commands a host is asked, with exit code and time.
type verboseReader struct {
	host.Reader
	mu *sync.Mutex // queries run side by side
	w  io.Writer
}

func (v verboseReader) Query(ctx context.Context, argv ...string) (host.Result, error) {
	r, err := v.Reader.Query(ctx, argv...)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		fmt.Fprintf(v.w, "asked: %s: %v\n", strings.Join(argv, " "), err)
	} else {
		fmt.Fprintf(v.w, "asked: %s: exit %d, %d ms\n", strings.Join(argv, " "), r.Exit, r.Duration.Milliseconds())
	}
	return r, err
}

// verbosely wraps a reader if -v was given.
func (g *globalOptions) verbosely(r host.Reader) host.Reader {
	if !g.verbose {
		return r
	}
	return verboseReader{r, new(sync.Mutex), g.err}
}
