package matrix

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/internal/fault"
)

const header = "apiVersion: rdmactl/v1\nkind: Matrix\n"

// sound is a file with one entry of each section; line numbers of the tests below count in it.
const sound = header + `branches:
  - {stack: mlnx-ofed, name: "30.10", lts: true, versions: [">= 30.10, < 30.11"], start: "2030-10", end_computed: "2033-10", source: [here]}
releases:
  - stack: mlnx-ofed
    version: "30.10-1.2.3.4"
    branch: "30.10"
    lts: "yes"
    date: "2030-10-31"
    cards: [connectx-7]
    cards_sure: listed
    firmware: {connectx-7: "28.60.1000"}
    firmware_sure: bundled
    rows:
      - {evidence: documented-table, id: rhel, version_id: "9.4", arch: x86_64, kernel: "5.14.0-427.13.1.el9_4", model: primary}
    source: [here]
cards:
  - {stack: mlnx-ofed, card: connectx-11, allowed: [">= 30.10"], recommended: "30.10", text: from 30.10 on, source: [here]}
card_drivers:
  - {card: connectx-11, driver: mlx5_core, devices: ["1031"], first_kernel: "7.1", source: [here]}
builds:
  - {id: broken, stack: mlnx-ofed, versions: ["= 30.10-1.2.3.4"], distros: [rhel 9.4], kernels: [">= 7.0"], kernel_names: ['-64k$'], works: false, text: fails, confidence: low, source: [here]}
kernels:
  - {id: rhel, version_id: "11.0", kind: ga, kernel: "7.0.0-1.el11", source: here}
kmp:
  - {label: rhel11.x, kernel: '^7\.0\.', source: [here]}
layouts:
  - stack: mlnx-ofed
    versions: [">= 30"]
    family: rhel
    repository: "https://example.com/{version}/{label}/{arch}/"
    label: id+minor
    keys:
      - {file: KEY, fingerprint: CAE649B3B3929F8470D4D33BA024F6F0E6D6A281, kind: packages}
    meta: [mlnx-ofed-all]
    source: [here]
inbox:
  - {id: rhel, version_id: "11.0", kernel: "7.0.0", rdma_core: "66.0", present: [mlx5_ib], absent: [siw], sure: seen, source: [here]}
roles:
  - {role: new-part, names: {debian: [a-b], rhel: [c_d]}, source: [here]}
kernel_options:
  - {option: NEW_OPTION, module: new, need: inbox, text: needed, source: [here]}
dropped_devices:
  - {driver: mlx4_core, devices: ["1003"], distros: [rhel 11], text: dropped, remedy: another card, source: [here]}
foreign_vendors:
  - {vendor: abcd, name: Other, driver: other, needs: its own module, source: [here]}
left_out:
  - {facts: more.yaml, group: all, rows: 3, in: 1, why: too many}
holdings:
  - {stack: mlnx-ofed, version: "30.10-1.2.3.4", id: rhel, version_id: "9.4", arch: x86_64, kernels: ["5.14.0-427.13.1.el9_4.x86_64"], origin: /srv/mirror, date: "2030-11-30T10:00:00Z", packages: [{name: mlnx-ofa_kernel, version: "30.10-1", arch: x86_64, bytes: 12}]}
`

func TestLoadSound(t *testing.T) {
	m, err := Load("m.yaml", []byte(sound))
	if err != nil {
		t.Fatal(err)
	}
	var want []SectionCount
	for _, name := range []string{
		"branches", "releases", "cards", "card_drivers", "builds", "kernels", "kmp", "layouts", "inbox", "roles",
		"kernel_options", "dropped_devices", "foreign_vendors", "left_out", "holdings",
	} {
		want = append(want, SectionCount{name, 1})
	}
	if diff := cmp.Diff(want, m.Sections()); diff != "" {
		t.Error(diff)
	}
	if got := m.Releases[0].At.String(); got != "m.yaml:6:5" {
		t.Errorf("the release stands at %s", got)
	}
	if m.Releases[0].Rows[0].Kernel != "5.14.0-427.13.1.el9_4" || m.Holdings[0].Packages[0].Bytes != 12 {
		t.Errorf("%+v", m)
	}
}

// TestLoadFaults changes one thing in the sound file; the fault is to be named where at stands first.
func TestLoadFaults(t *testing.T) {
	for _, tt := range []struct{ name, old, new, at, want string }{
		{"unknown section", "branches:", "branchs:", `branchs:`, `unknown key "branchs"; did you mean "branches"?`},
		{"unknown key of a row", "model: primary", "modle: primary", `modle: primary}`, `unknown key "modle"; did you mean "model"?`},
		{"unquoted version", `version: "30.10-1.2.3.4"` + "\n    branch", "version: 30.10\n    branch", "30.10\n    branch", `version must be a string, not the number 30.10; quote it: "30.10"`},
		{"unquoted date", `date: "2030-10-31"`, "date: 2030-10-31", `2030-10-31`, `date must be a string, not the date 2030-10-31; quote it: "2030-10-31"`},
		{"unquoted yes", `lts: "yes"`, "lts: true", "true\n    date", `lts must be a string, not the boolean true; quote it: "true"`},
		{"list for a text", "text: fails", "text: [fails]", `[fails], confidence: low, source: `, `text must be a string, not a list`},
		{"other kind", "kind: Matrix", "kind: Profile", `Profile`, `"Profile" is not one of Matrix`},
		{"no kind", "kind: Matrix\n", "", `apiVersion: rdmactl/v1`, `key "kind" is missing`},
		{"other api", "rdmactl/v1", "rdmactl/v2", `rdmactl/v2`, `"rdmactl/v2" is not one of rdmactl/v1`},
		{"stack", "- stack: mlnx-ofed\n    version", "- stack: mlnx_ofed\n    version", `mlnx_ofed`, `"mlnx_ofed" is not one of inbox, rdma-core, ofed, mlnx-ofed, doca-ofed`},
		{"constraint", ">= 30.10, < 30.11", ">= 30.10 < 30.11", `">= 30.10 < 30.11"], start: "2030-`, `cannot read version constraint ">= 30.10 < 30.11": ">= 30.10 < 30.11" is not an operator (=, !=, >, <, >=, <=, ~>) with digits`},
		{"no constraint", `versions: [">= 30.10, < 30.11"], `, "", `{stack: mlnx-ofed, name: "30.10", `, `key "versions" is missing`},
		{"expression", "'-64k$'", "'-64k('", `'-64k('], works: false, text: fail`, "\"-64k(\" is not a regular expression: error parsing regexp: missing closing ): `-64k(`"},
		{"long expression", "'-64k$'", "'" + strings.Repeat("a", 301) + "'", `'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`, `the regular expression is longer than 300 bytes`},
		{"costly repetition", "'-64k$'", "'((a{30}){30}(b{30}){30}(c{30}){30})'", `'((a{30}){30}(b{30}){30}(c{30}){30})'`, `the regular expression is too costly: repeat less`},
		{"huge repetition", "'-64k$'", "'(a{1000}){1000}'", `'(a{1000}){1000}'], works: false, `, "\"(a{1000}){1000}\" is not a regular expression: error parsing regexp: invalid repeat count: `{1000}`"},
		{"evidence", "documented-table", "hearsay", `hearsay, id: rhel, version_id: "9.`, `"hearsay" is not one of documented-table, driver-container, third-party, bundle-name, tested`},
		{"no evidence", "evidence: documented-table, ", "", `{id: rhel, version_id: "9.4", arch`, `key "evidence" is missing`},
		{"id", "id: rhel, version_id: \"9.4\", arch: x86_64, kernel:", "id: RHEL, version_id: \"9.4\", arch: x86_64, kernel:", `RHEL, version_id: "9.4", arch: x86`, `"RHEL" is not an ID of os-release in lower case`},
		{"month", `start: "2030-10"`, `start: "2030-13"`, `"2030-13", end_computed: "2033-10"`, `"2030-13" is not a day (2024-10-31) or a month (2024-10)`},
		{"day", "2030-10-31", "2030-02-30", `"2030-02-30"`, `"2030-02-30" is not a day (2024-10-31) or a month (2024-10)`},
		{"end before start", `end_computed: "2033-10"`, `end_computed: "2029-10"`, `"2029-10", source: [here]}`, `"2029-10" is before the start "2030-10"`},
		{"control character", "text: fails", `text: "fails\e[2J"`, `"fails\e[2J", confidence: low, sou`, `must be one line of printable text, byte 5 is not`},
		{"line break", "text: fails", `text: "a\nb"`, `"a\nb", confidence: low, source: [`, `must be one line of printable text, byte 1 is not`},
		{"bidirectional override", "text: fails", `text: "a\u202eb"`, `"a\u202eb", confidence: low, sourc`, `must be one line of printable text, byte 1 is not`},
		{"long text", "text: fails", "text: " + strings.Repeat("a", 2001), `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`, `is longer than 2000 bytes`},
		{"no source", "text: from 30.10 on, source: [here]", "text: from 30.10 on", `{stack: mlnx-ofed, card: connectx-`, `key "source" is missing`},
		{"empty source", "text: from 30.10 on, source: [here]", `text: from 30.10 on, source: [" "]`, `" "]}`, `a source must say something`},
		{"card", "card: connectx-11, allowed", "card: ConnectX-11, allowed", `ConnectX-11, allowed: [">= 30.10"]`, `"ConnectX-11" is not a generation, such as connectx-6-dx`},
		{"firmware", `"28.60.1000"`, "new", `new}`, `cannot read firmware version "new": it does not start with a digit`},
		{"firmware of nothing", "{connectx-7: \"28.60.1000\"}", "{CX7: \"28.60.1000\"}", `"28.60.1000"}`, `"CX7" is not a generation, such as connectx-6-dx`},
		{"kmp of two minds", "kernel: '^7\\.0\\.'", "kernel: '^7\\.0\\.', disabled: true", `{label: rhel11.x, kernel: '^7\.0\.`, `give one of kernel, disabled and not_checked`},
		{"http repository", "https://example.com", "http://example.com", `"http://example.com/{version}/{lab`, `"http://example.com/{version}/{label}/{arch}/" is not an https address`},
		{"fingerprint", "CAE649B3B3929F8470D4D33BA024F6F0E6D6A281", "E6D6A281", `E6D6A281, kind: packages}`, `"E6D6A281" is not a fingerprint of 40 upper-case hex digits`},
		{"package with an option", "meta: [mlnx-ofed-all]", "meta: [--nodeps]", `--nodeps]`, `"--nodeps" is not a package name`},
		{"package with a blank", "meta: [mlnx-ofed-all]", "meta: [a b]", `a b]`, `"a b" is not a package name`},
		{"what a stack leaves, climbing", "meta: [mlnx-ofed-all]", "meta: [mlnx-ofed-all]\n    leaves: [/etc/../usr]", `/etc/../usr]`, `"/etc/../usr" is not a path below /etc, /opt or /usr/src`},
		{"what a stack leaves, elsewhere", "meta: [mlnx-ofed-all]", "meta: [mlnx-ofed-all]\n    leaves: [/usr/lib/x]", `/usr/lib/x]`, `"/usr/lib/x" is not a path below /etc, /opt or /usr/src`},
		{"what a stack leaves, all of it", "meta: [mlnx-ofed-all]", "meta: [mlnx-ofed-all]\n    leaves: [/etc]", `/etc]`, `"/etc" is not a path below /etc, /opt or /usr/src`},
		{"module", "present: [mlx5_ib]", "present: [../mlx5_ib]", `../mlx5_ib], absent: [siw], sure: `, `"../mlx5_ib" is not a kernel module`},
		{"present and absent", "absent: [siw]", "absent: [mlx5_ib]", `mlx5_ib], sure: seen, source: [her`, `module mlx5_ib is given as present and as absent`},
		{"PCI id", `devices: ["1003"]`, `devices: ["0x1003"]`, `"0x1003"], distros: [rhel 11], tex`, `"0x1003" is not a PCI id of four hex digits in lower case`},
		{"more in than rows", "rows: 3, in: 1", "rows: 3, in: 4", `4, why: too many}`, `4 of 3 rows cannot be in the matrix`},
		{"no reason", ", why: too many", "", `{facts: more.yaml, group: all, row`, `key "why" is missing: 2 of 3 rows are not in the matrix`},
		{"time", "2030-11-30T10:00:00Z", "2030-11-30", `"2030-11-30", packages: [{name: ml`, `"2030-11-30" is not a time, such as 2026-11-30T10:00:00Z`},
		{"size", "bytes: 12", "bytes: -12", `-12}]}`, `-12 is not a size`},
		{"repeated release", "cards:\n", "  - {stack: mlnx-ofed, version: \"30.10.1.2.3.4\", branch: \"30.10\", lts: \"yes\", source: [here]}\ncards:\n", `{stack: mlnx-ofed, version: "30.10`, `release mlnx-ofed 30.10.1.2.3.4 is already given in this file`},
		{"second document", "branches:", "---\nbranches:", `branches:`, `a second document starts here; only one is allowed`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(sound, tt.old, tt.new, 1)
			if text == sound {
				t.Fatalf("%q is not in the file", tt.old)
			}
			_, err := Load("m.yaml", []byte(text))
			if err == nil {
				t.Fatal("no error")
			}
			before, _, found := strings.Cut(text, tt.at)
			if !found {
				t.Fatalf("%q is not in the changed file", tt.at)
			}
			line := strings.Count(before, "\n")
			want := fmt.Sprintf("m.yaml:%d:%d: %s", line+1, len(before)-strings.LastIndexByte(before, '\n'), tt.want)
			if !strings.Contains("\n"+err.Error()+"\n", "\n"+want+"\n") {
				t.Errorf("got\n%s\nwant\n%s", err, want)
			}
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("kind %v", fault.KindOf(err))
			}
		})
	}
}

func TestLoadSaysAllAtOnce(t *testing.T) {
	text := strings.NewReplacer("30.10, < 30.11", "30.10 < 30.11", "hearsay", "x", "documented-table", "hearsay", "bytes: 12", "bytes: -12").Replace(sound)
	_, err := Load("m.yaml", []byte(text))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("want three lines, got\n%v", err)
	}
}

func TestLoadIsBounded(t *testing.T) {
	many := header + "builds:\n  - {id: a, stack: mlnx-ofed, kernel_names: [" + strings.Repeat("a, ", maxPatterns) + "a], works: true, text: a, source: [a]}\n"
	if _, err := Load("many.yaml", []byte(many)); err == nil || !strings.Contains(err.Error(), "more than 500 regular expressions") {
		t.Errorf("got %v", err)
	}
	if _, err := Load("less.yaml", []byte(strings.Replace(many, "[a, ", "[", 1))); err != nil {
		t.Error(err)
	}
	if _, err := Load("big.yaml", make([]byte, maxFile+1)); err == nil || !strings.Contains(err.Error(), "larger than 32 MiB") {
		t.Errorf("got %v", err)
	}
	if _, err := Load("empty.yaml", nil); err == nil {
		t.Error("an empty file gave no error")
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(sound))
	for _, name := range []string{"builds.yaml", "kmp.yaml", "ofa-ofed.yaml"} {
		data, err := os.ReadFile(filepath.Join(".", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Load("f.yaml", data)
		if err != nil {
			if m != nil || fault.KindOf(err) != fault.Usage {
				t.Errorf("%v with %v", m, err)
			}
			return
		}
		// What is sound alone merges with itself, keeps its form and can be indexed once its branches
		// exist.
		back, err := decode(string(encode(m)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(back, m, noPlaces(), cmpopts()); diff != "" {
			t.Error(diff)
		}
		whole, err := Merge(m, m)
		if err != nil {
			return
		}
		if _, err := NewIndex(whole); err != nil {
			t.Error(err)
		}
	})
}
