package install

// Exception is a path that a rollback does not restore, with the reason.
type Exception struct {
	Path string // as path.Match takes it
	Why  string
}

// Exceptions are what package scripts leave for good below /etc, /usr and /lib/modules, and caches
// there that every package transaction rewrites.
func Exceptions() []Exception {
	const accounts = "package scripts add system groups and users (rdma-core: group rdma); Debian policy keeps them, since files may belong to them"
	return []Exception{
		{"/etc/group", accounts},
		{"/etc/group-", accounts},
		{"/etc/gshadow", accounts},
		{"/etc/gshadow-", accounts},
		{"/etc/passwd", accounts},
		{"/etc/passwd-", accounts},
		{"/etc/shadow", accounts},
		{"/etc/shadow-", accounts},
		{"/etc/subuid", accounts},
		{"/etc/subuid-", accounts},
		{"/etc/subgid", accounts},
		{"/etc/subgid-", accounts},
		{"/etc/.pwd.lock", "lock of the account files"},
		{"/etc/ld.so.cache", "rebuilt by ldconfig from the libraries that are there"},
		{"/etc/udev/hwdb.bin", "rebuilt by systemd-hwdb"},
		{"/usr/lib/udev/hwdb.bin", "rebuilt by systemd-hwdb"},
		{"/lib/udev/hwdb.bin", "rebuilt by systemd-hwdb"},
		{"/etc/hosts", "netbase writes it where there is none"},
		{"/etc/machine-id", "made at first boot"},
		{"/etc/mtab", "kernel's mount table"},
		{"/etc/resolv.conf", "written by the network's configuration"},
		{"/etc/xml", "xml-core, which rst2man of a build of packages needs, makes it and leaves it empty"},
		{"/etc/adjtime", "written at shutdown"},
		{"/etc/.updated", "written by systemd-update-done at boot"},
		{"/usr/lib/python3/dist-packages/__pycache__", "compiled by python at run time"},
		{"/usr/share/mime/*", "cache rebuilt by update-mime-database"},
		{"/usr/share/info/dir", "index rebuilt by install-info"},
	}
}
