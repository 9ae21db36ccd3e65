package holdings

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/archive"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// DebIndex is the index (Packages) of the deb packages below a folder, made of nothing but the packages themselves.
func DebIndex(ctx context.Context, folder *os.Root) ([]byte, error) {
	out, err := debIndex(ctx, folder)
	var own *refusal
	switch {
	case errors.As(err, &own):
		return nil, fault.New(fault.Stopped, "cannot-index", own.hint, "cannot make the index of the repository: %w", err)
	case err != nil:
		return nil, fmt.Errorf("cannot make the index of the repository: %w", err)
	}
	return out, nil
}

func debIndex(ctx context.Context, folder *os.Root) ([]byte, error) {
	var names []string
	err := fs.WalkDir(folder.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".deb") && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(names) == 0 || len(names) > maxPackages {
		return nil, refuse(hintDamaged, "it has %d deb packages", len(names))
	}
	slices.Sort(names)
	var out bytes.Buffer
	for _, name := range names {
		if err := debEntry(ctx, folder, name, &out); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// debEntry writes the paragraph of one package.
func debEntry(ctx context.Context, folder *os.Root, name string, out *bytes.Buffer) (err error) {
	file, err := folder.Open(name) // a link within the folder is followed
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return refuse(hintHostile, "%s is not a regular file", clip(name))
	}
	d, err := openDeb(ctx, name, file)
	if err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, archive.Bounded(ctx, io.NewSectionReader(file, 0, info.Size()), info.Size(), errChanged())); err != nil {
		return err
	}
	for _, field := range []string{"Filename", "Size", "SHA256", "SHA512", "SHA1", "MD5sum"} {
		if _, there := d.control.Values[field]; there {
			return refuse(hintHostile, "package %s states its own %s", d.pkg.Name, field)
		}
	}
	fmt.Fprintf(out, "%s\nFilename: ./%s\nSize: %d\nSHA256: %s\n\n", strings.TrimSpace(string(d.text)), name, info.Size(), hex.EncodeToString(sum.Sum(nil)))
	return nil
}
