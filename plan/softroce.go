package plan

import (
	"fmt"
	"strings"

	"github.com/rdmactl/rdmactl/plan/rules"
)

// softUnit is the instance of the template unit that makes a Soft-RoCE device. The instance is the
// RDMA device, not the interface: interface names may hold "-", which systemd would have to escape
// as \x2d on its way through a udev property.
func softUnit(device string) string { return "rdmactl-rxe@" + device + ".service" }

// softRules start the unit when the interface appears.
//
// An interface gets its name in the initramfs (then it arrives as KERNEL at coldplug) or by
// 80-net-setup-link.rules in the same event (then it is NAME, and KERNEL is still eth0), so both are
// matched, after rule 80. An interface that is renamed away in this event has another NAME. A later
// rename is a move event with the new KERNEL.
func softRules(in rules.Input) string {
	netdev := in.Netdev.Name
	act := fmt.Sprintf(`TAG+="systemd", ENV{SYSTEMD_WANTS}+="%s"`, softUnit(in.Profile.SoftRoCE.Device))
	return "# The Soft-RoCE device " + in.Profile.SoftRoCE.Device + " on " + netdev + ".\n" +
		"# The name is in KERNEL when it was given before, in NAME when this event gives it.\n" +
		fmt.Sprintf(`ACTION!="remove", SUBSYSTEM=="net", KERNEL=="%s", NAME=="", %s`, netdev, act) + "\n" +
		fmt.Sprintf(`ACTION!="remove", SUBSYSTEM=="net", NAME=="%s", %s`, netdev, act) + "\n"
}

// softUnitText is the template unit. Its programs are where Debian 11, 12 and 13 and Ubuntu have
// them, merged /usr or not.
func softUnitText(in rules.Input) string {
	netdev := in.Netdev.Name
	device := "sys-subsystem-net-devices-" + strings.ReplaceAll(netdev, "-", `\x2d`) + ".device"
	return `[Unit]
Description=Soft-RoCE device %i on ` + netdev + `
Documentation=man:rdma-link(8)
# The device lives and dies with its interface, and comes back with it.
BindsTo=` + device + `
After=` + device + ` systemd-modules-load.service
# One that exists already is left alone: a second start changes nothing.
ConditionPathExists=!/sys/class/infiniband/%i

[Service]
Type=oneshot
RemainAfterExit=yes
# rdma link add has the kernel load it as well, but then its failure leaves no message here.
ExecStartPre=-/sbin/modprobe rdma_rxe
ExecStart=/usr/bin/rdma link add %i type rxe netdev ` + netdev + `
# The kernel has deleted it already where the interface went away.
ExecStop=-/usr/bin/rdma link delete %i
`
}
