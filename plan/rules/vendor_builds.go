package rules

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Codes of what is known of a release on a kernel.
const (
	KernelBreaksBuild  Code = "kernel-breaks-build"
	OptionalBuildFails Code = "optional-modules-fail"
	KernelKnownToWork  Code = "kernel-known-to-work"
)

// knownBuilds: reports of builds on kernels beyond the tables. A report of success lifts those of failure
// that are not surer than itself. Modules that are there ready for exactly this kernel need no build.
func knownBuilds() VendorRule {
	return VendorRule{Name: "known-builds", Source: "reports of builds, each with its own source in the matrix", Judge: func(h *vendorHost, c *Candidate) {
		if len(h.builds) == 0 || c.Holding != nil && c.Modules == ModulesPrebuilt {
			return
		}
		sure := 0
		h.failing = h.failing[:0]
		for i := range h.builds {
			b := &h.builds[i]
			switch {
			case len(b.Versions) > 0 && !h.matrix.Meets(b.Versions, h.version):
			case !b.Works:
				h.failing = append(h.failing, b)
			case confidence(b) > sure:
				sure = confidence(b)
				c.because(h.say(cause{rule: "build", of: b.ID}, func() Finding { return h.built(b, KernelKnownToWork, Warn) }))
			}
		}
		for _, b := range h.failing {
			if sure >= confidence(b) {
				continue
			}
			switch {
			case b.Optional && h.in.Method != InContainer:
				c.warn(h.say(cause{rule: "build", of: b.ID}, func() Finding { return h.built(b, OptionalBuildFails, Warn) }))
			case b.Optional:
				// The driver container builds all of it and ends when one part fails.
				c.refuse(h.say(cause{rule: "build", of: b.ID}, func() Finding { return h.built(b, OptionalBuildFails, Refuse) }))
			default:
				c.refuse(h.say(cause{rule: "build", of: b.ID}, func() Finding { return h.built(b, KernelBreaksBuild, Refuse) }))
			}
		}
	}}
}

// confidence ranks a report; one that does not say is taken for medium.
func confidence(b *matrix.Build) int {
	switch b.Confidence {
	case "high":
		return 3
	case "low":
		return 1
	}
	return 2
}

func (h *vendorHost) built(b *matrix.Build, code Code, effect Effect) Finding {
	text := "kernel " + h.kernel.release + h.kernel.whose() + ": " + strings.TrimSuffix(b.Text, ".")
	if headers := h.in.Facts.Kernel.Headers; code == OptionalBuildFails && headers.IsKnown() && !h.otherKernel {
		text += "; the headers of the kernel are there (" + printable(headers.Value) + "), and only that fails"
	}
	if b.Workaround != "" && code != KernelKnownToWork {
		text += "; what helps: " + strings.TrimSuffix(b.Workaround, ".")
	}
	if b.Confidence == "low" {
		text += " (a weak report)"
	}
	return Finding{Code: code, Effect: effect, Text: text, Source: firstSource(b.Source, "the compatibility matrix")}
}

// KernelNotCovered is a kernel that came after a release of the driver container.
const KernelNotCovered Code = "kernel-not-covered"

// containerKernel: the vendor lists the kernels of each release of its driver container. One that only a
// newer release lists came after this one.
func containerKernel() VendorRule {
	return VendorRule{Name: "container-kernel", Beside: true, Source: "https://github.com/Mellanox/doca-driver-build (release_manifests)", Judge: func(h *vendorHost, c *Candidate) {
		if h.in.Method != InContainer || h.kernel.kind == kernelUntold || h.kernel.kind == kernelOther || h.kernel.kind == kernelCandidate {
			return
		}
		if listed, any := h.listsLine(c.Release); listed || !any && !h.containerFor(c.Release) {
			return
		}
		// Newest first: what comes before this release is newer.
		for _, newer := range h.matrix.Releases(h.stack) {
			if newer == c.Release {
				return
			}
			if listed, _ := h.listsLine(newer); listed {
				text := "what its driver container lists does not cover kernel " + h.kernel.release + h.kernel.whose() + "; " + newer.Version + " is a newer release that lists this line of kernels"
				c.refuse(Finding{Code: KernelNotCovered, Effect: Refuse, Text: text, Source: firstSource(c.Release.Source, "the compatibility matrix")})
				return
			}
		}
	}}
}

// containerFor says whether the vendor builds the release's driver container for the system.
func (h *vendorHost) containerFor(r *matrix.Release) bool {
	return slices.ContainsFunc(r.Rows, func(row matrix.Row) bool {
		_, _, ok := h.system.matches(&row)
		return ok && row.Evidence == matrix.DriverContainer
	})
}

// listsLine says whether a release's driver container lists a kernel of the host's line and flavour, and
// whether it lists any. The page size is a flavour of its own, but the same line: 6.11.0-1003-nvidia-64k
// comes with 6.11.0-1003-nvidia.
func (h *vendorHost) listsLine(r *matrix.Release) (line, any bool) {
	flavour := strings.TrimSuffix(lastFlavour(h.kernel.release), "-64k")
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Evidence != matrix.DriverContainer {
			continue
		}
		if _, _, ok := h.system.matches(row); !ok || row.Arch != "" && h.arch != "" && row.Arch != h.arch {
			continue
		}
		for _, k := range row.Kernels {
			any = true
			have := digitsOf(k)
			if len(have) >= 2 && len(h.kernel.digits) >= 2 && slices.Equal(have[:2], h.kernel.digits[:2]) && lastFlavour(k) == flavour {
				return true, true
			}
		}
	}
	return false, any
}

// lastFlavour is what follows the numbers of an Ubuntu kernel: nvidia-64k of 6.11.0-1003-nvidia-64k.
func lastFlavour(release string) string {
	_, rest, _ := strings.Cut(release, "-")
	_, flavour, _ := strings.Cut(rest, "-")
	return flavour
}
