// Package plan decides which RDMA stack a host gets and by which steps. It is a pure function: facts,
// profile and request in, Plan out, the same bytes for the same input. It does no I/O.
package plan

import (
	"path"
	"strings"

	"github.com/rdmactl/rdmactl/plan/rules"
)

// Schema names the JSON form of a Plan.
const Schema = "rdmactl.plan/v1"

// Verdict is the answer of a plan.
type Verdict string

// The verdicts.
const (
	Install       Verdict = "install"
	NothingToDo   Verdict = "nothing-to-do"
	Refuse        Verdict = "refuse"
	StackChosen   Verdict = "chosen"
	StackPossible Verdict = "possible"
	StackRefused  Verdict = "refused"
)

// Status is how well a combination of stack, distro, kernel and card is known to work.
type Status = rules.Status

// The statuses, best first.
const (
	Supported   = rules.Supported   // documented
	Community   = rules.Community   // documented as community support
	Present     = rules.Present     // the repository at hand holds packages for exactly this
	Unknown     = rules.Unknown     // no evidence either way
	Unsupported = rules.Unsupported // documented as not, or excluded by a rule
)

// Plan is the whole answer: a verdict for every stack, then the steps to the chosen one.
type Plan struct {
	Schema  string  `json:"schema"`
	Verdict Verdict `json:"verdict"`
	// Summary is the answer in one sentence, the first line that a person reads.
	Summary string `json:"summary"`
	Profile string `json:"profile,omitempty"`
	// ProfileFrom says who chose the profile: FromFlag, FromEvidence, FromDefault, or the path of the
	// configuration.
	ProfileFrom string    `json:"profile_from,omitempty"`
	Chosen      *Choice   `json:"chosen"` // null when refused
	Stacks      []Stack   `json:"stacks"`
	Steps       []Step    `json:"steps"`
	Reasons     []Reason  `json:"reasons"` // why the verdict is what it is
	Warnings    []Reason  `json:"warnings"`
	Reboot      bool      `json:"reboot"`
	Looked      []string  `json:"looked_at,omitempty"` // for a refusal: what was looked at
	Cards       []string  `json:"cards,omitempty"`     // generations stated with --card, not seen
	Next        []Hint    `json:"next"`                // what to type now, the best first
	Solver      *Solution `json:"resolved,omitempty"`  // with --resolve, from the package manager
	// Manager is the host's package manager, which carries out the packages: apt, dnf, yum or zypper. Empty
	// when no facts tell it, or when the plan is refused.
	Manager string `json:"package_manager,omitempty"`
}

// Who chose a profile, where it was not a file.
const (
	FromFlag     = "--profile"
	FromEvidence = "the evidence's request"
	FromDefault  = "default"
)

// Hint is a command with what it would do on this host.
type Hint struct {
	Command string `json:"command"`
	Text    string `json:"text"`
}

// Choice is the stack that the plan installs.
type Choice struct {
	Stack   string `json:"stack"`
	Version string `json:"version"` // empty when the package manager decides
	Method  string `json:"method"`  // packages, repository, local-repo, bundle, source, ...
	Modules string `json:"modules"` // inbox, prebuilt, dkms, built
	Status  Status `json:"status"`
}

// Stack is the verdict for one of the five.
type Stack struct {
	Stack     string   `json:"stack"`
	Version   string   `json:"version"`
	Installed string   `json:"installed"` // version on the host, empty if none
	Status    Status   `json:"status"`
	Verdict   Verdict  `json:"verdict"`
	Reasons   []Reason `json:"reasons"`
	// Branch, LongTerm, Released, SupportEnd and SupportBasis are of the release that Version names.
	// Days or months; SupportBasis is "stated" by the vendor or "computed" from the branch's start.
	Branch       string `json:"branch,omitempty"`
	LongTerm     bool   `json:"long_term,omitempty"`
	Released     string `json:"released,omitempty"`
	SupportEnd   string `json:"support_end,omitempty"`
	SupportBasis string `json:"support_basis,omitempty"`
	// Method and Modules are how it would be installed, empty when nothing would be.
	Method  string `json:"method,omitempty"`
	Modules string `json:"modules,omitempty"`
}

// Reason is one coded reason with the source of the fact behind it.
type Reason struct {
	Code   string `json:"code"`
	Text   string `json:"text"`
	Source string `json:"source"`
}

// Kind is what a step does; install has one executor for each.
type Kind string

