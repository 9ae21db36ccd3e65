package matrix

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
	"github.com/rdmactl/rdmactl/internal/version"
)

// problems are those that one file alone shows and the decoder did not find.
func (d document) problems(place strictyaml.Place) strictyaml.Problems {
	c := &checker{place: place}
	c.required(nil, "apiVersion", d.APIVersion, "kind", d.Kind)
	c.oneOf([]any{"apiVersion"}, d.APIVersion, "rdmactl/v1")
	c.oneOf([]any{"kind"}, d.Kind, "Matrix")
	c.texts(nil, reflect.ValueOf(d.Matrix))
	seen := map[string]bool{}
	for i, b := range d.Branches {
		c.branch([]any{"branches", i}, b, seen)
	}
	for i, r := range d.Releases {
		c.release([]any{"releases", i}, r, seen)
	}
	for i, r := range d.Cards {
		c.card([]any{"cards", i}, r, seen)
	}
	for i, r := range d.CardDrivers {
		c.cardDriver([]any{"card_drivers", i}, r, seen)
	}
	for i, b := range d.Builds {
		c.build([]any{"builds", i}, b, seen)
	}
	for i, k := range d.Kernels {
		c.kernel([]any{"kernels", i}, k)
	}
	for i, k := range d.KMP {
		c.kmp([]any{"kmp", i}, k, seen)
	}
	for i, l := range d.Layouts {
		c.layout([]any{"layouts", i}, l, seen)
	}
	for i, r := range d.Inbox {
		c.inbox([]any{"inbox", i}, r, seen)
	}
	for i, r := range d.Roles {
		c.role([]any{"roles", i}, r, seen)
	}
	for i, o := range d.Options {
		c.option([]any{"kernel_options", i}, o)
	}
	for i, o := range d.Dropped {
		c.dropped([]any{"dropped_devices", i}, o)
	}
	for i, o := range d.Foreign {
		c.foreign([]any{"foreign_vendors", i}, o)
	}
	for i, h := range d.Holdings {
		c.holding([]any{"holdings", i}, h)
	}
	for i, k := range d.Costs {
		c.cost([]any{"costs", i}, k, seen)
	}
	for i, l := range d.LeftOut {
		c.leftOut([]any{"left_out", i}, l, seen)
	}
	return c.all
}

func (c *checker) stack(path []any, stack string) { c.oneOf(at(path, "stack"), stack, stacks()...) }

func (c *checker) branch(path []any, b Branch, seen map[string]bool) {
	c.required(path, "stack", b.Stack, "name", b.Name)
	c.stack(path, b.Stack)
	c.match(at(path, "name"), branchName, b.Name, "a branch, such as 24.10")
	c.repeated(seen, path, "branch "+b.Stack+" "+b.Name, "branch "+b.Stack+" "+b.Name)
	if len(b.Versions) == 0 {
		c.say(path, "key \"versions\" is missing")
	}
	c.constraints(at(path, "versions"), b.Versions)
	c.date(at(path, "start"), b.Start)
	c.date(at(path, "end_stated"), b.EndStated)
	c.date(at(path, "end_computed"), b.EndComputed)
	for _, end := range [][2]string{{"end_stated", b.EndStated}, {"end_computed", b.EndComputed}} {
		if b.Start != "" && end[1] != "" && end[1] < b.Start {
			c.say(at(path, end[0]), "%q is before the start %q", end[1], b.Start)
		}
	}
	for i, r := range b.Rows {
		c.row(at(path, "rows", i), r)
	}
	c.source(path, b.Source)
}

