package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// isFileName tells a file from a name: it has a slash or ends in .yaml.
func isFileName(name string) bool {
	return strings.Contains(name, "/") || strings.HasSuffix(name, ".yaml")
}

// readSmall reads a file that a person wrote, up to 4 MiB.
func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const limit = 4 << 20
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if len(data) > limit {
		return nil, fmt.Errorf("larger than %d MiB", limit>>20)
	}
	return data, nil
}
