package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/internal/archive"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/web"
)

// patience is how long one file may take to come.
const patience = 15 * time.Minute

func isAddress(location string) bool {
	scheme, _, ok := strings.Cut(location, "://")
	return ok && !strings.Contains(scheme, "/")
}

// public is a location without what may be secret: user, password, query.
func public(location string) string {
	if !isAddress(location) {
		return location
	}
	return web.Public(location)
}

// baseName is the file's name in a location; it becomes one in the work directory.
func baseName(location string) (string, error) {
	name := path.Base(location)
	if isAddress(location) {
		u, err := url.Parse(location)
		if err != nil {
			return "", fmt.Errorf("it is no address that can be read")
		}
		name = path.Base(u.Path)
	}
	if !fileName.MatchString(name) {
		return "", fmt.Errorf("%q is no name of a file of a source", clip(name))
	}
	return name, nil
}

// sibling is the location of another file in the same directory.
func sibling(location, name string) (string, error) {
	if !isAddress(location) {
		return path.Join(path.Dir(location), name), nil
	}
	u, err := url.Parse(location)
	if err != nil {
		return "", err
	}
	u.Path, u.RawPath = path.Join(path.Dir(u.Path), name), ""
	return u.String(), nil
}

// fetcher takes files from where a source is into the work directory.
type fetcher struct {
	into      *os.Root
	transport http.RoundTripper
	most      int64
}

// take copies or downloads one file. most bounds it below the general limit if it is not 0.
func (f *fetcher) take(ctx context.Context, location, name string, most int64) error {
	if most == 0 || most > f.most {
		most = f.most
	}
	r, err := f.open(ctx, location)
	if err != nil {
		return err
	}
	defer r.Close() // it was only read
	if err := f.into.RemoveAll(name); err != nil {
		return err
	}
	out, err := f.into.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	over := stop("source-too-large", hintHostile, "cannot take %s: it has more than %d MiB", public(location), most>>20)
	_, err = io.Copy(out, archive.Bounded(ctx, r, most, over))
	var own *fault.Error
	if err = errors.Join(err, out.Close()); err != nil && !errors.As(err, &own) && ctx.Err() == nil {
		err = unreachable(location, err)
	}
	return err
}

func unreachable(location string, err error) error {
	return fault.New(fault.Stopped, "source-unreachable", "see that the network, the proxy and the address are right, or give a file", "cannot take %s: %w", public(location), err)
}

func (f *fetcher) open(ctx context.Context, location string) (io.ReadCloser, error) {
	if isAddress(location) {
		return f.fetch(ctx, location)
	}
	file, err := os.OpenFile(location, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, stop("no-source", "give the path of a file that can be read", "cannot take the source: %w", err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", location)
	}
	if err != nil {
		return nil, errors.Join(stop("no-source", "give the path of a file that can be read", "cannot take the source: %w", err), file.Close())
	}
	return file, nil
}

func (f *fetcher) fetch(ctx context.Context, location string) (io.ReadCloser, error) {
	body, err := web.New(patience, f.transport).Open(ctx, location)
	var refused *web.RefusedError
	switch {
	case err == nil:
		return body, nil
	case ctx.Err() != nil:
		return nil, err
	case errors.As(err, &refused):
		return nil, stop("source-refused", "give the https address of the file itself", "cannot take %s: %w", public(location), err)
	}
	return nil, unreachable(location, err)
}
