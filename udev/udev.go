// Package udev writes, checks and reloads udev rules of the RDMA stack, and reads what udev made of
// it: device nodes and the policy for device names.
//
// Device node permissions are the kernel's (drivers/infiniband/core): uverbs and rdma_cm are 0666,
// umad and issm are root's alone. No rule of rdma-core changes them, and neither does this package
// unless it is told to: who writes umad can speak to the whole fabric.
package udev

import "path"

// Class is a kind of node in /dev/infiniband.
type Class string

// The classes.
const (
	Uverbs Class = "uverbs"  // verbs of one device, 0666
	RDMACM Class = "rdma_cm" // connection manager, one for the host, 0666
	Umad   Class = "umad"    // management datagrams of one port, 0600 root
	Issm   Class = "issm"    // marks a port as subnet manager, 0600 root
	Other  Class = "other"
)

// ClassOf tells a node's class from its name, such as "uverbs0".
func ClassOf(name string) Class {
	for _, c := range []Class{Uverbs, Umad, Issm} {
		if digits, ok := cutDigits(name, string(c)); ok && digits {
			return c
		}
	}
	if name == string(RDMACM) {
		return RDMACM
	}
	return Other
}

func cutDigits(name, prefix string) (digits, ok bool) {
	if len(name) <= len(prefix) || name[:len(prefix)] != prefix {
		return false, false
	}
	for _, c := range []byte(name[len(prefix):]) {
		if c < '0' || c > '9' {
			return false, true
		}
	}
	return true, true
}

// RulesDirs returns the directories of rules, the strongest first: a file hides those of the same
// name in the directories after it.
func RulesDirs() []string {
	return []string{
		"/etc/udev/rules.d", "/run/udev/rules.d", "/usr/local/lib/udev/rules.d",
		"/usr/lib/udev/rules.d", "/lib/udev/rules.d",
	}
}

func rulesFiles(name string) []string {
	var files []string
	for _, dir := range RulesDirs() {
		files = append(files, path.Join(dir, name))
	}
	return files
}