func (c *checker) release(path []any, r Release, seen map[string]bool) {
	c.required(path, "stack", r.Stack, "version", r.Version, "branch", r.Branch, "lts", r.LTS)
	c.stack(path, r.Stack)
	c.match(at(path, "version"), stackVersion, r.Version, "a version, such as 24.10-1.1.4.0")
	c.match(at(path, "branch"), branchName, r.Branch, "a branch, such as 24.10")
	c.repeated(seen, path, "release "+r.Stack+" "+spelling(r.Version), "release "+r.Stack+" "+r.Version)
	c.oneOf(at(path, "lts"), r.LTS, "yes", "no", "unknown")
	c.date(at(path, "date"), r.Date)
	c.match(at(path, "driver"), stackVersion, r.Driver, "a version, such as 24.10-1.1.4.0")
	c.oneOf(at(path, "driver_sure"), r.DriverSure, "stated", "inferred", "branch-only")
	c.each(at(path, "ofed_info"), stackVersion, r.OFEDInfo, "a version, such as 25.10-1.7.1")
	if r.NoProduct && r.Withdrawn == "" {
		c.say(at(path, "no_product"), "withdrawn must say where the release was seen")
	}
	c.oneOf(at(path, "modules"), r.Modules, "prebuilt-or-dkms", "dkms")
	c.each(at(path, "cards"), cardName, r.Cards, "a generation, such as connectx-6-dx")
	c.oneOf(at(path, "cards_sure"), r.CardsSure, "listed", "carried", "assumed")
	c.each(at(path, "profiles"), packageName, r.Profiles, "a package set")
	c.oneOf(at(path, "firmware_sure"), r.FirmwareSure, "bundled", "tested")
	for _, card := range slices.Sorted(maps.Keys(r.Firmware)) {
		c.match(at(path, "firmware", card), cardName, card, "a generation, such as connectx-6-dx")
		if _, err := version.ParseFirmware(r.Firmware[card]); err != nil {
			c.say(at(path, "firmware", card), "%v", err)
		}
	}
	if r.PrivateABI < 0 || r.PrivateABI > 1000 {
		c.say(at(path, "private_abi"), "%d is not a private ABI", r.PrivateABI)
	}
	c.each(at(path, "providers"), moduleName, r.Providers, "a provider, such as mlx5")
	c.each(at(path, "complete_for"), idPattern, r.CompleteFor, "an ID of os-release in lower case")
	for i, row := range r.Rows {
		c.row(at(path, "rows", i), row)
	}
	for i, d := range r.Doubtful {
		c.required(at(path, "doubtful", i), "label", d.Label, "why", d.Why)
	}
	c.source(path, r.Source)
}

func (c *checker) row(path []any, r Row) {
	c.required(path, "evidence", string(r.Evidence))
	c.oneOf(at(path, "evidence"), string(r.Evidence), evidences()...)
	c.system(path, r.ID, r.VersionID)
	c.each(at(path, "covers"), idPattern, r.Covers, "an ID of os-release in lower case")
	c.match(at(path, "arch"), moduleName, r.Arch, "an architecture as uname -m prints it")
	c.match(at(path, "kernel"), kernelName, r.Kernel, "a kernel release")
	c.each(at(path, "kernels"), kernelName, r.Kernels, "a kernel release")
	c.oneOf(at(path, "model"), r.Model, "primary", "community")
	c.match(at(path, "label"), versionIDPattern, r.Label, "a label of the vendor, such as rhel9.4")
}

// system checks ID and VERSION_ID.
func (c *checker) system(path []any, id, versionID string) {
	c.required(path, "id", id, "version_id", versionID)
	c.match(at(path, "id"), idPattern, id, "an ID of os-release in lower case")
	c.match(at(path, "version_id"), versionIDPattern, versionID, "a VERSION_ID of os-release in lower case")
}

func (c *checker) card(path []any, r CardRule, seen map[string]bool) {
	c.required(path, "stack", r.Stack, "card", r.Card, "text", r.Text)
	c.stack(path, r.Stack)
	c.match(at(path, "card"), cardName, r.Card, "a generation, such as connectx-6-dx")
	key := fmt.Sprintf("rule for %s with %s %s", r.Card, r.Stack, strings.Join(r.Arch, " "))
	c.repeated(seen, path, key, strings.TrimSpace(key))
	c.constraints(at(path, "allowed"), r.Allowed)
	c.each(at(path, "arch"), moduleName, r.Arch, "an architecture as uname -m prints it")
	c.match(at(path, "recommended"), stackVersion, r.Recommended, "a branch, such as 24.10")
	c.source(path, r.Source)
}

