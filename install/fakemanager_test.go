package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/plan"
)

// fakeRepo is what the fake manager's repository has of a package.
type fakeRepo struct {
	version   string
	needs     []string
	conflicts []string // goes when this comes
	vendor    bool     // of a repository that the plan adds
	own       string   // the distribution's version, where version is a vendor's
}

// fakeManager is a package manager whose database and packages are files below a fakeHost.
type fakeManager struct {
	h        *fakeHost
	repo     map[string]fakeRepo
	badSign  bool
	failing  string // package whose script fails
	extra    string // package that comes unannounced
	warnings []string
	gate     string // Apply waits until this file is there
	staged   bool   // it knows the repositories of the plan as well
	gone     []string
	leaves   bool // it looks away from repositories of the host
}

// Files and WithRepositories make it a pkgmgr.Staging: packages that need a repository of the plan are there
// only on the manager that has it.
func (m *fakeManager) Files(repos []pkgmgr.Repository) ([]pkgmgr.File, error) {
	var out []pkgmgr.File
	for _, r := range repos {
		out = append(out,
			pkgmgr.File{Path: "/etc/keys/" + r.ID + ".asc", Data: r.Key, Mode: 0o644},
			pkgmgr.File{Path: "/etc/repos.d/" + r.ID + ".list", Data: []byte(r.URL + "\n"), Mode: 0o644})
	}
	return out, nil
}

func (m *fakeManager) WithRepositories(_ context.Context, dir string, repos []pkgmgr.Repository) (pkgmgr.Manager, error) {
	if !filepath.IsAbs(dir) || len(repos) == 0 && !m.leaves {
		return nil, fmt.Errorf("cannot stage %d repositories in %q", len(repos), dir)
	}
	with := *m
	with.staged = true
	return &with, nil
}

// offers are the packages of the repositories that the manager knows.
func (m *fakeManager) offers() map[string]fakeRepo {
	out := map[string]fakeRepo{}
	for name, p := range m.repo {
		if !p.vendor || m.staged {
			out[name] = p
		}
	}
	return out
}

type fakeDB struct {
	Packages map[string]pkgmgr.Package `json:"packages"`
	Auto     map[string]bool           `json:"auto"`
	Staged   bool                      `json:"-"`
}

const fakeDBPath = "/var/lib/packages.json"

func newFakeManager(h *fakeHost) *fakeManager {
	m := &fakeManager{h: h, repo: map[string]fakeRepo{
		"alpha": {version: "2.0", needs: []string{"beta"}},
		"beta":  {version: "1.0"},
		"tool":  {version: "2.0"},
	}}
	if _, err := os.Stat(h.path(fakeDBPath)); err == nil {
		return m
	}
	m.store(fakeDB{Packages: map[string]pkgmgr.Package{
		"tool:amd64": {Name: "tool", Arch: "amd64", Version: "1.0", Status: pkgmgr.Installed},
		"rest:amd64": {Name: "rest", Arch: "amd64", Version: "1.0", Status: pkgmgr.ConfigFiles},
	}, Auto: map[string]bool{"tool": true}})
	return m
}

func (m *fakeManager) load() fakeDB {
	db := fakeDB{}
	if err := json.Unmarshal([]byte(m.h.text(fakeDBPath)), &db); err != nil {
		m.h.t.Fatal(err)
	}
	return db
}

func (m *fakeManager) store(db fakeDB) {
	data, err := json.Marshal(db)
	if err != nil {
		m.h.t.Fatal(err)
	}
	m.h.put(fakeDBPath, string(data))
}

func (m *fakeManager) Name() string { return "fake" }

func (m *fakeManager) Installed(context.Context) (pkgmgr.Database, error) {
	return m.without(m.load().Packages), nil
}

func (m *fakeManager) Available(_ context.Context, names []string) (map[string]pkgmgr.Candidate, []string, error) {
	out := map[string]pkgmgr.Candidate{}
	for _, n := range names {
		if p, ok := m.offers()[n]; ok {
			out[n] = pkgmgr.Candidate{Version: p.version}
		}
	}
	return out, []string{"fake repository"}, nil
}

