package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/openpgpkey"
	"github.com/rdmactl/rdmactl/plan"
)

// buildStep compiles rdma-core into a directory of its own. All of the work is done beside; only a whole
// build is moved to its place.
type buildStep struct {
	noUndo
	run *run
}

type buildUndo struct {
	Dirs []string `json:"dirs,omitempty"` // above the prefix that the step makes, outermost first
}

type buildLeft struct {
	Digest string `json:"digest"`
	Source string `json:"source_sha256"`
}

// buildHost is the host as a build needs it: its commands are logged as all others are.
type buildHost struct {
	host.Writer
	host.DirOpener
}

func (r *run) buildHost() (build.Host, error) {
	opener, ok := r.env.Host.(host.DirOpener)
	if !ok {
		return nil, errors.New("cannot build on this kind of host")
	}
	return buildHost{r.host, opener}, nil
}

// request is the step in the words of package build.
func (x *buildStep) request(s plan.Step) (build.Request, error) {
	b := s.Changes.Build
	if b == nil {
		return build.Request{}, fmt.Errorf("cannot execute step %s: it names nothing to build", s.ID)
	}
	req := build.Request{
		Version: b.Version, Prefix: b.Prefix, Options: b.Options, Providers: b.Providers,
		Source: build.Source{
			Location: b.Source, SHA256: b.SHA256, Signature: b.Signature,
			TrustDirectory: x.run.order.TrustSource, TrustUsers: x.run.order.TrustUsers,
		},
		Transport: x.run.env.transport,
	}
	if b.Signature == "" && !strings.HasSuffix(b.Source, ".dsc") {
		return req, nil
	}
	for _, text := range x.run.order.Keys {
		list, err := openpgpkey.Read([]byte(text))
		if err != nil {
			return req, fault.New(fault.Stopped, "key-wrong", "name a file with the public key of who signs the source", "cannot use a key of --key: %w", err)
		}
		req.Source.Keyrings = append(req.Source.Keyrings, []byte(text))
		for _, e := range list {
			req.Source.Fingerprints = append(req.Source.Fingerprints, openpgpkey.Fingerprint(e))
		}
	}
	return req, nil
}

// ready says before anything changes what would stop the build: no source, nothing that proves it, or a
// directory in its place that is someone else's.
func (x *buildStep) ready(ctx context.Context, s plan.Step) error {
	if err := x.sourceProven(s); err != nil {
		return err
	}
	req, err := x.request(s)
	if err != nil {
		return err
	}
	h, err := x.run.buildHost()
	if err != nil {
		return err
	}
	state, err := build.Inspect(h, req.Prefix)
	if err != nil {
		return err
	}
	if state.Exists && state.Manifest == nil {
		return fault.New(fault.Stopped, "prefix-taken", "move it away, or name another prefix in a profile of your own",
			"cannot build into %s: it is there already, and not by rdmactl", req.Prefix)
	}
	return build.Prove(ctx, h, req)
}

// forgetBuilds removes what was gathered for builds, where the run ends before them.
func (r *run) forgetBuilds() error {
	for _, s := range r.plan.Steps {
		if s.Kind != plan.KindBuild || s.Changes.Build == nil || s.Changes.Build.Packages != "" {
			continue
		}
		req, err := (&buildStep{run: r}).request(s)
		if err != nil || req.Source.Location == "" {
			return err
		}
		h, err := r.buildHost()
		if err != nil {
			return err
		}
		if err := build.Forget(h, req); err != nil {
			return err
		}
	}
	return nil
}

// sourceProven stops a build without a source, and one whose source nothing proves.
func (x *buildStep) sourceProven(s plan.Step) error {
	req, err := x.request(s)
	if err != nil {
		return err
	}
	const hint = "give the source with --source (a tarball, a .dsc, a directory or an address) and --sha256, or --signature and --key"
	if err := sourceNamed(*s.Changes.Build); err != nil {
		return err
	}
	switch {
	case req.Source.SHA256 == "" && req.Source.Signature == "" && len(req.Source.Keyrings) == 0 && !req.Source.TrustDirectory:
		return fault.New(fault.Stopped, "source-not-verified", hint+"; a directory of your own is taken with --trust-source",
			"cannot build from %s: nothing proves that it is what it is taken for", req.Source.Location)
	}
	return nil
}

// sourceNamed stops a build of which nobody says what it is built from.
func sourceNamed(b plan.BuildChange) error {
	if b.Source != "" {
		return nil
	}
	return fault.New(fault.Stopped, "no-source", "fetch "+upstreamAddress(b.Version)+", compare its SHA-256 with the one in a source package of a distribution that you trust (Checksums-Sha256 of its .dsc), "+
		"and give the file with --source and --sha256; or that .dsc itself with --key",
		"cannot build %s: no source is named, and nothing that rdmactl knows proves upstream's archive", b.Version)
}

func (x *buildStep) check(_ context.Context, s plan.Step, _ bool) (bool, error) {
	req, err := x.request(s)
	if err != nil {
		return false, err
	}
	h, err := x.run.buildHost()
	if err != nil {
		return false, err
	}
	state, err := build.Inspect(h, req.Prefix)
	if err != nil {
		return false, err
	}
	return state.Intact() && state.Manifest.Version == req.Version && slices.Equal(state.Manifest.Options, req.Options), nil
}

func (x *buildStep) prepare(_ context.Context, s plan.Step) (any, error) {
	if s.Changes.Build == nil {
		return nil, fmt.Errorf("cannot execute step %s: it names nothing to build", s.ID)
	}
	dirs, err := missingDirs(x.run.host, path.Dir(s.Changes.Build.Prefix))
	return buildUndo{Dirs: dirs}, err
}

func (x *buildStep) do(ctx context.Context, s plan.Step, _ json.RawMessage) (any, string, error) {
	req, err := x.request(s)
	if err != nil {
		return nil, "", err
	}
	h, err := x.run.buildHost()
	if err != nil {
		return nil, "", err
	}
	built, err := build.Make(ctx, h, req)
	if err != nil {
		return nil, "", err
	}
	if err := build.Place(ctx, h, built); err != nil {
		return nil, "", err
	}
	if err := build.Clean(h, built); err != nil {
		return nil, "", err
	}
	m := built.Manifest
	return buildLeft{m.Digest, m.Source.SHA256}, fmt.Sprintf("%s %s in %s, private ABI %d, providers %s",
		m.Stack, m.Version, m.Prefix, m.PrivateABI, strings.Join(m.Providers(), ", ")), nil
}

func (x *buildStep) undo(_ context.Context, s plan.Step, rec record) (undone, error) {
	var u buildUndo
	if err := decode(rec.undo, &u); err != nil {
		return undone{}, err
	}
	h, err := x.run.buildHost()
	if err != nil {
		return undone{}, err
	}
	removed, err := build.Remove(h, s.Changes.Build.Prefix, u.Dirs)
	if err != nil {
		return undone{}, err
	}
	out := undone{kept: removed.Kept}
	if len(removed.Kept) > 0 {
		out.notes = append(out.notes, fmt.Sprintf("%s has files that were changed or added since, and is kept with them", s.Changes.Build.Prefix))
	}
	return out, nil
}

// upstreamAddress is where upstream puts the archive of a release. It has the manual pages ready-made, which the
// archives that the site makes of a tag have not; no checksum or signature is beside it.
func upstreamAddress(version string) string {
	return "https://github.com/linux-rdma/rdma-core/releases/download/v" + version + "/rdma-core-" + version + ".tar.gz"
}
