package vm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Repo names one of the repositories on the disk.
type Repo string

// The repositories. All but the first three are faulty, each in one way.
const (
	// RepoGood is signed and whole, used in place (file:). A machine starts with it.
	RepoGood Repo = "repo"
	// RepoHTTP is the same over HTTP on the loopback interface: apt downloads before it installs.
	RepoHTTP Repo = "http"
	// RepoNone leaves the machine without any source.
	RepoNone Repo = ""
	// RepoUnsigned has neither InRelease nor Release.gpg.
	RepoUnsigned Repo = "repo-unsigned"
	// RepoBadSignature was changed after it was signed.
	RepoBadSignature Repo = "repo-bad-signature"
	// RepoOtherKey is signed by a key that the machine does not trust.
	RepoOtherKey Repo = "repo-other-key"
	// RepoTamperedPackage is well signed, but a byte in each package file was changed.
	RepoTamperedPackage Repo = "repo-tampered-package"
)

// keyring is the trusted key's place on the machine.
const keyring = "/usr/share/keyrings/rdmactl-test.gpg"

// sourcesList is the machine's only source of packages.
const sourcesList = "/etc/apt/sources.list.d/rdmactl-test.list"

// sourceLine is the text of sourcesList for a repository.
func sourceLine(r Repo) string {
	switch r {
	case RepoNone:
		return ""
	case RepoHTTP:
		return "deb [signed-by=" + keyring + "] http://127.0.0.1:8099/" + string(RepoGood) + " ./\n"
	}
	return "deb [signed-by=" + keyring + "] file:/srv/" + string(r) + " ./\n"
}

// signer is a throw-away key in a GnuPG home directory of its own.
type signer struct{ home string }

// signer returns the named signing key, made once for the cache.
func (c *cache) signer(name string) (signer, error) {
	dir, err := c.get("key-"+name, "1", func(dir string) error {
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
		s := signer{dir}
		return errors.Join(run(s.gpg("--passphrase", "", "--quick-generate-key",
			"rdmactl test "+name+" <"+name+"@rdmactl.invalid>", "rsa3072", "sign", "never")), s.close())
	})
	return signer{dir}, err
}

func (s signer) gpg(args ...string) *exec.Cmd {
	return exec.Command("gpg", append([]string{
		"--homedir", s.home, "--batch", "--yes", "--pinentry-mode", "loopback",
	}, args...)...)
}

// close ends the agent that gpg started for this home.
func (s signer) close() error {
	return run(exec.Command("gpgconf", "--homedir", s.home, "--kill", "gpg-agent"))
}

// public returns the public key as apt's signed-by= reads it.
func (s signer) public() ([]byte, error) {
	var out bytes.Buffer
	cmd := s.gpg("--export")
	cmd.Stdout = &out
	err := run(cmd)
	if err == nil && out.Len() == 0 {
		err = errors.New("gpg exported no key")
	}
	return out.Bytes(), err
}

// Mirror is the good repository of a machine of Boot as a directory of this machine, and the file of its key.
func (m *Machine) Mirror() (dir, key string) {
	m.t.Helper()
	dir, key = filepath.Join(filepath.Dir(m.img.disk), mirror), filepath.Join(m.dir, "mirror.gpg")
	if _, err := os.Stat(filepath.Join(dir, "InRelease")); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(key, []byte(m.ReadFile(keyring)), 0o644); err != nil {
		m.t.Fatal(err)
	}
	return dir, key
}

// makeRepos fills srv with the good repository, from the packages in debs, and its faulty twins.
func makeRepos(srv, debs, suite string, trusted, stranger signer) error {
	good := filepath.Join(srv, string(RepoGood))
	if err := index(good, debs, suite); err != nil {
		return err
	}
	if err := sign(good, trusted); err != nil {
		return err
	}
	twins := []struct {
		repo Repo
		harm func(dir string) error
	}{
		{RepoUnsigned, removeSignature},
		{RepoBadSignature, editRelease},
		{RepoOtherKey, func(dir string) error { return sign(dir, stranger) }},
		{RepoTamperedPackage, flipPackages},
	}
	for _, twin := range twins {
		dir := filepath.Join(srv, string(twin.repo))
		if err := linkTree(good, dir); err != nil {
			return err
		}
		if err := twin.harm(dir); err != nil {
			return fmt.Errorf("cannot make the faulty repository %s: %w", twin.repo, err)
		}
	}
	return nil
}

