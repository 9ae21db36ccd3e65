package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// describedHost is a host as the files that tell its identity would.
type describedHost struct {
	// id and version are of os-release, point what a file of its own tells beside it: 12.5 of Debian 12.
	id, version, point string
	// pack is the service pack where VERSION_ID has none, "SP3" of openEuler.
	pack   string
	arch   string // uname -m
	kernel string // uname -r, empty when nothing tells
	notes  []string
}

func (h *describedHost) note(format string, args ...any) {
	h.notes = append(h.notes, fmt.Sprintf(format, args...))
}

var (
	// 15-SP5, 15sp5, 22.03-LTS-SP3, 20.03sp1
	withPack = regexp.MustCompile(`(?i)^([0-9]+(?:\.[0-9]+)*)(?:-LTS)?[-.]?SP([0-9])$`)
	// 12.5, 7.9, 7.9.2009
	withPoint = regexp.MustCompile(`^([0-9]+)\.[0-9]+(?:\.[0-9]+)?$`)
)

// describe settles what a person writes of a system into what its os-release and uname print.
func describe(known *matrix.Index, id, version, machine string) (*describedHost, error) {
	h := &describedHost{id: strings.ToLower(id), version: strings.ToLower(version), arch: strings.ToLower(machine)}
	if name, ok := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[h.arch]; ok {
		h.arch = name
	}
	if ids := systemsOf(known.Matrix()); !slices.Contains(ids, h.id) && !isSLES(h.id) && h.id != "scientific" {
		h.note("the matrix knows no distribution %q, so little can be said; it knows %s", h.id, strings.Join(ids, ", "))
	}
	pack := withPack.FindStringSubmatch(version)
	switch h.id {
	case "sles", "sled", "sles_sap", "sle_hpc":
		if pack != nil && !strings.Contains(pack[1], ".") {
			h.version = pack[1] + "." + pack[2]
		}
	case "openeuler", "kylin", "bclinux":
		if pack != nil {
			h.version, h.pack = pack[1], "SP"+pack[2]
		}
	case "debian", "centos":
		// Their os-release has the major release only.
		if m := withPoint.FindStringSubmatch(h.version); m != nil {
			h.version, h.point = m[1], h.version
		}
	}
	if strings.Contains(h.version, "sp") {
		return nil, fault.New(fault.Usage, "usage", "write it as VERSION_ID of os-release does: 15.5 is SLES 15 SP5",
			"cannot ask the matrix: --version-id %q is no version of %s", version, h.id)
	}
	return h, nil
}

// isSLES says that a distribution is SUSE Linux Enterprise in one of its editions.
func isSLES(id string) bool {
	return slices.Contains([]string{"sles", "sled", "sles_sap", "sle_hpc"}, id)
}

