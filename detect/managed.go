package detect

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// managed finds the files that an earlier run left, by their names.
func (p probe) managed() facts.Field[map[string]string] {
	const units = "/etc/systemd/system"
	found := map[string]string{}
	var failed error
	unknownDir := false
	note := func(err error) {
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, host.ErrUnknown):
			unknownDir = true
		default:
			failed = err
		}
	}
	add := func(dir string, match func(name string) bool) {
		names, err := p.r.ReadDir(dir)
		note(err)
		for _, name := range names {
			if !match(name) {
				continue
			}
			file := path.Join(dir, name)
			data, err := p.r.ReadFile(file)
			if err != nil {
				note(fmt.Errorf("cannot read %s: %w", file, err))
				continue
			}
			sum := sha256.Sum256(data)
			found[file] = hex.EncodeToString(sum[:])
		}
	}
	ours := func(suffix string) func(string) bool {
		return func(name string) bool { return strings.Contains(name, "rdmactl") && strings.HasSuffix(name, suffix) }
	}
	add("/etc/modules-load.d", ours(".conf"))
	add("/etc/modprobe.d", ours(".conf"))
	add("/etc/udev/rules.d", ours(".rules"))
	add("/etc/security/limits.d", ours(".conf"))
	add(units, func(name string) bool { return strings.HasPrefix(name, "rdmactl-") && path.Ext(name) != ".d" })
	names, err := p.r.ReadDir(units)
	note(err)
	for _, name := range names {
		if strings.HasSuffix(name, ".d") {
			add(path.Join(units, name), ours(".conf"))
		}
	}
	const source = "files named rdmactl below /etc"
	switch {
	case failed != nil:
		return facts.Failed[map[string]string](source, failed)
	case len(found) > 0:
		return facts.Is(found, source)
	case unknownDir:
		return facts.Field[map[string]string]{Source: source}
	}
	return facts.None[map[string]string](source)
}
