package bundle

import (
	"encoding/json"
	"time"

	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Schema names the JSON form of a Manifest.
const Schema = "rdmactl.bundle/v1"

// Manifest is what a bundle says of itself.
type Manifest struct {
	Schema string    `json:"schema"`
	Made   time.Time `json:"made"`
	Tool   string    `json:"tool"` // version of the rdmactl that made it
	// Key is the armored public key that signs the manifest and the repositories, Fingerprint is its own.
	Key         string `json:"key"`
	Fingerprint string `json:"fingerprint"`
	Hosts       []Host `json:"hosts"`
	// Repositories have the packages, one for each kind of host.
	Repositories []Repository `json:"repositories"`
	// Contents are in the bundle in this order, sorted by their checksums.
	Contents []Content `json:"contents"`
}

// Content is the content of one or more files.
type Content struct {
	SHA256 string `json:"sha256"` // 64 hex digits
	Bytes  int64  `json:"bytes"`
}

// File is a file of a repository.
type File struct {
	Path   string `json:"path"` // below the repository's directory
	SHA256 string `json:"sha256"`
}

// The forms of repositories.
const (
	Debs = "deb" // flat, with Packages, Release and InRelease
	RPMs = "rpm" // with repodata
)

// Repository is a package repository for one kind of host.
type Repository struct {
	ID   string `json:"id"` // names its directory: distribution, release and architecture
	Form string `json:"form"`
	// PackageKeys are armored public keys that sign single packages, of rpm repositories.
	PackageKeys []string `json:"package_keys,omitempty"`
	// Sources are where its packages come from, without credentials.
	Sources  []string `json:"sources"`
	Packages int      `json:"packages"`
	Files    []File   `json:"files"`
}

// Host is one host that a bundle was made for.
type Host struct {
	Name    string `json:"name"` // of its evidence
	Distro  string `json:"distro"`
	Release string `json:"release"` // VERSION_ID of os-release
	Arch    string `json:"arch"`    // as uname -m tells it
	Kernel  string `json:"kernel"`
	// Manager is its package manager, Repository the one of the bundle that it uses.
	Manager    string  `json:"package_manager"`
	Repository string  `json:"repository"`
	Request    Request `json:"request"`
	// Plan is the summary of the plan, Packages what the package manager answered to it.
	Plan     string                 `json:"plan"`
	Packages []plan.ResolvedPackage `json:"packages"`
	// Installed says what was known of the packages that the host has: InstalledTold or InstalledNotTold.
	Installed string   `json:"installed"`
	Notes     []string `json:"notes,omitempty"`
}

// What is known of the packages that a host has.
const (
	InstalledTold    = "told"     // the whole list, with their relations
	InstalledNotTold = "not-told" // it is taken for a host without any, so that more than it needs is there
)

// Request is what a plan is made of, on the host as it was where the bundle was made.
type Request struct {
	Profile profiles.Profile `json:"profile"`
	Stack   string           `json:"stack,omitempty"`
	Version string           `json:"version,omitempty"`
	Method  string           `json:"method,omitempty"`
	Cards   []string         `json:"cards,omitempty"`
	Netdev  string           `json:"netdev,omitempty"`
	Upgrade bool             `json:"upgrade,omitempty"`
	// Firmware brings the vendor's package that burns the cards' firmware.
	Firmware bool `json:"firmware,omitempty"`
	// Hold keeps the packages at their version.
	Hold bool `json:"hold,omitempty"`
	// Holdings are what the vendor's repository has that the packages come from.
	Holdings []matrix.Holding `json:"holdings,omitempty"`
	// Build is the source of a stack that is compiled, a file of the repository; its checksum proves it.
	Build string `json:"build,omitempty"`
	// Unknown says that a combination which nothing documents was accepted where the bundle was made.
	Unknown bool `json:"unknown_combination_accepted,omitempty"`
}

// Bytes is the size of all contents.
func (m Manifest) Bytes() int64 {
	var sum int64
	for _, c := range m.Contents {
		sum += c.Bytes
	}
	return sum
}

// RepositoryOf is the repository with an id.
func (m Manifest) RepositoryOf(id string) (Repository, bool) {
	for _, r := range m.Repositories {
		if r.ID == id {
			return r, true
		}
	}
	return Repository{}, false
}

// encode is the manifest as it stands in a bundle.
func (m Manifest) encode() ([]byte, error) {
	data, err := json.MarshalIndent(m, "", " ")
	return append(data, '\n'), err
}
