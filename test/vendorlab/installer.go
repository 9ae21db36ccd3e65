package vendorlab

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mlnxofedinstall is an installer that does what the vendor's does, written for the lab.
//
//go:embed installer/mlnxofedinstall
var mlnxofedinstall string

// Installers is the directory of a root where the installer of WithInstaller looks what else it is to do: exit-before
// has the code that it ends with before it changes anything, exit-after after all of it, remove a package that it
// removes besides, firmware that it installs the updater whatever it is told. With hang it stops when the old packages
// are gone and the new ones are not there, for ten minutes, and makes the file hanging.
const Installers = "srv/vendorlab"

// WithInstaller is the bundle of a Debian set with an installer that works in the place of the one that fails: the
// unpacked folder, and the .tgz.
func (l *Lab) WithInstaller(s Set) (folder, packed string, err error) {
	if s.Bundle == "" || s.Release.RPM() {
		return "", "", fmt.Errorf("the lab has no installer for %s", s.Release)
	}
	hash, err := l.key("installer", s.Packed, mlnxofedinstall)
	if err != nil {
		return "", "", err
	}
	dir, err := l.cache.Get("labinstaller-"+s.Release.String(), hash, func(dir string) error {
		to := filepath.Join(dir, s.Release.folder())
		program := filepath.Join(to, "mlnxofedinstall")
		if err := errors.Join(linkTree(s.Bundle, to), os.Remove(program)); err != nil {
			return err
		}
		if err := put(program, []byte(mlnxofedinstall), 0o755); err != nil {
			return err
		}
		return run(in(dir, "tar", "--create", "--gzip", "--owner=0", "--group=0", "--sort=name", "--file", to+".tgz", filepath.Base(to)))
	})
	folder = filepath.Join(dir, s.Release.folder())
	return folder, folder + ".tgz", err
}

// KnobFile is the file of a root that sets a knob of the installer.
func KnobFile(root, name string) string {
	return filepath.Join(root, filepath.FromSlash(Installers), strings.TrimPrefix(name, "/"))
}
