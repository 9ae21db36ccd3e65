package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/internal/archive"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/web"
)

const (
	bundleFetch = 2 * time.Hour // that a bundle of some GB may take to come
	maxBundle   = 16 << 30      // bytes of a bundle
)

// isPacked says by its name that a source is a file that has a repository inside.
func isPacked(place string) bool {
	name := place
	if u, err := url.Parse(place); err == nil && strings.Contains(place, "://") {
		name = u.Path
	}
	return slices.ContainsFunc([]string{".tgz", ".tar.gz", ".iso", ".deb", ".rpm"}, func(ending string) bool { return strings.HasSuffix(name, ending) })
}

// fetchBundle takes a bundle from an address into a directory of its own, which the caller removes.
func fetchBundle(ctx context.Context, address string) (file string, err error) {
	shown := web.Public(address)
	fail := func(err error) error {
		if ctx.Err() != nil {
			return fault.New(fault.Interrupted, "interrupted", "", "cannot fetch %s: interrupted", shown)
		}
		var refused *web.RefusedError
		if errors.As(err, &refused) || errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.Usage, "cannot-import", "give the address of the file itself, or fetch it and give the file", "cannot fetch %s: %w", shown, err)
		}
		return fault.New(fault.Failed, "cannot-import", "see that the server can be reached from here (proxy, certificate), or give a file", "cannot fetch %s: %w", shown, err)
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", fail(&web.RefusedError{Text: "it is no http or https address"})
	}
	name := path.Base(u.Path)
	if !filepath.IsLocal(name) || strings.ContainsAny(name, "\x00\n") {
		return "", fail(&web.RefusedError{Text: "it is no name of a file"})
	}
	body, err := web.New(bundleFetch, nil).Open(ctx, address)
	if err != nil {
		return "", fail(err)
	}
	defer body.Close()                                      // it was only read
	dir, err := os.MkdirTemp("/var/tmp", "rdmactl-source-") // /tmp is often memory
	if err != nil {
		return "", fmt.Errorf("cannot keep what is fetched: %w", err)
	}
	file = filepath.Join(dir, name)
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		over := &web.RefusedError{Text: fmt.Sprintf("it has more than %d MiB", int64(maxBundle)>>20)}
		_, err = io.Copy(out, archive.Bounded(ctx, body, maxBundle, over))
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return "", errors.Join(fail(err), os.RemoveAll(dir))
	}
	return file, nil
}

// readSignature is a detached signature, of a file or an address.
func readSignature(ctx context.Context, place string) ([]byte, error) {
	const hint = "name the file with the detached signature"
	if strings.Contains(place, "://") {
		data, err := web.New(time.Minute, nil).ReadAll(ctx, place, maxSmall)
		if err != nil {
			return nil, fault.New(fault.Failed, "cannot-import", hint, "cannot fetch the signature %s: %w", web.Public(place), err)
		}
		return data, nil
	}
	data, err := readRegular(place, maxSmall)
	if err != nil {
		return nil, fault.New(fault.Usage, "cannot-import", hint, "cannot read the signature %s: %w", place, err)
	}
	return data, nil
}