func (c *checker) cardDriver(path []any, d CardDriver, seen map[string]bool) {
	c.required(path, "card", d.Card, "driver", d.Driver)
	c.match(at(path, "card"), cardName, d.Card, "a generation, such as connectx-6-dx")
	c.repeated(seen, path, "driver of "+d.Card, "card "+d.Card)
	c.match(at(path, "driver"), moduleName, d.Driver, "a kernel module")
	c.match(at(path, "provider"), moduleName, d.Provider, "a provider, such as mlx5")
	c.each(at(path, "devices"), devicePattern, d.Devices, "a PCI id of four hex digits in lower case")
	c.match(at(path, "first_kernel"), kernelName, d.FirstKernel, "a kernel release")
	c.match(at(path, "first_rdma_core"), stackVersion, d.FirstCore, "a version, such as 54.0")
	c.source(path, d.Source)
}

func (c *checker) build(path []any, b Build, seen map[string]bool) {
	c.required(path, "id", b.ID, "stack", b.Stack, "text", b.Text)
	c.stack(path, b.Stack)
	c.match(at(path, "id"), idPattern, b.ID, "a name in lower case")
	c.repeated(seen, path, "build "+b.ID, "build "+b.ID)
	c.constraints(at(path, "versions"), b.Versions)
	c.distros(at(path, "distros"), b.Distros)
	c.constraints(at(path, "kernels"), b.Kernels)
	for i, p := range b.KernelNames {
		c.pattern(at(path, "kernel_names", i), p)
	}
	c.each(at(path, "except"), kernelName, b.Except, "a kernel release")
	c.oneOf(at(path, "confidence"), b.Confidence, "high", "medium", "low")
	c.source(path, b.Source)
}

// distros are "ID" or "ID VERSION_ID".
func (c *checker) distros(path []any, values []string) {
	for i, v := range values {
		id, versionID, both := strings.Cut(v, " ")
		if !idPattern.MatchString(id) || both && !versionIDPattern.MatchString(versionID) {
			c.say(at(path, i), "%q is not an ID or \"ID VERSION_ID\" of os-release in lower case", v)
		}
	}
}

func (c *checker) kernel(path []any, k DistroKernel) {
	c.required(path, "kind", k.Kind, "kernel", k.Kernel, "source", k.Source)
	c.system(path, k.ID, k.VersionID)
	c.oneOf(at(path, "kind"), k.Kind, "ga", "hwe", "default", "uek", "archive")
	c.match(at(path, "kernel"), kernelName, k.Kernel, "a kernel release")
}

func (c *checker) kmp(path []any, k KMP, seen map[string]bool) {
	c.required(path, "label", k.Label)
	c.match(at(path, "label"), versionIDPattern, k.Label, "a label of the installer, such as rhel8.4")
	c.repeated(seen, path, "kmp "+k.Label, "label "+k.Label)
	c.pattern(at(path, "kernel"), k.Kernel)
	said := 0
	for _, yes := range []bool{k.Kernel != "", k.Disabled, k.NotChecked} {
		if yes {
			said++
		}
	}
	if said != 1 {
		c.say(path, "give one of kernel, disabled and not_checked")
	}
	c.source(path, k.Source)
}

