package version

// KernelRelease is what uname -r prints, such as 5.15.0-101-generic or 4.18.0-553.el8_10.x86_64. The
// suffix holds what names the flavour: "-generic", ".el8_10.x86_64", "-nvidia-64k".
type KernelRelease struct{ number }

// ParseKernel reads a kernel release. Blanks around it are dropped.
func ParseKernel(text string) (KernelRelease, error) {
	n, err := parseNumber("kernel release", text)
	return KernelRelease{n}, err
}

// Compare is negative, 0 or positive when v is older than, as old as, or newer than o. Suffix and
// release candidate take no part.
func (v KernelRelease) Compare(o KernelRelease) int { return v.compare(o.number) }

// Satisfies says whether v meets c.
func (v KernelRelease) Satisfies(c Constraint) bool { return c.check(v.number) }

// String is the version as it was written.
func (v KernelRelease) String() string { return v.raw }

// Suffix is what follows the compared digits and the release candidate, with its separator.
func (v KernelRelease) Suffix() string { return v.suffix }

// RC is the number of the release candidate, 0 for a release.
func (v KernelRelease) RC() int { return v.rc }

// MarshalText is the version as it was written.
func (v KernelRelease) MarshalText() ([]byte, error) { return []byte(v.raw), nil }

// UnmarshalText is ParseKernel.
func (v *KernelRelease) UnmarshalText(text []byte) error {
	parsed, err := ParseKernel(string(text))
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}
