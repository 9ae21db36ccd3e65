package vm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Source is the upstream source of a release of rdma-core, as a distribution carries it.
type Source struct {
	// Version is upstream's, such as "56.1".
	Version string
	// File is the archive on this machine, SHA256 its checksum in the signed index of the distribution.
	File, SHA256 string
}

// fetchSource runs outside of a root, which is $1, with apt configured for it. Not all mirrors have the .dsc itself;
// the checksum that apt verifies is the index's.
const fetchSource = `set -e
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
sed -n 's/^deb /deb-src /p' "$1/etc/apt/sources.list" >"$1/etc/apt/sources.list.d/source.list"
apt-get -q update
mkdir "$SOURCE"
cd "$SOURCE"
apt-cache showsrc --only-source rdma-core >index
apt-get -q source --download-only -o APT::Sandbox::User=root --tar-only rdma-core`

// source returns the newest source of rdma-core that the suite carries. The root that apt runs in is not kept.
func (c *cache) source(s Suite) (Source, error) {
	hash, err := key(2, s.Name, fetchSource)
	if err != nil {
		return Source{}, err
	}
	dir, err := c.get("upstream-"+s.Name, hash, func(dir string) error {
		root := filepath.Join(dir, "root")
		cmd := exec.Command("mmdebstrap", "--variant=extract", "--quiet", "--include=base-files", "--extract-hook="+fetchSource, s.Name, root)
		cmd.Env = append(os.Environ(), "SOURCE="+filepath.Join(dir, "source"))
		return errors.Join(run(cmd), os.RemoveAll(root))
	})
	if err != nil {
		return Source{}, err
	}
	index, err := os.ReadFile(filepath.Join(dir, "source", "index"))
	if err != nil {
		return Source{}, err
	}
	out, err := archive(string(index))
	out.File = filepath.Join(dir, "source", out.File)
	return out, err
}

// archive reads the upstream archive's name and checksum from the first entry of a source index, which is of the
// newest version.
func archive(index string) (Source, error) {
	entry, _, _ := strings.Cut(strings.TrimLeft(index, "\n"), "\n\n")
	var out Source
	var field string
	for line := range strings.Lines(entry) {
		if line[0] != ' ' {
			field, _, _ = strings.Cut(line, ":")
			continue
		}
		f := strings.Fields(line)
		if field != "Checksums-Sha256" || len(f) != 3 || !strings.Contains(f[2], ".orig.tar.") || strings.HasSuffix(f[2], ".asc") {
			continue
		}
		version, _, _ := strings.Cut(strings.TrimPrefix(f[2], "rdma-core_"), ".orig.tar.")
		out = Source{Version: version, File: f[2], SHA256: f[0]}
	}
	if out.File == "" {
		return out, fmt.Errorf("the source index names no archive:\n%.500s", entry)
	}
	return out, nil
}
