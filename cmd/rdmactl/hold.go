package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/plan/rules"
)

// knowHolds reads which holds earlier runs on this host, or in the image below its root, have set: those are rdmactl's
// to lift. The journals are root's, and a host in a file has none. A plan is made all the same where they cannot be
// read: what is held then counts as the administrator's.
func (o *planOptions) knowHolds(g *globalOptions) {
	if len(o.evidence) > 0 || os.Geteuid() != 0 {
		return
	}
	var err error
	if o.own, err = ownHolds(o.root); err != nil && g.format() != "json" {
		fmt.Fprintf(g.err, "note: which packages rdmactl itself holds is not known: %v\n", err)
	}
}

func ownHolds(root string) (own []plan.OwnHold, err error) {
	if root == "" {
		return install.OwnHolds(newEnv(host.NewLive()).Paths)
	}
	im, err := install.OpenImage(root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, im.Close()) }()
	if err := im.OpenRuns(); err != nil {
		return nil, err
	}
	return install.OwnHolds(im.Paths())
}

// noteHolds says, where the journals could not be read, that a refusal for held packages may not be root's answer.
func (o *planOptions) noteHolds(p plan.Plan, g *globalOptions) {
	if len(o.evidence) > 0 || os.Geteuid() == 0 || g.format() == "json" || p.Verdict != plan.Refuse || len(p.Reasons) == 0 {
		return
	}
	if p.Reasons[0].Code == string(rules.PackageHeld) {
		fmt.Fprintln(g.err, "note: which holds rdmactl itself has set is known to root alone: `sudo rdmactl plan` lifts those")
	}
}
