package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/profiles"
)

// NoNetdev is a Soft-RoCE device without an interface to put it on.
const NoNetdev Code = "no-netdev"

// Netdev is the interface chosen for the Soft-RoCE device.
type Netdev struct {
	Name string
	Why  string // how it was chosen; the refusal if Name is empty
}

const arphrdEthernet = 1

// chooseNetdev takes what the user named, else what the profile names, else the interface that an
// existing device of this name sits on, else the default route's, else the only physical Ethernet
// interface that is up.
func chooseNetdev(in Input, asked string) Netdev {
	soft := in.Profile.SoftRoCE
	if soft == nil {
		return Netdev{}
	}
	named, by := asked, "named with --netdev"
	if named == "" && soft.Netdev != "auto" {
		named, by = soft.Netdev, "named by the profile"
	}
	if named != "" {
		if why := unfit(in, named); why != "" {
			return Netdev{Why: named + ", " + by + ", " + why + candidates(in)}
		}
		return Netdev{Name: named, Why: by}
	}
	if d, ok := RDMADevice(in, soft.Device); ok {
		if parent, known := Parent(d); known && isSoft(d) && unfit(in, parent) == "" {
			return Netdev{Name: parent, Why: soft.Device + " is on it already"}
		}
	}
	refused := "no default route is known"
	if name, ok := in.Facts.Access.DefaultRouteNetdev.Get(); ok && name != "" {
		why := unfit(in, name)
		if why == "" {
			return Netdev{Name: name, Why: "it has the default route"}
		}
		refused = printable(name) + ", which has the default route, " + why
	} else if in.Facts.Access.DefaultRouteNetdev.IsAbsent() {
		refused = "there is no default route"
	}
	up := physical(in)
	if len(up) == 1 {
		return Netdev{Name: up[0], Why: "it is the only physical Ethernet interface that is up"}
	}
	if len(up) > 1 {
		return Netdev{Why: refused + ", and several physical Ethernet interfaces are up: " + list(up)}
	}
	return Netdev{Why: refused + ", and no physical Ethernet interface is up" + candidates(in)}
}

// unfit says why an interface cannot carry Soft-RoCE: rdma_rxe takes Ethernet devices only.
func unfit(in Input, name string) string {
	if profiles.CheckNetdev(name) != nil {
		return "has a name that cannot be written into udev rules and units"
	}
	all, told := in.Facts.Netdevs.Get()
	i := slices.IndexFunc(all, func(n facts.Netdev) bool { return n.Name == name })
	if i < 0 {
		if told || in.Facts.Netdevs.IsAbsent() {
			return "does not exist"
		}
		return ""
	}
	if kind, ok := all[i].Type.Get(); ok && kind != arphrdEthernet {
		return fmt.Sprintf("is not an Ethernet interface (type %d)", kind)
	}
	return ""
}

// physical are the physical Ethernet interfaces that are up. Drivers that do not keep operstate show
// "unknown" there, which counts as up.
func physical(in Input) []string {
	var names []string
	for _, n := range in.Facts.Netdevs.Or(nil) {
		if n.Type.Or(0) == arphrdEthernet && n.Virtual.IsKnown() && !n.Virtual.Value &&
			slices.Contains([]string{"up", "unknown"}, strings.ToLower(n.OperState.Or(""))) && profiles.CheckNetdev(n.Name) == nil {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names
}

// candidates name the Ethernet interfaces that could be asked for.
func candidates(in Input) string {
	var names []string
	for _, n := range in.Facts.Netdevs.Or(nil) {
		if unfit(in, n.Name) == "" {
			name := n.Name
			if state, ok := n.OperState.Get(); ok {
				name += " (" + printable(state) + ")"
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return ""
	}
	return "; Ethernet interfaces are " + list(names)
}

func softNetdev() Rule {
	return Rule{Name: "soft-netdev", Scope: Inbox, Source: "rdma_rxe: rxe_newlink takes an Ethernet device", Judge: func(in Input) []Finding {
		if in.inContainer() || in.Profile.SoftRoCE == nil || in.Netdev.Name != "" {
			return nil
		}
		return refuse(NoNetdev, in.Facts.Netdevs.Source, "no interface for the Soft-RoCE device %s: %s", in.Profile.SoftRoCE.Device, in.Netdev.Why)
	}}
}
