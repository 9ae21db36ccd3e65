package detect

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/host"
)

// loading are programs that open the RDMA netlink socket or the verbs library, or talk to the card:
// each would make the kernel load ib_core.
func loading(line string) bool {
	program, _, _ := strings.Cut(line, " ")
	return slices.Contains([]string{"rdma", "ibv_devinfo", "ibv_devices", "ibstat", "ibstatus", "show_gids", "ibdev2netdev", "ofed_info", "mst", "mlxconfig", "flint", "modprobe", "lsmod"}, program)
}

func TestALiveHostIsNotMadeToLoadModules(t *testing.T) {
	for _, kind := range []string{"live", "evidence"} {
		asked := make(chan string, 10000)
		Host(t.Context(), posing{Reader: host.NewReplay(evidence(t, "cx6-ib-ubuntu2204")), kind: kind, asked: asked})
		close(asked)
		var all, bad []string
		for line := range asked {
			all = append(all, line)
			if loading(line) && line != "lsmod" {
				bad = append(bad, line)
			}
		}
		switch {
		case kind == "live" && len(bad) > 0:
			t.Errorf("a live host was asked %q", bad)
		case kind == "live" && len(all) > 12:
			t.Errorf("a live host was asked to run %d programs: %q", len(all), all)
		case kind == "evidence" && len(bad) == 0:
			t.Error("evidence was not asked for the texts of RDMA programs: the test sees nothing")
		}
	}
}

// Every command that a live host is asked is on the list of read-only commands.
func TestLiveQuestionsAreAllowed(t *testing.T) {
	asked := make(chan string, 10000)
	Host(t.Context(), posing{Reader: host.NewReplay(&host.Evidence{}), kind: "live", asked: asked})
	close(asked)
	n := 0
	for line := range asked {
		n++
		if err := host.Allowed(strings.Split(line, " ")); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if n == 0 {
		t.Error("no question was seen")
	}
}

func TestNothingToldIsNothingKnown(t *testing.T) {
	for _, kind := range []string{"evidence", "live", "root"} {
		f := Host(t.Context(), posing{Reader: host.NewReplay(&host.Evidence{}), kind: kind})
		for _, line := range lines(t, f) {
			if strings.Contains(line, " is absent") || strings.Contains(line, " = ") {
				t.Errorf("%s: %s", kind, line)
			}
		}
	}
}

func TestTwiceTheSame(t *testing.T) {
	e := evidence(t, "cx5-roce-el8")
	first := lines(t, detected(t, e))
	for range 5 {
		if again := lines(t, detected(t, e)); !slices.Equal(first, again) {
			t.Fatal("the facts depend on the order of questions")
		}
	}
}

func TestLiveHost(t *testing.T) {
	f := Host(t.Context(), host.NewLive())
	if f.Origin != "live" || !f.Kernel.Release.IsKnown() || !f.Kernel.Arch.IsKnown() || !f.Memlock.Soft.IsKnown() || !f.RecordedAt.IsKnown() {
		t.Errorf("kernel %+v, memlock %+v", f.Kernel, f.Memlock)
	}
}

func BenchmarkLiveHost(b *testing.B) {
	r := host.NewLive()
	for b.Loop() {
		Host(b.Context(), r)
	}
}
