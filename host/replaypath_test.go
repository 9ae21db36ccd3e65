package host

import (
	"path"
	"testing"
)

func TestIsClean(t *testing.T) {
	yes, no := 0, 0
	var try func(p string, left int)
	try = func(p string, left int) {
		if got, want := isClean(p), path.Clean(p) == p; got != want {
			t.Fatalf("isClean(%q) = %v, want %v", p, got, want)
		} else if got {
			yes++
		} else {
			no++
		}
		for _, c := range "a./" {
			if left > 0 {
				try(p+string(c), left-1)
			}
		}
	}
	try("/", 8)
	if yes == 0 || no == 0 {
		t.Errorf("%d paths are clean, %d are not", yes, no)
	}
}

// TestTellsAbove: each part of an evidence speaks of what is below it, and none of what is beside it.
func TestTellsAbove(t *testing.T) {
	r := NewReplay(&Evidence{
		Links:    map[string]string{"/link": "/a"},
		Dirs:     map[string][]string{"/listed": {}},
		Commands: map[string]Answer{"ls -l /line/x": {Stdout: "-rw-r--r-- 1 root root 5 Jan 1 10:00 /line/x\n"}, "cat /asked": {Exit: 1}},
	})
	for p, want := range map[string]bool{
		"/link/b": true, "/listed/b/c": true, "/line/x/b": true, "/asked/b": true, "/asked": true,
		"/linked": false, "/b": false, "/line/y": false, "/ask": false,
	} {
		if got := r.tells(p); got != want {
			t.Errorf("tells(%s) = %v", p, got)
		}
	}
	if r := NewReplay(&Evidence{Dirs: map[string][]string{"/": {"etc"}}}); !r.tells("/lib/modules") {
		t.Error("a listing of / says nothing of what is below it")
	}
}