// index lays the packages out flat, with Packages and Release files.
func index(dir, debs, suite string) error {
	if err := inflate(dir, debs); err != nil {
		return err
	}
	var packages bytes.Buffer
	list := exec.Command("apt-ftparchive", "packages", ".")
	list.Dir, list.Stdout = dir, &packages
	if err := run(list); err != nil {
		return err
	}
	if err := replace(filepath.Join(dir, "Packages"), packages.Bytes()); err != nil {
		return err
	}
	var release bytes.Buffer
	sums := exec.Command("apt-ftparchive",
		"-o", "APT::FTPArchive::Release::Origin=rdmactl-test", "-o", "APT::FTPArchive::Release::Label=rdmactl-test",
		"-o", "APT::FTPArchive::Release::Suite="+suite, "-o", "APT::FTPArchive::Release::Codename="+suite,
		"release", ".")
	sums.Dir, sums.Stdout = dir, &release
	if err := run(sums); err != nil {
		return err
	}
	return replace(filepath.Join(dir, "Release"), release.Bytes())
}

// inflate puts the packages of debs into dir with the same content uncompressed: xz costs an emulated
// processor seconds a package.
func inflate(dir, debs string) error {
	found, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("%s has no packages", debs)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tree := filepath.Join(dir, "tree")
	for _, deb := range found {
		if err := run(exec.Command("dpkg-deb", "--raw-extract", deb, tree)); err != nil {
			return err
		}
		if err := run(exec.Command("dpkg-deb", "-Znone", "--build", tree, filepath.Join(dir, filepath.Base(deb)))); err != nil {
			return err
		}
		if err := os.RemoveAll(tree); err != nil {
			return err
		}
	}
	return nil
}

// sign writes InRelease and Release.gpg.
func sign(dir string, s signer) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	if err := removeSignature(dir); err != nil {
		return err
	}
	release := filepath.Join(dir, "Release")
	if err := run(s.gpg("--clearsign", "--output", filepath.Join(dir, "InRelease"), release)); err != nil {
		return err
	}
	return run(s.gpg("--detach-sign", "--armor", "--output", release+".gpg", release))
}

func removeSignature(dir string) error {
	for _, name := range []string{"InRelease", "Release.gpg"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// editRelease changes what was signed, in both forms.
func editRelease(dir string) error {
	for _, name := range []string{"InRelease", "Release"} {
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		edited := strings.Replace(string(text), "Label: rdmactl-test", "Label: rdmactl-evil", 1)
		if edited == string(text) {
			return fmt.Errorf("%s has no label to edit", name)
		}
		if err := replace(file, []byte(edited)); err != nil {
			return err
		}
	}
	return nil
}

// flipPackages changes one byte in the middle of each package; its size stays.
func flipPackages(dir string) error {
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return err
	}
	if len(debs) == 0 {
		return errors.New("no packages to tamper with")
	}
	for _, deb := range debs {
		text, err := os.ReadFile(deb)
		if err != nil {
			return err
		}
		text[len(text)/2] ^= 0xff
		if err := replace(deb, text); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a new file in path's place: what was there may be linked from elsewhere.
func replace(path string, text []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// copyTree makes dst a copy of src.
func copyTree(src, dst string) error {
	return run(exec.Command("cp", "--archive", "--reflink=auto", "--no-target-directory", src, dst))
}

// linkTree makes dst a copy of src that shares the files' content. Never write into it in place.
func linkTree(src, dst string) error {
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	return run(exec.Command("cp", "--archive", "--link", "--no-target-directory", src, dst))
}
