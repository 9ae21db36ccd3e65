package plan

import (
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan/rules"
)

// VendorScript tells that a program of the vendor's runs as root.
const VendorScript rules.Code = "vendor-script"

// RunDirectory stands in the arguments of a vendor's installer for the directory of the run.
const RunDirectory = "{run}"

// Names of the installers, at the top of their bundles.
const (
	MLNXInstaller = "mlnxofedinstall" // of MLNX_OFED
	OFAInstaller  = "install.pl"      // of OFED of the OpenFabrics Alliance
)

// Installer is what --source has for the method vendor-script: a packed bundle or an unpacked one, with the vendor's
// own installer at its top.
type Installer struct {
	// File is the packed file, a path or an address; empty for an unpacked bundle, which is in Directory.
	File, Directory string
	SHA256          string // of the file, 64 hex digits
	// Folder has the installer, "." for the top of the file. Entries and Bytes are what is in it.
	Folder  string
	Entries int
	Bytes   int64
	// Version is the release that the bundle says it is.
	Version string
	// Proof is what the user gave to prove the whole file: sha256, signature; empty for nothing.
	Proof string
}

// ScriptChange is a vendor's own installer that is run as root.
type ScriptChange struct {
	// Program is the absolute path of the installer on the host, or its name where no source is named.
	Program string `json:"program"`
	// Args are its arguments; RunDirectory stands for the directory of the run.
	Args []string `json:"args"`
	// Force is added to the arguments when others' packages have to go that the user allowed by name. Empty for an
	// installer that has no such option.
	Force string `json:"force,omitempty"`
	// Bundle is the file that it is unpacked from, nil for a bundle that is unpacked in Directory. Neither is there
	// when no source is named.
	Bundle    *BundleChange `json:"bundle,omitempty"`
	Directory string        `json:"directory,omitempty"`
	// Brings are the versions of the packages that the bundle has, by name. Empty where nothing tells them, as of
	// packages that are built on the host: then what it removes is not documented either.
	Brings map[string][]string `json:"brings,omitempty"`
}

// Command is the line that is run, for a person.
func (c ScriptChange) Command() string {
	words := []string{quoted(c.Program)}
	for _, a := range c.Args {
		words = append(words, quoted(a))
	}
	return strings.Join(words, " ")
}

// scriptSteps install a release by the vendor's own installer.
func scriptSteps(in rules.Input, c *rules.Candidate, req Request) []Step {
	var out []Step
	if needs := buildNeeds(in, c); c.Release.Stack == "ofed" && len(needs) > 0 {
		out = append(out, Step{
			ID: "build-tools", Kind: KindPackages, Summary: "install " + plural(len(needs), "package") + " to build with",
			Why: "the stack is compiled on this host", Changes: Changes{Packages: needs},
			Undo: "remove the packages that this step added", Root: true, Network: true,
		})
	}
	if c.Release.Stack != "ofed" {
		out = append(out, toolsStep(in, c)...)
	}
	change := &ScriptChange{}
	if found := req.Installer; found != nil && found.Directory != "" {
		change.Directory = found.Directory
	} else if found != nil {
		change.Bundle = &BundleChange{
			File: found.File, SHA256: found.SHA256, Folder: found.Folder, Repository: found.Folder,
			Entries: found.Entries, Bytes: found.Bytes, Proof: found.Proof, Whole: true,
		}
	}
	s := Step{
		ID: "vendor-script", Kind: KindVendorScript, Root: true, Network: true, Bytes: vendorBytes(c),
		Changes: Changes{Script: change, Packages: append(scriptRemoves(in, c), excludedFirmware(c, req)...)},
		Undo:    "remove the packages that came, put the old ones back, which were kept before, and what the installer changed below /etc",
	}
	if c.Release.Stack == "ofed" {
		ofaScript(in, c, &s)
	} else {
		mlnxScript(in, c, req, &s)
	}
	switch {
	case change.Bundle != nil:
		change.Program = path.Join(change.Bundle.Place(), change.Program)
	case change.Directory != "":
		change.Program = path.Join(change.Directory, change.Program)
	}
	s.Why += "; " + scriptProof(*change)
	return append(out, s)
}

// scriptProof says what lets root run a program of a bundle.
func scriptProof(c ScriptChange) string {
	switch {
	case c.Bundle != nil && c.Bundle.Proof == "sha256":
		return "the whole file is proven by the checksum that was given, and unpacked to " + c.Bundle.Dir()
	case c.Bundle != nil && c.Bundle.Proof == "signature":
		return "the whole file is proven by the signature that was given, and unpacked to " + c.Bundle.Dir()
	case c.Bundle != nil:
		return "nothing proves the file yet: give its checksum from where you trust it with --sha256, or a detached signature with --signature and --key"
	case c.Directory != "":
		return "the run stops unless root owns all of " + c.Directory + " and nobody else may write there: that shows that nobody else changed it since it was unpacked, and not where it is from"
	}
	return "the bundle has to be named with --source, and proven with --sha256, or --signature and --key"
}

