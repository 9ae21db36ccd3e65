package rules

// NoSystemd is a host on which the Soft-RoCE device cannot be made to return after a boot.
const NoSystemd Code = "no-systemd"

func systemd() Rule {
	return Rule{Name: "systemd", Scope: Inbox, Source: "the Soft-RoCE device returns through a unit that udev asks for", Judge: func(in Input) []Finding {
		f := in.Facts.Platform.Systemd
		if running, ok := f.Get(); !in.inContainer() && in.Profile.SoftRoCE != nil && in.Running() && ((ok && !running) || f.IsAbsent()) {
			return refuse(NoSystemd, f.Source, "systemd does not run as the init system, so the Soft-RoCE device would be gone after the next boot")
		}
		return nil
	}}
}
