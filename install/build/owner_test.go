package build_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/rdmactl/rdmactl/host"
)

func owner(info fs.FileInfo) int {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1
	}
	return int(st.Uid)
}

func rename(b *bench, from, to string) {
	b.t.Helper()
	must(b.t, os.Rename(filepath.Join(b.dir, "bin", from), filepath.Join(b.dir, "bin", to)))
}

// onlyFakes leaves nothing on the PATH but the fakes and what a shell script needs.
func (b *bench) onlyFakes() {
	b.t.Helper()
	for _, name := range []string{"sh", "env", "nice", "cat", "sleep", "mkdir", "cp", "ln", "chmod", "id", "touch", "rm"} {
		at, err := exec.LookPath(name)
		must(b.t, err)
		must(b.t, os.Symlink(at, filepath.Join(b.dir, "bin", name)))
	}
	b.h = host.NewLive(host.WithPath(filepath.Join(b.dir, "bin")))
}
