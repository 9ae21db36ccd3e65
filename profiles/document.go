package profiles

import "github.com/rdmactl/rdmactl/internal/strictyaml"

// document is the YAML form of a Profile. A key that is not given is told from one that is: it is taken
// over from the profile that this one extends.
type document struct {
	At         strictyaml.Pos
	APIVersion apiVersion      `yaml:"apiVersion"`
	Kind       kind            `yaml:"kind"`
	Name       profileNameText `yaml:"name"`
	Summary    sentence        `yaml:"summary"`
	Extends    profileNameText `yaml:"extends"`
	Omit       omitDoc         `yaml:"omit"`
	Prefer     []stackText     `yaml:"prefer"`
	Branches   branchesText    `yaml:"branches"`
	Hardware   hardwareText    `yaml:"hardware"`
	Packages   packagesDoc     `yaml:"packages"`
	Vendor     vendorDoc       `yaml:"vendor"`
	Build      *buildDoc       `yaml:"build"`
	Modules    modulesDoc      `yaml:"modules"`
	Memlock    memlockDoc      `yaml:"memlock"`
	Udev       udevDoc         `yaml:"udev"`
	SoftRoCE   *softRoCEDoc    `yaml:"soft_roce"`
	Asks       []askDoc        `yaml:"asks"`
}

// omitDoc names what is not taken over from the profile that this one extends.
type omitDoc struct {
	Packages []omittedText `yaml:"packages"`
	Modules  []moduleText  `yaml:"modules"`
	Groups   []groupText   `yaml:"groups"`
	Units    []unitText    `yaml:"units"`
	Asks     []askNameText `yaml:"asks"`
}

type packagesDoc struct {
	Debian []packageDoc[debText] `yaml:"debian"`
	RHEL   []packageDoc[rpmText] `yaml:"rhel"`
	SUSE   []packageDoc[rpmText] `yaml:"suse"`
}

type packageDoc[N ~string] struct {
	At         strictyaml.Pos
	Name       N             `yaml:"name"`
	Why        sentence      `yaml:"why"`
	Releases   []releaseText `yaml:"releases"`
	Except     []releaseText `yaml:"except"`
	Optional   bool          `yaml:"optional"`
	EveryStack bool          `yaml:"every_stack"`
}

type vendorDoc struct {
	Sets          setsDoc `yaml:"sets"`
	UserSpaceOnly *bool   `yaml:"user_space_only"`
}

type setsDoc struct {
	DOCA []docaSetText `yaml:"doca-ofed"`
	MLNX []mlnxSetText `yaml:"mlnx-ofed"`
}

type buildDoc struct {
	At       strictyaml.Pos
	Version  sourceText                       `yaml:"version"`
	Prefix   prefixText                       `yaml:"prefix"`
	CMake    map[cmakeNameText]cmakeValueText `yaml:"cmake"`
	Packages packagesDoc                      `yaml:"packages"`
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
	Everyone *bool       `yaml:"everyone"`
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

type askDoc struct {
	At   strictyaml.Pos
	ID   askNameText `yaml:"id"`
	Kind askKindText `yaml:"kind"`
	Text askText     `yaml:"text"`
}

// placedPackage is one entry of a package list and where it stands.
type placedPackage struct {
	at strictyaml.Pos
	Package
}

// families are the lists by package family.
func (d packagesDoc) families() map[string][]placedPackage {
	out := map[string][]placedPackage{}
	for family, list := range map[string][]placedPackage{"debian": placed(d.Debian), "rhel": placed(d.RHEL), "suse": placed(d.SUSE)} {
		if len(list) > 0 {
			out[family] = list
		}
	}
	return out
}

func placed[N ~string](list []packageDoc[N]) []placedPackage {
	var out []placedPackage
	for _, one := range list {
		out = append(out, placedPackage{one.At, Package{
			Name: string(one.Name), Why: string(one.Why), Releases: plain(one.Releases), Except: plain(one.Except),
			Optional: one.Optional, EveryStack: one.EveryStack,
		}})
	}
	return out
}

func plain[T ~string](list []T) []string {
	var out []string
	for _, one := range list {
		out = append(out, string(one))
	}
	return out
}
