package main

import (
	"fmt"
	"net/http"
	"os"
	"time"
)

// serveRepositories offers /srv on the loopback interface, so that a package manager can meet a
// repository as most hosts have it: over HTTP, downloading before it installs.
func serveRepositories() {
	s := &http.Server{
		Addr:              "127.0.0.1:8099",
		Handler:           http.FileServer(http.Dir("/srv")),
		ReadHeaderTimeout: time.Minute,
	}
	for {
		// The loopback interface may not be up yet.
		fmt.Fprintln(os.Stderr, "agent: repositories:", s.ListenAndServe())
		time.Sleep(time.Second)
	}
}
