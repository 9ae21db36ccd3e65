package supply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/install/bundle"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/web"
	"github.com/rdmactl/rdmactl/plan"
)

// sourceLimit bounds a source archive in bytes; that of rdma-core has two million.
const sourceLimit = 256 << 20

// source takes the source of a stack that is compiled, and returns its name in the repository, empty for none.
func (c *Collection) source(ctx context.Context, k *kind, h Host) (string, error) {
	i := slices.IndexFunc(h.Plan.Steps, func(s plan.Step) bool { return s.Kind == plan.KindBuild && s.Changes.Build != nil })
	if i < 0 {
		return "", nil
	}
	b := h.Plan.Steps[i].Changes.Build
	if b.Packages != "" {
		return "", fault.New(fault.Stopped, "method-not-offered", "leave the method away: the build into a directory of its own can be carried",
			"cannot make a bundle for %s: packages of %s are built on hosts with repositories only", h.Name, b.Version)
	}
	const hint = "give one archive with --source and its checksum with --sha256"
	if b.Source == "" || b.SHA256 == "" || strings.HasSuffix(b.Source, ".dsc") {
		return "", fault.New(fault.Stopped, "source-not-verified", hint, "cannot make a bundle for %s: the source of %s must be one archive that a checksum proves", h.Name, b.Version)
	}
	file, name := b.Source, path.Base(b.Source)
	if strings.Contains(b.Source, "://") {
		u, err := url.Parse(b.Source)
		if err != nil {
			return "", fault.New(fault.Usage, "usage", hint, "cannot take the source: its address cannot be read")
		}
		name = path.Base(u.Path)
		if file, err = c.fetched(ctx, b.Source, b.SHA256); err != nil {
			return "", err
		}
	}
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+~-]{0,200}$`).MatchString(name) {
		return "", fault.New(fault.Usage, "usage", "rename it", "cannot take the source %q: its name has more than plain letters", name)
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return "", fault.New(fault.Stopped, "no-source", hint, "cannot take the source %s: it is no file that can be read", web.Public(b.Source))
	}
	blob, err := bundle.FileBlob(file)
	if err != nil {
		return "", err
	}
	if blob.SHA256 != strings.ToLower(b.SHA256) {
		return "", fault.New(fault.Stopped, "wrong-checksum", "compare it with what the project publishes", "cannot use %s: its SHA-256 is %s, not %s", web.Public(b.Source), blob.SHA256, b.SHA256)
	}
	at := "source/" + name
	if !slices.ContainsFunc(k.builds, func(o build) bool { return o.name == at }) {
		k.builds = append(k.builds, build{at, blob})
		k.from(web.Public(b.Source))
	}
	return at, nil
}

// fetched is a file of the cache with what an address has, by its checksum.
func (c *Collection) fetched(ctx context.Context, address, sum string) (string, error) {
	dir, err := c.dir("sources")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, strings.ToLower(sum))
	if have, err := bundle.FileBlob(file); err == nil && have.SHA256 == strings.ToLower(sum) {
		return file, nil
	}
	body, err := web.New(30*time.Minute, nil).Open(ctx, address)
	if err != nil {
		return "", fault.New(fault.Stopped, "no-source", "see that the address is right", "cannot fetch the source: %w", err)
	}
	defer body.Close()
	out, err := os.CreateTemp(dir, "part-")
	if err != nil {
		return "", fmt.Errorf("cannot write into the cache: %w", err)
	}
	n, err := io.Copy(out, io.LimitReader(body, sourceLimit+1))
	if n > sourceLimit {
		err = errors.Join(err, fmt.Errorf("it is larger than %d MiB", sourceLimit>>20))
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(out.Name(), file)
	}
	if err != nil {
		return "", errors.Join(fault.New(fault.Stopped, "no-source", "", "cannot fetch the source %s: %w", web.Public(address), err), os.Remove(out.Name()))
	}
	return file, nil
}
