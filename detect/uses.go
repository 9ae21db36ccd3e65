package detect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// uses looks for what needs the stack: interfaces above the cards, mounts, block devices, and open
// devices. Processes are not searched, which would take root and time; how many files they have open
// on the devices shows in the modules' reference counts.
func (p probe) uses(f facts.Facts) (facts.Field[[]facts.Use], map[string]string) {
	const source = "/sys, /proc/self/mounts and /proc/modules"
	var found []facts.Use
	missing := map[string]string{}
	told := false
	if p.told.IsImage() {
		return facts.Field[[]facts.Use]{Source: "an image is not in use"}, nil
	}
	add := func(kinds string, uses []facts.Use, err error) {
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist):
			told = true
		default:
			for kind := range strings.SplitSeq(kinds, ", ") {
				if missing[kind] = err.Error(); errors.Is(err, host.ErrUnknown) {
					missing[kind] = "not told"
				}
			}
		}
		found = append(found, uses...)
	}
	uppers, err := upperUses(f)
	add("upper-netdev, ipoib", uppers, err)
	mounts, err := p.mountUses()
	add("nfs-rdma, lustre, smb-direct", mounts, err)
	nvme, err := p.nvmeUses()
	add("nvme-rdma", nvme, err)
	adapters, err := p.scsiUses()
	add("iser, srp", adapters, err)
	served, err := p.servedUses()
	add("nvmet-rdma, nfs-rdma-server", served, err)
	open, err := openUses(f.Modules)
	add("open-device", open, err)
	slices.SortStableFunc(found, func(a, b facts.Use) int {
		if c := strings.Compare(a.Kind, b.Kind); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	if len(missing) == 0 {
		missing = nil
	}
	switch {
	case len(found) > 0:
		return facts.Is(found, source), missing
	case !told || missing != nil:
		return facts.Field[[]facts.Use]{Source: source}, missing // what was not looked at may be in use
	}
	return facts.None[[]facts.Use](source), nil
}

// rdmaDriver says that a network driver has an RDMA half.
func rdmaDriver(name string) bool {
	return slices.Contains([]string{"mlx4_core", "mlx4_en", "mlx5_core", "bnxt_en", "ice", "i40e", "qede", "cxgb4", "hns3", "ionic", "mana", "be2net"}, name) || strings.HasPrefix(name, "ib_ipoib")
}

// upperUses are the interfaces on the cards: what stands on one, and IPoIB.
func upperUses(f facts.Facts) ([]facts.Use, error) {
	if f.Netdevs.IsUnknown() {
		if f.Netdevs.Error != "" {
			return nil, errors.New(f.Netdevs.Error)
		}
		return nil, host.ErrUnknown
	}
	var uses []facts.Use
	for _, d := range f.Netdevs.Or(nil) {
		driver := d.Driver.Or("")
		if d.Type.Or(0) == 32 && d.OperState.Or("") != "down" { // ARPHRD_INFINIBAND
			uses = append(uses, facts.Use{Kind: "ipoib", Name: d.Name, Detail: strings.Join(d.Addresses.Or(nil), " "), Modules: []string{"ib_ipoib"}, Source: d.Type.Source})
		}
		if !rdmaDriver(driver) {
			continue
		}
		for _, upper := range d.Uppers.Or(nil) {
			uses = append(uses, facts.Use{Kind: "upper-netdev", Name: upper, Detail: "on " + d.Name, Modules: []string{driver}, Source: d.Uppers.Source})
		}
	}
	return uses, nil
}

// mountTypes are the file systems that can run over RDMA.
const mountTypes = "nfs,nfs4,cifs,smb3,lustre"

// mountUses reads the mounts over RDMA. Their sources are not read: they name servers.
func (p probe) mountUses() ([]facts.Use, error) {
	const file = "/proc/self/mounts"
	argv := []string{"findmnt", "-rn", "-t", mountTypes, "-o", "TARGET,FSTYPE,OPTIONS"}
	res, err := p.r.Derive(p.ctx, file, argv, decodeMounts)
	if err == nil {
		return parseMounts(res.Stdout, strings.Join(argv, " ")), nil
	}
	if errors.Is(err, host.ErrUnknown) {
		for _, file := range []string{"/proc/mounts", file} {
			if text, textErr := p.text(file); textErr == nil {
				return parseMounts(mountLines(text), file), nil
			}
		}
		if text, from := p.firstTold("mount", "mount -l", "cat /proc/mounts"); text != "" {
			return parseMounts(mountLines(text), from), nil
		}
	}
	return nil, err
}

// decodeMounts prints what findmnt prints of the types above, without options that name people.
func decodeMounts(file io.ReaderAt, _ int64) (string, error) {
	data, err := io.ReadAll(io.NewSectionReader(file, 0, 8<<20))
	return mountLines(string(data)), err
}

// mountLines turns lines of /proc/mounts, "SOURCE TARGET TYPE OPTIONS 0 0", or of mount(8),
// "SOURCE on TARGET type TYPE (OPTIONS)", into "TARGET TYPE OPTIONS" for the types above.
func mountLines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) >= 6 && words[1] == "on" && words[3] == "type":
			words = []string{words[0], words[2], words[4], strings.Trim(words[5], "()")}
		case len(words) < 4:
			continue
		}
		if !slices.Contains(strings.Split(mountTypes, ","), words[2]) {
			continue
		}
		options := slices.DeleteFunc(strings.Split(words[3], ","), func(o string) bool {
			key, _, ok := strings.Cut(o, "=")
			return ok && slices.Contains([]string{"username", "user", "domain", "credentials", "password", "uid", "gid", "unc"}, key)
		})
		fmt.Fprintf(&out, "%s %s %s\n", words[1], words[2], strings.Join(options, ","))
	}
	return out.String()
}

