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

	"github.com/rdmactl/rdmactl/test/internal/cache"
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
func (s system) repositories(dir, root, debs string, trusted, stranger signer) error {
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
	if err := trusted.rpms(all...); err != nil {
		return err
	}
	for _, name := range append(faulty(), good) {
		repo := filepath.Join(dir, name)
		one := filepath.Join(repo, filepath.Base(file))
		index := trusted
		if name != good {
			if err := run(exec.Command("cp", "-a", "--no-target-directory", packages, repo)); err != nil {
				return err
			}
		}
		var err error
		switch name {
		case unsigned:
			err = os.WriteFile(one, bare, 0o644)
		case otherKey:
			err = errors.Join(os.WriteFile(one, bare, 0o644), stranger.rpms(one))
		case otherIndex:
			index = stranger
		}
		md := filepath.Join(repo, "repodata/repomd.xml")
		if err = errors.Join(err, run(exec.Command("createrepo_c", "-q", "--general-compress-type=gz", repo)), index.detach(md)); err != nil {
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

// signer is a throw-away key in a GnuPG home directory of its own.
type signer struct{ home, name string }

func signerOf(t *testing.T, c *cache.Cache, name string) signer {
	t.Helper()
	s := signer{name: name + "@rdmactl.invalid"}
	home, err := c.Get("rpmhostkey-"+name, "1", func(dir string) error {
		k := signer{dir, s.name}
		return errors.Join(os.Chmod(dir, 0o700), run(k.gpg("--passphrase", "", "--quick-generate-key", "rdmactl test "+name+" <"+s.name+">", "rsa3072", "sign", "never")), k.stop())
	})
	must(t, err)
	s.home = home
	return s
}

func (s signer) gpg(args ...string) *exec.Cmd {
	return exec.Command("gpg", append([]string{"--homedir", s.home, "--batch", "--yes", "--pinentry-mode", "loopback"}, args...)...)
}

// stop ends the agent that gpg started for this home.
func (s signer) stop() error {
	return run(exec.Command("gpgconf", "--homedir", s.home, "--kill", "gpg-agent"))
}

// public is the armored public key.
func (s signer) public() ([]byte, error) {
	var out bytes.Buffer
	cmd := s.gpg("--armor", "--export")
	cmd.Stdout = &out
	err := run(cmd)
	if err == nil && out.Len() == 0 {
		err = errors.New("gpg exported no key")
	}
	return out.Bytes(), err
}

// detach writes FILE.asc.
func (s signer) detach(file string) error {
	return run(s.gpg("--detach-sign", "--armor", "--output", file+".asc", file))
}

// rpms signs package files in place.
func (s signer) rpms(files ...string) error {
	cmd := exec.Command("rpmsign", append([]string{"-D", "__gpg /usr/bin/gpg", "-D", "_gpg_path " + s.home, "-D", "_gpg_name " + s.name, "--addsign"}, files...)...)
	cmd.Env = append(os.Environ(), "GNUPGHOME="+s.home)
	return run(cmd)
}