// The kinds of steps.
const (
	KindPackages Kind = "packages" // through the package manager
	KindFiles    Kind = "files"    // files that rdmactl writes
	KindModules  Kind = "modules"  // load kernel modules now
	KindUdev     Kind = "udev"     // reload rules and trigger the subsystems named
	KindServices Kind = "services" // reload systemd, start or restart units
	KindVerify   Kind = "verify"   // verbs loopback
	// Those of the stacks that are not the distribution's own.
	KindRepository Kind = "repository" // a vendor's repository with its key
	KindBuild      Kind = "build"      // compile a stack from source
	KindUse        Kind = "use"        // switch the library that programs get by default
	KindInitramfs  Kind = "initramfs"  // make the initramfs anew
	KindActivate   Kind = "activate"   // new modules take the place of those in memory
	KindRemove     Kind = "remove"     // files and directories that no package owns go
	KindHold       Kind = "hold"       // packages are kept at their version, or no longer
	// KindVendorScript runs the vendor's own installer.
	KindVendorScript Kind = "vendor-script"
)

// Step is one change with its reason and its way back.
type Step struct {
	ID      string  `json:"id"`
	Kind    Kind    `json:"kind"`
	Summary string  `json:"summary"`
	Why     string  `json:"why"`
	Changes Changes `json:"changes"`
	Undo    string  `json:"undo"` // how it is undone, for a person
	Root    bool    `json:"root"`
	Network bool    `json:"network"`
	Reboot  bool    `json:"reboot"`
	// Bytes is an estimate of what is downloaded and installed, 0 when not known before the solver.
	Bytes int64 `json:"bytes"`
}

// Changes is what a step changes on the host.
type Changes struct {
	Packages []PackageChange `json:"packages,omitempty"`
	// NotFrom are repositories that none of Packages is taken from, as the package manager names them: addresses
	// for apt, ids for the others.
	NotFrom []string `json:"not_from,omitempty"`
	// BuiltBy is the step that builds Packages, empty where repositories have them. Their versions are known after it.
	BuiltBy string `json:"built_by,omitempty"`
	// Trees are files and directories, absolute paths, that go whole where they are and no package owns them.
	Trees      []string        `json:"trees,omitempty"`
	Files      []FileChange    `json:"files,omitempty"`
	Modules    []ModuleChange  `json:"modules,omitempty"`
	Services   []ServiceChange `json:"services,omitempty"`
	Subsystems []string        `json:"subsystems,omitempty"` // of udev
	// Kernel is the release of initramfs.
	Kernel string `json:"kernel,omitempty"`
	// Repository and Build are of the kinds of the same name.
	Repository *RepositoryChange `json:"repository,omitempty"`
	Build      *BuildChange      `json:"build,omitempty"`
	Use        *UseChange        `json:"use,omitempty"`
	Hold       *HoldChange       `json:"hold,omitempty"`
	Script     *ScriptChange     `json:"script,omitempty"`
	// BroughtBy is the id of an earlier step whose packages a step of KindRemove takes away again.
	BroughtBy string `json:"brought_by,omitempty"`
}

