package rpmhosts

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// each runs a scenario on every system.
func each(t *testing.T, scenario func(t *testing.T, s system)) {
	t.Helper()
	for _, s := range systems() {
		t.Run(s.name, func(t *testing.T) { scenario(t, s) })
	}
}

// resolved is what is read of a plan with the package manager's own answer.
type resolved struct {
	Solver *struct {
		Manager   string `json:"manager"`
		Installed int64  `json:"installed_bytes"`
		Actions   []struct {
			Action, Name, Arch, Version, Origin string
		} `json:"actions"`
	} `json:"resolved"`
}

// TestInstallsAndRollsBack is the whole job, twice: the second time the manager was asked before, and what it
// answered is what is installed.
func TestInstallsAndRollsBack(t *testing.T) {
	each(t, func(t *testing.T, s system) {
		im := newImage(t, s, good)
		before, packages := im.files(t), im.packages(t)
		im.installed(t, packages)
		im.restored(t, before, packages)

		p := rootlab.Decode[resolved](t, lab.Rdmactl(t, 0, im.args("plan", "--resolve", "-o", "json")...))
		if p.Solver == nil || p.Solver.Manager != s.manager || p.Solver.Installed <= 0 {
			t.Fatalf("the manager answers %+v", p.Solver)
		}
		want := rootlab.Tree{}
		for name, v := range packages {
			want[name] = v
		}
		for _, a := range p.Solver.Actions {
			if a.Action != "install" || a.Arch != "x86_64" || a.Origin != "base" && a.Origin != "the distribution" {
				t.Errorf("the manager answers %+v", a)
			}
			want[a.Name] = a.Version
		}
		lab.Rdmactl(t, 0, im.args("plan", "--resolve")...).Says(t, "libibverbs", want["perftest"], "install --root "+im.Dir)
		if diff := before.Changed(im.files(t)); len(diff) > 0 {
			t.Errorf("a question changed files:\n%s", strings.Join(diff, "\n"))
		}
		im.installed(t, packages)
		if diff := want.Changed(im.packages(t)); len(diff) > 0 {
			t.Errorf("other packages are installed than the manager answered: %v", diff)
		}
		im.restored(t, before, packages)
	})
}

// installed installs the host, and looks at what came: packages were there before.
func (im image) installed(t *testing.T, packages rootlab.Tree) {
	t.Helper()
	r := im.installs(t)
	if r.Verdict != "done" || !r.Changed {
		t.Errorf("the report is %+v", r)
	}
	for _, s := range r.Steps {
		if s.Status != "done" {
			t.Errorf("step %s is %s", s.ID, s.Status)
		}
	}
	im.complete(t, packages)
	lab.Rdmactl(t, 0, "history", "--root", im.Dir).Says(t, r.RunID, "done")
}

// complete looks at an installed host.
func (im image) complete(t *testing.T, packages rootlab.Tree) {
	t.Helper()
	now := im.packages(t)
	for _, name := range im.want {
		if now[name] == "" || packages[name] != "" {
			t.Errorf("package %s was %q and is %q", name, packages[name], now[name])
		}
	}
	for file, text := range map[string]string{
		"etc/modules-load.d/rdmactl.conf": "ib_uverbs", "etc/security/limits.d/90-rdmactl-memlock.conf": "memlock",
		"usr/lib/udev/rules.d/60-rdma-persistent-naming.rules": "rdma",
	} {
		if data, err := os.ReadFile(im.Path(file)); err != nil || !strings.Contains(string(data), text) {
			t.Errorf("%s holds %q, %v; want %q", file, data, err, text)
		}
	}
	// The programs find their libraries, of the packages.
	linked := im.inside(t, "for f in ibv_devinfo ibv_rc_pingpong rping ib_write_bw ibstat mstflint ethtool ip; do ldd $(command -v $f); done")
	if strings.Contains(linked, "not found") || !strings.Contains(linked, "/lib64/libibverbs.so.1") {
		t.Errorf("the programs are linked with:\n%s", linked)
	}
	if damage := im.inside(t, "rpm --verify --nodeps --all --nomtime || :"); strings.Contains(damage, "missing") || strings.Contains(damage, "5") {
		t.Errorf("rpm --verify: %s", damage)
	}
	if r := im.installs(t); r.Verdict != "nothing-to-do" || r.Changed {
		t.Errorf("another run is %+v", r)
	}
	lab.Rdmactl(t, 0, im.args("plan")...).Says(t, "nothing to do")
}

// restored rolls the latest run back.
func (im image) restored(t *testing.T, files, packages rootlab.Tree) {
	t.Helper()
	lab.RollsBack(t, im.Root)
	im.asBefore(t, files, packages)
}

func (im image) asBefore(t *testing.T, files, packages rootlab.Tree) {
	t.Helper()
	if diff := files.Changed(im.files(t)); len(diff) > 0 {
		t.Errorf("the files are not as before:\n%s", strings.Join(diff, "\n"))
	}
	if diff := packages.Changed(im.packages(t)); len(diff) > 0 {
		t.Errorf("the packages are not as before: %v", diff)
	}
	if out := im.inside(t, "rpm --verifydb && echo sound"); !strings.Contains(out, "sound") {
		t.Errorf("rpm --verifydb: %s", out)
	}
}

// TestFaultyRepositories stop a run before it changed anything, and the reason is said. The same host takes the
// good repository then.
func TestFaultyRepositories(t *testing.T) {
	each(t, func(t *testing.T, s system) {
		for _, name := range faulty() {
			t.Run(name, func(t *testing.T) {
				im := newImage(t, s, name)
				files, packages := im.files(t), im.packages(t)
				r := lab.Rdmactl(t, 4, im.args("install", "--yes")...)
				_, said, _ := strings.Cut(r.Stderr, "rdmactl: ")
				t.Log(said)
				what := victim
				if name == otherIndex || name == editedMD {
					what = "repomd.xml"
				}
				if !strings.Contains(said, what) || !regexp.MustCompile(`(?i)signature|checksum|signed|digest|correct key`).MatchString(said) {
					t.Errorf("it is not said what is wrong:\n%s", r)
				}
				im.asBefore(t, files, packages)
				if name == tampered {
					im.uses(t, serve(t, im.material.repos)+"/"+good)
					files = im.files(t)
					im.installed(t, packages)
					im.restored(t, files, packages)
				}
			})
		}
	})
}
