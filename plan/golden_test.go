package plan_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
)

// golden is one host with the plan that it must get, byte for byte, in testdata/golden/NAME.json.
// RDMACTL_UPDATE=1 writes them anew.
type golden struct {
	name    string
	facts   facts.Facts
	profile string
	req     plan.Request
}

func goldens(t *testing.T) []golden {
	t.Helper()
	done := bookworm()
	done = carriedOut(done, makePlan(t, done, "soft", plan.Request{}))
	return []golden{
		{"bullseye-bare-lts", host("11", "5.10.0-32-amd64", "bullseye"), "lts", plan.Request{}},
		{"bookworm-bare-lts", bookworm(), "lts", plan.Request{}},
		{"trixie-bare-lts", host("13", "6.12.117+deb13-amd64", "trixie"), "lts", plan.Request{}},
		{"bullseye-inbox", host("11", "5.10.0-32-amd64", "bullseye"), "inbox", plan.Request{}},
		{"bookworm-inbox", bookworm(), "inbox", plan.Request{}},
		{"trixie-inbox", host("13", "6.12.117+deb13-amd64", "trixie"), "inbox", plan.Request{}},
		{"bookworm-connectx5-lts", bookworm(connectX5, services(unit("slurmd.service", "loaded", "65536"), unit("docker.service", "not-found", ""))), "lts", plan.Request{}},
		{"bookworm-connectx3-inbox", bookworm(connectX3), "inbox", plan.Request{}},
		{"bullseye-soft", host("11", "5.10.0-32-amd64", "bullseye"), "soft", plan.Request{}},
		{"bookworm-soft", bookworm(), "soft", plan.Request{}},
		{"trixie-soft", host("13", "6.12.117+deb13-amd64", "trixie"), "soft", plan.Request{}},
		{"bookworm-soft-done", done, "soft", plan.Request{}},
		{"bookworm-cloud-soft", bookworm(cloudKernel), "soft", plan.Request{}},
		{"bookworm-cloud-inbox", bookworm(cloudKernel), "inbox", plan.Request{}},
		{"container-inbox", bookworm(inContainer), "inbox", plan.Request{}},
		{"foreign-lts", bookworm(intelE810), "lts", plan.Request{}},
		{"foreign-inbox", bookworm(intelE810), "inbox", plan.Request{}},
		{"half-configured-soft", bookworm(halfConfigured), "soft", plan.Request{}},
		{"vendor-packages-inbox", bookworm(connectX5, vendorPackages), "inbox", plan.Request{}},
		{"vendor-excerpt-inbox", bookworm(connectX5, vendorPackages, ofedInfoOnly), "inbox", plan.Request{}}, // the twin: nobody knows what has to go
		{"card-stated-lts", bookworm(), "lts", plan.Request{Cards: []string{"ConnectX-3"}}},
	}
}

func TestGolden(t *testing.T) {
	var files []string
	for _, g := range goldens(t) {
		data, err := json.MarshalIndent(makePlan(t, g.facts, g.profile, g.req), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, '\n')
		path := filepath.Join("testdata", "golden", g.name+".json")
		files = append(files, g.name+".json")
		if os.Getenv("RDMACTL_UPDATE") != "" {
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(want), string(data)); diff != "" {
			t.Errorf("%s (-file +plan):\n%s", g.name, diff)
		}
	}
	entries, err := os.ReadDir(filepath.Join("testdata", "golden"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(files, e.Name()) {
			t.Errorf("%s belongs to no host", e.Name())
		}
	}
}

// TestContract checks every golden plan against the contract of the command line, which is written
// by hand in testdata/contract.json, not made from the types.
func TestContract(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "contract.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(data []byte) error {
		var doc any
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(doc)
	}
	seen := map[plan.Verdict]bool{}
	for _, g := range goldens(t) {
		p := makePlan(t, g.facts, g.profile, g.req)
		seen[p.Verdict] = true
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(data); err != nil {
			t.Errorf("%s: %v", g.name, err)
		}
		// The schema must be able to say no.
		for _, spoil := range [][2]string{
			{`"verdict":"` + string(p.Verdict) + `"`, `"verdict":"maybe"`},
			{`"warnings":`, `"warning":`},
			{`"stack":"ofed"`, `"stack":"ofed5"`},
			{`"schema":"rdmactl.plan/v1"`, `"schema":"rdmactl.plan/v2"`},
		} {
			bad := strings.Replace(string(data), spoil[0], spoil[1], 1)
			if bad == string(data) {
				t.Errorf("%s: no %s in %s", g.name, spoil[0], data)
			} else if valid([]byte(bad)) == nil {
				t.Errorf("%s: the contract accepts %s", g.name, spoil[1])
			}
		}
	}
	for _, v := range []plan.Verdict{plan.Install, plan.NothingToDo, plan.Refuse} {
		if !seen[v] {
			t.Errorf("no golden plan has the verdict %s", v)
		}
	}
}

// TestDeterministic shuffles whatever has no order on a host.
func TestDeterministic(t *testing.T) {
	f := bookworm(connectX3, connectX5, intelE810, vendorPackages, halfConfigured, cloudKernel,
		netdevs(netdev("ens3", "up"), netdev("ens4", "up"), netdev("eth9", "down")),
		services(unit("slurmd.service", "loaded", "65536"), unit("docker", "loaded", "65536"), unit("kubelet.service", "loaded", "65536")))
	f.Managed = facts.Is(map[string]string{"/etc/modprobe.d/rdmactl.conf": "00", "/etc/udev/rules.d/91-rdmactl-umad.rules": "11", "/etc/x": "22"}, "/etc")
	for _, name := range []string{"lts", "inbox", "soft"} {
		var first []byte
		for i := range 100 {
			data, err := json.Marshal(makePlan(t, shuffled(f, i), name, plan.Request{}))
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = data
			}
			if !bytes.Equal(first, data) {
				t.Fatalf("%s: run %d differs:\n%s", name, i, cmp.Diff(string(first), string(data)))
			}
		}
	}
}

// shuffled rotates the lists of f by n and makes its maps anew.
func shuffled(f facts.Facts, n int) facts.Facts {
	f.PCI.Value = rotated(f.PCI.Value, n)
	f.Netdevs.Value = rotated(f.Netdevs.Value, n)
	f.Packages.Installed.Value = rotated(f.Packages.Installed.Value, n)
	f.Services = rotated(f.Services, n)
	f.Modules.OnDisk = rotated(f.Modules.OnDisk, n)
	managed := map[string]string{}
	for k, v := range f.Managed.Value {
		managed[k] = v
	}
	f.Managed.Value = managed
	return f
}

func rotated[T any](list []T, n int) []T {
	if len(list) == 0 {
		return list
	}
	n %= len(list)
	return append(slices.Clone(list[n:]), list[:n]...)
}

func TestMakeLeavesFactsAlone(t *testing.T) {
	f := bookworm(connectX5, connectX3, vendorPackages)
	before, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lts", "soft"} {
		makePlan(t, f, name, plan.Request{})
	}
	after, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("Make changed the facts that it was given")
	}
}