func parseMounts(text, source string) []facts.Use {
	var uses []facts.Use
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 3 {
			continue
		}
		options := strings.Split(words[2], ",")
		use := facts.Use{Name: words[0], Detail: words[1], Source: source}
		switch {
		case (words[1] == "nfs" || words[1] == "nfs4") && (slices.Contains(options, "proto=rdma") || slices.Contains(options, "rdma")):
			use.Kind, use.Modules = "nfs-rdma", []string{"rpcrdma"}
		case (words[1] == "cifs" || words[1] == "smb3") && slices.Contains(options, "rdma"):
			use.Kind, use.Modules = "smb-direct", []string{"cifs"}
		case words[1] == "lustre":
			// Whether over RDMA or TCP the mount does not tell.
			use.Kind, use.Modules = "lustre", []string{"ko2iblnd"}
		default:
			continue
		}
		uses = append(uses, use)
	}
	return uses
}

// nvmeUses are the controllers of NVMe over RDMA that this host uses.
func (p probe) nvmeUses() ([]facts.Use, error) {
	return p.attributeUses("/sys/class/nvme", "transport", map[string]facts.Use{"rdma": {Kind: "nvme-rdma", Modules: []string{"nvme_rdma"}}})
}

// scsiUses are the adapters of iSER and SRP.
func (p probe) scsiUses() ([]facts.Use, error) {
	return p.attributeUses("/sys/class/scsi_host", "proc_name", map[string]facts.Use{
		"iscsi_iser": {Kind: "iser", Modules: []string{"ib_iser"}}, "iser": {Kind: "iser", Modules: []string{"ib_iser"}},
		"ib_srp": {Kind: "srp", Modules: []string{"ib_srp"}},
	})
}

// attributeUses looks in each directory of a class for an attribute with one of some values.
func (p probe) attributeUses(dir, attribute string, kinds map[string]facts.Use) ([]facts.Use, error) {
	names, _, err := p.listed(dir)
	if err != nil {
		return nil, err
	}
	var uses []facts.Use
	for _, name := range names {
		file := dir + "/" + name + "/" + attribute
		value := p.attr(file)
		if value.Error != "" {
			err = errors.New(value.Error)
		}
		if use, ok := kinds[value.Or("")]; ok {
			use.Name, use.Source = name, file
			uses = append(uses, use)
		}
	}
	return uses, err
}

// servedUses are storage that this host serves over RDMA: NVMe targets, which only root sees, and NFS.
func (p probe) servedUses() ([]facts.Use, error) {
	const nvmet, nfsd = "/sys/kernel/config/nvmet/ports", "/proc/fs/nfsd/portlist"
	uses, err := p.attributeUses(nvmet, "addr_trtype", map[string]facts.Use{"rdma": {Kind: "nvmet-rdma", Modules: []string{"nvmet_rdma"}}})
	ports := p.attr(nfsd)
	for line := range strings.Lines(ports.Or("")) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == "rdma" {
			uses = append(uses, facts.Use{Kind: "nfs-rdma-server", Name: "port " + words[1], Modules: []string{"rpcrdma"}, Source: nfsd})
		}
	}
	if err == nil && ports.Error != "" {
		err = errors.New(ports.Error)
	}
	return uses, err
}

// openUses are the devices that programs have open: each open file holds the module that serves it, and
// so does each module that is built on it. What is above the latter is the former.
func openUses(m facts.Modules) ([]facts.Use, error) {
	if m.Loaded.IsUnknown() {
		if m.Loaded.Error != "" {
			return nil, errors.New(m.Loaded.Error)
		}
		return nil, host.ErrUnknown
	}
	var uses []facts.Use
	for _, l := range m.Loaded.Or(nil) {
		open := l.Refs - len(l.UsedBy)
		if !slices.Contains([]string{"ib_uverbs", "ib_umad", "rdma_ucm"}, l.Name) || open <= 0 {
			continue
		}
		uses = append(uses, facts.Use{Kind: "open-device", Name: l.Name, Detail: fmt.Sprintf("%d open", open), Modules: []string{l.Name}, Source: m.Loaded.Source})
	}
	return uses, nil
}
