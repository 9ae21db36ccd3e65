package install

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rdmactl/rdmactl/plan"
)

// In an image nothing can be started. What is to be enabled is enabled by its links, which systemctl makes
// without a manager; starting, restarting and reloading are the next boot's.

// enabled are the units that a step enables, each with its state in the image.
func (x *servicesStep) enabled(ctx context.Context, s plan.Step) ([]unitState, error) {
	units := []unitState{}
	for _, c := range s.Changes.Services {
		if c.Action != "enable" {
			continue
		}
		if err := checkUnit(c.Name); err != nil {
			return nil, err
		}
		word, err := x.unitWord(ctx, "is-enabled", c.Name)
		if err != nil {
			return nil, err
		}
		units = append(units, unitState{Name: c.Name, Enabled: word})
	}
	return units, nil
}

func (x *servicesStep) checkOffline(ctx context.Context, s plan.Step) (bool, error) {
	units, err := x.enabled(ctx, s)
	if err != nil {
		return false, err
	}
	for _, u := range units {
		if u.Enabled != "enabled" {
			return false, nil
		}
	}
	return true, nil
}

func (x *servicesStep) prepareOffline(ctx context.Context, s plan.Step) (any, error) {
	units, err := x.enabled(ctx, s)
	return servicesUndo{Units: units}, err
}

// offline is what systemctl before 239 (RHEL 7) needs to do without a manager; newer ones are told by the
// environment of an image's commands.
const offline = "--root=/"

func (x *servicesStep) doOffline(ctx context.Context, undo json.RawMessage) (any, string, error) {
	var u servicesUndo
	if err := decode(undo, &u); err != nil {
		return nil, "", err
	}
	var names []string
	for _, unit := range u.Units {
		if err := x.systemctl(ctx, offline, "enable", unit.Name); err != nil {
			return nil, "", err
		}
		names = append(names, unit.Name)
	}
	return nil, fmt.Sprintf("enabled %s; what is to be started starts at the next boot", strings.Join(names, ", ")), nil
}

func (x *servicesStep) undoOffline(ctx context.Context, u servicesUndo) error {
	for _, before := range u.Units {
		now, err := x.unitWord(ctx, "is-enabled", before.Name)
		if err != nil {
			return err
		}
		if before.Enabled == "enabled" || now != "enabled" {
			continue
		}
		if err := x.systemctl(ctx, offline, "disable", before.Name); err != nil {
			return err
		}
	}
	return nil
}
