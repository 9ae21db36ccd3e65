package roots

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rdmactl/rdmactl/test/internal/cache"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// pkg is a package to build: each has a configuration file /etc/NAME.conf and a file
// /usr/share/NAME/data with its version in it.
type pkg struct {
	name, version string
	head          string // further lines of the preamble
	scripts       string // scriptlets
}

// stock are the packages of the repositories. alpha needs beta and would like delta; 2.0 of both has
// new configuration; obsolete takes gamma's place; badpre and badpost fail; slow waits in its %pre for
// the file /hold to go; kernel packages are kept side by side.
func stock() []pkg {
	return []pkg{
		{name: "release", version: "9.4", head: "Provides: system-release = 9.4\nProvides: system-release(releasever) = 9\nProvides: distribution-release\nProvides: /bin/sh\nProvides: product(openSUSE) = 15.6"},
		{name: "alpha", version: "1.0", head: "Requires: beta\nRecommends: delta"},
		{name: "alpha", version: "2.0", head: "Requires: beta >= 2.0\nRecommends: delta"},
		{name: "beta", version: "1.0"},
		{name: "beta", version: "2.0"},
		{name: "gamma", version: "1.0", head: "Requires: beta"},
		{name: "delta", version: "1.0", head: "Epoch: 3"},
		{name: "obsolete", version: "1.0", head: "Obsoletes: gamma < 2"},
		{name: "rival", version: "1.0", head: "Conflicts: gamma"},
		{name: "badpre", version: "1.0", head: "Requires: beta", scripts: "%pre\nexit 1"},
		{name: "badpost", version: "1.0", head: "Requires: beta", scripts: "%post\nexit 1"},
		{name: "slow", version: "1.0", head: "Requires: beta", scripts: "%pre\necho waiting >/waiting\nwhile [ -e /hold ]; do sleep 0.1; done"},
		{name: "slow", version: "2.0", head: "Requires: beta", scripts: "%post\necho waiting >/waiting\nwhile [ -e /hold ]; do sleep 0.1; done"},
		{name: "a-package-with-a-very-long-name-that-does-not-fit-its-column", version: "1.0.20260101.git0123456789abcdef"},
		{name: "plain", version: "1.0"},
		{name: "plain", version: "2.0"},
		{name: "big", version: "1.0", head: "Requires: beta"},
		{name: "kernel-devel", version: "5.14.0", head: sideBySide},
		{name: "kernel-devel", version: "5.15.0", head: sideBySide},
		{name: "kernel-source", version: "5.14.0"},
		{name: "kernel-source", version: "5.15.0"},
	}
}

// sideBySide is what tells dnf and zypp that several versions may be installed at once.
const sideBySide = "Provides: installonlypkg(kernel)\nProvides: multiversion(kernel)"

// spec is the recipe of a package.
func (p pkg) spec() string {
	return fmt.Sprintf(`Name: %[1]s
Version: %[2]s
Release: 1
Summary: test
License: MIT
BuildArch: noarch
%[3]s

%%description
test
%%install
mkdir -p %%{buildroot}/etc %%{buildroot}/usr/share/%[5]s
echo default %[2]s >%%{buildroot}/etc/%[5]s.conf
echo %[2]s >%%{buildroot}/usr/share/%[5]s/data
%[6]s%[4]s
%%files
%%config%[8]s /etc/%[5]s.conf
/usr/share/%[5]s
%[7]s`, p.name, p.version, p.head, p.scripts, p.files(), p.install(), p.also(), p.noreplace())
}

// files is the name in the paths of a package; those that are kept side by side share none.
func (p pkg) files() string {
	if strings.HasPrefix(p.name, "kernel-") {
		return p.name + "-" + p.version
	}
	return p.name
}

// install makes what only one package has: big is bigger than the disk of one test.
func (p pkg) install() string {
	if p.name != "big" {
		return ""
	}
	return "mkdir -p %{buildroot}/opt/big\nhead -c 4194304 /dev/zero >%{buildroot}/opt/big/data\n"
}

// noreplace is left out of one package: rpm then moves the edited file away.
func (p pkg) noreplace() string {
	if p.name == "plain" {
		return ""
	}
	return "(noreplace)"
}

func (p pkg) also() string {
	if p.name != "big" {
		return ""
	}
	return "/opt/big\n"
}