func (c *checker) layout(path []any, l Layout, seen map[string]bool) {
	c.required(path, "stack", l.Stack)
	c.stack(path, l.Stack)
	key := "layout of " + l.Stack + " " + l.Family + " " + strings.Join(l.Versions, "; ")
	c.repeated(seen, path, key, key)
	c.constraints(at(path, "versions"), l.Versions)
	c.oneOf(at(path, "family"), l.Family, "debian", "rhel", "suse")
	if l.Repository != "" && !strings.HasPrefix(l.Repository, "https://") {
		c.say(at(path, "repository"), "%q is not an https address", l.Repository)
	}
	c.oneOf(at(path, "label"), l.Label, "id+minor", "id+major")
	for i, k := range l.Keys {
		c.required(at(path, "keys", i), "file", k.File, "kind", k.Kind)
		c.oneOf(at(path, "keys", i, "kind"), k.Kind, "packages", "modules")
		c.match(at(path, "keys", i, "fingerprint"), fingerprintPattern, k.Fingerprint, "a fingerprint of 40 upper-case hex digits")
	}
	for _, list := range []struct {
		key   string
		names []string
	}{
		{"meta", l.Meta},
		{"user_only", l.UserOnly},
		{"needs", l.Needs},
		{"replaces", l.Replaces},
		{"keeps", l.Keeps},
		{"conflicts", l.Conflicts},
	} {
		c.each(at(path, list.key), packageName, list.names, "a package name")
	}
	c.match(at(path, "firmware"), packageName, l.Firmware, "a package name")
	c.each(at(path, "modules"), moduleName, l.Modules, "a kernel module")
	c.each(at(path, "adds"), moduleName, l.Adds, "a kernel module")
	c.each(at(path, "drops"), moduleName, l.Drops, "a provider, such as mlx4")
	c.each(at(path, "leaves"), leftPath, l.Leaves, "a path below /etc, /opt or /usr/src")
	if l.DiskMB < 0 {
		c.say(at(path, "disk_mb"), "%d is not a size", l.DiskMB)
	}
	c.source(path, l.Source)
}

func (c *checker) inbox(path []any, r InboxRelease, seen map[string]bool) {
	c.required(path, "sure", r.Sure)
	c.system(path, r.ID, r.VersionID)
	key := strings.TrimSpace("inbox of " + r.ID + " " + r.VersionID + " " + r.Flavour)
	c.repeated(seen, path, key, key)
	c.match(at(path, "kernel"), kernelName, r.Kernel, "a kernel release")
	c.match(at(path, "flavour"), idPattern, r.Flavour, "a kernel flavour")
	c.each(at(path, "present"), moduleName, r.Present, "a kernel module")
	c.each(at(path, "absent"), moduleName, r.Absent, "a kernel module")
	c.each(at(path, "extra"), moduleName, r.Extra, "a kernel module")
	if name := strings.ReplaceAll(r.ExtraPackage, "{kernel}", "0"); name != "" {
		c.match(at(path, "extra_package"), packageName, name, "a package name, in which {kernel} stands for the kernel's release")
	}
	if (len(r.Extra) > 0) != (r.ExtraPackage != "") {
		c.say(path, "extra and extra_package go together")
	}
	for i, m := range r.Absent {
		if slices.Contains(r.Present, m) {
			c.say(at(path, "absent", i), "module %s is given as present and as absent", m)
		}
	}
	c.oneOf(at(path, "sure"), r.Sure, "measured", "seen", "inferred")
	c.source(path, r.Source)
}

func (c *checker) role(path []any, r Role, seen map[string]bool) {
	c.required(path, "role", r.Role)
	c.repeated(seen, path, "role "+r.Role, "role "+r.Role)
	for _, family := range slices.Sorted(maps.Keys(r.Names)) {
		c.oneOf(at(path, "names", family), family, "debian", "rhel", "suse")
		c.each(at(path, "names", family), packageName, r.Names[family], "a package name")
	}
	c.source(path, r.Source)
}

func (c *checker) option(path []any, o KernelOption) {
	c.required(path, "option", o.Option, "need", o.Need, "text", o.Text)
	c.match(at(path, "option"), optionPattern, o.Option, "a kernel option without CONFIG_")
	c.match(at(path, "module"), moduleName, o.Module, "a kernel module")
	c.source(path, o.Source)
}

func (c *checker) dropped(path []any, d DroppedDevice) {
	c.required(path, "driver", d.Driver, "text", d.Text, "remedy", d.Remedy)
	c.match(at(path, "driver"), moduleName, d.Driver, "a kernel module")
	if len(d.Devices) == 0 {
		c.say(path, "key \"devices\" is missing")
	}
	c.each(at(path, "devices"), devicePattern, d.Devices, "a PCI id of four hex digits in lower case")
	c.distros(at(path, "distros"), d.Distros)
	c.source(path, d.Source)
}

