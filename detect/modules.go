package detect

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/kmod"
)

// stackModule is a module that the stack or its users consist of.
type stackModule struct {
	name   string
	config string // the kernel option that builds it, without CONFIG_
}

// stackModules are the modules looked for on disk: the RDMA core, the drivers of Mellanox cards, the
// software devices, and the upper-layer protocols.
func stackModules() []stackModule {
	return []stackModule{
		{"ib_core", "INFINIBAND"},
		{"ib_uverbs", "INFINIBAND_USER_ACCESS"},
		{"ib_umad", "INFINIBAND_USER_MAD"},
		{"ib_cm", "INFINIBAND"},
		{"iw_cm", "INFINIBAND"},
		{"rdma_cm", "INFINIBAND_ADDR_TRANS"},
		{"rdma_ucm", "INFINIBAND_USER_ACCESS"},
		{"ib_ipoib", "INFINIBAND_IPOIB"},
		{"mlx4_core", "MLX4_CORE"},
		{"mlx4_en", "MLX4_EN"},
		{"mlx4_ib", "MLX4_INFINIBAND"},
		{"mlx5_core", "MLX5_CORE"},
		{"mlx5_ib", "MLX5_INFINIBAND"},
		{"rdma_rxe", "RDMA_RXE"},
		{"siw", "RDMA_SIW"},
		{"ib_iser", "INFINIBAND_ISER"},
		{"ib_isert", "INFINIBAND_ISERT"},
		{"ib_srp", "INFINIBAND_SRP"},
		{"ib_srpt", "INFINIBAND_SRPT"},
		{"nvme_rdma", "NVME_RDMA"},
		{"nvmet_rdma", "NVME_TARGET_RDMA"},
		{"rpcrdma", "SUNRPC_XPRT_RDMA"},
		{"rds_rdma", "RDS_RDMA"},
		{"smc", "SMC"},
	}
}

// described are the modules of which the file is read, if they are on disk: unpacking every one
// would take longer than all the rest.
func described(name string) bool {
	return slices.Contains([]string{"ib_core", "ib_uverbs"}, name)
}

// isDriver says that a module is the driver of a card: if it is in memory, its file is of interest.
func isDriver(name string) bool {
	return strings.HasPrefix(name, "mlx4_") || strings.HasPrefix(name, "mlx5_") || name == "rdma_rxe"
}

func (p probe) modules(k facts.Kernel) facts.Modules {
	m := facts.Modules{OnDisk: []facts.DiskModule{}, Loaded: p.loaded(), Blacklisted: p.blacklisted(), LoadAtBoot: p.loadAtBoot()}
	m.DKMS = p.dkms()
	m.AllowUnsupported = p.allowUnsupported()
	release, ok := k.Release.Get()
	if !ok {
		p.completeLoaded(&m)
		return m
	}
	stack := stackModules()
	m.OnDisk = make([]facts.DiskModule, len(stack))
	one := func(i int, s stackModule) {
		read := described(s.name) || isDriver(s.name) && isLoaded(m.Loaded, s.name) || p.evidence()
		m.OnDisk[i] = p.diskModule(release, s, k.Config, read)
	}
	var wg sync.WaitGroup
	for i, s := range stack {
		if p.evidence() {
			one(i, s) // a look into a map: to start a goroutine and to grow its stack takes longer
		} else {
			wg.Go(func() { one(i, s) }) // modules.dep is searched and files are unpacked: work for every core
		}
	}
	wg.Wait()
	p.completeLoaded(&m)
	return m
}

func isLoaded(loaded facts.Field[[]facts.LoadedModule], name string) bool {
	return slices.ContainsFunc(loaded.Or(nil), func(m facts.LoadedModule) bool { return m.Name == name })
}

// loaded lists the modules in memory. A module that another one is used by is in memory too, though
// the excerpt of a ticket may lack its line.
func (p probe) loaded() facts.Field[[]facts.LoadedModule] {
	if p.told.IsImage() {
		return facts.Field[[]facts.LoadedModule]{Source: "/proc/modules"}
	}
	source := "/proc/modules"
	if _, err := p.r.ReadFile(source); errors.Is(err, host.ErrUnknown) {
		source = "lsmod"
	}
	found, err := kmod.Loaded(p.ctx, p.r)
	if err != nil && p.evidence() {
		if text, from := p.firstTold("lsmod | grep mlx", "lsmod | grep -i mlx", "lsmod | grep ib", "lsmod | grep -E mlx|ib_|rdma", "lsmod | grep rdma"); text != "" {
			found, err = kmod.ParseLsmod(text)
			source = from
		}
	}
	if err != nil {
		return field[[]facts.LoadedModule](nil, source, err)
	}
	var modules []facts.LoadedModule
	for _, m := range found {
		modules = append(modules, p.loadedModule(m))
	}
	for _, m := range found {
		for _, user := range m.UsedBy {
			if !slices.ContainsFunc(modules, func(have facts.LoadedModule) bool { return have.Name == user }) {
				modules = append(modules, p.loadedModule(kmod.Module{Name: user, Refs: -1}))
			}
		}
	}
	slices.SortFunc(modules, func(a, b facts.LoadedModule) int { return strings.Compare(a.Name, b.Name) })
	return list(modules, source)
}

