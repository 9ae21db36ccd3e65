package plan

import (
	"slices"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan/rules"
)

// FirmwareBurned tells that a step of the plan cannot be taken back.
const FirmwareBurned rules.Code = "firmware-burned"

// firmwareStep installs the vendor's package that burns the firmware of the cards as its script runs. It is a
// transaction of its own, behind the one that brings the stack.
func firmwareStep(in rules.Input, c *rules.Candidate, req Request) []Step {
	if !req.Firmware || c.Layout == nil || c.Layout.Firmware == "" {
		return nil
	}
	name := c.Layout.Firmware
	installed, _ := rules.InstalledPackages(in.Facts)
	if inPlace(in, c) && slices.ContainsFunc(installed, func(p facts.Package) bool { return p.Name == name }) {
		return nil
	}
	return []Step{{
		ID: "firmware", Kind: KindPackages, Summary: "burn the firmware that comes with " + c.Release.Stack + " " + c.Release.Version + ": install " + name,
		Why:     "asked for with --firmware; the package's script burns every card of the vendor's in this host that has older firmware",
		Changes: Changes{Packages: []PackageChange{{Name: name, Action: "install", Why: "it burns firmware as it is installed"}}},
		Undo:    "remove the package; the firmware stays as it was burned", Root: true, Network: true,
	}}
}

// excludedFirmware keeps the package that burns firmware away, unless it was asked for.
func excludedFirmware(c *rules.Candidate, req Request) []PackageChange {
	if req.Firmware || c.Layout == nil || c.Layout.Firmware == "" {
		return nil
	}
	return []PackageChange{{
		Name: c.Layout.Firmware, Action: "exclude", Why: "it burns firmware as it is installed; that is a step of its own, for a person to take (--firmware)",
	}}
}

// checkFirmware refuses what --firmware cannot do, and says what it does.
func checkFirmware(in rules.Input, best *rules.Candidate, steps []Step, req Request) ([]Reason, error) {
	refuse := func(hint, why string) error {
		return fault.New(fault.Usage, "no-firmware-here", hint, "cannot plan to burn firmware: %s", why)
	}
	switch {
	case !req.Firmware:
		return nil, nil
	case in.Facts.Origin == "root":
		return nil, refuse("burn it on the host that has the card", "an image has no card")
	case best == nil || best.Layout == nil || best.Layout.Firmware == "":
		return nil, refuse("mlxfwmanager and mstflint burn firmware by themselves; mlnx-ofed and doca-ofed bring some", "the stack that is chosen brings none")
	case rules.OnlyVirtualFunctions(in):
		return nil, refuse("burn it on the machine below", "this host has virtual functions only, and their firmware belongs to the machine that has the card")
	case !slices.ContainsFunc(steps, func(s Step) bool { return s.ID == "firmware" || s.Kind == KindVendorScript }):
		return nil, nil // it is in place
	}
	return []Reason{{Code: string(FirmwareBurned), Source: "mlnxofedinstall --help: --without-fw-update", Text: best.Layout.Firmware +
		" burns the firmware of every card of the vendor's in this host; rdmactl cannot burn the old one back, and the new one runs after a reboot or a reset of the card (mlxfwreset)"}}, nil
}