// scriptRemoves are the packages that the installer removes before it installs its own.
func scriptRemoves(in rules.Input, c *rules.Candidate) []PackageChange {
	gone := rules.ReplacedPackages(in, c)
	installed, _ := rules.InstalledPackages(in.Facts)
	for _, p := range installed {
		kept := c.Layout != nil && slices.ContainsFunc(c.Layout.Keeps, named(p.Name))
		if (p.Origin == c.Release.Stack || c.Release.Stack == "ofed" && ofaRemoves(in, p.Name)) && !kept {
			gone = append(gone, p)
		}
	}
	slices.SortFunc(gone, func(a, b facts.Package) int { return strings.Compare(a.Name, b.Name) })
	var out []PackageChange
	for _, p := range gone {
		if slices.ContainsFunc(out, func(o PackageChange) bool { return o.Name == p.Name }) {
			continue
		}
		out = append(out, PackageChange{Name: p.Name, Action: "replace", Why: "of " + p.Origin})
	}
	return out
}

// mlnxScript is mlnxofedinstall. -q asks nothing; without --force it ends with 174, and nothing removed, where packages
// of others need what it removes. --without-fw-update alone still installs mlnx-fw-updater, told not to burn.
func mlnxScript(in rules.Input, c *rules.Candidate, req Request, s *Step) {
	x := s.Changes.Script
	x.Program, x.Force = MLNXInstaller, "--force"
	x.Args = append(x.Args, mlnxSet(vendorSet(in, c))...)
	if !req.Firmware {
		x.Args = append(x.Args, "--without-fw-update")
		if c.Layout != nil && c.Layout.Firmware != "" {
			x.Args = append(x.Args, "--without-"+c.Layout.Firmware)
		}
	}
	// The installer compares the bundle's label with the minor release of Debian that is on the host, and a bundle is
	// made for one of them alone; the rules of the matrix have judged that already.
	if h := c.Holding; h != nil && h.ID == "debian" {
		x.Args = append(x.Args, "--distro", h.ID+h.VersionID)
	}
	if kernel := scriptKernel(in, c); kernel != "" && !slices.Contains(x.Args, "--user-space-only") {
		x.Args = append(x.Args, "--kernel", kernel)
	}
	x.Args = append(x.Args, "--tmpdir", RunDirectory+"/tmp", "-q")
	if c.Holding != nil {
		x.Brings = versionsOf(c.Holding)
	}
	s.Summary = "run the vendor's installer of " + c.Release.Stack + " " + c.Release.Version
	if n := len(scriptRemoves(in, c)); n > 0 {
		s.Summary += ", which removes " + plural(n, "package") + " first"
	}
	s.Why = "asked for with --method vendor-script; all that it removes is kept before it starts, and what it did is compared with what is announced here"
}

// scriptKernel is the kernel that the installer is told. With --kernel it wants that kernel's headers, even where it
// installs prebuilt modules; without, it takes the one that runs, which in an image is the image's.
func scriptKernel(in rules.Input, c *rules.Candidate) string {
	kernel := in.Facts.Kernel.Release.Or("")
	if in.OtherKernel() {
		kernel = in.Kernel
	}
	image := in.Facts.Origin == "root"
	if in.Facts.Kernel.Headers.IsKnown() || len(toolsStep(in, c)) > 0 || in.OtherKernel() && !image {
		return kernel
	}
	return ""
}

// mlnxSet is the option of a package set, as its metapackage is named.
func mlnxSet(set string) []string {
	name, userOnly := strings.CutSuffix(strings.TrimPrefix(set, "mlnx-ofed-"), "-user-only")
	out := []string{"--all"}
	if slices.Contains([]string{"basic", "hpc", "vma", "vma-eth", "vma-vpi", "dpdk", "guest", "hypervisor", "bluefield", "eth-only", "kernel-only"}, name) {
		out = []string{"--" + name}
	}
	if userOnly {
		out = append(out, "--user-space-only")
	}
	return out
}

// scriptWords are what the command of a plan by a vendor's installer needs besides.
func scriptWords(p Plan) string {
	words := ""
	if NeedsConsent(p) {
		words += " --accept-eol"
	}
	i := slices.IndexFunc(p.Steps, func(s Step) bool { return s.Kind == KindVendorScript })
	if i >= 0 && p.Steps[i].Changes.Script.Bundle == nil && p.Steps[i].Changes.Script.Directory == "" {
		words += " --source BUNDLE --sha256 DIGITS"
	}
	return words
}

// vendorScriptWarned says what a vendor's installer does that rdmactl would not.
func vendorScriptWarned(c *rules.Candidate, steps []Step) []Reason {
	i := slices.IndexFunc(steps, func(s Step) bool { return s.Kind == KindVendorScript })
	if i < 0 {
		return nil
	}
	x := steps[i].Changes.Script
	out := []Reason{{Code: string(VendorScript), Source: x.Program, Text: x.Command() + " is run as root. It removes the old stack before it installs the new one, may install packages that it needs from the host's repositories, and has no way back of its own: " +
		"rdmactl keeps the packages that go and /etc, and takes the run back when it fails, removes a package that is not announced, or installs what is kept out"}}
	if NeedsConsent(Plan{Chosen: &Choice{Stack: c.Release.Stack}, Steps: steps}) {
		out = append(out, notMaintained())
	}
	return out
}
