package profiles

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

// document is the YAML form of a Profile. Each kind of text has its own type that checks itself, so
// that the decoder reports a bad name where it stands.
type document struct {
	At         strictyaml.Pos
	APIVersion apiVersion                  `yaml:"apiVersion"`
	Kind       kind                        `yaml:"kind"`
	Name       profileNameText             `yaml:"name"`
	Summary    sentence                    `yaml:"summary"`
	Prefer     []stackText                 `yaml:"prefer"`
	Hardware   hardwareText                `yaml:"hardware"`
	Packages   map[familyText][]packageDoc `yaml:"packages"`
	Modules    modulesDoc                  `yaml:"modules"`
	Memlock    memlockDoc                  `yaml:"memlock"`
	Udev       udevDoc                     `yaml:"udev"`
	SoftRoCE   *softRoCEDoc                `yaml:"soft_roce"`
}

type packageDoc struct {
	At       strictyaml.Pos
	Name     packageText   `yaml:"name"`
	Why      sentence      `yaml:"why"`
	Releases []releaseText `yaml:"releases"`
	Optional bool          `yaml:"optional"`
}

type modulesDoc struct {
	Load     []moduleDoc                `yaml:"load"`
	Softdeps []softdepDoc               `yaml:"softdeps"`
	Options  map[moduleText]optionsText `yaml:"options"`
}

type moduleDoc struct {
	At       strictyaml.Pos
	Name     moduleText `yaml:"name"`
	Why      sentence   `yaml:"why"`
	Optional bool       `yaml:"optional"`
}

type softdepDoc struct {
	At     strictyaml.Pos
	Module moduleText   `yaml:"module"`
	Pre    []moduleText `yaml:"pre"`
	Why    sentence     `yaml:"why"`
}

type memlockDoc struct {
	At       strictyaml.Pos
	Groups   []groupText `yaml:"groups"`
	Everyone bool        `yaml:"everyone"`
	Units    []unitText  `yaml:"units"`
}

type udevDoc struct {
	UmadGroup groupText `yaml:"umad_group"`
}

type softRoCEDoc struct {
	At     strictyaml.Pos
	Device deviceText `yaml:"device"`
	Netdev netdevText `yaml:"netdev"`
}

type (
	apiVersion      string
	kind            string
	profileNameText string
	sentence        string
	stackText       string
	hardwareText    string
	familyText      string
	packageText     string
	releaseText     string
	moduleText      string
	optionsText     string
	groupText       string
	unitText        string
	deviceText      string
	netdevText      string
)

func (t *apiVersion) UnmarshalText(b []byte) error { return oneOf(t, b, "rdmactl/v1") }
func (t *kind) UnmarshalText(b []byte) error       { return oneOf(t, b, "Profile") }

func (t *hardwareText) UnmarshalText(b []byte) error { return oneOf(t, b, "needed", "optional") }
func (t *familyText) UnmarshalText(b []byte) error   { return oneOf(t, b, "debian") }

func (t *stackText) UnmarshalText(b []byte) error {
	return oneOf(t, b, "inbox", "rdma-core", "ofed", "mlnx-ofed", "doca-ofed")
}

func (t *profileNameText) UnmarshalText(b []byte) error {
	return checked(t, b, func(s string) error {
		return matches(profileName, s, "a profile name", "lower-case letters, digits, -")
	})
}

func (t *releaseText) UnmarshalText(b []byte) error {
	return checked(t, b, func(s string) error {
		return matches(releaseName, s, "a release", `ID and VERSION_ID of os-release, such as "debian 13"`)
	})
}

func (t *packageText) UnmarshalText(b []byte) error { return checked(t, b, CheckPackage) }
func (t *moduleText) UnmarshalText(b []byte) error  { return checked(t, b, CheckModule) }
func (t *optionsText) UnmarshalText(b []byte) error { return checked(t, b, CheckOptions) }
func (t *groupText) UnmarshalText(b []byte) error   { return checked(t, b, CheckGroup) }
func (t *unitText) UnmarshalText(b []byte) error    { return checked(t, b, CheckUnit) }
func (t *deviceText) UnmarshalText(b []byte) error  { return checked(t, b, CheckRDMADevice) }
func (t *netdevText) UnmarshalText(b []byte) error  { return checked(t, b, CheckNetdev) }
func (t *sentence) UnmarshalText(b []byte) error    { return checked(t, b, checkSentence) }

// checkSentence keeps reasons to one printable line: they become comments in files that root reads.
func checkSentence(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("must say something")
	}
	if len(s) > 300 {
		return errors.New("is longer than 300 bytes")
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		return fmt.Errorf("must be one line of printable text, byte %d is not", i)
	}
	return nil
}

func checked[T ~string](t *T, b []byte, check func(string) error) error {
	if err := check(string(b)); err != nil {
		return err
	}
	*t = T(b)
	return nil
}

func oneOf[T ~string](t *T, b []byte, allowed ...string) error {
	if !slices.Contains(allowed, string(b)) {
		return fmt.Errorf("%q is not one of %s", string(b), strings.Join(allowed, ", "))
	}
	*t = T(b)
	return nil
}
