package plan

import (
	"path"
	"strings"

	"github.com/rdmactl/rdmactl/plan/rules"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// SourcesDir is where the repositories of packed bundles are unpacked on a host, each below the SHA-256 of its file.
const SourcesDir = "/var/cache/rdmactl/sources"

// BundleChange is a packed bundle or local repo package whose repository is unpacked on the host.
type BundleChange struct {
	File   string `json:"file"`   // path of the machine that rdmactl runs on, or address
	SHA256 string `json:"sha256"` // of the file, 64 hex digits
	// Folder is unpacked, Repository has the index: folders in the file, "." for its top.
	Folder     string `json:"folder"`
	Repository string `json:"repository"`
	Entries    int    `json:"entries"` // files and links of Folder
	Bytes      int64  `json:"bytes"`   // of its files
	// OwnIndex says that the repository has no signature that counts: its index is made anew, and signed by a key
	// of the run; of rpms each package is.
	OwnIndex bool `json:"own_index,omitempty"`
	// Whole says that all of the file is unpacked, programs included, because one of them is run.
	Whole bool `json:"whole,omitempty"`
	// Proof is what proves the whole file: sha256 or signature, which the user gave, or package, which is the
	// signature of an rpm. Empty for none: then the repository itself must be signed.
	Proof string `json:"proof,omitempty"`
}

// Dir is the directory that is the bundle's alone; the repository is in it. One whose index is made anew is another
// repository than the vendor's.
func (b BundleChange) Dir() string {
	if b.OwnIndex {
		return path.Join(SourcesDir, b.SHA256+"-indexed")
	}
	if b.Whole {
		return path.Join(SourcesDir, b.SHA256+"-whole")
	}
	return path.Join(SourcesDir, b.SHA256)
}

// Place is the directory of the unpacked repository.
func (b BundleChange) Place() string {
	below := strings.TrimPrefix(strings.TrimPrefix(b.Repository, b.Folder), "/")
	if b.Folder == "." {
		below = b.Repository
	}
	return path.Join(b.Dir(), "repository", below)
}

// bundleOf is what has to be unpacked of a holding, nil for nothing.
func bundleOf(h *matrix.Holding) *BundleChange {
	if h == nil || h.File == nil {
		return nil
	}
	f := h.File
	b := &BundleChange{
		File: h.Origin, SHA256: f.SHA256, Folder: f.Folder, Repository: f.Repository, Entries: f.Entries, Bytes: f.Bytes,
		OwnIndex: h.Signed == "" || f.Whole, Proof: f.Proof,
	}
	if b.Proof == "" && f.Whole {
		b.Proof = "package"
	}
	return b
}

// unpackedStep turns the step of a repository into that of a bundle which is unpacked for it.
func unpackedStep(c *rules.Candidate, s Step, r *RepositoryChange) Step {
	b := bundleOf(c.Holding)
	r.URL, r.Bundle = b.Place(), b
	s.Summary = "verify and unpack " + path.Base(b.File) + " and use it as a local repository"
	kept := "; the repository stays in " + b.Dir() + " for later kernels and repairs, until the run is rolled back, or pruned and not used any more"
	s.Why = "packages are taken only from a repository whose signature is checked against a key with this fingerprint" + kept
	if b.OwnIndex {
		r.Fingerprint = "" // the key is made by the run
		proof := map[string]string{
			"sha256": "the checksum of the file that was given", "signature": "the signature of the file that was given", "package": "the signature of the package",
		}[b.Proof]
		s.Why = "nothing in the file signs its repository: " + proof + " proves the file, and its index is made anew and signed by a key that is made for it" + kept
		if b.Proof == "" {
			s.Why = "nothing in the file signs its repository, and nothing proves the file: give its checksum with --sha256, or a detached signature with --signature and --key" + kept
		}
	}
	s.Undo = "remove the repository, its key and what was unpacked"
	s.Network = strings.Contains(b.File, "://")
	return s
}
