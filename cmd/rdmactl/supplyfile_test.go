package main

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/holdings"
)

func TestIsPacked(t *testing.T) {
	for place, want := range map[string]bool{
		"/srv/MLNX_OFED_LINUX-24.10-1.1.4.0-rhel9.4-x86_64.tgz": true, "bundle.iso": true, "doca-host_2.9.2_amd64.deb": true, "doca-host.rpm": true, "b.tar.gz": true,
		"https://example.com/a/b.tgz": true, "https://example.com/a/b.iso?token=1": true,
		"/srv/mirror": false, "https://example.com/b.tgz/": false, "https://example.com/?file=b.tgz": false, "": false, "tgz": false,
	} {
		if got := isPacked(place); got != want {
			t.Errorf("%q: %v", place, got)
		}
	}
}

// TestFetchedSource is of a bundle that is named by its address: it is fetched for the plan, and goes with it.
func TestFetchedSource(t *testing.T) {
	const text = "a bundle"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/cut.tgz":
			w.Header().Set("Content-Length", "100")
		case "/forbidden.tgz":
			w.WriteHeader(http.StatusForbidden)
		case "/broken.tgz":
			w.WriteHeader(http.StatusInternalServerError)
		case "/away.tgz":
			http.Redirect(w, r, "file:///etc/shadow", http.StatusFound)
			return
		case "/b.tgz", "/b.asc":
		default:
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	defer server.Close()
	secret := strings.Replace(server.URL, "//", "//user:secret@", 1)
	o := &wishOptions{supplyOptions: supplyOptions{sha256: strings.Repeat("a", 64), signature: server.URL + "/b.asc"}}
	var with holdings.Options
	file, err := o.packed(context.Background(), secret+"/b.tgz?token=secret", &with)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil || string(data) != text || filepath.Base(file) != "b.tgz" || o.fetched != file || with.SHA256 != o.sha256 || string(with.Signature) != text || with.OrElse == "" {
		t.Errorf("%q, %v, %+v, %+v", data, err, o, with)
	}
	info, err := os.Stat(filepath.Dir(file))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := o.drop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Dir(file)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was fetched is there still: %v", err)
	}
	for name, kind := range map[string]fault.Kind{
		"none.tgz": fault.Usage, "forbidden.tgz": fault.Usage, "away.tgz": fault.Usage, "broken.tgz": fault.Failed, "cut.tgz": fault.Failed,
	} {
		file, err := fetchBundle(context.Background(), secret+"/"+name+"?token=secret")
		if fault.KindOf(err) != kind || file != "" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %q, %v", name, file, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := fetchBundle(ctx, server.URL+"/b.tgz"); fault.KindOf(err) != fault.Interrupted {
		t.Errorf("interrupted: %v", err)
	}
	if left, err := filepath.Glob("/var/tmp/rdmactl-source-*/cut.tgz"); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	// A repository is no file that could be proven.
	for _, place := range []string{"/srv/mirror", server.URL + "/repository/"} {
		if _, err := (&wishOptions{supplyOptions: supplyOptions{sha256: strings.Repeat("a", 64)}}).packed(context.Background(), place, &with); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", place, err)
		}
	}
}
