package version

// Firmware is the version of a card's firmware, such as 28.39.3560: generation, release and
// build (the middle number ties it to a driver release).
type Firmware struct{ number }

// ParseFirmware reads a firmware version. Blanks around it are dropped.
func ParseFirmware(text string) (Firmware, error) {
	n, err := parseNumber("firmware version", text)
	return Firmware{n}, err
}

// Compare is negative, 0 or positive when v is older than, as old as, or newer than o. Suffix and
// release candidate take no part.
func (v Firmware) Compare(o Firmware) int { return v.compare(o.number) }

// Satisfies says whether v meets c.
func (v Firmware) Satisfies(c Constraint) bool { return c.check(v.number) }

// String is the version as it was written.
func (v Firmware) String() string { return v.raw }

// Suffix is what follows the compared digits and the release candidate, with its separator.
func (v Firmware) Suffix() string { return v.suffix }

// RC is the number of the release candidate, 0 for a release.
func (v Firmware) RC() int { return v.rc }

// MarshalText is the version as it was written.
func (v Firmware) MarshalText() ([]byte, error) { return []byte(v.raw), nil }

// UnmarshalText is ParseFirmware.
func (v *Firmware) UnmarshalText(text []byte) error {
	parsed, err := ParseFirmware(string(text))
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}
