package plan

import (
	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan/rules"
)

// AtBoot are the reasons why modules would not be replaced while a host runs, whatever was asked for.
func AtBoot(f facts.Facts) []Reason { return activate(rules.Input{Facts: f}).reasons }
