package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/plan"
)

// An image is never activated; that its default library stays is another wish, and is only there when typed.
func TestImageIsAsideWhenAsked(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "lib/modules/6.1.0-9-amd64"), 0o755); err != nil {
		t.Fatal(err)
	}
	im, err := install.OpenImage(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer im.Close()
	for typed, aside := range map[string]bool{"": false, plan.ActivateAuto: false, plan.ActivateNone: true} {
		o := wishOptions{activate: typed}
		if _, err := o.forImage(im, "6.1.0-9-amd64"); err != nil {
			t.Fatalf("%q: %v", typed, err)
		}
		if req := o.request(host.Told{}, ""); req.Aside != aside || req.Activate != plan.ActivateNone {
			t.Errorf("%q: aside %v, activation %s", typed, req.Aside, req.Activate)
		}
	}
	for _, typed := range []string{plan.ActivateLive, plan.ActivateReboot} {
		o := wishOptions{activate: typed}
		if _, err := o.forImage(im, "6.1.0-9-amd64"); err == nil {
			t.Errorf("--activate %s is taken", typed)
		}
	}
}

func TestCommandsNameTheImage(t *testing.T) {
	im := &target{root: "/srv/im"}
	for text, want := range map[string]string{
		"`rdmactl history` lists the runs":                                      "`rdmactl history --root /srv/im` lists the runs",
		"`rdmactl install --resume` continues it, `rdmactl rollback` undoes it": "`rdmactl install --root /srv/im --resume` continues it, `rdmactl rollback --root /srv/im` undoes it",
		"`rdmactl explain container`":                                           "`rdmactl explain container`",
		"add --yes":                                                             "add --yes",
		"add a repository, then run `apt-get update`":                           "add a repository, then run `chroot /srv/im apt-get update`",
		"`sudo dpkg --configure -a` mends it":                                   "`sudo chroot /srv/im dpkg --configure -a` mends it",
		"dpkg is interrupted":                                                   "dpkg is interrupted",
	} {
		if got := im.commands(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
		if got := (&target{}).commands(text); got != text {
			t.Errorf("without an image %q became %q", text, got)
		}
	}
}