func (p pkg) build(dir string) error {
	top, err := os.MkdirTemp("", "rdmactl-rpmbuild-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(top)
	spec := filepath.Join(top, p.name+".spec")
	if err := os.WriteFile(spec, []byte(p.spec()), 0o644); err != nil {
		return err
	}
	return rootlab.Run(exec.Command("rpmbuild", "-bb", "-D", "_topdir "+top, "-D", "_rpmdir "+dir, "-D", "_dbpath "+top+"/db",
		"-D", "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm", "-D", "_buildhost localhost", spec))
}

// rpmVersion changes when rpmRepos makes something else of the same packages.
const rpmVersion = 1

// The repositories of rpm packages. All but the first are faulty, each in one way.
const (
	repoGood         = "good"
	repoUnsigned     = "unsigned"      // alpha has no signature, the index has
	repoOtherKey     = "other-key"     // alpha is signed by a key that nobody trusts
	repoTampered     = "tampered"      // a byte of alpha was changed after the index was made
	repoBadSignature = "bad-signature" // the index was changed after it was signed
	repoNoSignature  = "no-signature"  // the index is not signed
	repoOtherIndex   = "other-index"   // the index is signed by a key that nobody trusts
	repoExpiredKey   = "expired-key"   // the index is signed by a key that has expired
	repoBadChecksum  = "bad-checksum"  // a part of the index does not have its sum
)

// rpmRepos makes the packages and repositories, once for the cache.
func rpmRepos(c *cache.Cache) (string, error) {
	texts := []string{}
	for _, p := range stock() {
		texts = append(texts, p.spec())
	}
	trusted, err := rootlab.NewSigner(c, "rootskey", "trusted")
	if err != nil {
		return "", err
	}
	stranger, err := rootlab.NewSigner(c, "rootskey", "stranger")
	if err != nil {
		return "", err
	}
	expired, err := rootlab.NewExpired(c, "rootskey", "expired")
	if err != nil {
		return "", err
	}
	hash, err := cache.Key(rpmVersion, texts, filepath.Base(trusted.Home), filepath.Base(stranger.Home), filepath.Base(expired.Home))
	if err != nil {
		return "", err
	}
	return c.Get("rpms", hash, func(dir string) (err error) {
		defer func() { err = errors.Join(err, trusted.Stop(), stranger.Stop(), expired.Stop()) }()
		good := filepath.Join(dir, repoGood)
		for _, p := range stock() {
			if err := p.build(good); err != nil {
				return err
			}
		}
		unsigned, err := os.ReadFile(filepath.Join(good, "alpha-1.0-1.noarch.rpm"))
		if err != nil {
			return err
		}
		files, err := filepath.Glob(good + "/*.rpm")
		if err != nil {
			return err
		}
		if err := trusted.RPMs(files...); err != nil {
			return err
		}
		for name, s := range map[string]rootlab.Signer{"trusted": trusted, "stranger": stranger, "expired": expired} {
			key, err := s.Public()
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, name+".asc"), key, 0o644); err != nil {
				return err
			}
		}
		for _, twin := range []struct {
			name     string
			index    rootlab.Signer
			packages func(alpha string) error
			after    func(repo string) error
		}{
			{repoUnsigned, trusted, func(alpha string) error { return os.WriteFile(alpha, unsigned, 0o644) }, nil},
			{repoOtherKey, trusted, func(alpha string) error {
				return errors.Join(os.WriteFile(alpha, unsigned, 0o644), stranger.RPMs(alpha))
			}, nil},
			{repoTampered, trusted, nil, func(repo string) error { return flip(repo + "/alpha-1.0-1.noarch.rpm") }},
			{repoBadSignature, trusted, nil, func(repo string) error { return edit(repo + "/repodata/repomd.xml") }},
			{repoNoSignature, trusted, nil, func(repo string) error { return os.Remove(repo + "/repodata/repomd.xml.asc") }},
			{repoOtherIndex, stranger, nil, nil},
			{repoExpiredKey, expired, nil, nil},
			{repoBadChecksum, trusted, nil, func(repo string) error {
				parts, err := filepath.Glob(repo + "/repodata/*-primary.xml.*")
				if err != nil || len(parts) != 1 {
					return errors.Join(err, fmt.Errorf("%d primary indexes", len(parts)))
				}
				return flip(parts[0])
			}},
			{repoGood, trusted, nil, nil},
		} {
			repo := filepath.Join(dir, twin.name)
			if twin.name != repoGood {
				if err := rootlab.Run(exec.Command("cp", "-a", "--no-target-directory", good, repo)); err != nil {
					return err
				}
			}
			if twin.packages != nil {
				if err := twin.packages(repo + "/alpha-1.0-1.noarch.rpm"); err != nil {
					return err
				}
			}
			if err := rootlab.Run(exec.Command("createrepo_c", "-q", "--general-compress-type=gz", repo)); err != nil {
				return err
			}
			if err := twin.index.Detach(repo + "/repodata/repomd.xml"); err != nil {
				return err
			}
			// libzypp takes the key from here when it asks whether to trust it.
			if twin.after != nil {
				if err := twin.after(repo); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// flip changes one byte near the end of a file, where the payload of a package is; its size stays.
func flip(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text[len(text)-30] ^= 0xff
	return os.WriteFile(file, text, 0o644)
}

// edit changes what was signed.
func edit(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	edited := strings.Replace(string(text), "<revision>", "<revision>1", 1)
	if edited == string(text) {
		return errors.New("there is nothing to edit in " + file)
	}
	return os.WriteFile(file, []byte(edited), fs.FileMode(0o644))
}