func (p probe) loadedModule(m kmod.Module) facts.LoadedModule {
	out := facts.LoadedModule{Name: m.Name, Refs: m.Refs, UsedBy: m.UsedBy}
	if out.UsedBy == nil {
		out.UsedBy = []string{} // a list in JSON, never null
	}
	if !slices.ContainsFunc(stackModules(), func(s stackModule) bool { return s.name == m.Name }) {
		return out
	}
	src, err := kmod.SrcVersion(p.r, m.Name)
	out.SrcVersion = field(src, "/sys/module/"+m.Name+"/srcversion", err)
	version, err := kmod.LoadedVersion(p.r, m.Name)
	out.Version = field(version, "/sys/module/"+m.Name+"/version", err)
	return out
}

// diskModule finds a module of a kernel and, if asked, reads what its file says.
func (p probe) diskModule(release string, s stackModule, config facts.Field[map[string]string], read bool) facts.DiskModule {
	m := facts.DiskModule{Name: s.name}
	source := "/lib/modules/" + release + "/modules.dep"
	at, err := kmod.Find(p.ctx, p.r, release, s.name)
	switch {
	case err == nil && at.Builtin:
		m.Builtin, m.Origin = true, facts.Is(string(kmod.Builtin), source)
		m.Path = facts.None[string](source)
		return m
	case err == nil:
		m.Path, m.Origin = facts.Is(at.Path, source), facts.Is(string(at.Origin), source)
	case config.Or(nil)[s.config] == "y":
		m.Builtin, m.Origin = true, facts.Is(string(kmod.Builtin), config.Source)
		m.Path = facts.None[string](config.Source)
		return m
	default:
		m.Path = field("", source, err)
		if m.Path.IsAbsent() && p.depmodMissing(release) {
			m.Path = unknown[string](source, "it is not there: depmod was not run for %s", release)
		}
		if m.Path.IsAbsent() {
			m.Origin, m.Version, m.SrcVersion = facts.None[string](source), facts.None[string](source), facts.None[string](source)
			m.Vermagic, m.Signer = facts.None[string](source), facts.None[string](source)
		}
	}
	if read && !m.Path.IsAbsent() {
		info, readErr := kmod.ReadFound(p.ctx, p.r, release, s.name, at, err)
		describe(p.evidence(), release, &m, info, readErr)
	}
	return m
}

// depmodMissing says that a kernel's modules are there and their index is not, as in an image whose
// kernel package was only unpacked. Then nothing tells which modules the kernel has.
func (p probe) depmodMissing(release string) bool {
	dir := "/lib/modules/" + release
	if _, err := p.r.Stat(dir); err != nil {
		return false
	}
	_, err := p.r.Stat(dir + "/modules.dep")
	return errors.Is(err, fs.ErrNotExist)
}

func (p probe) describeModule(release string, m *facts.DiskModule) {
	info, err := kmod.Read(p.ctx, p.r, release, m.Name)
	describe(p.evidence(), release, m, info, err)
}

// describe adds what a module's text says, or why there is none.
func describe(evidence bool, release string, m *facts.DiskModule, info kmod.Info, err error) {
	source := "modinfo " + m.Name
	if err != nil && m.Path.IsUnknown() {
		err = host.ErrUnknown // there is no file that could have failed
	}
	if errors.Is(err, host.ErrUnknown) {
		return // nothing was asked, as on a live host for a module that does not matter
	}
	if err != nil {
		m.Version, m.SrcVersion = field("", source, err), field("", source, err)
		m.Vermagic, m.Signer = field("", source, err), field("", source, err)
		return
	}
	if info.Filename != "" && m.Path.IsUnknown() {
		m.Path = facts.Is(info.Filename, source)
		m.Origin = facts.Is(string(kmod.OriginOf(release, info.Filename)), source)
	}
	// An excerpt has not every line; the file itself has, from the first (filename) to vermagic.
	whole := !evidence || info.Filename != "" && info.Vermagic != ""
	value := func(s string) facts.Field[string] {
		switch {
		case s != "":
			return facts.Is(s, source)
		case !whole:
			return facts.Field[string]{Source: source}
		}
		return facts.None[string](source)
	}
	m.Version, m.SrcVersion, m.Vermagic = value(info.Version), value(info.SrcVersion), value(info.Vermagic)
	m.Signer = value(info.Signature.Signer)
	if info.Signature.Present && info.Signature.Signer == "" {
		m.Signer = unknown[string](source, "the file is signed and does not name its signer")
	}
}

