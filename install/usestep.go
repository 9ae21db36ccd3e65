package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/udev"
)

// useStep makes a build the host's default library and programs, or the distribution's again. It writes the
// loader's configuration, the PATH of who logs in and, where no rdma-core package has any, udev's rules with the
// units that they start; what runs already keeps what it has loaded.
type useStep struct {
	noUndo
	run *run
}

// files is the step with the files that the use comes to. An empty prefix is the distribution's stack.
func (x *useStep) files(s plan.Step) (plan.Step, error) {
	u := s.Changes.Use
	if u == nil {
		return s, fmt.Errorf("cannot execute step %s: it names nothing to use", s.ID)
	}
	out := s
	out.Changes = plan.Changes{}
	if u.Prefix == "" {
		for _, file := range []string{build.LoaderFile, build.ProfileFile} {
			out.Changes.Files = append(out.Changes.Files, plan.FileChange{Path: file, Action: "remove"})
		}
		return x.withoutOthers(out)
	}
	h, err := x.run.buildHost()
	if err != nil {
		return s, err
	}
	placed, err := build.Read(h, u.Prefix)
	if err != nil {
		return s, err
	}
	as := build.Activation{Library: true, Path: true}
	if u.Rules {
		as.Udev, as.Units = true, placed.Wanted()
	}
	if out.Changes.Files, err = placed.Activate(as); err != nil {
		return s, err
	}
	return x.withoutOthers(out)
}

// Where the rules and units of a build are to the host.
const (
	udevRules    = "/etc/udev/rules.d"
	systemdUnits = "/etc/systemd/system"
)

// withoutOthers is the step that also removes the rules and units of another build, which was in use before.
func (x *useStep) withoutOthers(s plan.Step) (plan.Step, error) {
	for _, dir := range []string{udevRules, systemdUnits} {
		names, err := x.run.host.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, fmt.Errorf("cannot look into %s: %w", dir, err)
		}
		for _, name := range names {
			file := dir + "/" + name
			if slices.ContainsFunc(s.Changes.Files, func(c plan.FileChange) bool { return c.Path == file }) {
				continue
			}
			info, err := x.run.host.Lstat(file)
			if err != nil {
				return s, fmt.Errorf("cannot look at %s: %w", file, err)
			}
			if !info.Mode.IsRegular() {
				continue
			}
			text, err := x.run.host.ReadFile(file)
			if err != nil {
				return s, fmt.Errorf("cannot read %s: %w", file, err)
			}
			if strings.HasPrefix(string(text), build.WrittenBy) {
				s.Changes.Files = append(s.Changes.Files, plan.FileChange{Path: file, Action: "remove"})
			}
		}
	}
	return s, nil
}

// tell has udev and systemd read what the step changed of theirs. Rules hold for devices that appear from now on.
func (x *useStep) tell(ctx context.Context, files []string) error {
	below := func(dir string) bool {
		return slices.ContainsFunc(files, func(file string) bool { return strings.HasPrefix(file, dir+"/") })
	}
	if up, err := x.run.systemd(); err != nil {
		return err
	} else if up && below(systemdUnits) {
		if err := (&servicesStep{run: x.run}).systemctl(ctx, "daemon-reload"); err != nil {
			return err
		}
	}
	if x.run.inImage() || !below(udevRules) {
		return nil
	}
	if err := udev.Reload(ctx, x.run.host); err != nil && !noUdevd(err) {
		return err
	}
	return nil
}

func (x *useStep) inner() *filesStep { return &filesStep{run: x.run} }

func (x *useStep) check(ctx context.Context, s plan.Step, changed bool) (bool, error) {
	inner, err := x.files(s)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // it is built by a step before this one
	}
	if err != nil {
		return false, err
	}
	already, err := x.inner().check(ctx, inner, changed)
	if err != nil || !already {
		return false, err
	}
	return x.serves(ctx, s)
}

// serves says whether the loader gives programs the library that is to be used.
func (x *useStep) serves(ctx context.Context, s plan.Step) (bool, error) {
	file, err := build.LoadedLibrary(ctx, x.run.host)
	if errors.Is(err, fs.ErrNotExist) {
		return s.Changes.Use.Prefix == "", nil
	}
	if err != nil {
		return false, err
	}
	ours := s.Changes.Use.Prefix != "" && strings.HasPrefix(file, s.Changes.Use.Prefix+"/")
	return ours == (s.Changes.Use.Prefix != ""), nil
}

func (x *useStep) prepare(ctx context.Context, s plan.Step) (any, error) {
	inner, err := x.files(s)
	if err != nil {
		return nil, err
	}
	return x.inner().prepare(ctx, inner)
}

func (x *useStep) do(ctx context.Context, s plan.Step, undo json.RawMessage) (any, string, error) {
	inner, err := x.files(s)
	if err != nil {
		return nil, "", err
	}
	if _, _, err := x.inner().do(ctx, inner, undo); err != nil {
		return nil, "", err
	}
	var files []string
	for _, c := range inner.Changes.Files {
		files = append(files, c.Path)
	}
	if err := errors.Join(x.ldconfig(ctx), x.tell(ctx, files)); err != nil {
		return nil, "", err
	}
	serves, err := x.serves(ctx, s)
	if err != nil {
		return nil, "", err
	}
	if !serves {
		file, err := build.LoadedLibrary(ctx, x.run.host)
		if errors.Is(err, fs.ErrNotExist) {
			file = "none"
		} else if err != nil {
			return nil, "", err
		}
		return nil, "", fault.New(fault.Failed, "library-not-used", "look which file of /etc/ld.so.conf.d names its directory", "cannot switch the default library: the loader still gives programs %s", file)
	}
	return nil, "", nil
}

// ldconfig has the loader read its configuration again.
func (x *useStep) ldconfig(ctx context.Context) error {
	res, err := x.run.host.Run(ctx, host.Command{Argv: []string{"ldconfig"}})
	if err != nil {
		return fmt.Errorf("cannot run ldconfig: %w", err)
	}
	if res.Exit != 0 {
		return fault.New(fault.Failed, "ldconfig-failed", "", "cannot make the loader's cache: ldconfig ended with %d: %s", res.Exit, lastLine(res.Stderr, res.Stdout))
	}
	return nil
}

func (x *useStep) beforeUndo(ctx context.Context, s plan.Step, rec record) (any, error) {
	return x.inner().beforeUndo(ctx, s, rec)
}

func (x *useStep) undo(ctx context.Context, s plan.Step, rec record) (undone, error) {
	out, err := x.inner().undo(ctx, s, rec)
	if err != nil {
		return out, err
	}
	var u filesUndo
	if err := decode(rec.undo, &u); err != nil {
		return out, err
	}
	var files []string
	for _, f := range u.Files {
		files = append(files, f.Before.Path)
	}
	return out, errors.Join(x.ldconfig(ctx), x.tell(ctx, files))
}
