package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/openpgpkey"
	"github.com/rdmactl/rdmactl/internal/web"
	"github.com/rdmactl/rdmactl/plan"
)

// repositoryStep configures a package source for good. What the run installs was downloaded from it before,
// in staging, without the host's configuration being touched.
type repositoryStep struct {
	noUndo
	run *run
}

const (
	keyLimit   = 256 << 10
	keyFetch   = time.Minute
	keyUnknown = "key-unknown"
)

// files is the step with the files that its repository comes to.
func (x *repositoryStep) files(s plan.Step) (plan.Step, error) {
	repo, err := x.run.repositoryOf(s)
	if err != nil {
		return s, err
	}
	staging, ok := x.run.base.(pkgmgr.Staging)
	if !ok {
		return s, fmt.Errorf("cannot set up a repository with %s", x.run.base.Name())
	}
	files, err := staging.Files([]pkgmgr.Repository{repo})
	if err != nil {
		return s, err
	}
	s.Changes = plan.Changes{}
	for _, f := range files {
		s.Changes.Files = append(s.Changes.Files, plan.FileChange{
			Path: f.Path, Action: "write", Mode: fmt.Sprintf("%04o", f.Mode.Perm()), Content: string(f.Data),
		})
	}
	return s, nil
}

func (x *repositoryStep) inner() *filesStep { return &filesStep{run: x.run} }

func (x *repositoryStep) check(ctx context.Context, s plan.Step, changed bool) (bool, error) {
	s, err := x.files(s)
	if err != nil {
		return false, err
	}
	return x.inner().check(ctx, s, changed)
}

func (x *repositoryStep) prepare(ctx context.Context, s plan.Step) (any, error) {
	s, err := x.files(s)
	if err != nil {
		return nil, err
	}
	return x.inner().prepare(ctx, s)
}

func (x *repositoryStep) do(ctx context.Context, s plan.Step, undo json.RawMessage) (any, string, error) {
	s, err := x.files(s)
	if err != nil {
		return nil, "", err
	}
	if _, _, err := x.inner().do(ctx, s, undo); err != nil {
		return nil, "", err
	}
	var paths []string
	for _, f := range s.Changes.Files {
		paths = append(paths, f.Path)
	}
	return nil, strings.Join(paths, ", "), nil
}

func (x *repositoryStep) beforeUndo(ctx context.Context, s plan.Step, rec record) (any, error) {
	return x.inner().beforeUndo(ctx, s, rec)
}

func (x *repositoryStep) undo(ctx context.Context, s plan.Step, rec record) (undone, error) {
	return x.inner().undo(ctx, s, rec)
}

// keyFile is where a run keeps the key of a repository step, checked.
func keyFile(s plan.Step) string { return filepath.Join("keys", s.ID+".asc") }

// repositoryOf is the package source of a step with its key, which preflight laid into the run's directory.
func (r *run) repositoryOf(s plan.Step) (pkgmgr.Repository, error) {
	c := s.Changes.Repository
	if c == nil {
		return pkgmgr.Repository{}, fmt.Errorf("cannot execute step %s: it names no repository", s.ID)
	}
	key, err := r.journal.ReadFile(keyFile(s))
	if err != nil {
		return pkgmgr.Repository{}, err
	}
	address := c.URL
	if strings.HasPrefix(address, "/") {
		address = "file:" + address
	}
	return pkgmgr.Repository{
		ID: c.ID(), Name: "rdmactl: " + s.Summary, URL: address, Key: key, Fingerprint: c.Fingerprint, SignedIndex: c.SignedIndex,
	}, nil
}

// readyRepositories gets and checks the keys of the plan's repositories, and has the package manager use
// these beside the host's own from here on.
func (r *run) readyRepositories(ctx context.Context) error {
	if r.order.Offline != nil {
		return r.seal(ctx)
	}
	repos, err := r.builtRepository()
	if err != nil {
		return err
	}
	for _, s := range r.plan.Steps {
		if s.Kind != plan.KindRepository {
			continue
		}
		if s.Changes.Repository == nil {
			return fmt.Errorf("cannot execute step %s: it names no repository", s.ID)
		}
		if err := r.unpackSource(ctx, s); err != nil {
			return err
		}
		if err := reachable(r.host, *s.Changes.Repository); err != nil {
			return err
		}
		if err := r.keepKey(ctx, s); err != nil {
			return err
		}
		repo, err := r.repositoryOf(s)
		if err != nil {
			return err
		}
		repos = append(repos, repo)
	}
	if len(repos)+len(leftRepositories(r.plan)) == 0 {
		return nil
	}
	staging, ok := r.staging()
	if !ok {
		return fault.New(fault.Stopped, "manager-not-supported", "", "cannot set up a repository with %s", r.base.Name())
	}
	staged, err := staging.WithRepositories(ctx, r.stagingDir(), repos)
	if err != nil {
		return managerFault("cannot stage the repository", err)
	}
	r.pm = staged
	return nil
}

