package vm

import (
	"io"

	kept "github.com/rdmactl/rdmactl/test/internal/cache"
)

// cache is where roots, disks and saved machines are kept.
type cache struct {
	*kept.Cache
	dir string
	log io.Writer
}

// keep is how long a thing stays after its last use.
const keep = kept.Keep

func openCache(log io.Writer) (*cache, error) {
	c, err := kept.Open()
	if err != nil {
		return nil, err
	}
	return &cache{Cache: c, dir: c.Dir, log: log}, nil
}

func key(parts ...any) (string, error) { return kept.Key(parts...) }

func (c *cache) get(kind, hash string, build func(dir string) error) (string, error) {
	return c.Get(kind, hash, build)
}
