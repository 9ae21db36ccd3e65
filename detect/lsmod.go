package detect

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/kmod"
)

// needs are the modules that another one links with in every kernel since 4.0: while it is in memory,
// so are they.
func needs(name string) []string {
	return map[string][]string{
		"ib_uverbs": {"ib_core"}, "ib_umad": {"ib_core"}, "ib_cm": {"ib_core"}, "iw_cm": {"ib_core"},
		"rdma_cm": {"ib_cm", "iw_cm", "ib_core"}, "rdma_ucm": {"rdma_cm", "ib_uverbs"}, "ib_ipoib": {"ib_cm", "ib_core"},
		"mlx4_en": {"mlx4_core"}, "mlx4_ib": {"mlx4_core", "ib_core"}, "mlx5_ib": {"mlx5_core", "ib_core"},
		"rdma_rxe": {"ib_core"}, "siw": {"ib_core"}, "nvme_rdma": {"rdma_cm", "ib_core"}, "nvmet_rdma": {"rdma_cm", "ib_core"},
		"rpcrdma": {"rdma_cm", "ib_core"}, "ib_iser": {"rdma_cm", "ib_core"}, "ib_isert": {"rdma_cm", "ib_core"},
		"ib_srp": {"ib_cm", "ib_core"}, "ib_srpt": {"ib_cm", "ib_core"}, "rds_rdma": {"rdma_cm", "ib_core"},
	}[name]
}

// completeLoaded adds to the modules that evidence lists those that must be in memory beside them. A
// list that lacks one, and is not of a kernel that has it built in, is an excerpt; so is what grep
// left of a list.
func (p probe) completeLoaded(m *facts.Modules) {
	listed, ok := m.Loaded.Get()
	if !ok || !p.evidence() || m.Loaded.Source == "/proc/modules" {
		return
	}
	m.LoadedExcerpt = strings.Contains(m.Loaded.Source, "| grep")
	for i := 0; i < len(listed); i++ {
		for _, name := range needs(listed[i].Name) {
			if isLoaded(facts.Is(listed, ""), name) || builtIn(m.OnDisk, name) {
				continue
			}
			listed = append(listed, p.loadedModule(kmod.Module{Name: name, Refs: -1}))
			m.LoadedExcerpt = true
		}
	}
	slices.SortStableFunc(listed, func(a, b facts.LoadedModule) int { return strings.Compare(a.Name, b.Name) })
	m.Loaded.Value = listed
}

func builtIn(disk []facts.DiskModule, name string) bool {
	return slices.ContainsFunc(disk, func(d facts.DiskModule) bool { return d.Name == name && d.Builtin })
}
