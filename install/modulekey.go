package install

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// keyPair is where a tool that signs modules looks for its key, and makes one of its own if there is none.
type keyPair struct{ key, certificate string }

// keyPairs are those of DKMS 3, and of shim-signed, which Ubuntu's DKMS uses and Debian's DKMS 2 did.
func keyPairs() []keyPair {
	return []keyPair{
		{"/var/lib/dkms/mok.key", "/var/lib/dkms/mok.pub"},
		{"/var/lib/shim-signed/mok/MOK.priv", "/var/lib/shim-signed/mok/MOK.der"},
	}
}

// ModuleKey names the files of this machine with the key that new modules are signed with. They are read when the
// modules are built, so that no journal holds the key. The zero value leaves the key to DKMS.
type ModuleKey struct {
	Key         string `json:"key"`         // PEM, not encrypted
	Certificate string `json:"certificate"` // DER or PEM
}

// moduleKeyLimit is far above what keys and certificates take.
const moduleKeyLimit = 64 << 10

// Check reads the files and says what is wrong with them.
func (k ModuleKey) Check() error {
	_, _, err := k.read()
	return err
}

// read returns the key as it stands in its file and the certificate in DER, which modules are signed with.
func (k ModuleKey) read() (key, certificate []byte, err error) {
	fail := func(hint, format string, args ...any) ([]byte, []byte, error) {
		return nil, nil, fault.New(fault.Stopped, "module-key-faulty", hint, "cannot sign modules with "+format, args...)
	}
	key, err = readSmall(k.Key)
	if err != nil {
		return fail("name the file of the private key with --module-key", "%s: %w", k.Key, err)
	}
	block, _ := pem.Decode(key)
	if block == nil || !strings.HasSuffix(block.Type, "PRIVATE KEY") {
		return fail("openssl makes one: openssl req -new -x509 -newkey rsa:2048 -nodes -keyout KEY -outform DER -out CERT", "%s: it is no private key in PEM", k.Key)
	}
	signer, err := privateKey(block)
	if err != nil {
		return fail("the key must be RSA or ECDSA, in PEM and without a password", "%s: %w", k.Key, err)
	}
	certificate, err = readSmall(k.Certificate)
	if err != nil {
		return fail("name the file of its certificate with --module-cert", "%s: %w", k.Certificate, err)
	}
	if block, _ := pem.Decode(certificate); block != nil {
		certificate = block.Bytes
	}
	parsed, err := x509.ParseCertificate(certificate)
	if err != nil {
		return fail("the certificate is a file in DER or PEM", "%s: %w", k.Certificate, err)
	}
	if public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(parsed.PublicKey) {
		return fail("give the certificate that was made with the key", "%s: %s is the certificate of another key", k.Key, k.Certificate)
	}
	return key, certificate, nil
}

func privateKey(block *pem.Block) (crypto.Signer, error) {
	if strings.Contains(block.Type, "ENCRYPTED") || block.Headers["DEK-Info"] != "" {
		return nil, errors.New("it is protected by a password, which nobody is there to type")
	}
	var key any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, err
	}
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return key, nil
	case *ecdsa.PrivateKey:
		return key, nil
	}
	return nil, errors.New("the kernel knows no signatures of its kind")
}

func readSmall(name string) (data []byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a file")
	}
	data, err = io.ReadAll(io.LimitReader(f, moduleKeyLimit+1))
	if err == nil && len(data) > moduleKeyLimit {
		err = errors.New("too large for a key")
	}
	return data, err
}

// Needed refuses the key for a plan in which DKMS signs nothing with it.
func (k ModuleKey) Needed(p plan.Plan) error {
	if c := p.Chosen; c == nil || c.Modules != "dkms" {
		return fault.New(fault.Stopped, "module-key-unused", "leave --module-key away", "cannot sign modules with %s: the plan builds none with DKMS", k.Key)
	}
	return nil
}

// moduleKeyReady checks the key before anything changes.
func (r *run) moduleKeyReady() error {
	k := r.order.ModuleKey
	if k == nil {
		return nil
	}
	if err := k.Needed(r.plan); err != nil {
		return err
	}
	if _, _, err := k.read(); err != nil {
		return err
	}
	if len(r.records()) > 0 {
		return nil // an earlier attempt may have laid it
	}
	there, err := r.keysThere()
	if err != nil {
		return err
	}
	if len(there) > 0 {
		return fault.New(fault.Stopped, "module-key-there", "remove it first, if nothing on this host is signed with it", "cannot sign modules with %s: there is a key in %s already", k.Key, strings.Join(there, ", "))
	}
	return nil
}