func (m *fakeManager) Solve(_ context.Context, req pkgmgr.Request) (plan.Solution, error) {
	sol := plan.Solution{Manager: "fake", Actions: []plan.ResolvedPackage{}, DownloadBytes: 1 << 20, InstalledBytes: 1 << 20}
	db := m.load()
	db.Packages = m.without(db.Packages)
	asked := map[string]string{}
	for _, w := range req.Install {
		asked[w.Name] = w.Version
	}
	m.removals(db, req.Remove, asked, &sol)
	var add func(name string)
	add = func(name string) {
		key := name + ":amd64"
		p, have := db.Packages[key], m.repo[name]
		if v := asked[name]; v != "" && v != have.version {
			have.version, have.needs = v, nil
		}
		if p.Status == pkgmgr.Installed && p.Version == have.version || slices.ContainsFunc(sol.Actions, func(a plan.ResolvedPackage) bool { return a.Name == name }) {
			return
		}
		a := plan.ResolvedPackage{Name: name, Arch: "amd64", Version: have.version, Action: "install"}
		if p.Status == pkgmgr.Installed {
			a.From, a.Action = p.Version, "upgrade"
			if p.Version > a.Version {
				a.Action = "downgrade"
			}
		}
		sol.Actions = append(sol.Actions, a)
		for _, n := range have.needs {
			add(n)
		}
		for _, n := range have.conflicts {
			if q := db.Packages[n+":amd64"]; q.Status == pkgmgr.Installed {
				sol.Actions = append(sol.Actions, plan.ResolvedPackage{Name: n, Arch: "amd64", From: q.Version, Action: "remove"})
			}
		}
	}
	for _, w := range req.Install {
		add(w.Name)
	}
	sort.Slice(sol.Actions, func(i, j int) bool { return sol.Actions[i].Name < sol.Actions[j].Name })
	return sol, nil
}

func (m *fakeManager) Wait(context.Context, time.Duration) error { return nil }

func (m *fakeManager) Healthy(context.Context) error {
	for k, p := range m.load().Packages {
		if p.Status == pkgmgr.Broken {
			return errors.New(k + " is not installed whole")
		}
	}
	return nil
}

func (m *fakeManager) Repair(ctx context.Context) (string, error) {
	if m.Healthy(ctx) == nil {
		return "", nil
	}
	db := m.load()
	for k, p := range db.Packages {
		if p.Status == pkgmgr.Broken {
			if p.Name == m.failing {
				return "", errors.New("script of " + p.Name + " fails")
			}
			m.unpack(p)
			p.Status = pkgmgr.Installed
			db.Packages[k] = p
			for _, n := range m.repo[p.Name].needs {
				if db.Packages[n+":amd64"].Status != pkgmgr.Installed {
					q := pkgmgr.Package{Name: n, Arch: "amd64", Version: m.repo[n].version, Status: pkgmgr.Installed}
					m.unpack(q)
					db.Packages[q.Key()], db.Auto[n] = q, true
				}
			}
		}
	}
	m.store(db)
	m.h.tick()
	return "repaired", nil
}

func (m *fakeManager) Refresh(context.Context) ([]string, error) {
	if m.badSign {
		return nil, &pkgmgr.SignatureError{Lines: []string{"BADSIG of fake repository"}}
	}
	return m.warnings, nil
}

func (m *fakeManager) Fetch(context.Context, pkgmgr.Request) error {
	m.h.put("/var/cache/staged", "yes")
	m.h.tick()
	return nil
}

func (m *fakeManager) Keep(_ context.Context, old []pkgmgr.Package, dir string) ([]pkgmgr.OldPackage, error) {
	out := []pkgmgr.OldPackage{}
	if !strings.HasPrefix(dir, m.h.root) {
		dir = m.h.path(dir)
	}
	for _, p := range old {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		file := filepath.Join(dir, p.Name+"_"+p.Version)
		if err := os.WriteFile(file, []byte(p.Version), 0o600); err != nil {
			return nil, err
		}
		out = append(out, pkgmgr.OldPackage{Package: p, File: file})
	}
	return out, nil
}

func (m *fakeManager) unpack(p pkgmgr.Package) {
	if p.Name == "driver" { // as the vendor's scripts do, and no package owns it
		m.h.put("/etc/security/limits.conf", "* soft memlock unlimited\n")
		m.h.put("/etc/modprobe.d/ib_ipoib.conf", "options ib_ipoib\n")
	}
	m.h.put("/usr/share/"+p.Name+"/data", p.Version)
	if _, err := os.Stat(m.h.path("/etc/" + p.Name + ".conf")); err != nil {
		m.h.put("/etc/"+p.Name+".conf", "default\n")
	}
	if p.Name == "driver" { // whose script edits its own configuration file too
		m.h.put("/etc/driver.conf", "default\nby the script\n")
	}
}

