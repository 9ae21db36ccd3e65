package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/plan"
)

// Packaging is a source that was verified and unpacked, with what its debian/ says. It is in the work directory and
// root's own: nothing of it was run.
type Packaging struct {
	Source Provenance
	// Version is that of the packages: the changelog's, with our mark.
	Version string
	// Packages are the names of the packages that debian/control has and that are built.
	Packages []string
	// Needs is a directory of the host with a debian/control that names what the build needs, as the package manager
	// reads it. Profiles are the build profiles that it is read with.
	Needs    string
	Profiles []string
	// LeftOut are build dependencies that are done without.
	LeftOut []string
	// Work is the directory of the build on the host.
	Work string

	dir   string // the tree, in Work
	extra bool   // debian/rules passes EXTRA_CMAKE_FLAGS on
	date  string // of the newest changelog entry
}

const (
	needsDir  = "needs"
	pyverbs   = "python3-pyverbs"
	maxChange = 4 << 20 // bytes of a changelog
)

var (
	changelogHead  = regexp.MustCompile(`^rdma-core \(([0-9][A-Za-z0-9.+:~-]{0,60})\) [^;\n]{1,80};`)
	changelogTrail = regexp.MustCompile(`(?m)^ -- .*>  ([A-Z][a-z]{2}, [ 0-9]{1,2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} [+-][0-9]{4})\s*$`)
	packageName    = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]{1,60}$`)
	offeredProfile = regexp.MustCompile(`<[^>]*!(nodoc|nopython|noinsttest|pkg\.rdma-core\.nopython)[ >]`)
)

// packagingID is id for packages.
func (req Request) packagingID() (string, error) {
	req.Prefix, req.Options = "packages", nil
	return req.id()
}

// PackagingWork is the directory in which the packages of a request are built.
func (req Request) PackagingWork() (string, error) {
	id, err := req.packagingID()
	if err != nil {
		return "", fmt.Errorf("cannot name the build: %w", err)
	}
	if req.Cache == "" {
		req.Cache = Cache
	}
	return path.Join(req.Cache, id), nil
}

// UnpackPackaging gathers, verifies and unpacks a source for its own packaging. It changes nothing outside of its work
// directory, and leaves nothing there when it fails.
func UnpackPackaging(ctx context.Context, h Host, req Request) (Packaging, error) {
	m, err := openPackaging(h, req)
	if err != nil {
		return Packaging{}, err
	}
	defer m.work.Close() // files in it are closed with an error
	p, err := m.packaging(ctx)
	if err != nil {
		return Packaging{}, errors.Join(err, Clean(h, m.out))
	}
	return p, nil
}

// openPackaging completes the request and opens the work directory.
func openPackaging(h Host, req Request) (*making, error) {
	if !versionText.MatchString(req.Version) {
		return nil, stop("bad-version", "give a version such as 65.0", "cannot build rdma-core %q: that is no version", clip(req.Version))
	}
	if req.Cache == "" {
		req.Cache = Cache
	}
	if req.Machine == (Machine{}) {
		req.Machine = ThisMachine()
	}
	if req.Jobs <= 0 {
		req.Jobs = req.Machine.Jobs()
	}
	if req.Limits == (Limits{}) {
		req.Limits = DefaultLimits()
	}
	id, err := req.packagingID()
	if err != nil {
		return nil, fmt.Errorf("cannot name the build: %w", err)
	}
	m := &making{host: h, req: req, out: Built{Work: path.Join(req.Cache, id), Jobs: req.Jobs}}
	m.out.Log = path.Join(m.out.Work, logName)
	return m, m.open(id)
}

func (m *making) packaging(ctx context.Context) (Packaging, error) {
	p := Packaging{Work: m.out.Work, Needs: path.Join(m.out.Work, needsDir)}
	for _, name := range []string{"tree", "out", "debs", "packaging", needsDir, logName} {
		if err := discard(m.work, name); err != nil {
			return p, fmt.Errorf("cannot clear %s: %w", m.out.Work, err)
		}
	}
	g := gathering{work: m.work, limits: m.req.Limits, transport: m.req.Transport, now: m.host.Now()}
	src, err := g.gather(ctx, m.req.Source)
	if err != nil {
		return p, err
	}
	p.Source = src.Provenance
	if src.archive != "" {
		if err := m.unpack(ctx, src.archive, "tree"); err != nil {
			return p, err
		}
	}
	if src.packaging != "" {
		if err := m.unpack(ctx, src.packaging, "packaging"); err != nil {
			return p, err
		}
	}
	if p.dir, err = m.treeDir(); err != nil {
		return p, fmt.Errorf("cannot look into the source: %w", err)
	}
	if _, err := m.version(p.dir); err != nil {
		return p, err
	}
	if src.Package != "" {
		// The source package's own packaging takes the place of upstream's, as dpkg-source has it; its patches are
		// applied by dpkg-buildpackage.
		if src.packaging == "" {
			return p, stop("no-packaging", "give a source package of format 3.0 (quilt), or upstream's archive", "cannot build packages of %s: it has no debian.tar", path.Base(m.req.Source.Location))
		}
		if err := errors.Join(discard(m.work, path.Join(p.dir, "debian")), m.work.Rename("packaging/debian", path.Join(p.dir, "debian"))); err != nil {
			return p, fmt.Errorf("cannot put the packaging into the source: %w", err)
		}
	}
	tree, err := m.work.OpenRoot(p.dir)
	if err != nil {
		return p, fmt.Errorf("cannot look into the source: %w", err)
	}
	defer tree.Close() // files in it are closed with an error
	if err := p.read(tree); err != nil {
		return p, err
	}
	return p, m.writeNeeds(&p, tree)
}

// read reads version and packages of a tree.
func (p *Packaging) read(tree *os.Root) error {
	const hint = "give a release of rdma-core, which has its packaging in debian/; leave --method away to build it into a directory of its own"
	for _, name := range []string{"debian/control", "debian/rules", "debian/changelog"} {
		if _, err := readAll(tree, name, maxChange); err != nil {
			return stop("no-packaging", hint, "cannot build packages from the source: %w", err)
		}
	}
	log, err := readAll(tree, "debian/changelog", maxChange)
	if err != nil {
		return fmt.Errorf("cannot read debian/changelog: %w", err)
	}
	head := changelogHead.FindSubmatch(log)
	if head == nil {
		return stop("no-packaging", hint, "cannot build packages from the source: its debian/changelog does not begin with a version of rdma-core")
	}
	p.Version = string(head[1]) + plan.PackageMark + "1"
	if strings.Contains(string(head[1]), plan.PackageMark) {
		p.Version = string(head[1])
	}
	if trail := changelogTrail.FindSubmatch(log); trail != nil {
		p.date = string(trail[1])
	}
	rules, err := readAll(tree, "debian/rules", maxCMake)
	if err != nil {
		return fmt.Errorf("cannot read debian/rules: %w", err)
	}
	p.extra = strings.Contains(string(rules), "$(EXTRA_CMAKE_FLAGS)")
	return nil
}

// paragraphs are those of a Debian control file, each field by its lower-case name with its continued lines.
func paragraphs(text string) []map[string]string {
	var out []map[string]string
	now, last := map[string]string{}, ""
	flush := func() {
		if len(now) > 0 {
			out = append(out, now)
		}
		now, last = map[string]string{}, ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch name, value, ok := strings.Cut(line, ":"); {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			flush()
		case strings.HasPrefix(line, " "), strings.HasPrefix(line, "\t"):
			now[last] += " " + strings.TrimSpace(line)
		case ok:
			last = strings.ToLower(name)
			now[last] = strings.TrimSpace(value)
		}
	}
	flush()
	return out
}

// writeNeeds reads what the build needs, leaves out what is done without, and writes the rest for the package manager.
func (m *making) writeNeeds(p *Packaging, tree *os.Root) error {
	text, err := readAll(tree, "debian/control", maxCMake)
	if err != nil {
		return fmt.Errorf("cannot read debian/control: %w", err)
	}
	all := paragraphs(string(text))
	if len(all) < 2 || all[0]["source"] != "rdma-core" {
		return stop("no-packaging", "give a release of rdma-core", "cannot build packages from the source: its debian/control is not that of rdma-core")
	}
	for _, one := range all[1:] {
		name := one["package"]
		if !packageName.MatchString(name) || slices.Contains(p.Packages, name) {
			return stop("no-packaging", hintHostile, "cannot build packages from the source: its debian/control names a package %q", clip(name))
		}
		if name != pyverbs || !p.extra {
			p.Packages = append(p.Packages, name)
		}
	}
	p.Profiles = []string{"nocheck"}
	needs := []string{"build-essential"}
	for _, field := range []string{"build-depends", "build-depends-arch", "build-depends-indep"} {
		for _, found := range offeredProfile.FindAllStringSubmatch(all[0][field], -1) {
			if !slices.Contains(p.Profiles, found[1]) {
				p.Profiles = append(p.Profiles, found[1])
			}
		}
	}
	ready, err := exists(tree, "buildlib/pandoc-prebuilt")
	if err != nil {
		return fmt.Errorf("cannot look for ready-made manual pages: %w", err)
	}
	without := []string{"valgrind"} // its headers only mark memory for a debugger
	if p.extra {
		without = append(without, "cython", "cython3", "cython3-legacy", "python3-dev", "libpython3-dev", "python3-all-dev", "libpython3-all-dev")
	}
	if ready {
		without = append(without, "pandoc") // the pages of rst2man depend on the build's paths, and are not ready-made
	}
	for _, field := range []string{"build-depends", "build-depends-arch", "build-depends-indep"} {
		for one := range strings.SplitSeq(all[0][field], ",") {
			words := strings.Fields(one)
			if len(words) == 0 {
				continue
			}
			if name, _, _ := strings.Cut(words[0], ":"); slices.Contains(without, name) {
				p.LeftOut = append(p.LeftOut, name)
				continue
			}
			needs = append(needs, strings.Join(words, " "))
		}
	}
	if all[0]["rules-requires-root"] != "no" {
		needs = append(needs, "fakeroot")
	}
	dir, err := emptyDir(m.work, needsDir, perm)
	if err != nil {
		return fmt.Errorf("cannot write what the build needs: %w", err)
	}
	defer dir.Close() // files in it are closed with an error
	out := "Source: rdma-core\nMaintainer: rdmactl <root@localhost>\nBuild-Depends: " + strings.Join(needs, ",\n ") +
		"\n\nPackage: rdmactl-build-needs\nArchitecture: all\nDescription: what rdma-core needs to be built\n"
	if err := dir.Mkdir("debian", perm); err != nil {
		return fmt.Errorf("cannot write what the build needs: %w", err)
	}
	if err := write(dir, "debian/control", []byte(out)); err != nil {
		return fmt.Errorf("cannot write what the build needs: %w", err)
	}
	return nil
}

func write(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, plain)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Chmod(plain), f.Close())
}

// entry is the changelog's entry that gives the packages their version.
func (p Packaging) entry(now time.Time) string {
	date := p.date
	if date == "" {
		date = now.UTC().Format(time.RFC1123Z)
	}
	return fmt.Sprintf("rdma-core (%s) UNRELEASED; urgency=low\n\n  * Built on this host by rdmactl, without Python's bindings.\n\n -- rdmactl <root@localhost>  %s\n\n", p.Version, date)
}

// ForgetPackaging removes what UnpackPackaging left in a directory, also one that was cut off. The log of a build stays.
func ForgetPackaging(h Host, dir string) error {
	cache, err := h.OpenDir(path.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot clear %s: %w", dir, err)
	}
	defer cache.Close() // nothing in it is open
	work, err := cache.OpenRoot(path.Base(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot clear %s: %w", dir, err)
	}
	logged, err := exists(work, logName)
	if err == nil && logged {
		err = emptied(work)
	}
	err = errors.Join(err, work.Close())
	if err == nil && !logged {
		err = cache.RemoveAll(path.Base(dir))
	}
	if err != nil {
		return fmt.Errorf("cannot clear %s: %w", dir, err)
	}
	return nil
}

// emptied removes all but the log.
func emptied(work *os.Root) error {
	d, err := work.Open(".")
	if err != nil {
		return err
	}
	names, err := sortedNames(d)
	if err = errors.Join(err, d.Close()); err != nil {
		return err
	}
	for _, name := range names {
		if name == logName {
			continue
		}
		if err := work.RemoveAll(name); err != nil {
			return err
		}
	}
	return nil
}