// keysThere are the files of keyPairs that exist.
func (r *run) keysThere() ([]string, error) {
	var out []string
	for _, p := range keyPairs() {
		for _, file := range []string{p.key, p.certificate} {
			switch _, err := r.host.Lstat(file); {
			case err == nil:
				out = append(out, file)
			case !errors.Is(err, fs.ErrNotExist):
				return nil, fmt.Errorf("cannot look at %s: %w", file, err)
			}
		}
	}
	return out, nil
}

// signsModules says that a transaction builds modules with DKMS.
func (r *run) signsModules() bool { return r.plan.Chosen != nil && r.plan.Chosen.Modules == "dkms" }

// layModuleKey lays the key that was given where DKMS looks for it.
func (r *run) layModuleKey() error {
	if r.order.ModuleKey == nil || !r.signsModules() {
		return nil
	}
	key, certificate, err := r.order.ModuleKey.read()
	if err != nil {
		return err
	}
	pair := keyPairs()[0]
	if text, err := r.host.ReadFile("/etc/os-release"); err == nil && slices.Contains(strings.Split(string(text), "\n"), "ID=ubuntu") {
		pair = keyPairs()[1]
	}
	for _, f := range []struct {
		path string
		data []byte
		mode fs.FileMode
	}{{pair.certificate, certificate, 0o644}, {pair.key, key, 0o600}} {
		if err := host.Tidy(r.host, f.path); err != nil {
			return err
		}
		if err := r.host.MkdirAll(path.Dir(f.path), 0o755); err != nil {
			return fmt.Errorf("cannot make %s: %w", path.Dir(f.path), err)
		}
		if now, err := r.host.ReadFile(f.path); err == nil && bytes.Equal(now, f.data) {
			continue
		}
		if err := r.host.WriteFile(f.path, f.data, f.mode); err != nil {
			return fmt.Errorf("cannot write %s: %w", f.path, err)
		}
	}
	return nil
}

// takeModuleKeys removes from an image the private keys that were not there before a transaction: it may be copied to
// many hosts, and whoever gets it could sign modules for all of them. The certificates stay, to be enrolled.
func (r *run) takeModuleKeys(before []string) error {
	if !r.inImage() || !r.signsModules() {
		return nil
	}
	for _, p := range keyPairs() {
		if slices.Contains(before, p.key) {
			continue
		}
		if err := host.Tidy(r.host, p.key); err != nil {
			return err
		}
		err := r.host.Remove(p.key)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot remove the private key %s from the image: %w", p.key, err)
		}
		if err := r.note("the private key %s, which signed the modules, was removed from the image; its certificate %s is what hosts with Secure Boot must enrol", p.key, p.certificate); err != nil {
			return err
		}
	}
	return nil
}

// dropModuleKeys removes what of keys and certificates came with a transaction that is taken back, or with its undo: DKMS
// signs a stack that is put back anew, and where the first key was taken from an image it makes another. On a host that
// runs a key that DKMS made may be enrolled by now, and stays.
//
// again says that packages come back whose modules DKMS builds.
func (r *run) dropModuleKeys(before []string, again bool) error {
	if !r.signsModules() && !(again && r.inImage()) || !r.inImage() && r.order.ModuleKey == nil {
		return nil
	}
	for _, p := range keyPairs() {
		for _, file := range []string{p.key, p.certificate} {
			if slices.Contains(before, file) {
				continue
			}
			if err := host.Tidy(r.host, file); err != nil {
				return err
			}
			if err := r.host.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("cannot remove %s: %w", file, err)
			}
		}
	}
	return nil
}

// applyWith runs a transaction with the key that its modules are to be signed with.
func (x *packagesStep) applyWith(ctx context.Context, u packagesUndo) error {
	if err := x.run.layModuleKey(); err != nil {
		return err
	}
	err := x.run.pm.Apply(ctx, u.Request)
	return errors.Join(err, x.run.takeModuleKeys(u.Keys))
}
