package holdings

import (
	"context"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/rdmactl/rdmactl/internal/archive"
)

// What a source may be at most. A vendor's repository has some hundred packages and indexes of a few
// MB, a bundle a few thousand files: whatever is beyond these is no such thing, or is hostile.
const (
	maxSmallFile = 512 << 10 // bytes of Release, repomd.xml, signatures, keys, version files
	maxPacked    = 32 << 20  // bytes of an index as it is stored
	maxIndex     = 64 << 20  // bytes of an index unpacked
	maxRPMHeader = 16 << 20  // bytes of one header of an rpm
	maxKept      = 256 << 20 // bytes kept in memory of one archive
	maxStream    = 16 << 30  // bytes of an archive unpacked
	maxEntries   = 200_000   // files in an archive, names in a directory, lines of a Release
	maxPackages  = 20_000    // packages of one source
	maxDepth     = 32        // folders in a path
	maxPath      = 1024      // bytes of a path
	maxParagraph = 64 << 10  // bytes of one entry of Packages
	maxLines     = 8_000     // lines of a paragraph: the parser's work grows with their square
	maxKernels   = 1_000
	maxArMembers = 16
	maxIndexes   = 64 // Packages files of one Release
)

// refusal is why a source is not imported, and what to do about it.
type refusal struct {
	text string
	hint string
	err  error
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.err }

// refuse makes a refusal. A %w verb keeps the cause.
func refuse(hint, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &refusal{text: err.Error(), hint: hint, err: err}
}

const (
	hintDamaged = "fetch it again from where it came; if that does not help, the source itself is faulty"
	hintHostile = "do not use this source; a vendor's has no such content"
)

// limit reads at most most bytes, and fails instead of ending when there are more or when the time is up.
func limit(ctx context.Context, r io.Reader, most int64, what string) io.Reader {
	return archive.Bounded(ctx, r, most, refuse(hintHostile, "%s is larger than %d KiB", what, most>>10))
}

var (
	namePattern    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]{0,127}$`)
	versionPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+~^:_-]{0,159}$`)
	archPattern    = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)
	kernelPattern  = regexp.MustCompile(`^[0-9]+\.[0-9]+[A-Za-z0-9.+~_-]{0,120}$`)
)

// checkPackage refuses names that no package can have: they end in plans, on terminals and in files.
func checkPackage(name, version, arch string) error {
	switch {
	case !namePattern.MatchString(name):
		return refuse(hintHostile, "%q is no name of a package", clip(name))
	case !versionPattern.MatchString(version):
		return refuse(hintHostile, "package %s has %q, which is no version", name, clip(version))
	case !archPattern.MatchString(arch):
		return refuse(hintHostile, "package %s has %q, which is no architecture", name, clip(arch))
	}
	return nil
}

// checkPath gives a path of an index or archive in its clean form, relative to the root; it refuses
// those that lead out of it.
func checkPath(name string) (string, error) {
	if len(name) > maxPath || strings.Count(name, "/") > maxDepth {
		return "", refuse(hintHostile, "the path %q is too long or too deep", clip(name))
	}
	for _, r := range name {
		if r < 0x20 || r == 0x7f || r == '\\' || r == 0xfffd {
			return "", refuse(hintHostile, "the path %q has characters that no path of a repository has", clip(name))
		}
	}
	if strings.HasPrefix(name, "/") {
		return "", refuse(hintHostile, "the path %q is absolute", clip(name))
	}
	for _, part := range strings.Split(name, "/") {
		if part == ".." {
			return "", refuse(hintHostile, "the path %q leads out of the source", clip(name))
		}
	}
	return path.Clean("./" + name), nil
}

// clip keeps messages short whatever the source has in a name.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}
