package journal

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestReserve(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "state")}
	r, err := s.Create(time.Now(), []byte("{}"), []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if there, err := r.Release(); there || err != nil {
		t.Errorf("released %v, %v, though nothing was reserved", there, err)
	}
	const bytes = 1 << 20
	for range 2 { // a resumed run reserves again
		if err := r.Reserve(bytes); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(r.Dir, reserveName)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); info.Size() != 0 && st.Blocks*512 < bytes {
		t.Errorf("%d bytes are taken on the disk, want %d", st.Blocks*512, bytes)
	}
	if there, err := r.Release(); !there || err != nil {
		t.Errorf("released %v, %v", there, err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("%s is there still: %v", file, err)
	}
	if err := os.Symlink("/etc/passwd", file); err != nil {
		t.Fatal(err)
	}
	if err := r.Reserve(bytes); err == nil {
		t.Error("a link was followed")
	}
}
