package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/version"
	"github.com/rdmactl/rdmactl/plan"
)

// packageBuildStep builds the packages of a source by its own packaging and puts them into a repository in the run's
// directory, whose index a key signs that is forgotten at once.
type packageBuildStep struct {
	noUndo
	buildStep
}

const (
	builtFile = "built.json" // of the run: what the step has built
	builtDir  = "built"      // of the run: the repository
	// buildSpace is about what a build of packages takes, of the tree, its objects and its packages.
	buildSpace = 768 << 20
)

// packager is how packages are built from a source: whether the host can shut a build in, what the source is, the
// build itself, and the signed index of what it made.
type packager struct {
	able   func(context.Context, build.Host) error
	unpack func(context.Context, build.Host, build.Request) (build.Packaging, error)
	make   func(context.Context, build.Host, build.Request, build.Packaging) (build.BuiltPackages, error)
	index  func(ctx context.Context, folder *os.Root, at string, now time.Time) (key string, err error)
}

func (r *run) packager() packager {
	if r.env.packager != nil {
		return *r.env.packager
	}
	return packager{able: build.CanConfine, unpack: build.UnpackPackaging, make: build.MakePackages, index: ownIndex}
}

// builtPackages is a repository of packages that a run has built.
type builtPackages struct {
	Version  string              `json:"version"`
	Source   build.Provenance    `json:"source"`
	Packages []build.PackageFile `json:"packages"`
	Key      string              `json:"key"` // public, armored
}

func (b *builtPackages) has(name string) bool {
	return slices.ContainsFunc(b.Packages, func(p build.PackageFile) bool { return p.Name == name })
}

// built is what the run has built so far, nil for nothing.
func (r *run) built() (*builtPackages, error) {
	text, err := r.journal.ReadFile(builtFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var b builtPackages
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", builtFile, err)
	}
	return &b, nil
}

// builtRepository are the package sources that the run itself has made, as the host sees them.
func (r *run) builtRepository() ([]pkgmgr.Repository, error) {
	b, err := r.built()
	if err != nil || b == nil {
		return nil, err
	}
	return []pkgmgr.Repository{{
		ID: "rdmactl-built", Name: "rdmactl: packages built from " + path.Base(b.Source.Location),
		URL: "file:" + r.builtAt(), Key: []byte(b.Key),
	}}, nil
}

func (r *run) builtAt() string { return path.Join(r.paths.runInside(r.journal.ID), builtDir) }

// buildsPackages is the step of a plan that builds packages.
func buildsPackages(p plan.Plan) (plan.Step, bool) {
	i := slices.IndexFunc(p.Steps, func(s plan.Step) bool {
		return s.Kind == plan.KindBuild && s.Changes.Build != nil && s.Changes.Build.Packages != ""
	})
	if i < 0 {
		return plan.Step{}, false
	}
	return p.Steps[i], true
}

// takesBuilt is the step of a plan that installs what was built.
func takesBuilt(p plan.Plan) (plan.Step, bool) {
	i := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return s.Changes.BuiltBy != "" })
	if i < 0 {
		return plan.Step{}, false
	}
	return p.Steps[i], true
}

