package detect

import (
	"errors"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// unitNames are the units that matter to RDMA: those that bring the stack up, manage a fabric, or
// start applications with the memlock limit of their own.
func unitNames() []string {
	return []string{
		"rdma-hw.target", "rdma-load-modules@rdma.service", "rdma-load-modules@infiniband.service", "rdma-ndd.service", "rdma.service",
		"openibd.service", "opensm.service", "opensmd.service", "ibacm.service", "srp_daemon.service", "iwpmd.service",
		"mst.service", "rshim.service", "lnet.service", "nvmet.service", "nvmf-autoconnect.service", "target.service", "nfs-server.service",
		"slurmd.service", "containerd.service", "docker.service", "crio.service", "kubelet.service",
	}
}

// services asks systemd for all units at once. Without systemd nothing is told.
func (p probe) services() []facts.Service {
	units := []facts.Service{}
	if p.told.IsImage() {
		return units
	}
	const question = "systemctl show -p Id,LoadState,ActiveState,UnitFileState,LimitMEMLOCK"
	text, err := p.run(append(strings.Fields(question), unitNames()...)...)
	if line := p.recorded(question + " "); errors.Is(err, host.ErrUnknown) && line != "" {
		text, err = p.run(strings.Fields(line)...) // as another release of this program asked for other units
	}
	if err == nil {
		units = append(units, parseSystemctlShow(text, "systemctl show")...)
	}
	if p.evidence() {
		units = p.toldUnits(units)
	}
	return units
}

// parseSystemctlShow reads blocks of "Key=Value" lines, one for each unit.
func parseSystemctlShow(text, source string) []facts.Service {
	var units []facts.Service
	for block := range strings.SplitSeq(strings.ReplaceAll(text, "\r", ""), "\n\n") {
		var unit facts.Service
		for line := range strings.Lines(block) {
			key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
			if !ok {
				continue
			}
			told := facts.Is(value, source)
			if value == "" {
				told = facts.None[string](source)
			}
			switch key {
			case "Id":
				unit.Name = value
			case "LoadState":
				unit.Load = told
			case "ActiveState":
				unit.Active = told
			case "UnitFileState":
				unit.Enabled = told
			case "LimitMEMLOCK":
				unit.Memlock = told
			}
		}
		if unit.Name == "" {
			continue
		}
		if unit.Memlock.Source == "" {
			unit.Memlock = facts.None[string](source) // a target has no processes
		}
		units = append(units, unit)
	}
	return units
}

// toldUnits adds what single commands of evidence say.
func (p probe) toldUnits(units []facts.Service) []facts.Service {
	if p.commands() != nil && len(p.recordedAll("systemctl ", "pgrep ", "ps ", "pidof ")) == 0 {
		return units
	}
	for _, name := range unitNames() {
		short := strings.TrimSuffix(name, ".service")
		var told facts.Service
		for _, n := range []string{name, short} {
			p.unitWord(&told.Active, "systemctl is-active "+n)
			p.unitWord(&told.Enabled, "systemctl is-enabled "+n)
			p.unitStatus(&told, "systemctl status "+n)
			p.unitProcess(&told.Active, n)
		}
		if told.Active.IsUnknown() && told.Enabled.IsUnknown() && told.Load.IsUnknown() {
			continue
		}
		told.Name = name
		known := false
		for i := range units {
			if units[i].Name == name {
				known = true
				fill(&units[i].Active, told.Active)
				fill(&units[i].Enabled, told.Enabled)
				fill(&units[i].Load, told.Load)
			}
		}
		if !known {
			units = append(units, told)
		}
	}
	return units
}

// unitWord reads a command that prints one word and may end with another code than 0.
func (p probe) unitWord(to *facts.Field[string], line string) {
	res, err := p.r.Query(p.ctx, strings.Fields(line)...)
	if word := strings.TrimSpace(res.Stdout); err == nil && word != "" && !strings.ContainsAny(word, " \n") {
		fill(to, facts.Is(word, line))
	}
}

// unitStatus reads the "Loaded:" and "Active:" lines of systemctl status.
func (p probe) unitStatus(to *facts.Service, line string) {
	res, err := p.r.Query(p.ctx, strings.Fields(line)...)
	if err != nil {
		return
	}
	if strings.Contains(res.Stderr, "could not be found") {
		fill(&to.Load, facts.Is("not-found", line))
	}
	for text := range strings.Lines(res.Stdout) {
		key, value, ok := strings.Cut(strings.TrimSpace(text), ":")
		words := strings.Fields(value)
		if !ok || len(words) == 0 {
			continue
		}
		switch key {
		case "Loaded":
			fill(&to.Load, facts.Is(words[0], line))
		case "Active":
			fill(&to.Active, facts.Is(words[0], line))
		}
	}
}

// unitProcess takes from a search for processes whether a daemon runs. It ends with 1 when none is
// found.
func (p probe) unitProcess(to *facts.Field[string], name string) {
	for _, line := range []string{"pgrep " + name, "pgrep -a " + name, "ps -C " + name + " -o args=", "pidof " + name} {
		res, err := p.r.Query(p.ctx, strings.Fields(line)...)
		if err != nil {
			continue
		}
		switch out := strings.TrimSpace(res.Stdout); {
		case res.Exit == 0 && out != "":
			fill(to, facts.Is("active", line))
		case res.Exit == 1 && out == "" && res.Stderr == "":
			fill(to, facts.Is("inactive", line))
		}
	}
}
