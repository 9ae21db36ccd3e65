package plan_test

import (
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/udev"
)

func TestRulesPassTheLinter(t *testing.T) {
	p := profile(t, "soft")
	p.Udev.UmadGroup = "rdma"
	got, err := plan.Make(bookworm(), p, known(t), plan.Request{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range step(t, got, "udev-rules").Changes.Files {
		seen++
		for _, problem := range udev.Lint(f.Path, []byte(f.Content), udev.Options{AllowUmad: true}) {
			t.Errorf("%s", problem)
		}
	}
	if seen != 2 {
		t.Errorf("%d rules files", seen)
	}
}

// Names from facts and requests end in files that root's programs read: each setting line must be
// one that the planner wrote.
func TestFilesHoldOnlyKnownLines(t *testing.T) {
	for _, g := range goldens(t) {
		for _, s := range makePlan(t, g.facts, g.profile, g.req).Steps {
			for _, f := range s.Changes.Files {
				for _, line := range strings.Split(f.Content, "\n") {
					if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "[") {
						continue
					}
					first, _, _ := strings.Cut(line, " ")
					switch {
					case strings.HasPrefix(f.Path, "/etc/modules-load.d/") && first == line:
					case strings.HasPrefix(f.Path, "/etc/modprobe.d/") && (first == "softdep" || first == "options"):
					case strings.HasPrefix(f.Path, "/etc/security/") && strings.HasSuffix(line, " - memlock unlimited"):
					case strings.HasPrefix(f.Path, "/etc/udev/") && strings.HasPrefix(line, "ACTION!="):
					case strings.HasPrefix(f.Path, "/etc/systemd/") && strings.Contains(first, "="):
					default:
						t.Errorf("%s: %s: %q", g.name, f.Path, line)
					}
				}
			}
		}
	}
}