// ready verifies and unpacks the source, and says before anything changes what would stop the build of its packages.
func (x *packageBuildStep) ready(ctx context.Context, s plan.Step) error {
	r := x.run
	if r.order.Offline != nil {
		return fault.New(fault.Stopped, "not-in-bundle", "leave --method away: the build into a directory of its own can be made from a bundle",
			"cannot build packages of %s from a bundle: it does not carry what their packaging needs", s.Changes.Build.Version)
	}
	if err := x.sourceProven(s); err != nil {
		return err
	}
	if done, err := r.built(); err != nil || done != nil {
		return err
	}
	h, err := r.buildHost()
	if err != nil {
		return err
	}
	if err := r.packager().able(ctx, h); err != nil {
		return err
	}
	free, err := r.freeBytes(ctx, build.Cache)
	switch {
	case err != nil:
		if err := r.note("free space of %s is not known: %v", build.Cache, err); err != nil {
			return err
		}
	case len(free) > 0 && free[0].avail < buildSpace:
		return fault.New(fault.Stopped, "no-space", "make room there", "cannot build packages: %s has %d MiB free and %d MiB are needed", free[0].mount, free[0].avail>>20, buildSpace>>20)
	}
	req, err := x.request(s)
	if err != nil {
		return err
	}
	p, err := r.packager().unpack(ctx, h, req)
	if err != nil {
		return err
	}
	r.packaging = &p
	left := ""
	if len(p.LeftOut) > 0 {
		left = "; done without " + strings.Join(p.LeftOut, ", ")
	}
	if err := r.note("%s is unpacked (SHA-256 %s); its packages will be of version %s%s", p.Source.Location, p.Source.SHA256, p.Version, left); err != nil {
		return err
	}
	db, err := r.base.Installed(ctx)
	if err != nil {
		return managerFault("cannot read the package database", err)
	}
	return fits(r.plan, p, db)
}

// fits stops where the source's packaging names its packages otherwise than the host does: dpkg would find two packages
// with the same files.
func fits(p plan.Plan, source build.Packaging, db pkgmgr.Database) error {
	step, ok := takesBuilt(p)
	if !ok {
		return errors.New("cannot build packages: the plan does not install them")
	}
	var foreign []string
	for _, c := range step.Changes.Packages {
		if !slices.Contains(source.Packages, c.Name) {
			foreign = append(foreign, c.Name)
		}
	}
	for _, name := range source.Packages { // librdmacm1 of upstream, librdmacm1t64 of Debian 13 and Ubuntu 24.04
		other := name + "t64"
		if old, is := strings.CutSuffix(name, "t64"); is {
			other = old
		}
		if !slices.Contains(source.Packages, other) && db.Has(other) && !slices.Contains(foreign, other) {
			foreign = append(foreign, other)
		}
	}
	if len(foreign) == 0 {
		return nil
	}
	return fault.New(fault.Stopped, "packaging-differs", "give the distribution's own source package (.dsc) of that version, or leave --method away to build it into a directory of its own",
		"cannot install packages of this source: its packaging does not make %s, which this host has or the plan wants", strings.Join(foreign, ", "))
}

// forgetPackaging removes what was unpacked, by this attempt or one that was cut off; the log of a build stays.
func (r *run) forgetPackaging() error {
	s, ok := buildsPackages(r.plan)
	if !ok {
		return nil
	}
	r.packaging = nil
	h, err := r.buildHost()
	if err != nil {
		return err
	}
	req, err := (&buildStep{run: r}).request(s)
	if err != nil {
		return err
	}
	work, err := req.PackagingWork()
	if err != nil {
		return err
	}
	return build.ForgetPackaging(h, work)
}

// buildRequests adds to a plan's requests what its build of packages needs, and what it has built.
func (r *run) buildRequests(ctx context.Context, db pkgmgr.Database, requests map[string]pkgmgr.Request) error {
	step, ok := takesBuilt(r.plan)
	if !ok {
		return nil
	}
	built, err := r.built()
	if err != nil {
		return err
	}
	if built == nil {
		if r.packaging == nil {
			return nil
		}
		if err := r.notOlder(ctx, step, r.packaging.Version, db); err != nil {
			return err
		}
		return r.needsToBuild(ctx, requests)
	}
	if err := r.notOlder(ctx, step, built.Version, db); err != nil {
		return err
	}
	requests[step.ID], err = builtRequest(step, built, db)
	return err
}

