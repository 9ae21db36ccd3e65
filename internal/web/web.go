// Package web fetches files over http and https for a program that runs as root: bounded in time and size,
// with the proxies of the environment, and without ever showing what an address keeps secret.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	answerLimit  = 30 * time.Second // until a server answers
	maxRedirects = 5
)

// Client fetches. The zero value is not usable; see New.
type Client struct{ http *http.Client }

// RefusedError says that a server sends on to where it must not, or refuses.
type RefusedError struct{ Text string }

func (e *RefusedError) Error() string { return e.Text }

// UnreachableError is of a source that may be sound but cannot be had now.
type UnreachableError struct{ Err error }

func (e *UnreachableError) Error() string { return e.Err.Error() }
func (e *UnreachableError) Unwrap() error { return e.Err }

// New returns a client that gives a single file fileLimit. transport is for tests; nil is the network.
//
// A redirect may lead to another host, as mirrors do, but never to another scheme than https from https,
// and never takes along what the address has as user name.
func New(fileLimit time.Duration, transport http.RoundTripper) *Client {
	if transport == nil {
		transport = &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: answerLimit}).DialContext,
			TLSHandshakeTimeout:    answerLimit,
			ResponseHeaderTimeout:  answerLimit,
			MaxResponseHeaderBytes: 64 << 10,
			DisableCompression:     true, // checksums are of the files as they stand there
			IdleConnTimeout:        answerLimit,
		}
	}
	return &Client{&http.Client{Timeout: fileLimit, Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		first := via[0].URL.Scheme
		if next.URL.Scheme != "https" && next.URL.Scheme != first || next.URL.Scheme != "http" && next.URL.Scheme != "https" {
			return &RefusedError{fmt.Sprintf("the server sends on from %s to %.20s", first, next.URL.Scheme)}
		}
		if len(via) > maxRedirects {
			return &RefusedError{fmt.Sprintf("the server sends on more than %d times", maxRedirects)}
		}
		return nil
	}}}
}

// Open fetches address. A file that the server does not have is fs.ErrNotExist.
func (c *Client) Open(ctx context.Context, address string) (io.ReadCloser, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &RefusedError{"it is no http or https address"}
	}
	shown := Public(address)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, &RefusedError{"it is no http or https address"}
	}
	answer, err := c.http.Do(req)
	if err != nil {
		var own *RefusedError
		if errors.As(err, &own) {
			return nil, own
		}
		// The error of net/http has the whole address, a token in its query included.
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, &UnreachableError{fmt.Errorf("cannot fetch %s: %w", shown, err)}
	}
	switch answer.StatusCode {
	case http.StatusOK:
		return answer.Body, nil
	case http.StatusNotFound, http.StatusGone:
		err = &fs.PathError{Op: "fetch", Path: shown, Err: fs.ErrNotExist}
	case http.StatusUnauthorized, http.StatusForbidden:
		err = &RefusedError{fmt.Sprintf("the server refuses %s: %s", shown, answer.Status)}
	default:
		err = &UnreachableError{fmt.Errorf("cannot fetch %s: the server says %s", shown, answer.Status)}
	}
	return nil, errors.Join(err, answer.Body.Close())
}

// ReadAll fetches a whole file of at most limit bytes.
func (c *Client) ReadAll(ctx context.Context, address string, limit int64) ([]byte, error) {
	body, err := c.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, &UnreachableError{fmt.Errorf("cannot fetch %s: %w", Public(address), err)}
	}
	if int64(len(data)) > limit {
		return nil, &RefusedError{fmt.Sprintf("%s is larger than %d bytes", Public(address), limit)}
	}
	return data, nil
}

// Public is an address without what may be secret: user, password, query.
func Public(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment = nil, "", "", ""
	return u.String()
}
