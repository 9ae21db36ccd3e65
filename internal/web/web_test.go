package web_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/internal/web"
)

func TestReadAll(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/file", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("twelve bytes")) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/file", http.StatusFound) })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/local", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/shadow", http.StatusFound)
	})
	mux.HandleFunc("/closed", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("short"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	var refused *web.RefusedError
	var unreachable *web.UnreachableError
	for path, is := range map[string]func(error) bool{
		"/file":   func(err error) bool { return err == nil },
		"/away":   func(err error) bool { return err == nil },
		"/none":   func(err error) bool { return errors.Is(err, fs.ErrNotExist) },
		"/loop":   func(err error) bool { return errors.As(err, &refused) },
		"/local":  func(err error) bool { return errors.As(err, &refused) },
		"/closed": func(err error) bool { return errors.As(err, &refused) },
		"/broken": func(err error) bool { return errors.As(err, &unreachable) },
		"/slow":   func(err error) bool { return errors.As(err, &unreachable) },
		"/cut":    func(err error) bool { return errors.As(err, &unreachable) },
	} {
		limit := 10 * time.Second
		if path == "/slow" {
			limit = 50 * time.Millisecond
		}
		address := strings.Replace(server.URL, "//", "//user:secret@", 1) + path + "?token=secret"
		data, err := web.New(limit, nil).ReadAll(context.Background(), address, 12)
		if !is(err) || (err == nil && string(data) != "twelve bytes") {
			t.Errorf("%s: %q, %v", path, data, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows a secret: %v", path, err)
		}
	}
	if _, err := web.New(time.Second, nil).ReadAll(context.Background(), server.URL+"/file", 11); !errors.As(err, &refused) {
		t.Errorf("a file over the limit: %v", err)
	}
	for _, address := range []string{"", "file:///etc/shadow", "ftp://host/x", "/etc/shadow", "http://", "https://%zz/"} {
		if _, err := web.New(time.Second, nil).ReadAll(context.Background(), address, 1); !errors.As(err, &refused) {
			t.Errorf("%q: %v", address, err)
		}
	}
}
