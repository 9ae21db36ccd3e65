package main

import (
	"context"
	"errors"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/spf13/pflag"
)

// target is what install, rollback and history work on: this host, or an image.
type target struct {
	root    string // as it was typed, empty for this host
	image   *install.Image
	kernel  string // of the image, as it was named
	settled string // of the image, named or the only one
}

func addRootFlag(f *pflag.FlagSet, root *string) {
	f.StringVar(root, "root", "", "work on the image below `DIR`, a root file system that does not run, instead of this host")
}

// openTarget opens the image of --root, if one is named.
func openTarget(root string) (*target, error) {
	t := &target{root: root}
	if root == "" {
		return t, nil
	}
	im, err := install.OpenImage(root)
	if err != nil {
		return t, err
	}
	t.image = im
	return t, im.OpenRuns()
}

func (t *target) close() {
	if t.image != nil {
		_ = t.image.Close() // directories that were only read
	}
}

// env is what install works with. Of an image nothing can be verified: its devices are not here.
func (t *target) env() install.Env {
	if t.image == nil {
		return newEnv(host.NewLive())
	}
	return imageEnv(t.image)
}

func imageEnv(im *install.Image) install.Env {
	return install.Env{Host: im.Host(), Paths: im.Paths(), Tool: version, Image: im}
}

// dryEnv is env for a run that changes nothing.
func (t *target) dryEnv() install.Env {
	if t.image == nil {
		return newEnv(host.NewDryRun(host.NewLive()))
	}
	env := imageEnv(t.image)
	env.Host = host.NewDryRun(t.image.Host())
	return env
}

// source is the target with its facts.
func (t *target) source(ctx context.Context, g *globalOptions) (source, error) {
	if t.image == nil {
		return (&sourceOptions{}).here(ctx, g)
	}
	return (&sourceOptions{kernel: t.kernel}).detect(ctx, "", g.verbosely(t.image.Host())), nil
}

// settle checks what is asked for against what an image can have, and settles its kernel.
func (t *target) settle(wish *wishOptions, kernel string) error {
	if t.image == nil {
		if kernel != "" {
			return fault.New(fault.Usage, "usage", "boot that kernel, then install; with --root it is the image's kernel",
				"cannot install for another kernel than the running one: --kernel needs --root")
		}
		return nil
	}
	t.kernel = kernel
	var err error
	t.settled, err = wish.forImage(t.image, kernel)
	return err
}

// planImage checks what is asked of the image that plan reads.
func (o *wishOptions) planImage(root, kernel string) error {
	im, err := install.OpenImage(root)
	if err != nil {
		return err
	}
	_, err = o.forImage(im, kernel)
	return errors.Join(err, im.Close())
}

// forImage settles the activation, since what an image has comes into use when it boots, and the kernel that it
// will run.
func (o *wishOptions) forImage(im *install.Image, kernel string) (string, error) {
	if err := o.activatable(); err != nil {
		return "", err
	}
	o.aside = o.activate == plan.ActivateNone
	o.activate = plan.ActivateNone
	return im.Kernel(kernel)
}

// forSavedImage settles the same for an image in a file, one of several hosts perhaps.
func (o *wishOptions) forSavedImage(s source, req *plan.Request) error {
	if err := o.activatable(); err != nil {
		return err
	}
	req.Aside, req.Activate = o.activate == plan.ActivateNone, plan.ActivateNone
	_, err := install.ChooseKernel(s.hostName(), s.facts.Kernel.Installed.Or(nil), req.Kernel)
	return err
}

// activatable refuses to bring into use what does not run.
func (o *wishOptions) activatable() error {
	switch o.activate {
	case "", plan.ActivateAuto, plan.ActivateNone:
		return nil
	}
	return fault.New(fault.Usage, "usage", "leave --activate away: an image comes into use when it boots",
		"cannot activate what is installed in an image: --activate %s was given", o.activate)
}

// shown adds the image to a report.
func (t *target) shown(r install.RunReport) install.RunReport {
	if r.Schema != "" {
		r.Root = t.root
	}
	return r
}

// said adds the image to what an error tells to type next.
func (t *target) said(err error) error {
	if t.image == nil || err == nil || errors.As(err, &exitError{}) {
		return err
	}
	again := fault.Error{Kind: fault.Failed, Code: "failed", Err: err}
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		again = *f
	}
	again.Msg, again.Hint = t.image.Said(err.Error()), t.commands(again.Hint)
	return &again
}

// commands has what a text tells to type be about the image.
func (t *target) commands(text string) string {
	if t.root == "" {
		return text
	}
	return plan.InImage(text, t.root)
}
