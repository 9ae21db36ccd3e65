package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// servicesStep acts on systemd units. Where systemd does not run (an image, a container) units take
// effect at boot and the step has nothing to do.
type servicesStep struct {
	noUndo
	run *run
}

type servicesUndo struct {
	Units []unitState `json:"units"`
}

// unitState is a unit before the step.
type unitState struct {
	Name    string `json:"name"`
	Active  string `json:"active"`  // as systemctl is-active prints it
	Enabled string `json:"enabled"` // as systemctl is-enabled prints it
}

func checkUnit(name string) error {
	if name == "" || name[0] == '-' || strings.ContainsAny(name, "/ \t\n*?[]") {
		return fmt.Errorf("cannot act on unit %q: not a unit name", name)
	}
	return nil
}

func (r *run) systemd() (bool, error) {
	if r.inImage() {
		return false, nil
	}
	_, err := r.host.Stat("/run/systemd/system")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot tell whether systemd runs: %w", err)
	}
	return true, nil
}

// unitWord asks systemctl for one word about a unit; its exit code only repeats the word.
func (x *servicesStep) unitWord(ctx context.Context, verb, name string) (string, error) {
	res, err := x.run.host.Query(ctx, "systemctl", verb, name)
	if err != nil {
		return "", fmt.Errorf("cannot ask systemd about %s: %w", name, err)
	}
	return strings.TrimSpace(res.Stdout), nil
}

func (x *servicesStep) check(ctx context.Context, s plan.Step, changed bool) (bool, error) {
	if x.run.inImage() {
		return x.checkOffline(ctx, s)
	}
	up, err := x.run.systemd()
	if err != nil || !up {
		return !up, err
	}
	for _, c := range s.Changes.Services {
		switch c.Action {
		case "start":
			word, err := x.unitWord(ctx, "is-active", c.Name)
			if err != nil || word != "active" {
				return false, err
			}
		case "enable":
			word, err := x.unitWord(ctx, "is-enabled", c.Name)
			if err != nil || word != "enabled" {
				return false, err
			}
		default:
			if changed {
				return false, nil
			}
		}
	}
	return true, nil
}

func (x *servicesStep) prepare(ctx context.Context, s plan.Step) (any, error) {
	if x.run.inImage() {
		return x.prepareOffline(ctx, s)
	}
	u := servicesUndo{Units: []unitState{}}
	for _, c := range s.Changes.Services {
		if c.Action == "daemon-reload" {
			continue
		}
		if err := checkUnit(c.Name); err != nil {
			return nil, err
		}
		active, err := x.unitWord(ctx, "is-active", c.Name)
		if err != nil {
			return nil, err
		}
		enabled, err := x.unitWord(ctx, "is-enabled", c.Name)
		if err != nil {
			return nil, err
		}
		u.Units = append(u.Units, unitState{c.Name, active, enabled})
	}
	return u, nil
}

func (x *servicesStep) systemctl(ctx context.Context, args ...string) error {
	argv := append([]string{"systemctl", "--no-ask-password"}, args...)
	res, err := x.run.host.Run(ctx, host.Command{Argv: argv})
	if err != nil {
		return fmt.Errorf("cannot run systemctl %s: %w", strings.Join(args, " "), err)
	}
	if res.Exit != 0 {
		said := strings.TrimSpace(res.Stderr)
		if said == "" {
			said = "no message"
		}
		return fault.New(fault.Failed, "service-failed", "look at `systemctl status "+args[len(args)-1]+"`",
			"cannot %s: systemctl ended with %d: %s", strings.Join(args, " "), res.Exit, said)
	}
	return nil
}

func (x *servicesStep) do(ctx context.Context, s plan.Step, undo json.RawMessage) (any, string, error) {
	if x.run.inImage() {
		return x.doOffline(ctx, undo)
	}
	for _, c := range s.Changes.Services {
		switch c.Action {
		case "daemon-reload":
			if err := x.systemctl(ctx, "daemon-reload"); err != nil {
				return nil, "", err
			}
		case "start", "restart", "try-restart", "enable":
			if err := x.systemctl(ctx, c.Action, c.Name); err != nil {
				return nil, "", err
			}
		default:
			return nil, "", fmt.Errorf("cannot act on unit %s: unknown action %q", c.Name, c.Action)
		}
	}
	return nil, "", nil
}

// undo stops what the step started. It comes before the units' files are removed, since steps are
// undone in reverse order.
func (x *servicesStep) undo(ctx context.Context, s plan.Step, rec record) (undone, error) {
	out := undone{}
	var u servicesUndo
	if err := decode(rec.undo, &u); err != nil {
		return out, err
	}
	if x.run.inImage() {
		return out, x.undoOffline(ctx, u)
	}
	up, err := x.run.systemd()
	if err != nil || !up {
		return out, err
	}
	for _, c := range slices.Backward(s.Changes.Services) {
		i := slices.IndexFunc(u.Units, func(b unitState) bool { return b.Name == c.Name })
		if i < 0 {
			continue
		}
		before := u.Units[i]
		active, err := x.unitWord(ctx, "is-active", c.Name)
		if err != nil {
			return out, err
		}
		switch c.Action {
		case "start", "restart":
			if before.Active != "active" && before.Active != "reloading" && active != "inactive" && active != "unknown" {
				if err := x.systemctl(ctx, "stop", c.Name); err != nil {
					out.notes = append(out.notes, err.Error())
				}
			}
		case "enable":
			enabled, err := x.unitWord(ctx, "is-enabled", c.Name)
			if err != nil {
				return out, err
			}
			if before.Enabled != "enabled" && enabled == "enabled" {
				if err := x.systemctl(ctx, "disable", c.Name); err != nil {
					return out, err
				}
			}
		case "try-restart":
			if active == "active" {
				out.notes = append(out.notes, fmt.Sprintf("%s keeps running as it was started; restart it to give it back its earlier limits", c.Name))
			}
		}
	}
	return out, nil
}
