package facts

// UnmetNeed is a package that could not be installed because another one is not there in exactly the version
// that it needs, as a package manager or an installer reported it.
type UnmetNeed struct {
	Package string `json:"package"`
	// Version is that of Package, empty where the message does not tell it.
	Version string `json:"version,omitempty"`
	// Needs is the package that it needs, without architecture, and NeedsVersion the only version that will do.
	Needs        string `json:"needs"`
	NeedsVersion string `json:"needs_version"`
	// Source is the command line that said so.
	Source string `json:"source"`
}