// needsToBuild asks the package manager for what the source needs beyond the packages that the plan names.
func (r *run) needsToBuild(ctx context.Context, requests map[string]pkgmgr.Request) error {
	m, ok := r.pm.(pkgmgr.Building)
	if !ok {
		return fault.New(fault.Stopped, "manager-not-supported", "leave --method away to build into a directory of its own", "cannot build packages with %s", r.pm.Name())
	}
	needs, err := m.BuildNeeds(ctx, r.packaging.Needs, r.packaging.Profiles)
	var unmet *pkgmgr.UnmetNeedsError
	if errors.As(err, &unmet) {
		return fault.New(fault.Stopped, "build-needs-unmet", "give a source whose packaging is for this release of the distribution, such as upstream's own archive; or leave --method away to build it into a directory of its own",
			"cannot build packages of this source: the repositories of this host do not meet what it needs: %s", unmet.Error())
	}
	if err != nil {
		return managerFault("cannot ask what the build needs", err)
	}
	req := requests[plan.BuildToolsStep]
	for _, w := range needs {
		if !slices.ContainsFunc(req.Install, func(have pkgmgr.Want) bool { return have.Name == w.Name }) {
			req.Install = append(req.Install, w)
		}
	}
	requests[plan.BuildToolsStep] = req
	return nil
}

// notOlder stops where a repository or the host has newer packages: the next update would take them, and the host's own
// would be replaced by older ones.
func (r *run) notOlder(ctx context.Context, step plan.Step, ours string, db pkgmgr.Database) error {
	var names []string
	for _, c := range step.Changes.Packages {
		names = append(names, c.Name)
	}
	have, _, err := r.pm.Available(ctx, names)
	if err != nil {
		return managerFault("cannot ask the repositories for packages", err)
	}
	mine, err := version.ParseDebian(ours)
	if err != nil {
		return fmt.Errorf("cannot compare the packages of the source: %w", err)
	}
	for _, name := range names {
		installed, _ := db.Find(name)
		for what, text := range map[string]string{"is installed": installed.Version, "is in a repository of this host": have[name].Version} {
			if text == "" {
				continue
			}
			v, err := version.ParseDebian(text)
			if err != nil {
				return fmt.Errorf("cannot compare the packages of the source: %w", err)
			}
			if mine.Compare(v) < 0 {
				return fault.New(fault.Stopped, "older-than-installed", "give the source of a newer release, or leave --method away to build it into a directory of its own",
					"cannot install packages of version %s: %s %s %s", ours, name, text, what)
			}
		}
	}
	return nil
}

// builtRequest asks for the built packages that the host does not have in that version.
func builtRequest(step plan.Step, built *builtPackages, db pkgmgr.Database) (pkgmgr.Request, error) {
	req := pkgmgr.Request{Install: []pkgmgr.Want{}}
	for _, c := range step.Changes.Packages {
		if !built.has(c.Name) {
			return req, fmt.Errorf("cannot install %s: it was not built", c.Name)
		}
		if p, ok := db.Find(c.Name); !ok || p.Version != built.Version {
			req.Install = append(req.Install, pkgmgr.Want{Name: c.Name, Version: built.Version})
		}
	}
	return req, nil
}

