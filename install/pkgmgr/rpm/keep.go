package rpm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// Keep brings the package files of old into dir. fetch returns the file of a package from a cache or
// a repository, "" when neither has it. What fetch brings must be the installed package itself, not
// only one of its name and version; else the package is packed from its installed files, unsigned and
// with a name that says so.
func (t Tool) Keep(ctx context.Context, old []pkgmgr.Package, dir string,
	fetch func(context.Context, pkgmgr.Package) (string, error), note func(string),
) ([]pkgmgr.OldPackage, error) {
	if err := t.Writer.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", dir, err)
	}
	kept := []pkgmgr.OldPackage{}
	for _, p := range old {
		file, err := t.keepOne(ctx, p, dir, fetch)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(file, repacked) && note != nil {
			note(fmt.Sprintf("package %s %s is in no repository any more: it was packed from its installed files, unsigned", p.Name, p.Version))
		}
		kept = append(kept, pkgmgr.OldPackage{Package: p, File: file})
	}
	return kept, nil
}

func (t Tool) keepOne(ctx context.Context, p pkgmgr.Package, dir string, fetch func(context.Context, pkgmgr.Package) (string, error)) (string, error) {
	target := path.Join(dir, FileName(p))
	own := strings.TrimSuffix(target, ".rpm") + repacked
	for _, f := range []string{target, own} {
		switch there, err := exists(t.Host, f); {
		case err != nil:
			return "", err
		case there && f == own:
			return own, nil
		case there:
			if same, err := t.same(ctx, p, f); err != nil || same {
				return f, err
			}
		}
	}
	plain := p
	if p.Base != "" {
		plain.Name, plain.Base = p.Base, ""
	}
	file, err := fetch(ctx, plain)
	if err != nil {
		return "", err
	}
	if file != "" {
		same, err := t.same(ctx, p, file)
		if err != nil {
			return "", err
		}
		if same {
			if file == target {
				return target, nil
			}
			// A copy that is cut short must not be taken for the package.
			if _, err := t.Run(ctx, "", "cp", "--", file, target+".part"); err != nil {
				return "", err
			}
			if err := t.Writer.Rename(target+".part", target); err != nil {
				return "", fmt.Errorf("cannot keep package %s: %w", p.Name, err)
			}
			return target, nil
		}
		if path.Dir(file) == dir {
			if err := t.Drop([]string{file}); err != nil {
				return "", err
			}
		}
	}
	if err := t.repack(ctx, p, dir, own); err != nil {
		return "", fmt.Errorf("cannot keep package %s %s: no repository has it any more, and it cannot be packed from its files, so it could not be put back: %w", p.Name, p.Version, err)
	}
	return own, nil
}

// same says that a file is the very package that is installed: header and payload have the same sums.
func (t Tool) same(ctx context.Context, p pkgmgr.Package, file string) (bool, error) {
	const format = `%{SHA1HEADER} %{SIGMD5}\n`
	installed, err := t.Ask(ctx, "rpm", "-q", "--qf", format, NEVRA(p))
	if err != nil {
		return false, err
	}
	res, err := t.Query(ctx, "", "rpm", "-qp", "--nosignature", "--qf", format, file)
	if err != nil {
		return false, err
	}
	if res.Exit != 0 || strings.TrimSpace(res.Stdout) != strings.TrimSpace(installed) || !strings.ContainsAny(installed, "0123456789") {
		return false, nil
	}
	// The sums are what the file says of itself; this computes them.
	var sig *pkgmgr.SignatureError
	switch err := t.Whole(ctx, []string{file}); {
	case errors.As(err, &sig):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, nil
}

// AroundUndo runs an undo. The kept files are verified before; after it what rpm laid beside
// configuration files is taken away or put in its place: a NAME.rpmnew that is the going package's own
// text and the NAME.rpmsave of a package that is purged go, the NAME.rpmsave of one that is put back
// is the administrator's file.
func (t Tool) AroundUndo(ctx context.Context, u pkgmgr.Undo, undo func() error) error {
	files, back := []string{}, []string{}
	for _, b := range u.Back {
		files = append(files, b.File)
		back = append(back, b.Key())
		if _, err := t.Host.Lstat(b.File); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot put back %s %s: its kept file %s is gone", b.Name, b.Version, b.File)
		}
	}
	if err := t.Whole(ctx, files); err != nil {
		return fmt.Errorf("cannot put packages back: %w", err)
	}
	purged, err := t.Beside(ctx, u.Purge)
	if err != nil {
		return err
	}
	replaced, err := t.Beside(ctx, back)
	if err != nil {
		return err
	}
	own, err := purged.Pristine(ctx)
	if err != nil {
		return err
	}
	traces, err := replaced.Pristine(ctx)
	if err != nil {
		return err
	}
	if err := undo(); err != nil {
		return err
	}
	left, err := purged.New()
	if err != nil {
		return err
	}
	if _, err := replaced.Keep(ctx, false); err != nil {
		return err
	}
	return errors.Join(t.Drop(append(append(own, traces...), left...)), t.unsave(), t.DropDirectories(ctx))
}
