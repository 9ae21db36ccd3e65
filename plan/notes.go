package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/plan/rules"
)

// Codes of what the user must know about a plan that can be carried out.
const (
	NoDeviceToVerify rules.Code = "no-device-to-verify"
	PackagesUnknown  rules.Code = "packages-unknown"
	MemlockEveryone  rules.Code = "memlock-everyone"
	UmadGroup        rules.Code = "umad-group"
	RestartServices  rules.Code = "restart-services"
	ActivationAtBoot rules.Code = "activation-at-boot"
	OtherProfile     rules.Code = "other-profile-files"
	ImageModuleKey   rules.Code = "image-module-key"
)

func notes(in rules.Input, steps []Step) []rules.Finding {
	var out []rules.Finding
	add := func(code rules.Code, source, format string, args ...any) {
		out = append(out, rules.Finding{Code: code, Effect: rules.Warn, Source: source, Text: fmt.Sprintf(format, args...)})
	}
	if _, told := rules.InstalledPackages(in.Facts); !told {
		add(PackagesUnknown, in.Facts.Packages.Installed.Source, "nothing tells which packages are installed, so all are asked for")
	}
	if in.Profile.SoftRoCE == nil && !rules.HasDevice(in) && in.Facts.Origin != "root" { // an image is not verified here
		add(NoDeviceToVerify, in.Facts.PCI.Source, "no RDMA device is seen, so verify will end with not-testable")
	}
	if len(steps) > 0 && !in.Running() {
		kernel := in.Kernel
		if kernel == "" {
			kernel = in.Facts.Kernel.Release.Or("this root")
		}
		add(ActivationAtBoot, "", "%s is not the running system: nothing is loaded, started or verified before it boots", kernel)
	}
	var limited []string
	for _, s := range steps {
		for _, f := range s.Changes.Files {
			if unit, ok := strings.CutSuffix(strings.TrimPrefix(f.Path, unitDir), dropInSuffix); ok {
				limited = append(limited, unit)
			}
		}
	}
	if len(limited) > 0 {
		slices.Sort(limited)
		add(RestartServices, "", "%s: the new limit counts after a restart, which rdmactl leaves to you because it may end running jobs", strings.Join(limited, ", "))
	}
	if in.Profile.Memlock.Everyone {
		add(MemlockEveryone, "profile "+in.Profile.Name, "every user may pin all memory of this host")
	}
	if group := in.Profile.Udev.UmadGroup; group != "" {
		add(UmadGroup, "profile "+in.Profile.Name, "members of group %s may write umad, and so speak to the whole InfiniBand fabric", group)
	}
	if stale := staleFiles(in); len(stale) > 0 {
		add(OtherProfile, in.Facts.Managed.Source, "files of an earlier run that profile %s does not write stay as they are: %s", in.Profile.Name, strings.Join(stale, ", "))
	}
	return out
}

// signedInImage says what becomes of the key that DKMS signs with in an image. With --module-key it is another's, and
// goes as well.
func signedInImage(in rules.Input, c *rules.Candidate, steps []Step) []Reason {
	builds := slices.ContainsFunc(steps, func(s Step) bool { return s.Kind == KindPackages })
	if in.Facts.Origin != "root" || c.Modules != rules.ModulesDKMS || !builds {
		return nil
	}
	return []Reason{{Code: string(ImageModuleKey), Source: "dkms(8), SIGNING", Text: "DKMS makes a key to sign the modules with where openssl is installed; rdmactl removes the private key from the image after the build, " +
		"and the certificate stays: hosts with Secure Boot load the modules once they have enrolled it; `rdmactl install --module-key KEY --module-cert CERT` signs with a key that they have"}}
}

// SignedWith is a plan whose modules are signed with a key that was given: what it says of keys that DKMS makes is said
// of that one.
func SignedWith(p Plan) Plan {
	warnings := []Reason{}
	for _, w := range p.Warnings {
		switch w.Code {
		case string(ImageModuleKey):
			w.Text = "the modules are signed with the key that --module-key names, which does not stay in the image; hosts with Secure Boot load them once they have its certificate enrolled"
		case string(rules.MOKEnrolment):
			why, _, _ := strings.Cut(w.Text, ", and DKMS signs")
			w.Text = why + ", and the modules are signed with the key that --module-key names: its certificate must be enrolled, which `mokutil --test-key CERTIFICATE` tells, or they do not load"
		}
		warnings = append(warnings, w)
	}
	p.Warnings = warnings
	return p
}

// staleFiles are files of rdmactl on the host that the profile does not write.
func staleFiles(in rules.Input) []string {
	wanted := map[string]bool{}
	for _, f := range files(in) {
		wanted[f.path] = true
	}
	var out []string
	for path := range in.Facts.Managed.Or(nil) {
		if !wanted[path] && plannedFile(path) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}
