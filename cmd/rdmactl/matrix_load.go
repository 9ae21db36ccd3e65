package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// maxMatrix bounds one matrix file in bytes: an import of a large repository has some megabytes.
const maxMatrix = 16 << 20

// loadMatrix is the built-in matrix with the files of the administrator and of --matrix.
func (o *wishOptions) loadMatrix() (*matrix.Index, error) {
	base, err := matrix.Embedded()
	if err != nil {
		return nil, err
	}
	var files []string
	if o.etc != "" {
		if files, err = administratorsFiles(filepath.Join(o.etc, "matrix.d")); err != nil {
			return nil, err
		}
	}
	for _, path := range o.matrix {
		found, err := matrixFiles(path)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	var more []*matrix.Matrix
	for _, file := range files {
		data, err := readRegular(file, maxMatrix)
		if err != nil {
			return nil, faultyMatrix(file, err)
		}
		m, err := matrix.Load(file, data)
		if err != nil {
			return nil, err
		}
		more = append(more, m)
	}
	if len(more) > 0 {
		if base, err = matrix.Merge(base, more...); err != nil {
			return nil, err
		}
	}
	return matrix.NewIndex(base)
}

func faultyMatrix(file string, err error) error {
	return fault.New(fault.Usage, "faulty-matrix", "`rdmactl matrix lint FILE` checks it", "cannot read the matrix %s: %w", file, cause(err))
}

// matrixFiles are the files of one --matrix.
func matrixFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, faultyMatrix(path, err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err := yamlFiles(path)
	if err != nil {
		return nil, faultyMatrix(path, err)
	}
	if len(files) == 0 {
		return nil, faultyMatrix(path, errors.New("the directory has no *.yaml"))
	}
	slices.Sort(files)
	return files, nil
}

// administratorsFiles are the *.yaml of a directory that only root may write; what others can write does
// not decide about what root installs.
func administratorsFiles(dir string) ([]string, error) {
	files, err := yamlFiles(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, faultyMatrix(dir, err)
	case len(files) == 0:
		return nil, nil
	}
	slices.Sort(files)
	for _, file := range append([]string{dir}, files...) {
		info, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, faultyMatrix(file, err)
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 0 || info.Mode().Perm()&0o022 != 0 {
			return nil, fault.New(fault.Usage, "faulty-matrix", fmt.Sprintf("chown root %s; chmod go-w %s", file, file),
				"cannot use the matrix %s: it is not root's alone to write", file)
		}
	}
	return files, nil
}
