package rpm

import (
	"context"
	"crypto/md5" // rpm before 4.6 recorded MD5 sums of files, and such packages are still installed
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"strings"
)

// pristine says whether a file has the content that the package which owns config recorded for it.
func (t Tool) pristine(ctx context.Context, config, file string) (bool, error) {
	out, err := t.Ask(ctx, "rpm", "-qf", "--qf", `[%{FILENAMES}\t%{FILEDIGESTS}\n]`, config)
	if err != nil {
		return false, err
	}
	data, err := t.Host.ReadFile(file)
	if err != nil {
		return false, fmt.Errorf("cannot read %s: %w", file, err)
	}
	for line := range strings.Lines(out) {
		name, digest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if name == config && digest != "" && digest == digestLike(digest, data) {
			return true, nil
		}
	}
	return false, nil
}

// digestLike is the digest of data by the algorithm of which like has the length.
func digestLike(like string, data []byte) string {
	switch len(like) {
	case hex.EncodedLen(md5.Size):
		sum := md5.Sum(data)
		return hex.EncodeToString(sum[:])
	case hex.EncodedLen(sha1.Size):
		sum := sha1.Sum(data)
		return hex.EncodeToString(sum[:])
	case hex.EncodedLen(sha256.Size):
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:])
	case hex.EncodedLen(sha512.Size):
		sum := sha512.Sum512(data)
		return hex.EncodeToString(sum[:])
	}
	return ""
}
