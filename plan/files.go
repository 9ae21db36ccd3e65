package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/plan/rules"
	"github.com/rdmactl/rdmactl/profiles"
)

// The files that a plan writes. detect finds them again by "rdmactl" in their names.
const (
	modulesLoadPath = "/etc/modules-load.d/rdmactl.conf"
	modprobePath    = "/etc/modprobe.d/rdmactl.conf"
	limitsPath      = "/etc/security/limits.d/90-rdmactl-memlock.conf"
	softRulesPath   = "/etc/udev/rules.d/91-rdmactl-soft-roce.rules"
	umadRulesPath   = "/etc/udev/rules.d/91-rdmactl-umad.rules"
	unitDir         = "/etc/systemd/system/"
	softUnitPath    = unitDir + "rdmactl-rxe@.service"
	dropInSuffix    = ".d/50-rdmactl-memlock.conf" // after the unit
)

func dropInPath(unit string) string { return unitDir + unit + dropInSuffix }

// plannedFile says whether path is one that a plan may write for some profile.
func plannedFile(path string) bool {
	return slices.Contains([]string{modulesLoadPath, modprobePath, limitsPath, softRulesPath, umadRulesPath, softUnitPath}, path) ||
		strings.HasPrefix(path, unitDir) && strings.HasSuffix(path, dropInSuffix)
}

// file is one file of the profile on this host.
type file struct {
	step, path, text string
}

// files are all files of the profile, whether the host has them already or not.
func files(in rules.Input) []file {
	var out []file
	add := func(step, path, text string) {
		if text != "" {
			out = append(out, file{step, path, header + text})
		}
	}
	add("modprobe-options", modprobePath, modprobeText(in))
	add("modules-load", modulesLoadPath, modulesLoadText(in))
	add("memlock", limitsPath, limitsText(in.Profile.Memlock))
	for _, unit := range memlockUnits(in) {
		add("memlock", dropInPath(unit), "# Limits of PAM do not reach system services, so "+unit+" and what it starts get theirs here.\n"+
			"[Service]\nLimitMEMLOCK=infinity\n")
	}
	if in.Profile.SoftRoCE != nil {
		add("udev-rules", softRulesPath, softRules(in))
	}
	add("udev-rules", umadRulesPath, umadRules(in.Profile.Udev))
	if in.Profile.SoftRoCE != nil {
		add("soft-roce-unit", softUnitPath, softUnitText(in))
	}
	return out
}

// header is a comment in every file format that is written: modprobe.d, modules-load.d, limits.d,
// udev rules and units. Like all of a file's text it depends on nothing that may change from run to
// run, or a second run would write the file again.
const header = "# Written by rdmactl. `rdmactl rollback` takes it away again and keeps it if it was edited;\n" +
	"# another `rdmactl install` writes it anew.\n"

// fileSteps are the files that the host does not have in this form.
func fileSteps(in rules.Input) []Step {
	managed := in.Facts.Managed.Or(nil)
	var out []Step
	for _, f := range files(in) {
		sum := sha256.Sum256([]byte(f.text))
		old, there := managed[f.path]
		if strings.EqualFold(old, hex.EncodeToString(sum[:])) {
			continue
		}
		change := FileChange{Path: f.path, Action: "write", Mode: "0644", Content: f.text}
		i := slices.IndexFunc(out, func(s Step) bool { return s.ID == f.step })
		if i < 0 {
			out = append(out, fileStep(in, f.step))
			i = len(out) - 1
		}
		out[i].Changes.Files = append(out[i].Changes.Files, change)
		verb := "write"
		if there {
			verb = "replace"
		}
		out[i].Summary += sep(out[i].Summary) + verb + " " + f.path
	}
	return out
}

func sep(before string) string {
	if before == "" {
		return ""
	}
	return ", "
}

func fileStep(in rules.Input, id string) Step {
	why := map[string]string{
		"modprobe-options": "modprobe then loads what a module needs and does not name itself, with the options of the profile",
		"modules-load":     "the modules are there after each boot, before anything asks for them",
		"memlock":          "RDMA pins the memory it transfers; the usual limit of a few MiB makes programs fail with ENOMEM",
		"udev-rules":       "udev acts when the interface or device appears, at boot and on hotplug",
		"soft-roce-unit":   "a Soft-RoCE device is gone after a boot unless something makes it again",
	}
	if id == "udev-rules" && in.Profile.SoftRoCE != nil {
		why[id] += "; " + in.Netdev.Name + " carries " + in.Profile.SoftRoCE.Device + ": " + in.Netdev.Why
	}
	return Step{
		ID: id, Kind: KindFiles, Why: why[id], Root: true,
		Undo: "put the former file back, or remove the file where there was none; a file edited since is kept and named",
	}
}

func modulesLoadText(in rules.Input) string {
	var b strings.Builder
	for _, m := range loadable(in) {
		fmt.Fprintf(&b, "# %s\n%s\n", m.Why, m.Name)
	}
	return b.String()
}

func modprobeText(in rules.Input) string {
	var b strings.Builder
	for _, s := range in.Profile.Modules.Softdeps {
		fmt.Fprintf(&b, "# %s\nsoftdep %s pre: %s\n", s.Why, s.Module, strings.Join(s.Pre, " "))
	}
	for _, module := range slices.Sorted(maps.Keys(in.Profile.Modules.Options)) {
		fmt.Fprintf(&b, "options %s %s\n", module, in.Profile.Modules.Options[module])
	}
	return b.String()
}

func limitsText(m profiles.Memlock) string {
	var b strings.Builder
	for _, group := range m.Groups {
		fmt.Fprintf(&b, "@%s - memlock unlimited\n", group)
	}
	if m.Everyone {
		// limits.conf(5): "*" does not reach root.
		b.WriteString("* - memlock unlimited\nroot - memlock unlimited\n")
	}
	return b.String()
}

// umadRules give the management datagram nodes to a group. issm nodes stay with root.
func umadRules(u profiles.Udev) string {
	if u.UmadGroup == "" {
		return ""
	}
	return "# Who writes umad can speak to the whole fabric.\n" +
		`SUBSYSTEM=="infiniband_mad", KERNEL=="umad*", GROUP="` + u.UmadGroup + `", MODE="0660"` + "\n"
}
