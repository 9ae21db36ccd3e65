package roots

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/cache"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// debs are the packages of stock that the contract needs, in Debian's words.
func debs() map[string]string {
	return map[string]string{
		"alpha 1.0": "Depends: beta\nRecommends: delta\n", "alpha 2.0": "Depends: beta (>= 2.0)\nRecommends: delta\n",
		"beta 1.0": "", "beta 2.0": "", "gamma 1.0": "Depends: beta\n", "delta 3:1.0": "", "rival 1.0": "Conflicts: gamma\n",
		"badpost 1.0": "Depends: beta\n",
	}
}

// debRepo makes a flat repository, good/, signed by the key trusted.
func debRepo(c *cache.Cache) (string, error) {
	trusted, err := rootlab.NewSigner(c, "rootskey", "trusted")
	if err != nil {
		return "", err
	}
	hash, err := cache.Key(1, debs(), filepath.Base(trusted.Home))
	if err != nil {
		return "", err
	}
	return c.Get("debs", hash, func(dir string) (err error) {
		defer func() { err = errors.Join(err, trusted.Stop()) }()
		repo := filepath.Join(dir, repoGood)
		if err := os.MkdirAll(repo, 0o755); err != nil {
			return err
		}
		for what, fields := range debs() {
			name, version, _ := strings.Cut(what, " ")
			top := filepath.Join(dir, "tree")
			files := map[string]string{
				"DEBIAN/control":              fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: Test <test@example.org>\nInstalled-Size: 10\n%sDescription: test\n", name, version, fields),
				"DEBIAN/conffiles":            "/etc/" + name + ".conf\n",
				"etc/" + name + ".conf":       "default " + version + "\n",
				"usr/share/" + name + "/data": version + "\n",
			}
			if name == "badpost" {
				files["DEBIAN/postinst"] = "#!/bin/sh\nexit 1\n"
			}
			for f, text := range files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(top, f)), 0o755); err != nil {
					return err
				}
				mode := os.FileMode(0o644)
				if f == "DEBIAN/postinst" {
					mode = 0o755
				}
				if err := os.WriteFile(filepath.Join(top, f), []byte(text), mode); err != nil {
					return err
				}
			}
			if err := rootlab.Run(exec.Command("dpkg-deb", "--root-owner-group", "-Zgzip", "-b", top, fmt.Sprintf("%s/%s_%s_all.deb", repo, name, strings.ReplaceAll(version, ":", "%3a")))); err != nil {
				return err
			}
			if err := os.RemoveAll(top); err != nil {
				return err
			}
		}
		for _, one := range []struct {
			file string
			args []string
		}{
			{"Packages", []string{"packages", "."}},
			{"Release", []string{"-o", "APT::FTPArchive::Release::Origin=test", "-o", "APT::FTPArchive::Release::Suite=stable", "release", "."}},
		} {
			var out bytes.Buffer
			cmd := exec.Command("apt-ftparchive", one.args...)
			cmd.Dir, cmd.Stdout = repo, &out
			if err := rootlab.Run(cmd); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(repo, one.file), out.Bytes(), 0o644); err != nil {
				return err
			}
		}
		key, err := trusted.Public()
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(filepath.Join(dir, "trusted.asc"), key, 0o644),
			rootlab.Run(trusted.GPG("--clearsign", "--output", repo+"/InRelease", repo+"/Release")))
	})
}

// debRoot is a Debian root without any source of packages.
func debRoot(t testing.TB) *Root {
	t.Helper()
	need(t)
	c, err := cache.Open()
	if err != nil {
		t.Fatal(err)
	}
	from, err := tree(c, "rpm", treePackages()...)
	if err != nil {
		t.Fatal(err)
	}
	repo, err := debRepo(c)
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, from, repo)
	r.Put("/etc/apt/sources.list", "")
	r.Put("/etc/apt/keyrings/test.asc", readFile(t, filepath.Join(repo, "trusted.asc")))
	return r
}
