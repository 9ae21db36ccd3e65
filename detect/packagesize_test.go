package detect

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

const (
	aptAnswer = "Package: libibverbs1\nSource: rdma-core\nVersion: 44.0-2\nInstalled-Size: 189\nDescription-en: Library\n" +
		" Size: 7 is said in the description\nSize: 60720\n\n" +
		"Package: perftest\nStatus: install ok installed\nVersion: 9.9-local\nInstalled-Size: 2760\n\n" +
		"Package: rdma-core\nVersion: 44.0-2\nSize: 59464\n\n"
	dpkgAnswer = "libibverbs1\t44.0-2\tinstall ok installed\nperftest\t9.9-local\tinstall ok installed\nrdma-core\t33.2-1\tdeinstall ok config-files\n"
	dnfAnswer  = "libibverbs\t48.0-1.el9\t402103\t1236492\n\nlibibverbs\t48.0-1.el9\t402999\t1300000\nperftest\t24.07-1.el9\tx\t700\n"
	dnfHas     = "have\tlibibverbs\t48.0-1.el9\npackage perftest is not installed\n"
	zypperText = "Loading repository data...\n\nInformation for package libibverbs1:\n---\nRepository     : t\nName           : libibverbs1\n" +
		"Version        : 49.0-150600.1\nInstalled Size : 293.0 KiB\nInstalled      : No\nDescription    :\n    Name : opensm\n\npackage 'opensm' not found.\n"
)

// managed are facts of a host with a package manager and one repository.
func managed(manager string) facts.Facts {
	return facts.Facts{Packages: facts.Packages{
		Manager:        facts.Is(manager, "/usr/bin"),
		RepositoryList: facts.Is([]facts.Repository{{Kind: "rpm", ID: "oss", Enabled: true}}, "/etc/zypp/repos.d"),
	}}
}

// sizesOf are the sizes that evidence of one command and its answer gives, a line each.
func sizesOf(t *testing.T, manager string, commands map[string]string) (facts.Field[[]facts.PackageSize], string) {
	t.Helper()
	e := &host.Evidence{Commands: map[string]host.Answer{}}
	for line, text := range commands {
		e.Commands[line] = host.Answer{Stdout: text}
	}
	got := PackageSizes(t.Context(), host.NewReplay(e), managed(manager), nil)
	return got, describeSizes(got)
}

func describeSizes(f facts.Field[[]facts.PackageSize]) string {
	var out []string
	text := func(f facts.Field[int64]) string {
		if n, ok := f.Get(); ok {
			return strconv.FormatInt(n, 10)
		}
		if f.IsAbsent() {
			return "absent"
		}
		return "unknown"
	}
	for _, p := range f.Value {
		out = append(out, strings.TrimSpace(strings.Join([]string{p.Name, p.Version, "has", p.Have, text(p.Download), text(p.Installed)}, " ")))
	}
	return strings.Join(out, "\n")
}

const aptQuestion = "apt-cache show --no-all-versions libibverbs1 nothere perftest rdma-core"

func TestPackageSizes(t *testing.T) {
	for _, tc := range []struct {
		name, manager string
		commands      map[string]string
		want          string
	}{
		{
			"apt", "apt",
			map[string]string{aptQuestion: aptAnswer, "dpkg-query -W -f " + dpkgFormat: dpkgAnswer},
			// A removed package is not there, a local one is in no repository, one in no list is absent.
			"libibverbs1 44.0-2 has 44.0-2 60720 193536\nnothere  has  absent absent\nperftest 9.9-local has 9.9-local unknown 2826240\nrdma-core 44.0-2 has  59464 unknown",
		},
		{
			"dnf", "dnf",
			map[string]string{strings.Join(dnfSizeQuestion(), " ") + " libibverbs nothere perftest": dnfAnswer, "rpm -q --qf " + rpmVersions + " libibverbs perftest": dnfHas},
			"libibverbs 48.0-1.el9 has 48.0-1.el9 402999 1300000\nperftest 24.07-1.el9 has  unknown 700",
		},
		{
			"zypper", "zypper",
			map[string]string{strings.Join(zypperSizeQuestion(), " ") + " libibverbs1 opensm": zypperText},
			"libibverbs1 49.0-150600.1 has  unknown 300032",
		},
		{"a name that nobody asked for", "apt", map[string]string{"apt-cache show --no-all-versions rdma-core": aptAnswer}, "rdma-core 44.0-2 has  59464 unknown"},
	} {
		if got, text := sizesOf(t, tc.manager, tc.commands); text != tc.want || !got.IsKnown() {
			t.Errorf("%s: %s\n%s", tc.name, got.State, cmp.Diff(tc.want, text))
		}
	}
}

