package bundles

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// TestKilled ends a run from a bundle with SIGKILL within the package manager's work: both ways on need no network.
func TestKilled(t *testing.T) {
	m := prepared(t)
	mi := newMirror(t, m, "trusted")
	out := created(t, mi.creating(t.TempDir(), []string{newHost(t, m, mi).evidence}))
	for _, way := range []string{"resume", "rollback"} {
		t.Run(way, func(t *testing.T) {
			var h host
			var before, packages rootlab.Tree
			rootlab.KilledAt(t, "unpacking", func() (rootlab.Root, *exec.Cmd) {
				h = newHost(t, m, mi)
				must(t, os.WriteFile(h.Path("var/log/dpkg.log"), nil, 0o644))
				before, packages = h.files(t), h.packages(t)
				return h.Root, lab.Command(t, h.installing(out.File, "--sha256", out.SHA256)...)
			}, func() bool {
				text, err := os.ReadFile(h.Path("var/log/dpkg.log"))
				return err == nil && strings.Contains(string(text), " status unpacked libibverbs1:")
			})
			mi.requests()
			if way == "rollback" {
				lab.Rdmactl(t, 0, "rollback", "--root", h.Dir)
			} else {
				lab.Rdmactl(t, 0, "install", "--root", h.Dir, "--resume", "--yes").Says(t, "run ended: done")
				lab.Rdmactl(t, 0, h.installing(out.File, "--sha256", out.SHA256)...).Says(t, "nothing to do")
				lab.RollsBack(t, h.Root)
			}
			if diff := before.Changed(h.files(t)); len(diff) > 0 {
				t.Errorf("the host is not as before:\n%s", strings.Join(diff, "\n"))
			}
			if diff := packages.Changed(h.packages(t)); len(diff) > 0 {
				t.Errorf("the packages are not as before: %v", diff)
			}
			if n := mi.requests(); n > 0 {
				t.Errorf("the host's repository was asked %d times", n)
			}
		})
	}
}