// RepositoryChange is a package source that is added.
type RepositoryChange struct {
	URL  string `json:"url"`
	File string `json:"file"` // where the package manager finds it
	// KeyURL and Fingerprint are of the key that signs it; Fingerprint is 40 hex digits, empty when no
	// source tells it.
	KeyURL      string `json:"key_url,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	// SignedIndex says that the index of an rpm repository is signed, not its packages alone.
	SignedIndex bool `json:"signed_index,omitempty"`
	// Packages are the release's own versions of its packages, by name, where the repository was looked into:
	// one may have other releases as well, of which the package manager would take the newest.
	Packages map[string][]string `json:"packages,omitempty"`
	// Bundle is the file that the repository has to be unpacked from, to URL; nil for one that is there.
	Bundle *BundleChange `json:"bundle,omitempty"`
}

// Origin is where the repository, or the file that it is in, comes from.
func (r RepositoryChange) Origin() string {
	if r.Bundle != nil {
		return r.Bundle.File
	}
	return r.URL
}

// ID names the repository to the package manager, as its file is named.
func (r RepositoryChange) ID() string {
	name := path.Base(r.File)
	return strings.TrimSuffix(name, path.Ext(name))
}

// BuildChange is a stack that is compiled on the host.
type BuildChange struct {
	Source  string `json:"source"` // address of the source, empty when it must be given
	Version string `json:"version"`
	Prefix  string `json:"prefix"` // empty for packages
	// Packages is the format of the packages that are made, "deb" or "rpm"; empty for a build into Prefix.
	Packages string   `json:"packages,omitempty"`
	Options  []string `json:"options,omitempty"`
	// SHA256 and Signature prove the source: its checksum, and where a detached OpenPGP signature of it is.
	SHA256    string `json:"sha256,omitempty"`
	Signature string `json:"signature,omitempty"`
	// Providers are the drivers that the build must have, by name: mlx5.
	Providers []string `json:"providers,omitempty"`
}

// UseChange is which stack's library programs get by default.
type UseChange struct {
	Stack   string `json:"stack"`
	Version string `json:"version,omitempty"`
	// Prefix is the directory of a build; empty is the distribution's own.
	Prefix string `json:"prefix,omitempty"`
	// Rules says that the build's udev rules serve the host, with the units that they start: no rdma-core of the
	// distribution is there whose rules would.
	Rules bool `json:"rules,omitempty"`
}

// PackageChange is one package that the plan asks the package manager for.
type PackageChange struct {
	Name string `json:"name"`
	// Action is install, upgrade, remove, replace (by a package of the same name, or none), restore (the
	// distribution's newest version takes its place, however low its number is, and where the distribution has
	// none it goes with its configuration), or exclude: it must not come, and the run stops if the package
	// manager would bring it.
	Action string `json:"action"`
	Why    string `json:"why,omitempty"`
	// Optional packages are left out, with a warning, when no repository has them. One to restore is removed then.
	Optional bool `json:"optional,omitempty"`
}

// FileChange is one file with its whole text.
type FileChange struct {
	Path    string `json:"path"`
	Action  string `json:"action"` // write, remove
	Mode    string `json:"mode"`   // octal, "0644"
	Content string `json:"content"`
}

// ModuleChange is one module to load.
type ModuleChange struct {
	Name string `json:"name"`
	Why  string `json:"why,omitempty"`
	// Optional modules may be missing from this kernel.
	Optional bool `json:"optional,omitempty"`
}

// ServiceChange is one unit to act on.
type ServiceChange struct {
	Name   string `json:"name"`
	Action string `json:"action"` // daemon-reload (name empty), start, restart, try-restart
}

// Solution is the package manager's own answer to the packages of a plan.
type Solution struct {
	Manager string            `json:"manager"`
	Actions []ResolvedPackage `json:"actions"`
	// DownloadBytes and InstalledBytes are the solver's figures; -1 when it gives none.
	DownloadBytes  int64 `json:"download_bytes"`
	InstalledBytes int64 `json:"installed_bytes"`
}

// ResolvedPackage is one action of the solver.
type ResolvedPackage struct {
	Name    string `json:"name"`
	Arch    string `json:"arch"`
	From    string `json:"from,omitempty"` // installed version, if any
	Version string `json:"version"`        // version afterwards; empty for a removal
	Origin  string `json:"origin"`         // repository as the manager names it
	Action  string `json:"action"`         // install, upgrade, downgrade, remove, reinstall
}

// Request is what the user asked for, from flags, configuration or an evidence's request.
type Request struct {
	Profile string // name; empty means the default
	// ProfileFrom is carried into the plan; it changes nothing in it.
	ProfileFrom string
	Stack       string   // one of Stacks
	Version     string   //
	Method      string   //
	Kernel      string   // target kernel, empty for the facts' own
	Cards       []string // --card: generations that cannot be seen
	Netdev      string   // --netdev: the interface under a Soft-RoCE device
	Date        string   // RFC 3339 day; empty for the facts' own
	quiet       bool     // planned for the hint of another plan, and needs none itself
	Matrix      []string // --matrix, as it was given: for what to type next
	// Source is where the stack comes from, as --source names it; SHA256 and Signature prove a source file.
	Source, SHA256, Signature string
	Keys                      []string // --key, as files: for what to type next
	// Root is the directory of the image that is planned for, empty for a host: for what to type next.
	Root string
	// Activate is how what is installed comes into use, one of ActivationModes; empty is ActivateAuto.
	Activate string
	// Aside leaves what programs get by default alone. On a host that is what ActivateNone says; an image is never
	// activated, and comes into use when it boots, so there it is asked for by itself.
	Aside bool
	// Firmware asks for the vendor's package that burns the cards' firmware.
	Firmware bool
	// Installer is the vendor's own installer in Source, nil where it is not what installs the stack.
	Installer *Installer
	// AcceptEOL is the user's consent to a stack that nobody maintains: for what to type next.
	AcceptEOL bool
	// RemoveBuildDeps removes what was installed to build with when the build is done.
	RemoveBuildDeps bool
	// Hold keeps the packages of the stack at the version that the plan leaves; Own are the holds that earlier runs set.
	Hold    bool
	Own     []OwnHold
	Upgrade bool // move to the newest release of the branch although an older one serves
}

// StackNames are the five stacks in the order in which they are shown.
func StackNames() []string {
	return []string{"inbox", "rdma-core", "ofed", "mlnx-ofed", "doca-ofed"}
}
