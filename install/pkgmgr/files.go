package pkgmgr

import "context"

// FileLister is a Manager that can list the files of installed packages.
type FileLister interface {
	// FilesOf are the files and directories of packages, absolute paths by Package.Key.
	FilesOf(ctx context.Context, packages []Package) (map[string][]string, error)
}
