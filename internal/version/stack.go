package version

// StackVersion is the version of a vendor stack, such as 24.10-1.1.4.0 of MLNX_OFED: branch and
// point release are one number, 24.10.1.1.4.0, for comparing.
type StackVersion struct{ number }

// ParseStack reads a stack version. Blanks around it are dropped.
func ParseStack(text string) (StackVersion, error) {
	n, err := parseNumber("stack version", text)
	return StackVersion{n}, err
}

// Compare is negative, 0 or positive when v is older than, as old as, or newer than o. Suffix and
// release candidate take no part.
func (v StackVersion) Compare(o StackVersion) int { return v.compare(o.number) }

// Satisfies says whether v meets c.
func (v StackVersion) Satisfies(c Constraint) bool { return c.check(v.number) }

// String is the version as it was written.
func (v StackVersion) String() string { return v.raw }

// Suffix is what follows the compared digits and the release candidate, with its separator.
func (v StackVersion) Suffix() string { return v.suffix }

// RC is the number of the release candidate, 0 for a release.
func (v StackVersion) RC() int { return v.rc }

// MarshalText is the version as it was written.
func (v StackVersion) MarshalText() ([]byte, error) { return []byte(v.raw), nil }

// UnmarshalText is ParseStack.
func (v *StackVersion) UnmarshalText(text []byte) error {
	parsed, err := ParseStack(string(text))
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}
