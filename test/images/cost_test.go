package images

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// TestCostAgainstApt prints what an install takes beside the same call of apt-get, each in an image of its own, in
// turn. It is no part of `make roots`: figures need a quiet machine.
func TestCostAgainstApt(t *testing.T) {
	var ours, plain []time.Duration
	for range 3 {
		im := newImage(t)
		var p plan.Plan
		out := lab.Rdmactl(t, 0, "plan", "--root", im.Dir, "--profile", "inbox", "-o", "json")
		must(t, json.Unmarshal([]byte(out.Stdout), &p))
		begin := time.Now()
		r := im.installs(t, "--profile", "inbox")
		ours = append(ours, time.Since(begin))
		for _, s := range r.Steps {
			t.Logf("step %s: %.2f s", s.ID, s.Seconds)
		}
		brought := im.packages(t)
		var names []string
		for _, s := range p.Steps {
			for _, c := range s.Changes.Packages {
				if brought[c.Name] != "" { // optional ones may have been left out
					names = append(names, c.Name)
				}
			}
		}
		if len(names) == 0 {
			t.Fatal("the install brought no package of the plan")
		}

		im = newImage(t)
		begin = time.Now()
		must(t, rootlab.Run(exec.Command("chroot", append([]string{
			im.Dir, "env", "DEBIAN_FRONTEND=noninteractive", "sh", "-c", `apt-get update && apt-get install --yes --no-install-recommends "$@"`, "sh",
		}, names...)...)))
		plain = append(plain, time.Since(begin))
		if diff := brought.Changed(im.packages(t)); len(diff) > 0 {
			t.Errorf("apt-get brought something else: %v", diff)
		}
	}
	t.Logf("rdmactl install %v; apt-get update and install %v", ours, plain)
	fmt.Printf("install, rdmactl to apt-get: %.2f (%v to %v)\n", float64(slices.Min(ours))/float64(slices.Min(plain)), slices.Min(ours), slices.Min(plain))
}
