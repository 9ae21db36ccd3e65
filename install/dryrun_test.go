package install

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// unread is a package manager that has not read the list of any repository.
type unread struct{ *fakeManager }

func (unread) Available(context.Context, []string) (map[string]pkgmgr.Candidate, []string, error) {
	return map[string]pkgmgr.Candidate{}, nil, nil
}

// TestDryRunWithoutLists: a run reads the lists first, so a dry one does not take their absence for that of a package.
func TestDryRunWithoutLists(t *testing.T) {
	b := newBench(t)
	p := testPlan()
	env := b.env
	env.Manager = unread{b.m}
	var out bytes.Buffer
	rep, err := DryRun(context.Background(), env, p, nil, &out)
	if err != nil || rep.Verdict != VerdictDone || len(rep.Warnings) == 0 || rep.Warnings[len(rep.Warnings)-1].Code != "not-resolved" {
		t.Errorf("%v, %+v", err, rep)
	}
	if flat := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(flat, "the list of no repository has been read here; `install` reads them") {
		t.Errorf("%s", flat)
	}
	// Where a list is there and has no such package, a run would stop, and so does a dry one.
	p.Steps[0].Changes.Packages = []plan.PackageChange{{Name: "nowhere", Action: "install"}}
	if _, err := DryRun(context.Background(), b.env, p, nil, &out); fault.KindOf(err) != fault.Stopped {
		t.Errorf("a package that no repository has: %v", err)
	}
}

// TestDryRunRefusesSources: what a run would not take out of a packed source, a dry one does not either.
func TestDryRunRefusesSources(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	file, sum := packed(t, bundleFiles())
	b := vendorBench(t, key)
	p := bundlePlan(fingerprint, file, sum)
	var out bytes.Buffer
	if _, err := DryRun(context.Background(), b.env, p, nil, &out); err != nil {
		t.Fatalf("one whose repository is signed: %v", err)
	}
	p.Steps[0].Changes.Repository.Bundle.OwnIndex = true
	p.Steps[0].Changes.Repository.URL = p.Steps[0].Changes.Repository.Bundle.Place()
	_, dry := DryRun(context.Background(), b.env, p, nil, &out)
	_, real := Start(context.Background(), b.env, p, b.opts)
	var a, c *fault.Error
	if !errors.As(dry, &a) || !errors.As(real, &c) || a.Code != "source-not-proven" || a.Code != c.Code || a.Kind != c.Kind {
		t.Errorf("dry: %v; run: %v", dry, real)
	}
}
