package profiles

import (
	"fmt"
	"regexp"
	"strings"
)

// What is named here ends in files that root's programs read (modprobe.d, modules-load.d, limits.d,
// udev rules, units) or on a package manager's command line. Each kind of name has its own narrow
// character set, so that no name can start a new line, a comment or an option.
var (
	packageName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]{1,99}$`) // deb-control(5)
	packageEnd  = regexp.MustCompile(`[a-z0-9](\+\+)?$`)
	moduleName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,54}$`)                // MODULE_NAME_LEN is 56
	groupName   = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}$`)                         // useradd(8)
	unitName    = regexp.MustCompile(`^[A-Za-z0-9:_.][A-Za-z0-9:_.@-]{0,199}\.service$`) // systemd.unit(5)
	deviceName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,62}$`)                     // IB_DEVICE_NAME_MAX is 64
	netdevName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}$`)               // IFNAMSIZ is 16
	optionWord  = regexp.MustCompile(`^[A-Za-z0-9_]+=[A-Za-z0-9_,.:/-]+$`)
	profileName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
	askName     = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	rpmName     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_+.-]{0,99}$`)
	rpmArch     = regexp.MustCompile(`\.(noarch|src|nosrc|i[3-6]86|x86_64|aarch64|ppc64le|s390x|armv7hl)$`)
	cmakeValue  = regexp.MustCompile(`^(\{prefix\})?[A-Za-z0-9_/.+-]{0,200}$`)
	buildPrefix = regexp.MustCompile(`^(/opt|/usr/local)(/([A-Za-z0-9_][A-Za-z0-9_.+-]{0,60}|\{version\})){1,4}$`)
	sourceLevel = regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,3})?$`)
)

// CheckPackage says why text cannot be the name of a Debian package. A name's end is narrower than
// deb-control(5) has it: apt-get takes "NAME-" for the order to remove NAME and "NAME+" for that to
// install it. No package ends so, but for those named after C++ ("g++").
func CheckPackage(text string) error {
	if err := matches(packageName, text, "a package name", "lower-case letters, digits, + . -"); err != nil {
		return err
	}
	return matches(packageEnd, text, "a package name", "it ends with a letter, a digit or ++")
}

// CheckRPM says why text cannot be the name of a package of the Red Hat family or of SUSE. dnf and zypper
// take a name with an architecture for that package of it, and more than letters, digits and marks for a
// pattern, a file or a capability.
func CheckRPM(text string) error {
	if err := matches(rpmName, text, "a package name", "letters, digits, _ + . -"); err != nil {
		return err
	}
	if rpmArch.MatchString(text) {
		return fmt.Errorf("%q is not a package name (it ends with an architecture)", text)
	}
	last := text[len(text)-1]
	if strings.HasSuffix(text, "++") || last != '+' && last != '.' && last != '-' && last != '_' {
		return nil
	}
	return fmt.Errorf("%q is not a package name (it ends with a letter, a digit or ++)", text)
}

// CheckPackageOf says why text cannot be the name of a package of a family: "debian", "rhel" or "suse".
func CheckPackageOf(family, text string) error {
	switch family {
	case "debian":
		return CheckPackage(text)
	case "rhel", "suse":
		return CheckRPM(text)
	}
	return fmt.Errorf("%q is not a package family (debian, rhel, suse)", family)
}

// CheckName says why text cannot be the name of a profile.
func CheckName(text string) error {
	return matches(profileName, text, "a profile name", "at most 32 lower-case letters, digits, -")
}

// CheckPrefix says why text cannot be where rdma-core is built to. The directories of the distribution are
// refused: its packages own files of the same names there, and the next upgrade puts the old ones back
// beside the new.
func CheckPrefix(text string) error {
	return matches(buildPrefix, text, "a prefix", "a directory of its own below /opt or /usr/local, {version} may be a part of it; in /usr the distribution's packages own the same files")
}

// CheckModule says why text cannot be the name of a kernel module.
func CheckModule(text string) error {
	return matches(moduleName, text, "a module name", "letters, digits, _ -, without .ko and path")
}

// CheckGroup says why text cannot be the name of a group.
func CheckGroup(text string) error {
	return matches(groupName, text, "a group name", "lower-case letters, digits, _ -, without @")
}

// CheckUnit says why text cannot be the name of a service unit.
func CheckUnit(text string) error {
	return matches(unitName, text, "a unit name", "letters, digits, : _ . @ -, with .service and without a path")
}

// CheckNetdev says why text cannot be the name of a network interface that rdmactl writes down.
// The kernel allows more, but nothing that udev, systemd and the shell agree about.
func CheckNetdev(text string) error {
	return matches(netdevName, text, "an interface name", "at most 15 letters, digits, _ . -")
}

// CheckRDMADevice says why text cannot be the name of an RDMA device that rdmactl makes.
func CheckRDMADevice(text string) error {
	return matches(deviceName, text, "an RDMA device name", "a letter, then letters, digits, _")
}

// CheckOptions says why text cannot be the options of a module in modprobe.d.
func CheckOptions(text string) error {
	words := strings.Split(text, " ")
	for _, word := range words {
		if err := matches(optionWord, word, "a module option", "NAME=VALUE, separated by one blank"); err != nil {
			return err
		}
	}
	return nil
}

func matches(pattern *regexp.Regexp, text, what, allowed string) error {
	if pattern.MatchString(text) {
		return nil
	}
	shown := text
	if len(shown) > 60 {
		shown = shown[:60] + "..."
	}
	return fmt.Errorf("%q is not %s (%s)", shown, what, allowed)
}
