package roots

import (
	"bytes"
	"errors"
	"os"
	"os/exec"

	"github.com/rdmactl/rdmactl/test/internal/cache"
)

// signer is a throw-away key in a GnuPG home directory of its own. past is set for one that has
// expired since: gpg is told that it is still that day when it signs.
type signer struct{ home, name, past string }

func newSigner(c *cache.Cache, name string, expired bool) (signer, error) {
	s := signer{name: name + "@rdmactl.invalid"}
	expires := "never"
	if expired {
		s.past, expires = "20200101T000000", "2020-02-01"
	}
	dir, err := c.Get("rootskey-"+name, "2", func(dir string) error {
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
		k := s
		k.home = dir
		err := run(k.gpg("--passphrase", "", "--quick-generate-key", "rdmactl test "+name+" <"+s.name+">", "rsa3072", "sign", expires))
		if err == nil && expired {
			// Times of faked days are not checked against the agent's.
			err = run(k.gpg("--list-keys"))
		}
		return errors.Join(err, run(exec.Command("gpgconf", "--homedir", dir, "--kill", "gpg-agent")))
	})
	s.home = dir
	return s, err
}

func (s signer) gpg(args ...string) *exec.Cmd {
	argv := []string{"--homedir", s.home, "--batch", "--yes", "--pinentry-mode", "loopback"}
	if s.past != "" {
		argv = append(argv, "--faked-system-time", s.past)
	}
	return exec.Command("gpg", append(argv, args...)...)
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
	args := []string{"-D", "__gpg /usr/bin/gpg", "-D", "_gpg_path " + s.home, "-D", "_gpg_name " + s.name, "--addsign"}
	cmd := exec.Command("rpmsign", append(args, files...)...)
	cmd.Env = append(os.Environ(), "GNUPGHOME="+s.home)
	return run(cmd)
}
