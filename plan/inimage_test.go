package plan_test

import (
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
)

// TestWaysOutOfAnImage: what mends a host is typed on it, what mends an image is run in it: typed as it stands it would
// change the build host.
func TestWaysOutOfAnImage(t *testing.T) {
	image := func(f *facts.Facts) { f.Origin = "root"; f.Kernel.Running = false }
	held := func(f *facts.Facts) { f.Packages.Held = facts.Is([]string{"rdma-core"}, "/var/lib/dpkg/status") }
	for _, c := range []struct {
		name string
		host facts.Facts
		req  plan.Request
		want string
	}{
		{"a host", bookworm(halfConfigured), plan.Request{}, "sudo dpkg --configure -a"},
		{"an image", bookworm(halfConfigured, image), plan.Request{Root: "/srv/im", Activate: plan.ActivateNone}, "sudo chroot /srv/im dpkg --configure -a"},
		{"an image in evidence", bookworm(halfConfigured, image), plan.Request{Activate: plan.ActivateNone}, "sudo chroot DIR dpkg --configure -a"},
		{"a strange name", bookworm(halfConfigured, image), plan.Request{Root: "/srv/my im", Activate: plan.ActivateNone}, "sudo chroot '/srv/my im' dpkg --configure -a"},
		{"a hold", bookworm(held), plan.Request{}, "apt-mark showhold"},
		{"a hold in an image", bookworm(held, image), plan.Request{Root: "/srv/im", Activate: plan.ActivateNone}, "chroot /srv/im apt-mark showhold"},
	} {
		p := makePlan(t, c.host, "inbox", c.req)
		if p.Verdict != plan.Refuse || len(p.Next) == 0 || p.Next[0].Command != c.want {
			t.Errorf("%s: %s %+v", c.name, p.Verdict, p.Next)
		}
	}
	p := makePlan(t, bookworm(image), "lts", plan.Request{Root: "/srv/im", Kernel: "6.1.0-57-amd64", Activate: plan.ActivateNone})
	if p.Verdict != plan.Refuse || len(p.Next) == 0 || !strings.HasPrefix(p.Next[0].Command, "rdmactl plan --root /srv/im --kernel 6.1.0-57-amd64 --") {
		t.Errorf("without a card: %s %+v", p.Verdict, p.Next)
	}
}

// TestSignedWith: a plan whose modules are signed with a key that was given does not advise to give one.
func TestSignedWith(t *testing.T) {
	advice := plan.Plan{Warnings: []plan.Reason{
		{Code: string(plan.ImageModuleKey), Text: "DKMS makes a key; `rdmactl install --module-key KEY --module-cert CERT` signs with a key that they have"},
		{Code: "mok-enrolment", Text: "Secure Boot is on, and DKMS signs the modules with a key of this host: it must be enrolled"},
		{Code: "end-of-support", Text: "stays"},
	}}
	p := plan.SignedWith(advice)
	if strings.Contains(p.Warnings[0].Text, "install --module-key") || !strings.Contains(p.Warnings[0].Text, "--module-key names") {
		t.Errorf("%s", p.Warnings[0].Text)
	}
	if !strings.HasPrefix(p.Warnings[1].Text, "Secure Boot is on, and the modules are signed with the key that --module-key names") {
		t.Errorf("%s", p.Warnings[1].Text)
	}
	if p.Warnings[2].Text != "stays" || !strings.Contains(advice.Warnings[0].Text, "install --module-key") {
		t.Errorf("%+v, of %+v", p.Warnings, advice.Warnings)
	}
}
