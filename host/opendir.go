package host

import (
	"os"

	"golang.org/x/sys/unix"
)

// DirOpener opens directories of a host for many changes at once. Live and Rooted are such.
type DirOpener interface {
	OpenDir(path string) (*os.Root, error)
}

// OpenDir opens a directory for many changes below it. Nothing in it is synced to disk by itself, as
// each change of a Writer is, and links that lead out of it are not followed. The caller closes it.
func (t *tree) OpenDir(p string) (*os.Root, error) {
	fd, err := t.openRead(p, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, pathError("open", p, err)
	}
	defer closeFD(fd)
	root, err := os.OpenRoot(fdPath(fd))
	if err != nil {
		return nil, pathError("open", p, err)
	}
	return root, nil
}