func (c *checker) foreign(path []any, f ForeignVendor) {
	c.required(path, "vendor", f.Vendor, "name", f.Name, "driver", f.Driver, "needs", f.Needs)
	c.match(at(path, "vendor"), devicePattern, f.Vendor, "a PCI id of four hex digits in lower case")
	c.match(at(path, "driver"), moduleName, f.Driver, "a kernel module")
	c.match(at(path, "provider"), moduleName, f.Provider, "a provider, such as efa")
	c.source(path, f.Source)
}

func (c *checker) holding(path []any, h Holding) {
	c.required(path, "stack", h.Stack, "version", h.Version, "arch", h.Arch, "origin", h.Origin)
	c.stack(path, h.Stack)
	c.match(at(path, "version"), stackVersion, h.Version, "a version, such as 24.10-1.1.4.0")
	c.system(path, h.ID, h.VersionID)
	c.match(at(path, "arch"), moduleName, h.Arch, "an architecture as uname -m prints it")
	c.each(at(path, "kernels"), kernelName, h.Kernels, "a kernel release")
	c.match(at(path, "signed"), fingerprintPattern, h.Signed, "a fingerprint of 40 upper-case hex digits")
	if h.SignedIndex && h.Signed == "" {
		c.say(at(path, "signed_index"), "an index is signed by a key, and \"signed\" names none")
	}
	if _, err := time.Parse(time.RFC3339, h.Date); h.Date != "" && err != nil {
		c.say(at(path, "date"), "%q is not a time, such as 2026-11-30T10:00:00Z", h.Date)
	}
	if h.File != nil {
		c.holdingFile(at(path, "file"), *h.File)
	}
	for i, p := range h.Packages {
		where := at(path, "packages", i)
		c.required(where, "name", p.Name, "version", p.Version)
		c.match(at(where, "name"), packageName, p.Name, "a package name")
		if p.Bytes < 0 {
			c.say(at(where, "bytes"), "%d is not a size", p.Bytes)
		}
		if p.Installed < 0 {
			c.say(at(where, "installed"), "%d is not a size", p.Installed)
		}
	}
}

func (c *checker) holdingFile(where []any, f HoldingFile) {
	c.required(where, "sha256", f.SHA256, "folder", f.Folder, "repository", f.Repository)
	c.match(at(where, "sha256"), checksumPattern, f.SHA256, "64 lower-case hex digits")
	for name, value := range map[string]string{"folder": f.Folder, "repository": f.Repository} {
		if value != "" && (path.Clean(value) != value || strings.HasPrefix(value, "/") || value == ".." || strings.HasPrefix(value, "../")) {
			c.say(at(where, name), "%q is not a path inside of the file", value)
		}
	}
	if f.Folder != "." && f.Repository != f.Folder && !strings.HasPrefix(f.Repository, f.Folder+"/") {
		c.say(at(where, "repository"), "%q is not in %q", f.Repository, f.Folder)
	}
	if f.Entries < 0 {
		c.say(at(where, "entries"), "%d is not a number of files", f.Entries)
	}
	if f.Bytes < 0 {
		c.say(at(where, "bytes"), "%d is not a size", f.Bytes)
	}
	if f.Proof != "" && f.Proof != "sha256" && f.Proof != "signature" {
		c.say(at(where, "proof"), "%q is neither sha256 nor signature", f.Proof)
	}
}

func (c *checker) leftOut(path []any, l LeftOut, seen map[string]bool) {
	c.required(path, "facts", l.Facts, "group", l.Group)
	c.repeated(seen, path, "left out "+l.Facts+" "+l.Group, "group "+l.Group+" of "+l.Facts)
	if l.In < 0 || l.In > l.Rows {
		c.say(at(path, "in"), "%d of %d rows cannot be in the matrix", l.In, l.Rows)
	}
	if l.In < l.Rows && l.Why == "" {
		c.say(path, "key \"why\" is missing: %d of %d rows are not in the matrix", l.Rows-l.In, l.Rows)
	}
}
