package holdings

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/internal/web"
)

// webTree is a repository on a web server. It has no list of its files.
type webTree struct {
	client *web.Client
	base   *url.URL
}

// webFile is how long one file may take.
const webFile = 5 * time.Minute

// newWebTree reads below an address, by the rules of web.Client.
func newWebTree(address string, transport http.RoundTripper) (webTree, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return webTree{}, refuse("give it as https://host/path/", "it is no address that can be read")
	}
	return webTree{web.New(webFile, transport), u}, nil
}

func (t webTree) open(ctx context.Context, name string) (io.ReadCloser, error) {
	u := *t.base
	u.Path = strings.TrimSuffix(u.Path, "/") + "/" + path.Clean(name)
	u.RawPath, u.Fragment = "", ""
	body, err := t.client.Open(ctx, u.String())
	var refused *web.RefusedError
	var far *web.UnreachableError
	switch {
	case errors.As(err, &refused):
		return nil, refuse("see that the address of the repository and your access are right", "%s", refused.Text)
	case errors.As(err, &far):
		return nil, &unreachable{far}
	case errors.Is(err, fs.ErrNotExist):
		return nil, &fs.PathError{Op: "fetch", Path: name, Err: fs.ErrNotExist}
	}
	return body, err
}

func (t webTree) list(string) ([]string, error) { return nil, errNoList }
func (t webTree) size(string) (int64, error)    { return 0, errNoList }

// unreachable is a source that may be sound but cannot be had now.
type unreachable struct{ err error }

func (u *unreachable) Error() string { return u.err.Error() }
func (u *unreachable) Unwrap() error { return u.err }

func isAddress(source string) bool {
	scheme, _, ok := strings.Cut(source, "://")
	return ok && !strings.Contains(scheme, "/")
}
