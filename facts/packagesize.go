package facts

// PackageSize is what the package manager's lists say of one package that it could install.
type PackageSize struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // the one that would be installed
	// Have is the version that is on the host; empty where none is, or the database does not tell.
	Have string `json:"have,omitempty"`
	// Download is the size of the package's file, Installed what it takes on disk, both in bytes. Debian
	// counts the latter in KiB and zypper shows it with one decimal, so it is rounded. Absent: no configured
	// repository has a package of that name.
	Download  Field[int64] `json:"download"`
	Installed Field[int64] `json:"installed"`
}
