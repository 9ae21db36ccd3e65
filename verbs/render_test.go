package verbs

import (
	"bytes"
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	p50 := 1.234
	port := DevicePort{
		Device: "mlx5_0", Port: 1, State: "ACTIVE", LinkLayer: "Ethernet", MTU: 4096,
		GID:   &GID{Index: 3, Type: "RoCE v2", Address: "192.0.2.1", Netdev: "eth0"},
		Tests: []Test{{Op: "send", Measure: LatencyOf, Size: 2, Iterations: 1000, Latency: &Latency{Kind: OneWay, P50: &p50}, Status: Pass}},
	}
	down := Check{Name: "port", Layer: "port", Status: NotTestable, Code: CodePortDown, Detail: "mlx5_0 port 1 is down", Remedy: "plug the cable in"}
	for _, test := range []struct {
		name   string
		report Report
		first  string
		says   []string
		not    []string
	}{
		{
			"pass",
			Report{Verdict: Pass, Devices: []DevicePort{port}},
			"pass: mlx5_0 port 1",
			[]string{"RoCE v2 192.0.2.1 on eth0", "1.23", "cable, switch and fabric were not tested"},
			[]string{"to do"},
		},
		{
			"not testable",
			Report{Verdict: NotTestable, Checks: []Check{{Name: "library", Status: Pass}, down}},
			"not-testable: mlx5_0 port 1 is down (port-down)",
			[]string{"to do: plug the cable in"},
			[]string{"fabric were not tested"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			Render(&b, test.report, false)
			first, _, _ := strings.Cut(b.String(), "\n")
			if first != test.first {
				t.Errorf("first line %q, want %q", first, test.first)
			}
			for _, s := range test.says {
				if !strings.Contains(b.String(), s) {
					t.Errorf("%q is missing in\n%s", s, b.String())
				}
			}
			for _, s := range test.not {
				if strings.Contains(b.String(), s) {
					t.Errorf("%q should not be in\n%s", s, b.String())
				}
			}
			if strings.Contains(b.String(), "\x1b") {
				t.Error("colour without a terminal")
			}
		})
	}
}