// describeWanted reads the files of the drivers that the cards want, whether loaded or not.
func (p probe) describeWanted(f *facts.Facts) {
	release, ok := f.Kernel.Release.Get()
	if !ok {
		return
	}
	var names []string
	for _, d := range f.PCI.Or(nil) {
		for _, name := range []string{d.WantsDriver, d.WantsRDMADriver} {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		at := slices.IndexFunc(f.Modules.OnDisk, func(m facts.DiskModule) bool { return m.Name == name })
		if at < 0 {
			f.Modules.OnDisk = append(f.Modules.OnDisk, p.diskModule(release, stackModule{name: name}, f.Kernel.Config, true))
			continue
		}
		if m := &f.Modules.OnDisk[at]; m.Path.IsKnown() && m.Vermagic.IsUnknown() && m.Vermagic.Error == "" {
			p.describeModule(release, m)
		}
	}
}

// blacklisted maps modules of the stack to what keeps them out.
func (p probe) blacklisted() facts.Field[map[string]string] {
	const source = "/etc/modprobe.d"
	config, err := kmod.Config(p.excerpt())
	if err != nil {
		return field[map[string]string](nil, source, err)
	}
	out := map[string]string{}
	for _, d := range config.Directives {
		name := kmod.Normalize(d.Module)
		if d.Word != "blacklist" && d.Word != "install" || !ofStack(name) {
			continue
		}
		if listed, where := config.Blacklisted(name); listed {
			out[name] = where
		}
	}
	switch {
	case len(out) > 0:
		return facts.Is(out, source)
	case len(config.Unread) > 0:
		return field[map[string]string](nil, source, config.Unread[0])
	}
	return facts.None[map[string]string](source)
}

// ofStack says that a module belongs to the stack or to a card of any vendor.
func ofStack(name string) bool {
	if slices.ContainsFunc(stackModules(), func(s stackModule) bool { return s.name == name }) {
		return true
	}
	for _, prefix := range []string{"ib_", "mlx", "rdma", "iw_", "nvme_rdma", "nv_peer", "nvidia_peer", "bnxt", "irdma", "i40iw", "qed", "efa", "erdma", "hfi1", "mana", "hns"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// loadAtBoot reads modules-load.d(5), /etc/modules and rdma-core's lists. Of files with one name in
// several directories the first counts.
func (p probe) loadAtBoot() facts.Field[map[string]string] {
	out := map[string]string{}
	var failed error
	told := false
	seen := map[string]bool{}
	for _, dir := range []string{"/etc/modules-load.d", "/run/modules-load.d", "/usr/local/lib/modules-load.d", "/usr/lib/modules-load.d", "/etc/rdma/modules"} {
		names, _, err := p.listed(dir)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				failed = err
			} else {
				told = true
			}
			continue
		}
		told = true
		for _, name := range names {
			// rdma-core's directory has names of its own.
			key := name
			if dir == "/etc/rdma/modules" {
				key = dir + "/" + name
			}
			if !strings.HasSuffix(name, ".conf") || seen[key] {
				continue
			}
			seen[key] = true
			text, err := p.text(path.Join(dir, name))
			if err != nil {
				failed = fmt.Errorf("cannot read %s: %w", path.Join(dir, name), err)
				continue
			}
			addModules(out, text, path.Join(dir, name))
		}
	}
	if text, err := p.text("/etc/modules"); err == nil {
		told = true
		addModules(out, text, "/etc/modules")
	}
	const source = "/etc/modules-load.d"
	switch {
	case len(out) > 0:
		return facts.Is(out, source)
	case failed != nil || !told:
		if failed == nil {
			failed = host.ErrUnknown
		}
		return field[map[string]string](nil, source, failed)
	}
	return facts.None[map[string]string](source)
}

func addModules(out map[string]string, text, file string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name := kmod.Normalize(strings.Fields(line)[0])
		if _, ok := out[name]; !ok {
			out[name] = file
		}
	}
}
