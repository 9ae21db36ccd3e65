package pkgmgr_test

import (
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

func TestRepositoryCheck(t *testing.T) {
	good := pkgmgr.Repository{ID: "rdmactl-doca-ofed", Name: "DOCA", URL: "https://example.com/doca/9/x86_64/", Key: []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\n")}
	for name, change := range map[string]func(*pkgmgr.Repository){
		"as it is": func(*pkgmgr.Repository) {},
		"a file":   func(r *pkgmgr.Repository) { r.URL = "file:/srv/x" },
		"a suite":  func(r *pkgmgr.Repository) { r.Suite, r.Components = "stable", []string{"main"} },
	} {
		r := good
		change(&r)
		if err := r.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(*pkgmgr.Repository){
		"no id":                     func(r *pkgmgr.Repository) { r.ID = "" },
		"an id that is a path":      func(r *pkgmgr.Repository) { r.ID = "../x" },
		"an id with a bracket":      func(r *pkgmgr.Repository) { r.ID = "x]" },
		"a name of two lines":       func(r *pkgmgr.Repository) { r.Name = "x\ngpgcheck=0" },
		"an address of two lines":   func(r *pkgmgr.Repository) { r.URL += "\ngpgcheck=0" },
		"an address with a blank":   func(r *pkgmgr.Repository) { r.URL += " x" },
		"an address with options":   func(r *pkgmgr.Repository) { r.URL = "[trusted=yes] " + r.URL },
		"an address with variables": func(r *pkgmgr.Repository) { r.URL += "$releasever" },
		"another scheme":            func(r *pkgmgr.Repository) { r.URL = "ftp://example.com/" },
		"no address":                func(r *pkgmgr.Repository) { r.URL = "" },
		"a file on another host":    func(r *pkgmgr.Repository) { r.URL = "file://host/x" },
		"no key":                    func(r *pkgmgr.Repository) { r.Key = nil },
		"a private key":             func(r *pkgmgr.Repository) { r.Key = []byte("-----BEGIN PGP PRIVATE KEY BLOCK-----\n") },
		"a suite alone":             func(r *pkgmgr.Repository) { r.Suite = "stable" },
		"components alone":          func(r *pkgmgr.Repository) { r.Components = []string{"main"} },
		"a component with a blank":  func(r *pkgmgr.Repository) { r.Suite, r.Components = "stable", []string{"main x"} },
	} {
		r := good
		change(&r)
		if err := r.Check(); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	secret := good
	secret.URL = "https://user:secret@example.com/ x"
	if err := secret.Check(); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the password is told: %v", err)
	}
}

func TestFind(t *testing.T) {
	db := pkgmgr.Database{}
	for _, p := range []pkgmgr.Package{
		{Name: "alpha", Arch: "amd64", Version: "1.0", Status: pkgmgr.Installed},
		{Name: "alpha", Arch: "i386", Version: "1.0", Status: pkgmgr.Installed},
		{Name: "beta", Arch: "amd64", Version: "1.0", Status: pkgmgr.ConfigFiles},
	} {
		db[p.Key()] = p
	}
	if p, ok := db.Find("alpha"); !ok || p.Arch != "amd64" {
		t.Errorf("%v", p)
	}
	if p, ok := db.Find("alpha:i386"); !ok || p.Arch != "i386" {
		t.Errorf("%v", p)
	}
	for _, no := range []string{"beta", "beta:amd64", "alpha:arm64", "gamma", ""} {
		if p, ok := db.Find(no); ok {
			t.Errorf("%q finds %v", no, p)
		}
	}
}
