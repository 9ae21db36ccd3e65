package roots

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// reportEnv names the file that collects one line a test.
const reportEnv = "RDMACTL_ROOTS_REPORT"

// Main runs the tests and prints how many ran and why the others did not. The test program is also
// the helper that enters a root, as rdmactl itself is.
func Main(m *testing.M) int {
	if len(os.Args) > 1 && os.Args[1] == host.ImageExecCommand {
		return host.RootedChild(os.Args[2:])
	}
	dir, err := os.MkdirTemp("", "rdmactl-roots-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "roots: cannot keep a report:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "report")
	if err := os.Setenv(reportEnv, file); err != nil {
		fmt.Fprintln(os.Stderr, "roots: cannot keep a report:", err)
		return 1
	}
	code := m.Run()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(os.Stderr, "roots: cannot read the report:", err)
		return max(code, 1)
	}
	fmt.Fprint(os.Stderr, counts(string(text)))
	return code
}

// counts sums a report up.
func counts(text string) string {
	ran, skipped := 0, map[string]int{}
	for line := range strings.Lines(text) {
		if reason := strings.TrimSpace(line); reason == "" {
			ran++
		} else {
			skipped[reason]++
		}
	}
	reasons := []string{}
	total := 0
	for r, n := range skipped {
		reasons = append(reasons, fmt.Sprintf("%d: %s", n, r))
		total += n
	}
	sort.Strings(reasons)
	out := fmt.Sprintf("roots: %d scenarios ran, %d skipped\n", ran, total)
	for _, r := range reasons {
		out += "roots: skipped " + r + "\n"
	}
	return out
}

// report adds a line: empty for a test that runs, else why it does not.
func report(t testing.TB, reason string) {
	t.Helper()
	f, err := os.OpenFile(os.Getenv(reportEnv), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(reason + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// need skips a test, and counts the skip, where roots cannot be made.
func need(t testing.TB) {
	t.Helper()
	reason := rootlab.WhyNot("RDMACTL_ROOTS is not 1", "mmdebstrap", "rpmbuild", "rpmsign", "createrepo_c", "gpg", "apt-ftparchive", "dpkg-deb")
	report(t, reason)
	if reason != "" {
		t.Skip("root not tested: " + reason)
	}
}