// systemsOf are the ids of distributions that a matrix has anything about.
func systemsOf(m *matrix.Matrix) []string {
	seen := map[string]bool{}
	rows := func(list []matrix.Row) {
		for _, row := range list {
			seen[row.ID] = true
			for _, id := range row.Covers {
				seen[id] = true
			}
		}
	}
	for _, r := range m.Releases {
		rows(r.Rows)
	}
	for _, b := range m.Branches {
		rows(b.Rows)
	}
	for _, k := range m.Kernels {
		seen[k.ID] = true
	}
	for _, r := range m.Inbox {
		seen[r.ID] = true
	}
	for _, h := range m.Holdings {
		seen[h.ID] = true
	}
	var ids []string
	for id := range seen {
		if id != "" && id != "kernel_org" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// full is the version with all that was told.
func (h *describedHost) full() string {
	switch {
	case h.pack != "":
		return h.version + strings.ToLower(h.pack)
	case h.point != "":
		return h.point
	}
	return h.version
}

// setDefaultKernel takes the first kernel of the release that is known, with a note which one that is, or
// that none is known.
func (h *describedHost) setDefaultKernel(known *matrix.Index) {
	h.notePoints(known)
	name := h.id + " " + h.full()
	kernel, why := h.defaultKernel(known)
	switch {
	case kernel != "":
		h.kernel = kernel
		h.note("the answer is for kernel %s, %s; --kernel RELEASE asks for another", kernel, why)
	case why != "":
		h.note("no kernel of %s is known whole, %s, so what depends on the kernel is unknown here; --kernel RELEASE names one as uname -r prints it%s", name, why, h.form())
	default:
		minor := ""
		if slices.Contains([]string{"rhel", "rocky", "almalinux", "centos", "ol", "scientific"}, h.id) && !strings.Contains(h.full(), ".") {
			minor = ", and a minor release (--version-id " + h.version + ".N) has a first one"
		}
		h.note("no kernel of %s is known, so what depends on the kernel is unknown here; --kernel RELEASE names one as uname -r prints it%s%s", name, h.form(), minor)
	}
}

// notePoints says which point releases of Debian vendors' tables name, where none was asked for: its os-release
// has the major release only, and a row of a point release counts for a host of which one is told.
func (h *describedHost) notePoints(known *matrix.Index) {
	if h.id != "debian" || h.point != "" {
		return
	}
	var points []string
	for _, stack := range []string{"doca-ofed", "mlnx-ofed"} {
		for _, r := range known.Releases(stack) {
			for _, row := range r.Rows {
				if row.Evidence == matrix.DocumentedTable && row.ID == h.id && strings.HasPrefix(row.VersionID, h.version+".") && !slices.Contains(points, row.VersionID) {
					points = append(points, row.VersionID)
				}
			}
		}
	}
	if len(points) > 0 {
		slices.Sort(points)
		h.note("vendors' tables name point releases of debian %s (%s), and no row counts for debian %s without one; --version-id %s asks for one",
			h.version, strings.Join(points, ", "), h.version, points[len(points)-1])
	}
}

// form is what a release of this distribution's own kernel looks like, for one who has to type it.
func (h *describedHost) form() string {
	deb := map[string]string{"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64el"}[h.arch]
	switch {
	case h.id == "ubuntu":
		return ", such as X.Y.0-NN-generic"
	case h.id == "debian" && deb != "":
		return ", such as X.Y.0-NN-" + deb
	case slices.Contains([]string{"rhel", "rocky", "almalinux", "centos", "ol", "scientific"}, h.id):
		return ", such as X.Y.0-NNN.N.N.elN_N." + h.arch
	case isSLES(h.id), h.id == "opensuse-leap":
		return ", such as X.Y.Z-NNNN.NN-default"
	}
	return ""
}

// defaultKernel is a release as uname -r prints it, and where it is from. Without a release the second tells
// what is known instead.
func (h *describedHost) defaultKernel(known *matrix.Index) (release, why string) {
	id, version := h.id, h.full()
	minor := version
	if parts := strings.Split(version, "."); len(parts) > 2 {
		minor = strings.Join(parts[:2], ".") // 7.9.2009 of CentOS
	}
	switch id {
	case "ol":
		for _, k := range known.Kernels(id, version) {
			if k.Kind == "default" {
				return h.uname(k.Kernel), "which vendors' tables print for " + id + " " + version + " (" + k.Source + ")"
			}
		}
		if k, ok := known.GAKernel("rhel", minor); ok {
			return h.uname(k.Kernel), "the first one of rhel " + minor + ": Oracle Linux has it beside UEK, its own kernel, of which none is known for this release"
		}
	case "rocky", "almalinux", "centos", "scientific":
		if k, ok := known.GAKernel("rhel", minor); ok {
			return h.uname(k.Kernel), "the first one of rhel " + minor + ", of which " + id + " is a rebuild (" + k.Source + ")"
		}
	case "sles", "sled", "sles_sap", "sle_hpc":
		id = "sles"
		if !strings.Contains(version, ".") {
			version += ".0" // before the first service pack
		}
	}
	if k, ok := known.GAKernel(id, version); ok {
		if !strings.Contains(k.Kernel, "-") {
			return "", "only its line " + k.Kernel + " (" + k.Source + ")"
		}
		return h.uname(k.Kernel), "the first one of " + id + " " + version + " (" + k.Source + ")"
	}
	if release, why := h.tableKernel(known); release != "" {
		return release, why
	}
	return h.archiveKernel(known)
}

// archiveKernel is the kernel that the distribution's repository had when it was looked at, which an
// installation has once it is updated. Without a release the second tells the line of it that is known.
func (h *describedHost) archiveKernel(known *matrix.Index) (release, why string) {
	for _, k := range known.Kernels(h.id, h.version) {
		if k.Kind != "archive" {
			continue
		}
		if base, ok := strings.CutSuffix(k.Kernel, "-amd64"); ok && h.arch == "aarch64" {
			return "", "only " + k.Kernel + " of x86_64 (" + k.Source + "); where tables print both they have the same number, so it may be --kernel " + base + "-arm64"
		} else if ok && h.arch != "x86_64" {
			return "", "only " + k.Kernel + " of x86_64 (" + k.Source + ")"
		}
		return k.Kernel, "the one of the archive of " + h.id + " " + h.version + " (" + k.Source + "), which an updated installation has"
	}
	if r, ok := known.Inbox(h.id, h.full(), ""); ok && r.Kernel != "" {
		return "", "only its line " + r.Kernel + " (" + strings.Join(r.Source, "; ") + ")"
	}
	return "", ""
}

// tableKernel is what a vendor's table prints for exactly this release and architecture, the newest table
// first. Tables also have kernels that their vendor or the user made; Debian's own end in its architecture.
func (h *describedHost) tableKernel(known *matrix.Index) (release, why string) {
	for _, stack := range []string{"doca-ofed", "mlnx-ofed"} {
		for _, r := range known.Releases(stack) {
			for _, row := range r.Rows {
				if row.Evidence != matrix.DocumentedTable || row.ID != h.id || row.VersionID != h.full() || row.Arch != h.arch || !strings.Contains(row.Kernel, "-") {
					continue
				}
				if h.id == "debian" && !strings.HasSuffix(row.Kernel, "-amd64") && !strings.HasSuffix(row.Kernel, "-arm64") {
					continue
				}
				return h.uname(row.Kernel), "which the table of " + stack + " " + r.Version + " prints for " + h.id + " " + h.full()
			}
		}
	}
	return "", ""
}

// uname adds what tables leave away from a release: the architecture of Red Hat's and openEuler's, the flavour
// of SUSE's.
func (h *describedHost) uname(kernel string) string {
	switch {
	case strings.HasSuffix(kernel, h.arch):
		return kernel
	case isSLES(h.id), h.id == "opensuse-leap":
		if last := kernel[strings.LastIndexByte(kernel, '-')+1:]; last != "" && last[0] >= '0' && last[0] <= '9' {
			return kernel + "-default"
		}
	case rpmTail.MatchString(kernel):
		return kernel + "." + h.arch
	}
	return kernel
}

// 5.14.0-427.13.1.el9_4, 5.4.17-2136.307.3.1.el8uek, 5.10.0-60.18.0.50.oe2203
var rpmTail = regexp.MustCompile(`\.(?:el[0-9]+[0-9a-z_]*|oe[0-9]+[0-9a-z]*|an[0-9]+|al[0-9]+)$`)

// evidence are the files and commands that tell this.
func (h *describedHost) evidence() []byte {
	release := fmt.Sprintf("ID=%q\nVERSION_ID=%q\n", h.id, h.version)
	if isSLES(h.id) {
		release += "ID_LIKE=\"suse\"\n"
	}
	if h.pack != "" {
		release += fmt.Sprintf("VERSION=%q\n", h.version+" (LTS-"+h.pack+")")
		release += fmt.Sprintf("PRETTY_NAME=%q\n", h.id+" "+h.version+" (LTS-"+h.pack+")")
	}
	text := "apiVersion: rdmactl/v1\nkind: Evidence\nfiles:\n" + fmt.Sprintf("  /etc/os-release: %q\n", release)
	switch {
	case h.point != "" && h.id == "debian":
		text += fmt.Sprintf("  /etc/debian_version: %q\n", h.point+"\n")
	case h.point != "":
		text += fmt.Sprintf("  /etc/redhat-release: %q\n", "release "+h.point+"\n")
	}
	text += fmt.Sprintf("commands:\n  uname -s: {stdout: \"Linux\\n\"}\n  uname -m: {stdout: %q}\n", h.arch+"\n")
	if h.kernel != "" {
		text += fmt.Sprintf("  uname -r: {stdout: %q}\n", h.kernel+"\n")
	}
	return []byte(text)
}
