package rootlab

import (
	"bytes"
	"errors"
	"os"
	"os/exec"

	"github.com/rdmactl/rdmactl/test/internal/cache"
)

// Signer is a throw-away key in a GnuPG home directory of its own.
type Signer struct {
	Home string // directory
	Name string // address of the key's owner
	// Day is what gpg is told that it is, of a key that has expired since, as --faked-system-time reads it; empty
	// for today.
	Day string
}

// NewSigner is the named key, made once and kept. Each test package names a kind of its own: it ends the agent of a
// home when it likes.
func NewSigner(c *cache.Cache, kind, name string) (Signer, error) {
	return newSigner(c, kind, Signer{Name: name + "@rdmactl.invalid"}, name, "never")
}

// NewExpired is a key that was valid for a month in 2020, in which it signs.
func NewExpired(c *cache.Cache, kind, name string) (Signer, error) {
	return newSigner(c, kind, Signer{Name: name + "@rdmactl.invalid", Day: "20200101T000000"}, name, "2020-02-01")
}

func newSigner(c *cache.Cache, kind string, s Signer, name, expires string) (Signer, error) {
	home, err := c.Get(kind+"-"+name, "2", func(dir string) error {
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
		k := s
		k.Home = dir
		err := Run(k.GPG("--passphrase", "", "--quick-generate-key", "rdmactl test "+name+" <"+s.Name+">", "rsa3072", "sign", expires))
		if err == nil && s.Day != "" {
			// Times of faked days are not checked against the agent's.
			err = Run(k.GPG("--list-keys"))
		}
		return errors.Join(err, k.Stop())
	})
	s.Home = home
	return s, err
}

// GPG is a gpg command with the key, not started yet.
func (s Signer) GPG(args ...string) *exec.Cmd {
	argv := []string{"--homedir", s.Home, "--batch", "--yes", "--pinentry-mode", "loopback"}
	if s.Day != "" {
		argv = append(argv, "--faked-system-time", s.Day)
	}
	return exec.Command("gpg", append(argv, args...)...)
}

// Stop ends the agent that gpg started for this home.
func (s Signer) Stop() error {
	return Run(exec.Command("gpgconf", "--homedir", s.Home, "--kill", "gpg-agent"))
}

// Public is the armored public key.
func (s Signer) Public() ([]byte, error) {
	var out bytes.Buffer
	cmd := s.GPG("--armor", "--export")
	cmd.Stdout = &out
	err := Run(cmd)
	if err == nil && out.Len() == 0 {
		err = errors.New("gpg exported no key")
	}
	return out.Bytes(), err
}

// Detach writes FILE.asc.
func (s Signer) Detach(file string) error {
	return Run(s.GPG("--detach-sign", "--armor", "--output", file+".asc", file))
}

// RPMs signs package files in place.
func (s Signer) RPMs(files ...string) error {
	args := []string{"-D", "__gpg /usr/bin/gpg", "-D", "_gpg_path " + s.Home, "-D", "_gpg_name " + s.Name, "--addsign"}
	cmd := exec.Command("rpmsign", append(args, files...)...)
	cmd.Env = append(os.Environ(), "GNUPGHOME="+s.Home)
	return Run(cmd)
}
