package rpm

import (
	"fmt"
	"path"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// keyDirectory is where distributions keep the keys of rpm packages.
const keyDirectory = "/etc/pki/rpm-gpg"

// RepoFiles are a repository's key and its .repo file, in the directories given; extra are lines that
// one manager alone understands.
func RepoFiles(r pkgmgr.Repository, repoDir, keyDir string, extra ...string) ([]pkgmgr.File, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if keyDir == "" {
		keyDir = keyDirectory
	}
	key := path.Join(keyDir, "RPM-GPG-KEY-"+r.ID)
	name := r.Name
	if name == "" {
		name = r.ID
	}
	index := 0
	if r.SignedIndex {
		index = 1
	}
	lines := []string{
		"[" + r.ID + "]", "name=" + name, "baseurl=" + fileURL(r.URL), "enabled=1",
		"gpgcheck=1", fmt.Sprintf("repo_gpgcheck=%d", index), "gpgkey=file://" + key,
	}
	return []pkgmgr.File{
		{Path: key, Data: r.Key, Mode: 0o644},
		{Path: path.Join(repoDir, r.ID+".repo"), Data: []byte(strings.Join(append(lines, extra...), "\n") + "\n"), Mode: r.Mode()},
	}, nil
}

// fileURL writes file:/path as file:///path, the only form that dnf takes.
func fileURL(address string) string {
	if rest, ok := strings.CutPrefix(address, "file:/"); ok && !strings.HasPrefix(rest, "/") {
		return "file:///" + rest
	}
	return address
}

// RepoIDs are the repositories that a .repo file configures, by the heads of its sections.
func RepoIDs(text string) []string {
	ids := []string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if id, ok := strings.CutPrefix(line, "["); ok && strings.HasSuffix(id, "]") {
			id = strings.TrimSuffix(id, "]")
			if id != "" && id != "main" && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-") == "" && id[0] != '-' {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
