package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/sidebyside"
	"github.com/rdmactl/rdmactl/plan"
)

// unitDropIn is the drop-in that gives a service a stack. It looks at the unit where systemd can be asked.
func unitDropIn(ctx context.Context, h sidebyside.ProgramHost, side side, unit string, keepDrivers bool, g *globalOptions) (dropIn, error) {
	told, err := askUnit(ctx, h, unit)
	if err != nil {
		return dropIn{}, err
	}
	if told["LoadState"] == "not-found" {
		return dropIn{}, fault.New(fault.Stopped, "no-such-unit", "`systemctl list-unit-files --type=service` lists them", "cannot give %s a stack: systemd knows no such unit", unit)
	}
	if err := checkUnitProgram(ctx, h, side, told); err != nil {
		return dropIn{}, err
	}
	own := sidebyside.Words(told["Environment"])
	for _, file := range environmentFiles(told["EnvironmentFiles"]) {
		data, err := h.ReadFile(file)
		if err == nil && strings.Contains(string(data), "LD_LIBRARY_PATH") {
			fmt.Fprintf(g.err, "note: %s reads %s, which sets LD_LIBRARY_PATH; it wins over the drop-in\n", unit, file)
		}
	}
	if told["RootDirectory"] != "" || told["RootImage"] != "" {
		fmt.Fprintf(g.err, "note: %s runs in another root (%s%s): the library has to be there\n", unit, told["RootDirectory"], told["RootImage"])
	}
	opts := sidebyside.Options{KeepDrivers: keepDrivers, Search: sidebyside.Elsewhere(h, own, side.all)}
	return dropIn{
		Schema: unitSchema, Unit: unit, Stack: side.copy.Name(), File: plan.UnitDropIn(unit),
		Content: sidebyside.DropIn(unit, side.copy, side.all, own, opts),
	}, nil
}

// askUnit is what systemd tells of a unit, empty where there is no systemd to ask. Of a template it tells nothing.
func askUnit(ctx context.Context, h host.Reader, unit string) (map[string]string, error) {
	out := map[string]string{}
	if h.Told().Kind == "root" || strings.Contains(unit, "@.") {
		return out, nil
	}
	if _, err := h.Stat("/run/systemd/system"); err != nil {
		return out, nil //nolint:nilerr // systemd does not run here
	}
	res, err := h.Query(ctx, "systemctl", "show", "-p", "LoadState,Environment,EnvironmentFiles,ExecStart,User,RootDirectory,RootImage", unit)
	if errors.Is(err, host.ErrNotInstalled) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot ask systemd about %s: %w", unit, err)
	}
	if res.Exit != 0 {
		return nil, fault.New(fault.Failed, "unit-not-told", "see `systemctl status "+unit+"`", "cannot ask systemd about %s: systemctl ended with %d: %s", unit, res.Exit, strings.TrimSpace(res.Stderr))
	}
	for line := range strings.Lines(res.Stdout) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\n"), "=")
		if ok && out[key] == "" { // several EnvironmentFiles and ExecStart come as several lines; see below
			out[key] = value
		} else if ok {
			out[key] += "\n" + value
		}
	}
	return out, nil
}

// environmentFiles are the paths of "PATH (ignore_errors=yes)" lines.
func environmentFiles(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if file, _, _ := strings.Cut(strings.TrimSpace(line), " ("); strings.HasPrefix(file, "/") {
			out = append(out, file)
		}
	}
	return out
}

// checkUnitProgram looks at the programs that a unit starts, as run does at its own.
func checkUnitProgram(ctx context.Context, h sidebyside.ProgramHost, side side, told map[string]string) error {
	by := sidebyside.Caller{Dir: "/"}
	if user := told["User"]; user != "" && user != "root" && user != "0" {
		by.UID, by.GID = math.MaxUint32-1, math.MaxUint32-1 // some user, and not root
	}
	for line := range strings.Lines(told["ExecStart"]) {
		_, rest, ok := strings.Cut(line, "path=")
		file, _, _ := strings.Cut(rest, " ;")
		if _, err := h.Stat(file); !ok || err != nil {
			continue // systemd itself will say that it is not there
		}
		if err := sidebyside.CheckProgram(ctx, h, file, side.copy, by); err != nil {
			return err
		}
	}
	return nil
}