// reachable refuses a folder of the build host as the repository of an image, whose programs see the image alone.
func reachable(h host.Reader, c plan.RepositoryChange) error {
	dir := strings.TrimPrefix(c.URL, "file:")
	if h.Told().Kind != "root" || c.Bundle != nil || !strings.HasPrefix(dir, "/") {
		return nil
	}
	_, err := h.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Stopped, "source-outside-image", "give its address on a web server, copy it into the image, or give the packed bundle: that is unpacked inside",
			"cannot use the repository %s: the image has no such directory, and its package manager sees the image only", dir)
	}
	if err != nil {
		return fmt.Errorf("cannot look at %s: %w", dir, err)
	}
	return nil
}

// restage has the package manager use the run's repositories again, as far as it came to stage them: what an
// earlier attempt left half-way was from there.
func (r *run) restage(ctx context.Context) error {
	if r.order.Offline != nil {
		return r.seal(ctx)
	}
	repos, err := r.builtRepository()
	if err != nil {
		return err
	}
	for _, s := range r.plan.Steps {
		if s.Kind != plan.KindRepository {
			continue
		}
		repo, err := r.repositoryOf(s)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it died before it had the key
		}
		if err != nil {
			return err
		}
		repos = append(repos, repo)
	}
	staging, ok := r.staging()
	if len(repos)+len(leftRepositories(r.plan)) == 0 || !ok {
		return nil
	}
	staged, err := staging.WithRepositories(ctx, r.stagingDir(), repos)
	if err != nil {
		return managerFault("cannot use the repository that was staged", err)
	}
	r.pm = staged
	return nil
}

// stagingDir is where the package manager keeps what it needs of the run's repositories, on the host.
func (r *run) stagingDir() string {
	return filepath.Join(r.paths.runInside(r.journal.ID), "repositories")
}

// untrust takes the keys that staging gave to the package database out of it again, since rpm's outlive the files of a
// repository, and removes what was unpacked. It is called when nothing of the run is left.
func (r *run) untrust(ctx context.Context) error {
	return errors.Join(r.forgetSources(), r.forgetPackaging(), r.untrustKeys(ctx))
}

func (r *run) untrustKeys(ctx context.Context) error {
	u, ok := r.pm.(pkgmgr.Untrusting)
	if !ok || r.pm == r.base {
		return nil
	}
	if err := u.Untrust(ctx, r.stagingDir()); err != nil {
		return managerFault("cannot take the repository's key back", err)
	}
	return nil
}

// keepKey lays the key of a repository into the run's directory: one that the user gave, else the one that
// its address has, and in either case only the key with the fingerprint that a source names.
func (r *run) keepKey(ctx context.Context, s plan.Step) error {
	c := s.Changes.Repository
	switch _, err := r.journal.ReadFile(keyFile(s)); {
	case err == nil:
		return nil // of an earlier attempt
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	const hint = "get the vendor's public key over a way that you trust, and give it with --key FILE"
	candidates := r.order.Keys
	if len(candidates) == 0 {
		switch {
		case c.Fingerprint == "":
			return fault.New(fault.Stopped, keyUnknown, hint, "cannot trust %s: no source tells the fingerprint of its key", web.Public(c.URL))
		case c.KeyURL == "":
			return fault.New(fault.Stopped, keyUnknown, hint, "cannot trust %s: no source tells where its key %s is", web.Public(c.URL), c.Fingerprint)
		}
		data, err := web.New(keyFetch, r.env.transport).ReadAll(ctx, c.KeyURL, keyLimit)
		if err != nil {
			return fault.New(fault.Stopped, keyUnknown, hint, "cannot get the key of %s: %w", web.Public(c.URL), err)
		}
		candidates = []string{string(data)}
	}
	var problems []string
	for _, text := range candidates {
		armored, found, err := openpgpkey.Pick([]byte(text), c.Fingerprint, r.host.Now())
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if err := r.journal.WriteFile(keyFile(s), armored); err != nil {
			return err
		}
		if c.Fingerprint == "" {
			return r.note("the key of %s is %s, which --key names and no source tells", web.Public(c.URL), found)
		}
		return nil
	}
	said := strings.Join(problems, "; ")
	return fault.New(fault.Stopped, "key-wrong", keyHint(said, hint), "cannot trust the key of %s: %s", web.Public(c.URL), said)
}
