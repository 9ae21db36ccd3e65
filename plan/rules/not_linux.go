package rules

import (
	"regexp"
	"slices"
)

// NotLinux refuses hosts of other systems; evidence may come from any.
const NotLinux Code = "not-linux"

// bsdRelease is what uname -r prints on FreeBSD: 11.4-RELEASE, 14.0-STABLE, 13.2-RELEASE-p4.
var bsdRelease = regexp.MustCompile(`^[0-9.]+-(RELEASE|STABLE|CURRENT|PRERELEASE)(-p[0-9]+)?$`)

func notLinux() Rule {
	return Rule{Name: "not-linux", Scope: Anything, Source: "uname(1) of FreeBSD; os-release(5)", Judge: func(in Input) []Finding {
		id := in.Facts.Distro.ID
		if slices.Contains([]string{"freebsd", "openbsd", "netbsd", "dragonfly", "illumos", "omnios"}, id.Or("")) {
			return refuse(NotLinux, id.Source, "the host runs %s; rdmactl plans for Linux only", id.Value)
		}
		kernel := in.Facts.Kernel.Release
		if text, ok := kernel.Get(); ok && bsdRelease.MatchString(text) {
			return refuse(NotLinux, kernel.Source, "%s is the release of a BSD kernel; rdmactl plans for Linux only", text)
		}
		return nil
	}}
}
