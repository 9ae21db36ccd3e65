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
	releaseName = regexp.MustCompile(`^[a-z0-9._-]+ [A-Za-z0-9._-]+$`)
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
