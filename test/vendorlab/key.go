package vendorlab

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// signer is a throw-away key in a GnuPG home directory of its own.
type signer struct {
	home string
	// at is the clock that gpg is shown, of a key that is no longer valid; empty: the true one.
	at string
}

const (
	vendorKey   = "vendor"   // signs what is sound
	strangerKey = "stranger" // nobody trusts it
	expiredKey  = "expired"  // was valid for a month, when it signed
)

// expiredAt is within the time that the expired key was valid.
const expiredAt = "20240115T000000"

// signer returns the named signing key, made once for the cache.
func (l *Lab) signer(name string) (signer, error) {
	s := signer{}
	lifetime := "never"
	if name == expiredKey {
		s.at, lifetime = expiredAt, "1m"
	}
	home, err := l.cache.Get("labkey-"+name, "2", func(dir string) error {
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
		s.home = dir
		return errors.Join(run(s.gpg("--passphrase", "", "--quick-generate-key",
			"rdmactl test "+name+" <"+name+"@rdmactl.invalid>", "rsa3072", "sign", lifetime)), s.close())
	})
	s.home = home
	return s, err
}

func (s signer) args() []string {
	args := []string{"--homedir", s.home, "--batch", "--yes", "--quiet", "--pinentry-mode", "loopback", "--digest-algo", "SHA256"}
	if s.at != "" {
		args = append(args, "--faked-system-time", s.at+"!")
	}
	return args
}

func (s signer) gpg(args ...string) *exec.Cmd {
	return exec.Command("gpg", append(s.args(), args...)...)
}

// close ends the agent that gpg started for this home.
func (s signer) close() error {
	return run(exec.Command("gpgconf", "--homedir", s.home, "--kill", "gpg-agent"))
}

// public returns the public key, armored as the vendor's file is.
func (s signer) public() ([]byte, error) {
	text, err := output(s.gpg("--armor", "--export"))
	if err == nil && text == "" {
		err = errors.New("gpg exported no key")
	}
	return []byte(text), err
}

// fingerprint is 40 hex digits.
func (s signer) fingerprint() (string, error) {
	text, err := output(s.gpg("--with-colons", "--fingerprint"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if f := strings.Split(line, ":"); f[0] == "fpr" {
			return f[9], nil
		}
	}
	return "", errors.New("gpg shows no fingerprint")
}

// signRelease writes InRelease and Release.gpg of an apt repository.
func (s signer) signRelease(dir string) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	release := filepath.Join(dir, "Release")
	return errors.Join(removeAll(dir, "InRelease", "Release.gpg"),
		run(s.gpg("--clearsign", "--output", filepath.Join(dir, "InRelease"), release)),
		run(s.gpg("--detach-sign", "--armor", "--output", release+".gpg", release)))
}

// signRepomd writes repomd.xml.asc of an rpm repository.
func (s signer) signRepomd(dir string) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	md := filepath.Join(dir, "repodata/repomd.xml")
	return errors.Join(removeAll(dir, "repodata/repomd.xml.asc"), run(s.gpg("--detach-sign", "--armor", "--output", md+".asc", md)))
}

// signRPMs signs packages. A signature that is there already is replaced. The files are written anew, so
// links to them elsewhere keep the old content.
func (s signer) signRPMs(files ...string) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	gpg, err := exec.LookPath("gpg")
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := unlink(f); err != nil {
			return err
		}
	}
	name, err := s.fingerprint()
	if err != nil {
		return err
	}
	define := []string{
		"--define", "__gpg " + gpg, "--define", "_gpg_name " + name, "--define", "_gpg_path " + s.home,
		"--define", "_gpg_digest_algo sha256",
	}
	if s.at != "" {
		define = append(define, "--define", "_gpg_sign_cmd_extra_args --faked-system-time "+s.at+"!")
	}
	return run(exec.Command("rpmsign", append(append(define, "--addsign"), files...)...))
}
