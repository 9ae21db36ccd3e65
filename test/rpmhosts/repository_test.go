package rpmhosts

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// The repositories. All but the first are faulty, each in one way.
const (
	good       = "good"
	unsigned   = "unsigned"    // one package has no signature, the index has
	otherKey   = "other-key"   // one package is signed by a key that nobody trusts
	tampered   = "tampered"    // a byte of one package was changed after the index was made
	otherIndex = "other-index" // the index is signed by a key that nobody trusts
	editedMD   = "edited"      // the index was changed after it was signed
)

// faulty are the twins of the good repository.
func faulty() []string { return []string{unsigned, otherKey, tampered, otherIndex, editedMD} }

// victim is the package that is faulty in a twin: it comes late, when others are checked already.
const victim = "perftest"

// repositories makes the packages, and a repository of each kind.
func (s system) repositories(dir, root, debs string, trusted, stranger rootlab.Signer) error {
	packages := filepath.Join(dir, good)
	for _, r := range s.offers {
		r, err := r.of(s, debs)
		if err != nil {
			return err
		}
		if err := r.build(packages, root, s.vendor); err != nil {
			return err
		}
	}
	file, err := only(filepath.Join(packages, victim+"-*.rpm"))
	if err != nil {
		return err
	}
	bare, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	all, err := filepath.Glob(packages + "/*.rpm")
	if err != nil {
		return err
	}
	if err := trusted.RPMs(all...); err != nil {
		return err
	}
	for _, name := range append(faulty(), good) {
		repo := filepath.Join(dir, name)
		one := filepath.Join(repo, filepath.Base(file))
		index := trusted
		if name != good {
			if err := rootlab.Run(exec.Command("cp", "-a", "--no-target-directory", packages, repo)); err != nil {
				return err
			}
		}
		var err error
		switch name {
		case unsigned:
			err = os.WriteFile(one, bare, 0o644)
		case otherKey:
			err = errors.Join(os.WriteFile(one, bare, 0o644), stranger.RPMs(one))
		case otherIndex:
			index = stranger
		}
		md := filepath.Join(repo, "repodata/repomd.xml")
		if err = errors.Join(err, rootlab.Run(exec.Command("createrepo_c", "-q", "--general-compress-type=gz", repo)), index.Detach(md)); err != nil {
			return err
		}
		switch name {
		case tampered:
			err = change(one, func(text []byte) []byte { text[len(text)-30] ^= 0xff; return text })
		case editedMD:
			err = change(md, func(text []byte) []byte { return bytes.Replace(text, []byte("<revision>"), []byte("<revision>1"), 1) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// change rewrites a file; nothing to change is an error.
func change(file string, how func([]byte) []byte) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed := how(bytes.Clone(text))
	if bytes.Equal(changed, text) {
		return fmt.Errorf("there is nothing to change in %s", file)
	}
	return os.WriteFile(file, changed, 0o644)
}

// serve serves a directory and tells its address.
func serve(t *testing.T, dir string) string {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return server.URL
}
