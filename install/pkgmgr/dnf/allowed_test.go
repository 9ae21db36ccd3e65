package dnf

import (
	"testing"

	"github.com/rdmactl/rdmactl/host"
)

// TestSolverIsReadOnly has every command of a solver, which plan --resolve asks through a Reader.
func TestSolverIsReadOnly(t *testing.T) {
	s := NewSolver(nil)
	install, remove := []string{"ethtool-2:6.2-1.el9", "rdma-core-44.0-2~rc1.el9.x86_64"}, []string{"mlnx-ofa_kernel"}
	for _, d := range []dialect{dnf4, dnf5, yum3} {
		commands := [][]string{
			s.command(d, []string{cached, "--assumeno"}, orderOf(d, install, nil).verb...),
			s.command(d, []string{cached, "--assumeno"}, orderOf(d, nil, remove).verb...),
		}
		if d == dnf5 {
			commands = append(commands, s.command(d, []string{cached, "--assumeno"}, orderOf(d, install, remove).verb...))
		}
		if d == yum3 {
			commands = append(commands, s.listed(d, []string{"rdma-core"}), s.repolist(d))
		} else {
			commands = append(commands, s.queried(d, []string{"rdma-core.x86_64", "libibverbs"}), s.everything(d, []string{"libibverbs"}), s.repolist(d))
		}
		for _, argv := range commands {
			if err := host.Allowed(argv); err != nil {
				t.Error(err)
			}
		}
		// The twin: the same without the answer no.
		for _, argv := range [][]string{
			s.command(d, []string{cached}, orderOf(d, install, nil).verb...),
			s.command(d, []string{cached, "-y"}, orderOf(d, install, nil).verb...),
		} {
			if host.Allowed(argv) == nil {
				t.Errorf("%q is allowed", argv)
			}
		}
	}
}
