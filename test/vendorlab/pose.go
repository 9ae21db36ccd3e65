package vendorlab

import (
	"errors"
	"os"
	"path/filepath"
)

// Pose makes a copy of the base's root pose as Rocky Linux 9.4: its os-release, its rpm database with one
// package that stands for the distribution, and the libraries' directory of RHEL. dpkg's database and its
// files stay underneath: a kernel, systemd and the tools.
func (b Base) Pose(root string) error {
	const release = "NAME=\"Rocky Linux\"\nVERSION=\"9.4 (Blue Onyx)\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.4\"\n" +
		"PLATFORM_ID=\"platform:el9\"\nPRETTY_NAME=\"Rocky Linux 9.4 (Blue Onyx)\"\n"
	seed := pkg{
		name: "rocky-release", version: "9.4-1.7.el9", arch: "noarch", summary: "stands for the distribution",
		relations: []string{
			"Provides: system-release = 9.4", "Provides: system-release(releasever) = 9", "Provides: redhat-release = 9.4",
			"Provides: /bin/sh", // of scriptlets
		},
		fill: func(tree string) error {
			return put(tree+"/etc/redhat-release", []byte("Rocky Linux release 9.4 (Blue Onyx)\n"), 0o644)
		},
	}
	dir, err := os.MkdirTemp(root, "seed")
	if err != nil {
		return err
	}
	err = errors.Join(
		os.Remove(root+"/etc/os-release"),
		put(root+"/etc/os-release", []byte(release), 0o644),
		put(root+"/etc/rpm/macros", []byte("%_dbpath /var/lib/rpm\n"), 0o644),
		put(root+"/etc/ld.so.conf.d/00-lib64.conf", []byte(rpmLibs+"\n"), 0o644),
		put(root+"/etc/dnf/dnf.conf", []byte("[main]\ngpgcheck=1\ninstallonly_limit=3\nclean_requirements_on_remove=True\nbest=True\n"), 0o644),
		// Of links for init scripts as Debian has them; systemctl wants to ask it all the same.
		put(root+"/usr/lib/systemd/systemd-sysv-install", []byte("#!/bin/sh\nexit 0\n"), 0o755),
		os.MkdirAll(root+rpmLibs, 0o755), os.MkdirAll(root+"/etc/yum.repos.d", 0o755),
		seed.rpm(dir),
	)
	if err == nil {
		err = run(Chroot(root, "rpm --install --force-debian "+quoted("/"+filepath.Base(dir)+"/"+seed.rpmFile())+"; ldconfig"))
	}
	return errors.Join(err, os.RemoveAll(dir))
}
