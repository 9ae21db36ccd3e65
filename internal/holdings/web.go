package holdings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

// webTree is a repository on a web server. It has no list of its files.
type webTree struct {
	client *http.Client
	base   *url.URL
}

const (
	webHeader    = 30 * time.Second // until a server answers
	webFile      = 5 * time.Minute  // for one file
	maxRedirects = 5
)

// newWebTree reads below an address. A redirect may lead to another host, as mirrors do, but never to
// another scheme than https from https, and never takes along what the address has as user name.
func newWebTree(address string, transport http.RoundTripper) (webTree, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return webTree{}, refuse("give it as https://host/path/", "it is no address that can be read")
	}
	if transport == nil {
		transport = &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: webHeader}).DialContext,
			TLSHandshakeTimeout:    webHeader,
			ResponseHeaderTimeout:  webHeader,
			MaxResponseHeaderBytes: 64 << 10,
			DisableCompression:     true, // checksums are of the files as they stand there
			IdleConnTimeout:        webHeader,
		}
	}
	client := &http.Client{Timeout: webFile, Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		first := via[0].URL.Scheme
		if next.URL.Scheme != "https" && next.URL.Scheme != first || next.URL.Scheme != "http" && next.URL.Scheme != "https" {
			return refuse(hintHostile, "the server sends on from %s to %s", first, clip(next.URL.Scheme))
		}
		if len(via) > maxRedirects {
			return refuse("give the address of the repository itself", "the server sends on more than %d times", maxRedirects)
		}
		return nil
	}}
	return webTree{client, u}, nil
}

func (t webTree) open(ctx context.Context, name string) (io.ReadCloser, error) {
	u := *t.base
	u.Path = strings.TrimSuffix(u.Path, "/") + "/" + path.Clean(name)
	u.RawPath, u.Fragment = "", ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, refuse("give it as https://host/path/", "it is no address that can be read")
	}
	answer, err := t.client.Do(req)
	if err != nil {
		var own *refusal
		if errors.As(err, &own) {
			return nil, own
		}
		// The error of net/http has the whole address, a token in its query included.
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, &unreachable{fmt.Errorf("cannot fetch %s: %w", name, err)}
	}
	switch {
	case answer.StatusCode == http.StatusOK:
		return answer.Body, nil
	case answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusGone:
		err = &fs.PathError{Op: "fetch", Path: name, Err: fs.ErrNotExist}
	case answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden:
		err = refuse("see that the address and your access are right", "the server refuses %s: %s", name, answer.Status)
	default:
		err = &unreachable{fmt.Errorf("cannot fetch %s: the server says %s", name, answer.Status)}
	}
	return nil, errors.Join(err, answer.Body.Close())
}

func (t webTree) list(string) ([]string, error) { return nil, errNoList }
func (t webTree) size(string) (int64, error)    { return 0, errNoList }

// unreachable is a source that may be sound but cannot be had now.
type unreachable struct{ err error }

func (u *unreachable) Error() string { return u.err.Error() }
func (u *unreachable) Unwrap() error { return u.err }

// publicAddress is an address without what may be secret: user, password, query.
func publicAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		scheme, _, _ := strings.Cut(address, "://")
		return scheme + "://..."
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment = nil, "", "", ""
	return u.String()
}

func isAddress(source string) bool {
	scheme, _, ok := strings.Cut(source, "://")
	return ok && !strings.Contains(scheme, "/")
}
