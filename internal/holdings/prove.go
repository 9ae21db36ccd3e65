package holdings

import (
	"io"
	"path"
	"strings"

	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// prove compares a packed file with what the user gave to prove it.
func (im *importer) prove(file *sealed) error {
	if want := strings.ToLower(im.opts.SHA256); want != "" {
		if file.sum != want {
			return refuse(hintDamaged, "its SHA-256 is %s, not %s", file.sum, clip(want))
		}
		im.proof = "sha256"
	}
	if im.opts.Signature != nil {
		given := &judge{keys: im.judge.keys, now: im.judge.now, orElse: im.judge.orElse}
		if len(given.keys) == 0 {
			return refuse(hintKey, "it cannot be judged by its signature: no key was given")
		}
		if _, err := given.detached("the file", io.NewSectionReader(file, 0, file.size), im.opts.Signature); err != nil {
			return err
		}
		im.proof = "signature"
	}
	if im.proof != "" {
		im.judge.proven, im.judge.allowUnsigned = true, true
	}
	return nil
}

// fileOf says where in a packed file the repository is that was read below base. It is nil where no package manager
// could use the folder as it is.
func (a *contents) fileOf(f *found, base string) *matrix.HoldingFile {
	if f.dists || f.at == "" {
		return nil
	}
	folder := f.at
	if f.version != "" { // a bundle, whose folders DEBS and RPMS may have links from one to the other
		folder, _, _ = strings.Cut(f.at, "/")
	}
	out := &matrix.HoldingFile{Folder: path.Join(base, folder), Repository: path.Join(base, f.at)}
	for name, file := range a.files {
		if _, ok := within(out.Folder, name); ok {
			out.Entries++
			if file.target == "" {
				out.Bytes += file.size
			}
		}
	}
	return out
}

// within is the part of a path below a folder of an archive.
func within(folder, name string) (rest string, ok bool) {
	if folder == "." {
		return name, true
	}
	return strings.CutPrefix(name, folder+"/")
}