func (m *fakeManager) Apply(ctx context.Context, req pkgmgr.Request) error {
	if m.gone != nil {
		return errors.New("a host that is only foreseen")
	}
	if _, err := os.Stat(m.h.path("/var/cache/staged")); err != nil {
		return errors.New("not staged")
	}
	for _, p := range m.load().Packages {
		if p.Status == pkgmgr.Broken && !slices.Contains(req.Remove, p.Name) {
			return errors.New(p.Key() + " is not installed whole")
		}
	}
	for m.gate != "" {
		if _, err := os.Stat(m.gate); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	sol, err := m.Solve(ctx, req)
	if err != nil {
		return err
	}
	wanted := func(name string) bool {
		return slices.ContainsFunc(req.Install, func(w pkgmgr.Want) bool { return w.Name == name })
	}
	if m.extra != "" {
		sol.Actions = append(sol.Actions, plan.ResolvedPackage{Name: m.extra, Arch: "amd64", Version: "9", Action: "install"})
	}
	// What others need comes first, as with dpkg.
	sort.SliceStable(sol.Actions, func(i, j int) bool {
		return len(m.repo[sol.Actions[i].Name].needs) < len(m.repo[sol.Actions[j].Name].needs)
	})
	for _, a := range sol.Actions {
		m.h.tick()
		db := m.load()
		key := a.Name + ":amd64"
		if a.Action == "remove" {
			delete(db.Packages, key)
			delete(db.Auto, a.Name)
			m.store(db)
			continue
		}
		p := pkgmgr.Package{Name: a.Name, Arch: "amd64", Version: a.Version, Status: pkgmgr.Broken}
		db.Packages[key] = p
		m.store(db)
		m.h.tick()
		m.unpack(p)
		m.h.tick()
		if a.Name == m.failing {
			return fmt.Errorf("%w", &pkgmgr.CommandError{Command: "fake install", Exit: 100, Lines: []string{"script of " + a.Name + " returned error exit status 1"}})
		}
		p.Status = pkgmgr.Installed
		db.Packages[key] = p
		m.store(db)
		m.h.tick()
	}
	// Marks come last, as with apt.
	db := m.load()
	for _, a := range sol.Actions {
		if a.Action == "install" && !wanted(a.Name) {
			db.Auto[a.Name] = true
		}
	}
	for _, w := range req.Install {
		delete(db.Auto, w.Name)
	}
	m.store(db)
	m.h.tick()
	return nil
}

func (m *fakeManager) Auto(context.Context) ([]string, error) {
	out := []string{}
	for n := range m.load().Auto {
		out = append(out, n)
	}
	sort.Strings(out)
	return out, nil
}

func (m *fakeManager) SetAuto(_ context.Context, auto, manual []string) error {
	db := m.load()
	for _, n := range auto {
		db.Auto[n] = true
	}
	for _, n := range manual {
		delete(db.Auto, n)
	}
	m.store(db)
	m.h.tick()
	return nil
}

func (m *fakeManager) Edited(_ context.Context, names []string) ([]string, error) {
	out := []string{}
	for _, n := range names {
		file := "/etc/" + n + ".conf"
		if data, err := os.ReadFile(m.h.path(file)); err == nil && string(data) != "default\n" {
			out = append(out, file)
		}
	}
	return out, nil
}

func (m *fakeManager) SolveUndo(_ context.Context, u pkgmgr.Undo) ([]plan.ResolvedPackage, error) {
	out := []plan.ResolvedPackage{}
	goes := slices.Concat(u.Purge, u.Remove)
	for _, p := range m.load().Packages {
		if p.Status == pkgmgr.Installed && slices.ContainsFunc(m.repo[p.Name].needs, func(n string) bool { return slices.Contains(goes, n) }) && !slices.Contains(goes, p.Name) {
			goes = append(goes, p.Name)
		}
	}
	for _, n := range goes {
		out = append(out, plan.ResolvedPackage{Name: n, Arch: "amd64", Action: "remove"})
	}
	for _, b := range u.Back {
		out = append(out, plan.ResolvedPackage{Name: b.Name, Arch: b.Arch, Version: b.Version, Action: "downgrade"})
	}
	return out, nil
}

func (m *fakeManager) Undo(_ context.Context, u pkgmgr.Undo) error {
	for _, n := range slices.Concat(u.Purge, u.Remove) {
		m.h.tick()
		if n == "driver" { // the scripts of its removal run as well
			m.h.put("/etc/modprobe.d/ib_ipoib.conf", "# options ib_ipoib\n")
			if err := os.RemoveAll(m.h.path("/opt")); err != nil {
				return err
			}
		}
		db := m.load()
		p := db.Packages[n+":amd64"]
		for _, f := range []string{"/usr/share/" + n + "/data", "/usr/share/" + n, "/etc/" + n + ".conf"} {
			if strings.HasPrefix(f, "/etc/") && slices.Contains(u.Remove, n) {
				continue
			}
			if err := os.RemoveAll(m.h.path(f)); err != nil {
				return err
			}
			m.h.tick()
		}
		if slices.Contains(u.Remove, n) {
			p.Status = pkgmgr.ConfigFiles
			db.Packages[n+":amd64"] = p
		} else {
			delete(db.Packages, n+":amd64")
		}
		delete(db.Auto, n)
		m.store(db)
		m.h.tick()
	}
	for _, b := range u.Back {
		if _, err := os.ReadFile(b.File); err != nil {
			return err
		}
		m.h.tick()
		db := m.load()
		db.Packages[b.Key()] = b.Package
		m.store(db)
		if err := os.RemoveAll(m.h.path("/usr/share/" + b.Name)); err != nil {
			return err
		}
		if err := os.RemoveAll(m.h.path("/etc/" + b.Name + ".conf")); err != nil {
			return err
		}
		m.h.tick()
	}
	return nil
}

func (m *fakeManager) Directories() (string, string) { return "/var/cache", "/usr" }
