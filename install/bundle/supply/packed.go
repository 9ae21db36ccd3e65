package supply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/openpgpkey"
	"github.com/rdmactl/rdmactl/internal/web"
	"github.com/rdmactl/rdmactl/plan"
)

// unpacked is a plan whose packed sources are folders on this machine, so that its package manager can read them. The
// host that the bundle is for takes nothing from them: what it needs of their packages is in the bundle.
func (c *Collection) unpacked(ctx context.Context, p plan.Plan) (plan.Plan, error) {
	p.Steps = slices.Clone(p.Steps)
	for i, s := range p.Steps {
		if s.Kind != plan.KindRepository || s.Changes.Repository == nil || s.Changes.Repository.Bundle == nil {
			continue
		}
		folder, key, err := c.unpackOnce(ctx, s)
		if err != nil {
			return p, err
		}
		r := *s.Changes.Repository
		origin := web.Public(r.Origin())
		r.URL, r.Bundle = folder, nil
		if key != "" {
			list, err := openpgpkey.Read([]byte(key))
			if err != nil || len(list) != 1 {
				return p, fmt.Errorf("cannot use the index that was made for %s: %w", origin, errors.Join(err, fmt.Errorf("it has %d keys", len(list))))
			}
			r.Fingerprint = openpgpkey.Fingerprint(list[0])
			c.VendorKeys = append(c.VendorKeys, key)
		}
		if c.origins == nil {
			c.origins = map[string]string{}
		}
		c.origins["file:"+folder] = origin
		p.Steps[i].Changes.Repository = &r
	}
	return p, nil
}

// unpackOnce unpacks a source into the cache, or finds it there from an earlier host or call.
func (c *Collection) unpackOnce(ctx context.Context, s plan.Step) (folder, key string, err error) {
	base, err := c.dir("packed")
	if err != nil {
		return "", "", err
	}
	b := s.Changes.Repository.Bundle
	name := filepath.Base(b.Dir())
	whole := filepath.Join(base, name)
	if at, err := os.ReadFile(filepath.Join(whole, "at")); err == nil {
		key, err := os.ReadFile(filepath.Join(whole, "key.asc"))
		return filepath.Join(whole, "repository", string(at)), string(key), err
	}
	part := whole + ".part"
	if err := errors.Join(os.RemoveAll(part), os.RemoveAll(whole), os.MkdirAll(filepath.Join(part, "repository"), 0o700)); err != nil {
		return "", "", fault.New(fault.Failed, "cannot-write", "name a directory of your own with --cache", "cannot use the cache %s: %w", c.Cache, err)
	}
	into, err := os.OpenRoot(filepath.Join(part, "repository"))
	if err != nil {
		return "", "", fmt.Errorf("cannot use the cache %s: %w", c.Cache, err)
	}
	defer into.Close() // files in it are closed with an error
	file := b.File
	if strings.Contains(file, "://") {
		file = c.Fetched
	}
	at, key, err := install.UnpackRepository(ctx, s, file, into, c.Now)
	if err != nil {
		return "", "", errors.Join(err, os.RemoveAll(part))
	}
	// The name of the folder is written last: a directory with it is whole.
	err = errors.Join(os.WriteFile(filepath.Join(part, "key.asc"), []byte(key), 0o600), os.WriteFile(filepath.Join(part, "at"), []byte(at), 0o600), os.Rename(part, whole))
	if err != nil {
		return "", "", fault.New(fault.Failed, "cannot-write", "make room there", "cannot use the cache %s: %w", c.Cache, err)
	}
	return filepath.Join(whole, "repository", at), key, nil
}

// origin is how a repository is called in a bundle: what was unpacked is known by its file.
func (c *Collection) origin(address string) string {
	if of, ok := c.origins[address]; ok {
		return of
	}
	return address
}
