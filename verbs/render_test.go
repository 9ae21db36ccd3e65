package verbs

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRender(t *testing.T) {
	p50 := 1.234
	port := DevicePort{
		Device: "mlx5_0", Port: 1, State: "ACTIVE", LinkLayer: "Ethernet", MTU: 4096,
		GID:   &GID{Index: 3, Type: "RoCE v2", Address: "192.0.2.1", Netdev: "eth0"},
		Tests: []Test{{Op: "send", Measure: LatencyOf, Size: 2, Iterations: 1000, Latency: &Latency{Kind: OneWay, P50: &p50}, Status: Pass}},
	}
	down := Check{Name: "port", Layer: "port", Status: NotTestable, Code: CodePortDown, Detail: "the link is down", Device: "mlx5_0", Port: 1, Remedy: "plug the cable in"}
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
			"not-testable: port-down on mlx5_0 port 1",
			[]string{"not-testable [port-down] port, mlx5_0 port 1: the link is down", "to do: plug the cable in"},
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

// Each thing is said once, in lines that fit, and nothing of a library's steers the terminal.
func TestRenderIsShortAndFits(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 60))
	path := "/" + strings.Repeat("x", 150)
	check := Check{
		Name: "open", Layer: LayerDevice, Status: Fail, Code: CodeVerbFailed, Detail: "detail " + long + " " + path,
		Remedy: "remedy " + long, Device: "mlx5_0", Evidence: []string{"evidence " + long + "\x1b[2J"},
	}
	report := Report{
		Verdict: Fail, Library: &Library{Path: "/usr/lib/libibverbs.so.1", PrivateABI: 34}, Checks: []Check{check},
		Devices: []DevicePort{{
			Device: "mlx5_0", Port: 1, State: "ACTIVE", LinkLayer: "Ethernet", Rate: "100 Gb/sec (4X EDR)", MTU: 4096,
			GID:   &GID{Index: 3, Type: "RoCE v2", Address: "fe80:0000:0000:0000:5054:00ff:fe12:3456", Netdev: "enp1s0f0np0"},
			Tests: []Test{{Op: "send", Measure: Integrity, Size: 2, Status: Fail, Detail: "outcome " + long}},
		}},
	}
	var b bytes.Buffer
	Render(&b, report, false)
	text := b.String()
	if !strings.HasPrefix(text, "fail: verb-failed on mlx5_0\n") {
		t.Errorf("first line of\n%s", text)
	}
	for _, word := range []string{"detail", "remedy", "evidence", "outcome", path} {
		if n := strings.Count(text, word); n != 1 {
			t.Errorf("%q is said %d times in\n%s", word, n, text)
		}
	}
	if n := strings.Count(text, "word"); n != 240 {
		t.Errorf("%d of 240 words in\n%s", n, text)
	}
	for _, line := range strings.Split(text, "\n") {
		if n := utf8.RuneCountInString(line); n > 100 && !strings.Contains(line, path) {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("control characters reach the terminal: %q", text)
	}
	var colored bytes.Buffer
	Render(&colored, report, true)
	plain := strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(colored.String())
	if plain != text || !strings.Contains(colored.String(), "\n\x1b[31mfail\x1b[0m [verb-failed]") {
		t.Errorf("with colour: %q", colored.String())
	}
	if want := "fail: detail "; !strings.HasPrefix(report.Summary(), want) || !strings.HasSuffix(report.Summary(), "(verb-failed)") {
		t.Errorf("summary %q", report.Summary())
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// Nobody reads: that is an exit code, no crash.
func TestNobodyReads(t *testing.T) {
	Render(closedPipe{}, Report{Verdict: Fail, Checks: []Check{{Status: Fail}}, Devices: []DevicePort{{Tests: []Test{{}}}}}, true)
	h, l := roceHost()
	for _, in := range []string{"{}", "nonsense", ""} {
		if code := work(h, strings.NewReader(in), closedPipe{}, closedPipe{}, workerOptions{load: l.load}); code != 1 {
			t.Errorf("%q: exit code %d", in, code)
		}
		if code := work(h, strings.NewReader(in), closedPipe{}, nil, workerOptions{load: l.load}); code != 1 {
			t.Errorf("%q without progress: exit code %d", in, code)
		}
	}
}