func (x *packageBuildStep) check(context.Context, plan.Step, bool) (bool, error) {
	b, err := x.run.built()
	if err != nil || b == nil {
		return false, err
	}
	_, err = x.run.host.Stat(path.Join(x.run.builtAt(), "InRelease"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (x *packageBuildStep) prepare(context.Context, plan.Step) (any, error) { return nil, nil }

func (x *packageBuildStep) do(ctx context.Context, s plan.Step, _ json.RawMessage) (any, string, error) {
	r := x.run
	if done, err := r.built(); err != nil || done != nil {
		if err != nil {
			return nil, "", err
		}
		// An attempt that was cut off came as far as to keep what it built.
		return buildLeft{Source: done.Source.SHA256}, fmt.Sprintf("%d packages of version %s", len(done.Packages), done.Version), r.forgetPackaging()
	}
	if r.packaging == nil {
		return nil, "", fmt.Errorf("cannot execute step %s: its source was not unpacked", s.ID)
	}
	req, err := x.request(s)
	if err != nil {
		return nil, "", err
	}
	h, err := r.buildHost()
	if err != nil {
		return nil, "", err
	}
	source := *r.packaging
	made, err := r.packager().make(ctx, h, req, source)
	if err != nil {
		return nil, "", err
	}
	out := builtPackages{Version: source.Version, Source: source.Source, Packages: made.Packages}
	if out.Key, err = r.keepBuilt(ctx, h, made); err != nil {
		return nil, "", err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, "", fmt.Errorf("cannot write %s: %w", builtFile, err)
	}
	if err := r.journal.WriteFile(builtFile, text); err != nil {
		return nil, "", err
	}
	r.packaging = nil
	if err := build.Clean(h, build.Built{Work: source.Work}); err != nil {
		return nil, "", err
	}
	names := []string{}
	for _, p := range made.Packages {
		names = append(names, p.Name)
	}
	return buildLeft{Source: out.Source.SHA256}, fmt.Sprintf("%d packages of version %s, built as %s: %s", len(names), out.Version, made.As, strings.Join(names, ", ")), nil
}

// keepBuilt copies the packages into the run's directory with an index that is signed, and gives the public key.
func (r *run) keepBuilt(ctx context.Context, h host.DirOpener, made build.BuiltPackages) (key string, err error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("cannot keep the packages that were built: %w", err)
	}
	home, err := h.OpenDir(r.paths.runInside(r.journal.ID))
	if err != nil {
		return fail(err)
	}
	defer home.Close() // files in it are closed with an error
	from, err := h.OpenDir(made.Dir)
	if err != nil {
		return fail(err)
	}
	defer from.Close() // it was only read
	const part = builtDir + ".part"
	if err := errors.Join(home.RemoveAll(part), home.RemoveAll(builtDir), mkdir(home, part)); err != nil {
		return fail(err)
	}
	into, err := home.OpenRoot(part)
	if err != nil {
		return fail(err)
	}
	defer into.Close() // files in it are closed with an error
	for _, p := range made.Packages {
		if err := copyBuilt(from, into, p.File); err != nil {
			return fail(err)
		}
	}
	if key, err = r.packager().index(ctx, into, ".", r.host.Now()); err != nil {
		return "", err
	}
	if err := settleSource(home, part, builtDir); err != nil {
		return fail(err)
	}
	return key, nil
}

func copyBuilt(from, into *os.Root, name string) (err error) {
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := into.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (x *packageBuildStep) undo(context.Context, plan.Step, record) (undone, error) {
	return undone{}, nil // the repository is in the run's directory; the steps that are undone after this one may read it
}

// builtPackagesStep is a transaction of the package manager with packages that a step before it has built. What it
// needs is solved and downloaded when they are there, and still before anything of the host's stack changes.
type builtPackagesStep struct{ packagesStep }

func (x *builtPackagesStep) check(ctx context.Context, s plan.Step, changed bool) (bool, error) {
	if _, recorded := x.run.records()[s.ID]; recorded {
		return x.packagesStep.check(ctx, s, changed)
	}
	built, err := x.run.built()
	if err != nil {
		return false, err
	}
	if built == nil {
		return false, fmt.Errorf("cannot execute step %s: nothing was built", s.ID)
	}
	db, err := x.run.pm.Installed(ctx)
	if err != nil {
		return false, err
	}
	req, err := builtRequest(s, built, db)
	return err == nil && req.Empty(), err
}

func (x *builtPackagesStep) prepare(ctx context.Context, s plan.Step) (any, error) {
	if err := x.run.readyRepositories(ctx); err != nil {
		return nil, err
	}
	if err := x.run.packagesReady(ctx); err != nil {
		return nil, err
	}
	if err := x.run.stage(ctx); err != nil {
		return nil, err
	}
	return x.packagesStep.prepare(ctx, s)
}

func (x *builtPackagesStep) do(ctx context.Context, s plan.Step, undo json.RawMessage) (any, string, error) {
	left, text, err := x.packagesStep.do(ctx, s, undo)
	if err != nil {
		return left, text, err
	}
	var u packagesUndo
	if err := decode(undo, &u); err != nil {
		return nil, "", err
	}
	auto := []string{} // a version that is asked for by name counts as asked for
	for _, w := range u.Request.Install {
		if slices.Contains(u.Auto, w.Name) {
			auto = append(auto, w.Name)
		}
	}
	if len(auto) == 0 {
		return left, text, nil
	}
	return left, text, x.run.pm.SetAuto(ctx, auto, nil)
}