// Without lists, without a question in the evidence, and with another manager nothing is known, and nothing is 0.
func TestPackageSizesAreUnknown(t *testing.T) {
	for name, tc := range map[string]struct {
		manager  string
		commands map[string]string
		why      string
	}{
		"no question":  {"apt", map[string]string{"dpkg-query -W -f " + dpkgFormat: dpkgAnswer}, ""},
		"empty answer": {"apt", map[string]string{aptQuestion: ""}, "never have been fetched"},
		// What is shown without lists is the database: its sizes are of what is there already.
		"no lists": {"apt", map[string]string{
			"apt-cache show --no-all-versions perftest rdma-core": aptAnswer[strings.Index(aptAnswer, "Package: perftest"):strings.Index(aptAnswer, "Package: rdma-core")],
		}, "never have been fetched"},
		"no cache": {"dnf", map[string]string{strings.Join(dnfSizeQuestion(), " ") + " perftest": ""}, "never have been fetched"},
		"yum":      {"yum", nil, "yum tells no sizes"},
	} {
		got, _ := sizesOf(t, tc.manager, tc.commands)
		if !got.IsUnknown() || !strings.Contains(got.Error, tc.why) || len(got.Value) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := PackageSizes(t.Context(), host.NewReplay(&host.Evidence{}), facts.Facts{}, []string{"perftest"}); !got.IsUnknown() {
		t.Errorf("no manager: %+v", got)
	}
}

// What a repository or a person may write as a size is a size or unknown.
func TestFaultySizes(t *testing.T) {
	for text, want := range map[string]bool{"0": true, "60720": true, "-1": false, "": false, "1e3": false, "9223372036854775807": false, "60 720": false} {
		if _, ok := bytesOf(text, 1<<10); ok != want {
			t.Errorf("%q: %v", text, ok)
		}
	}
	for text, want := range map[string]int64{"293.0 KiB": 300032, "0 B": 0, "1.5 GiB": 1610612736, "NaN KiB": -1, "-1 KiB": -1, "Inf GiB": -1, "3": -1, "3 MB": -1, "": -1} {
		got, ok := roundedBytes(text)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// A host is asked once for sizes, with commands of the read-only list; no other detection asks.
func TestSizesAreAskedForOnRequestOnly(t *testing.T) {
	isSize := func(line string) bool {
		return strings.HasPrefix(line, "apt-cache show") || strings.HasPrefix(line, "dnf ") || strings.HasPrefix(line, "zypper ")
	}
	run := func(do func(host.Reader)) []string {
		asked := make(chan string, 10000)
		do(posing{Reader: host.NewReplay(&host.Evidence{}), kind: "live", asked: asked})
		close(asked)
		var lines []string
		for line := range asked {
			if isSize(line) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	if got := run(func(r host.Reader) { Host(t.Context(), r) }); len(got) > 0 {
		t.Errorf("a plan waits for %q", got)
	}
	for manager, want := range map[string]int{"apt": 1, "dnf": 1, "zypper": 0, "yum": 0} { // zypper would fetch a list that it lacks
		got := run(func(r host.Reader) {
			PackageSizes(t.Context(), r, managed(manager), []string{"rdma-core", "perftest", "rdma-core"})
		})
		if len(got) != want {
			t.Errorf("%s: %q", manager, got)
		}
		for _, line := range got {
			if err := host.Allowed(strings.Split(line, " ")); err != nil || !strings.HasSuffix(line, " perftest rdma-core") {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	for _, line := range []string{
		"dnf repoquery perftest", "dnf -C install perftest", "dnf -q -C repoquery --repofrompath=x,http://x perftest", "dnf -C repoquery /etc/x", "dnf -C repoquery http://x/y.rpm",
		"zypper info perftest", "zypper --no-refresh install perftest", "zypper --no-refresh --plus-repo http://x info perftest", "zypper --no-refresh refresh", "dnf -C repoquery",
	} {
		if host.Allowed(strings.Split(line, " ")) == nil {
			t.Errorf("%q is allowed", line)
		}
	}
}

// The same host gives the same sizes live and from what was recorded of it, also where more was recorded.
func TestSizesFromARecording(t *testing.T) {
	answers := &host.Evidence{Commands: map[string]host.Answer{
		"apt-cache show --no-all-versions libibverbs1 perftest": {Stdout: aptAnswer},
		"dpkg-query -W -f " + dpkgFormat:                        {Stdout: dpkgAnswer},
	}}
	recorder := host.NewRecorder(posing{Reader: host.NewReplay(answers), kind: "live"})
	live := PackageSizes(t.Context(), recorder, managed("apt"), []string{"perftest", "libibverbs1"})
	saved, err := recorder.Evidence(host.RecordOptions{})
	if err != nil {
		t.Fatal(err)
	}
	again := PackageSizes(t.Context(), host.NewReplay(saved), managed("apt"), nil)
	if diff := cmp.Diff(live, again); diff != "" || !live.IsKnown() || !slices.ContainsFunc(live.Value, func(p facts.PackageSize) bool { return p.Have != "" }) {
		t.Errorf("%+v\n%s", live, diff)
	}
}
