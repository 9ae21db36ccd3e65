package detect

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

func rendered(t testing.TB, f facts.Facts, color bool) string {
	t.Helper()
	var out strings.Builder
	if err := Render(&out, f, color); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestRender(t *testing.T) {
	got := rendered(t, detected(t, evidence(t, "cx5-roce-el8")), false)
	want := `Application limits  memlock soft unlimited, hard unlimited; 2 lines in limits.d
Verbs library       /usr/lib64/libibverbs.so.1, private ABI 34, libibverbs 48.0-1.el8, inbox
Providers           mlx4 mlx5
Device nodes        rdma_cm 0666, uverbs0 0666 (mlx5_0)
Kernel ULPs         loaded: rdma_ucm; not loaded: rdma_cm, ib_umad, ib_ipoib, nvme_rdma, rpcrdma,
                      ib_iser, ib_srp, smc
Verbs modules       loaded: ib_core, ib_uverbs
Driver              loaded: mlx5_core inbox, mlx5_ib
RDMA devices        mlx5_0 mlx5_ib fw 16.35.2000, port 1 ACTIVE LinkUp, Ethernet, 100 Gb/sec (4X
                      EDR), GIDs 1 RoCE v1 + 2 RoCE v2
Network interface   ens1f0 mlx5_core, up, MTU 9000, 192.0.2.5/24 fe80::526b:4bff:fe00:10/64, default
                      route over mlx5_core
Card                0000:5e:00.0 15b3:1017 connectx-5, driver mlx5_core, PCI link now 8 GT/s x8, can
                      8 GT/s x16
Host                Rocky Linux 8.10 (Green Obsidian), kernel 4.18.0-553.el8_10.x86_64 x86_64, bare
                      metal, Secure Boot off
Not told            Login session (/proc/self/stat), Proxies (the package manager's configuration
                      and the environment)
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What cannot work is said: a provider of another ABI, a card in flash recovery, unknown with why.
func TestRenderFaults(t *testing.T) {
	tests := map[string][]string{
		"mixed-provider-abi": {"rxe; not loadable: mlx5 (ABI 25)", "RDMA devices (/sys/class/infiniband), Network interface (/sys/class/net)"},
		"lspci-only":         {"in flash recovery: its firmware does not start", "one of connectx-6-dx"},
		"no-card":            {"RDMA devices        none", "Card                1 network function without RDMA", "Device nodes        none"},
		"vf-in-container":    {"memlock soft 64 KiB", "VF of 0000:06:00.0", "uverbs2 0600", "in a kubernetes container", "port 1 ACTIVE (physical state unknown)", "in use: mlx5_ib by mlx5_2"},
	}
	for name, texts := range tests {
		got := strings.Join(strings.Fields(rendered(t, detected(t, evidence(t, name)), false)), " ")
		for _, text := range texts {
			if !strings.Contains(got, strings.Join(strings.Fields(text), " ")) {
				t.Errorf("%s does not say %q:\n%s", name, text, got)
			}
		}
	}
}

func TestProvidersText(t *testing.T) {
	lib := facts.Libibverbs{PrivateABI: facts.Is(34, "s")}
	for want, all := range map[string][]facts.Provider{
		"mlx5": {{Name: "mlx5", PrivateABI: 34}},
		"none that the library can load; not loadable: mlx5 (ABI 25)": {{Name: "mlx5", PrivateABI: 25}},
	} {
		if got := providersText(lib, all); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := providersText(facts.Libibverbs{}, []facts.Provider{{Name: "mlx5", PrivateABI: 25}}); got != "mlx5" {
		t.Errorf("without a known ABI: %q", got)
	}
}

func TestRenderFits(t *testing.T) {
	f := detected(t, &host.Evidence{})
	f.PCI = facts.Failed[[]facts.PCIDevice]("x", errors.New(strings.Repeat("ü", 250)+" \x1b[2J\n"+strings.Repeat("word ", 60)))
	for _, name := range []string{"", "cx5-roce-el8", "cx6-ib-ubuntu2204", "lspci-only", "half-broken-sysfs"} {
		if name != "" {
			f = detected(t, evidence(t, name))
		}
		out := rendered(t, f, false)
		for line := range strings.Lines(out) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > renderWidth || strings.ContainsRune(line, 0x1b) {
				t.Errorf("%q has %d columns or acts on the terminal", line, utf8.RuneCountInString(line))
			}
		}
		colored := rendered(t, f, true)
		if !strings.Contains(colored, "\x1b[1m") {
			t.Error("no colour")
		}
		if plain := strings.NewReplacer("\x1b[1m", "", "\x1b[33m", "", "\x1b[0m", "").Replace(colored); plain != out {
			t.Error("colour changes the text")
		}
	}
}

func TestRenderPassesErrors(t *testing.T) {
	if err := Render(failing{}, facts.Facts{}, false); err == nil {
		t.Error("a failing writer gave no error")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }
