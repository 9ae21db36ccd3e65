package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// seen is what the tables of hosts show of one code.
type seen struct {
	// fires are the rules with a host on which the code is found, silent those with a host on which it is not.
	fires, silent []string
}

// TestEveryCodeBothWays counts: each code of this package is found by some rule on a host of the tables, and the
// same rule has a twin on which it must not be, and is not. What counts is what the rules answer, not what the
// tables expect.
func TestEveryCodeBothWays(t *testing.T) {
	all := map[Code]*seen{}
	for _, code := range declaredCodes(t) {
		all[code] = &seen{}
	}
	if len(all) < 60 {
		t.Fatalf("found only %d codes; the source has moved", len(all))
	}
	note := func(rule string, found map[Code]bool) {
		for code, s := range all {
			if found[code] {
				s.fires = append(s.fires, rule)
			} else {
				s.silent = append(s.silent, rule)
			}
		}
	}
	byName := map[string]Rule{}
	for _, rule := range All() {
		byName[rule.Name] = rule
	}
	for _, h := range hosts() {
		found := map[Code]bool{}
		for _, f := range judge(t, byName[h.rule], h.profile, h.changes...) {
			found[f.Code] = true
		}
		note(h.rule, found)
	}
	index := smallIndex(t)
	// A vendor rule's hosts are judged whole: a code counts for the rule whose host asks for it.
	for _, h := range append(vendorHosts(), vendorTwins()...) {
		c := candidate(t, vendorInput(t, index, h.changes...), h.stack, h.version)
		code := Code(strings.TrimLeft(h.want, "-!+~"))
		s := all[code]
		if s == nil {
			t.Errorf("%s: %q is no code of this package", h.rule, code)
			continue
		}
		there := slices.ContainsFunc(slices.Concat(c.Refusals, c.Reasons, c.Warnings), func(f Finding) bool { return f.Code == code })
		if there == strings.HasPrefix(h.want, "-") {
			t.Errorf("%s: %s on %s %s: found is %v\nrefusals %v\nreasons %v\nwarnings %v", h.rule, h.want, h.stack, h.version, there, c.Refusals, c.Reasons, c.Warnings)
		}
		if there {
			s.fires = append(s.fires, h.rule)
		} else {
			s.silent = append(s.silent, h.rule)
		}
	}
	for code, s := range all {
		switch {
		case len(s.fires) == 0:
			t.Errorf("%s: no host of the tables triggers it", code)
		case !slices.ContainsFunc(s.fires, func(rule string) bool { return slices.Contains(s.silent, rule) }):
			t.Errorf("%s: no twin of the rules %v shows that it can be silent", code, slices.Compact(s.fires))
		}
	}
}

// vendorTwins are hosts in the form of vendorHosts: twins of hosts there that differ in the one thing that decides.
func vendorTwins() []struct {
	rule, stack, version string
	changes              []change
	want, says           string
} {
	type row = struct {
		rule, stack, version string
		changes              []change
		want, says           string
	}
	with := func(c ...change) []change { return c }
	const new24, doca32, doca210 = "24.10-1.1.4.0", "3.2.1", "2.10.0"
	rc := system("ubuntu", "20.04", "debian", "5.14.0-rc5")
	return []row{
		{"system-row", "mlnx-ofed", new24, nil, "-kernel-not-told", ""},                                                                           // told
		{"system-row", "mlnx-ofed", new24, with(system("rocky", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64")), "-third-party-matrix", ""},       // a row of the vendor's own
		{"system-row", "mlnx-ofed", new24, nil, "-no-row", ""},                                                                                    // has one
		{"system-row", "mlnx-ofed", new24, with(system("rhel", "9.5", "rhel", "5.14.0-503.11.1.el9_5.x86_64")), "-held-for-other-kernel", ""},     // for this one
		{"system-row", "mlnx-ofed", new24, nil, "-community-support", ""},                                                                         // primary
		{"system-row", "mlnx-ofed", new24, with(ubuntu22), "-bundle-seen", ""},                                                                    // documented
		{"system-row", "mlnx-ofed", new24, with(system("rhel", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64")), "-tested-elsewhere", ""},          // documented
		{"system-row", "doca-ofed", doca210, with(ubuntu24), "+driver-container-seen", ""},                                                        //
		{"system-row", "doca-ofed", doca210, nil, "-driver-container-seen", ""},                                                                   // another system
		{"known-builds", "mlnx-ofed", "5.4-3.7.5.0", with(system("ubuntu", "20.04", "debian", "5.4.0-26-generic")), "-kernel-known-to-work", ""},  // a kernel that no report is about
		{"known-builds", "mlnx-ofed", "5.4-3.1.0.0", with(rc), "-kernel-known-to-work", ""},                                                       // another point release
		{"known-builds", "doca-ofed", doca210, with(ubuntu24), "-optional-modules-fail", ""},                                                      // 6.8
		{"known-builds", "doca-ofed", "3.0.0", with(system("ubuntu", "24.04", "debian", "6.11.0-1003-nvidia-64k")), "-optional-modules-fail", ""}, // a later release
		{"kernel-headers", "mlnx-ofed", new24, with(ubuntu22), "-headers-to-install", ""},                                                         // installed
		{"secure-boot", "mlnx-ofed", new24, with(system("rocky", "9.4", "rhel", "5.14.0-427.31.1.el9_4.x86_64")), "-unsigned-modules", ""},        // Secure Boot is off
		{"secure-boot", "mlnx-ofed", new24, with(secureBootOn), "-unsigned-modules", ""},                                                          // signed by the vendor
		{"secure-boot", "doca-ofed", doca32, with(secureBootOn), "-unsigned-modules", ""},                                                         // DKMS signs
	}
}

// declaredCodes are the constants of type Code in this package.
func declaredCodes(t *testing.T) []Code {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []Code
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if name, ok := spec.Type.(*ast.Ident); !ok || name.Name != "Code" {
				return true
			}
			for _, value := range spec.Values {
				if literal, ok := value.(*ast.BasicLit); ok {
					text, err := strconv.Unquote(literal.Value)
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, Code(text))
				}
			}
			return false
		})
	}
	slices.Sort(out)
	return out
}
