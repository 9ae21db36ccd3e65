package host

import "strings"

// statFormat is what a recorder writes down about a file, in the words of GNU stat: raw mode in
// hex, owner and group as numbers and names, size, device numbers in hex, time of change.
const statFormat = "%f %u %g %U %G %s %t %T %.9Y"

// The exit codes and the prefix by which a recorder says that a question got no answer. They are
// those of timeout(1) and of programs that could not start another.
const (
	exitTimeout = 124
	exitNoRun   = 125
	exitMissing = 127
	markPrefix  = "rdmactl: "
)

// commandKey is the key of a command in an evidence: arguments joined by one space. Tabs and
// newlines within them are written as \t and \n, the way people type a dpkg-query format.
func commandKey(argv []string) string {
	key := strings.Join(argv, " ")
	if !strings.ContainsAny(key, "\t\n") {
		return key // a replacer costs more than all the rest of a question
	}
	return strings.NewReplacer("\t", `\t`, "\n", `\n`).Replace(key)
}

// The commands by which questions about one path are written down.
func absenceKey(path string) string  { return "ls -d " + path }
func catKey(path string) string      { return "cat " + path }
func lsKey(path string) string       { return "ls " + path }
func readlinkKey(path string) string { return "readlink " + path }
func statKey(path string) string     { return "stat -L -c " + statFormat + " " + path }
func lstatKey(path string) string    { return "stat -c " + statFormat + " " + path }

// ownKey is for what reading a path by itself told, where the command was run as well: the program
// may not be installed or have other rights.
func ownKey(key string) string { return "rdmactl " + key }
