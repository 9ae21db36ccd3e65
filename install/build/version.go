package build

import (
	"os"
	"regexp"
	"strconv"
	"strings"
)

var (
	packageVersion = regexp.MustCompile(`(?m)^[ \t]*set\([ \t]*PACKAGE_VERSION[ \t]+"?([0-9][0-9A-Za-z.+~-]{0,30})"?[ \t]*\)`)
	privateABI     = regexp.MustCompile(`(?m)^[ \t]*set\([ \t]*IBVERBS_PABI_VERSION[ \t]+"?([0-9]{1,4})"?[ \t]*\)`)
	versionText    = regexp.MustCompile(`^[0-9][0-9A-Za-z.+~-]{0,30}$`)
	prefixText     = regexp.MustCompile(`^(/[A-Za-z0-9][A-Za-z0-9._+-]*)+$`)
)

// treeVersion reads the version and the private ABI of a tree from its CMakeLists.txt.
func treeVersion(tree *os.Root) (version string, abi int, err error) {
	text, err := readAll(tree, "CMakeLists.txt", maxCMake)
	if err != nil {
		return "", 0, stop("unknown-source", "give the source of rdma-core", "cannot read the version of the source: %w", err)
	}
	v, a := packageVersion.FindSubmatch(text), privateABI.FindSubmatch(text)
	if v == nil || !strings.Contains(string(text), "rdma-core") && !strings.Contains(string(text), "RDMA") {
		return "", 0, stop("unknown-source", "give the source of rdma-core", "cannot read the version of the source: its CMakeLists.txt is not that of rdma-core")
	}
	if a == nil {
		return "", 0, stop("unknown-source", "give version 15 or newer", "cannot build rdma-core %s: it tells no private ABI of its providers", v[1])
	}
	abi, err = strconv.Atoi(string(a[1]))
	return string(v[1]), abi, err
}

// sameVersion compares versions of rdma-core: 17 and 17.0 are one release.
func sameVersion(a, b string) bool {
	return strings.TrimSuffix(a, ".0") == strings.TrimSuffix(b, ".0")
}

// major is the first number of a version.
func major(version string) int {
	digits := version[:len(version)-len(strings.TrimLeft(version, "0123456789"))]
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
