package build_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/build"
)

const killEnv = "RDMACTL_BUILD_TEST_KILL"

// killer is a host on which the process is killed at the n-th thing that it does: before or after a change or
// a command, and before a directory is opened for many changes.
type killer struct {
	*host.Live
	left int
}

func (k *killer) tick() {
	if k.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	k.left--
}

func (k *killer) Run(ctx context.Context, c host.Command) (host.Result, error) {
	k.tick()
	defer k.tick()
	return k.Live.Run(ctx, c)
}

func (k *killer) OpenDir(p string) (*os.Root, error) {
	k.tick()
	return k.Live.OpenDir(p)
}

func (k *killer) MkdirAll(p string, mode fs.FileMode) error {
	k.tick()
	defer k.tick()
	return k.Live.MkdirAll(p, mode)
}

func (k *killer) Rename(from, to string) error {
	k.tick()
	defer k.tick()
	return k.Live.Rename(from, to)
}

func (k *killer) Remove(p string) error {
	k.tick()
	defer k.tick()
	return k.Live.Remove(p)
}

func (k *killer) Lstat(p string) (host.FileInfo, error) {
	k.tick()
	return k.Live.Lstat(p)
}

// helper is what the killed process does; without a point to be killed at, this one.
func helper(dir, sum, do, kill string) error {
	k := &killer{Live: host.NewLive(host.WithPath(filepath.Join(dir, "bin") + ":/usr/sbin:/usr/bin:/sbin:/bin")), left: -1}
	if n, err := strconv.Atoi(kill); err == nil {
		k.left = n
	} else if after, err := time.ParseDuration(kill); err == nil {
		time.AfterFunc(after, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	}
	prefix := filepath.Join(dir, "opt/rdma-core/56.1")
	req := build.Request{
		Version: "56.1", Prefix: prefix, Cache: filepath.Join(dir, "cache/build"), Jobs: 1,
		Providers: []string{"mlx5", "rxe"},
		Source:    build.Source{Location: filepath.Join(dir, "src/rdma-core-56.1.tar.gz"), SHA256: sum},
	}
	switch do {
	case "place":
		built, err := build.Make(context.Background(), k, req)
		if err != nil || built.InPlace {
			return err
		}
		return build.Place(context.Background(), k, built)
	case "remove":
		removed, err := build.Remove(k, prefix, []string{filepath.Dir(prefix)})
		if err == nil && len(removed.Kept) > 0 {
			err = fmt.Errorf("kept %v", removed.Kept)
		}
		return err
	}
	return fmt.Errorf("unknown: %s", do)
}
