package holdings

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
)

// aptRelease says whether a folder has the top file of an apt repository.
func aptRelease(ctx context.Context, t tree, dir string) (bool, error) {
	for _, name := range []string{"InRelease", "Release"} {
		if ok, err := exists(ctx, t, path.Join(dir, name)); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// readApt reads the apt repository whose Release stands in dir; names of packages are relative to the
// tree's root.
func (im *importer) readApt(ctx context.Context, t tree, dir string) (*found, error) {
	if err := im.offerKeys(ctx, t, dir); err != nil {
		return nil, err
	}
	text, by, err := im.signedRelease(ctx, t, dir)
	if err != nil {
		return nil, err
	}
	rel, err := parseRelease(text, im.judge.now)
	if err != nil {
		return nil, err
	}
	f := &found{signed: by, label: rel.label, suite: rel.suite, at: dir}
	bases := rel.indexes()
	if len(bases) == 0 || len(bases) > maxIndexes {
		return nil, refuse(hintDamaged, "Release names %d lists of packages", len(bases))
	}
	read := 0
	for _, base := range bases {
		name, err := rel.bestIndex(base, func(n string) (bool, error) { return exists(ctx, t, path.Join(dir, n)) })
		if err != nil {
			return nil, err
		}
		if name == "" {
			continue // mirrors leave out what nobody installs from them
		}
		read++
		data, err := im.readIndex(ctx, t, dir, name, rel.files[name])
		if err != nil {
			return nil, err
		}
		// The unpacked index has an entry of its own, which must agree too.
		if s, ok := rel.files[base]; ok && name != base {
			if err := s.check(base, data); err != nil {
				return nil, err
			}
		}
		list, err := parsePackages(name, data)
		if err != nil {
			return nil, err
		}
		if f.packages = append(f.packages, list...); len(f.packages) > maxPackages {
			return nil, refuse(hintHostile, "it has more than %d packages", maxPackages)
		}
	}
	if read == 0 {
		return nil, refuse(hintDamaged, "none of the lists of packages that Release names is there")
	}
	// Without dists/ the paths of packages start where Release stands.
	root := "."
	before, _, split := strings.Cut(dir+"/", "dists/")
	switch {
	case !split:
		root = dir
	case before != "":
		root = path.Clean(before)
	}
	f.dists = split
	if err := im.checkFiles(sub(t, root), f); err != nil {
		return nil, err
	}
	return f, im.kernelsOfDebFiles(ctx, sub(t, root), f)
}

// signedRelease reads InRelease, or Release with its signature beside it.
func (im *importer) signedRelease(ctx context.Context, t tree, dir string) (text []byte, by string, err error) {
	data, err := read(ctx, t, path.Join(dir, "InRelease"), maxSmallFile)
	if err == nil {
		return im.judge.clear("InRelease", data)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	data, err = read(ctx, t, path.Join(dir, "Release"), maxSmallFile)
	if err != nil {
		return nil, "", err
	}
	sig, err := read(ctx, t, path.Join(dir, "Release.gpg"), maxSmallFile)
	if errors.Is(err, fs.ErrNotExist) {
		return data, "", im.judge.unsigned("Release")
	}
	if err != nil {
		return nil, "", err
	}
	by, err = im.judge.detached("Release", bytes.NewReader(data), sig)
	return data, by, err
}

// readIndex reads an index, checks it against what is stated and unpacks it.
func (im *importer) readIndex(ctx context.Context, t tree, dir, name string, s stated) ([]byte, error) {
	if s.size > maxPacked {
		return nil, refuse(hintHostile, "%s has %d MiB, more than the %d that an index may have", name, s.size>>20, maxPacked>>20)
	}
	data, err := read(ctx, t, path.Join(dir, name), maxPacked)
	if err != nil {
		return nil, err
	}
	if err := s.check(name, data); err != nil {
		return nil, err
	}
	return unpackIndex(ctx, name, data)
}

// offerKeys takes the public keys that vendors lay beside their packages.
func (im *importer) offerKeys(ctx context.Context, t tree, dirs ...string) error {
	if len(im.judge.fingerprints) == 0 {
		return nil
	}
	for _, dir := range dirs {
		for _, name := range []string{"RPM-GPG-KEY-Mellanox", "RPM-GPG-KEY-Mellanox-SHA256", "GPG-KEY-Mellanox.pub", "doca_keyring.gpg"} {
			data, err := read(ctx, t, path.Join(dir, name), maxSmallFile)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			im.judge.offer(data)
		}
	}
	return nil
}

// checkFiles compares the packages that an index names with the files that are there: a holding has
// nothing that is missing.
func (im *importer) checkFiles(t tree, f *found) error {
	var kept []pkg
	for _, p := range f.packages {
		size, err := t.size(p.path)
		switch {
		case errors.Is(err, errNoList):
			return nil // the signed index must do
		case errors.Is(err, fs.ErrNotExist):
			f.gone = append(f.gone, p)
			continue
		case err != nil:
			return err
		case size != p.Bytes:
			return refuse(hintDamaged, "%s has %d bytes, not the %d that the index states", p.path, size, p.Bytes)
		}
		kept = append(kept, p)
	}
	return f.keep(kept)
}

// keep takes the packages that are there for all; those that are not are in gone.
func (f *found) keep(kept []pkg) error {
	if len(kept) == 0 {
		return refuse("mirror the packages as well", "none of the %d packages that the index names is there", len(f.packages))
	}
	if missing := len(f.packages) - len(kept); missing > 0 {
		f.note("%d of the %d packages that the index names are not there, and left out", missing, len(f.packages))
	}
	f.packages = kept
	return nil
}
