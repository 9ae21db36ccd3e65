package install

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/openpgpkey"
	"github.com/rdmactl/rdmactl/internal/web"
	"github.com/rdmactl/rdmactl/plan"
)

// Gathered is what a package manager answered to a plan, and has downloaded.
type Gathered struct {
	Solution plan.Solution
	Notes    []string // repositories that were not reached, packages that are left out
}

// Gather downloads what a plan needs, with the questions that a run asks before it changes anything. pm stands
// for the host that the plan is for; only its downloads are changed. solved is told the answer before the
// download begins; it may be nil.
func Gather(ctx context.Context, pm pkgmgr.Manager, p plan.Plan, solved func(plan.Solution)) (Gathered, error) {
	out := Gathered{Solution: plan.Solution{Manager: pm.Name(), Actions: []plan.ResolvedPackage{}}}
	db, err := pm.Installed(ctx)
	if err != nil {
		return out, managerFault("cannot read the package database", err)
	}
	if !needsPackages(p, db) {
		return out, nil
	}
	warnings, err := pm.Refresh(ctx)
	if err != nil {
		return out, managerFault("cannot trust the repositories", err)
	}
	for _, w := range warnings {
		out.Notes = append(out.Notes, "repository: "+w)
	}
	requests, left, err := requestsOf(ctx, pm, p, db)
	if err != nil {
		return out, err
	}
	for _, reason := range left {
		out.Notes = append(out.Notes, reason.Text)
	}
	all := joint(p, requests)
	if out.Solution, err = pm.Solve(ctx, all); err != nil {
		return out, managerFault("cannot solve for the plan's packages", err)
	}
	if err := unannounced(p, out.Solution, nil); err != nil {
		return out, err
	}
	if err := ownRelease(ctx, pm, p, out.Solution); err != nil {
		return out, err
	}
	if solved != nil {
		solved(out.Solution)
	}
	if err := pm.Fetch(ctx, all); err != nil {
		return out, managerFault("cannot download the packages", err)
	}
	return out, nil
}

// RepositoriesOf are the repositories that a plan adds, each with the one key that its source's facts name: of
// keys, the texts that a person gave, or from the vendor's address where none was given.
func RepositoriesOf(ctx context.Context, p plan.Plan, keys []string, now time.Time) ([]pkgmgr.Repository, error) {
	var out []pkgmgr.Repository
	for _, s := range p.Steps {
		c := s.Changes.Repository
		if s.Kind != plan.KindRepository || c == nil {
			continue
		}
		if c.Bundle != nil {
			return nil, fmt.Errorf("cannot take packages from %s: it is packed", web.Public(c.Origin()))
		}
		const hint = "get the vendor's public key over a way that you trust, and give it with --key FILE"
		candidates := keys
		if len(candidates) == 0 {
			if c.Fingerprint == "" || c.KeyURL == "" {
				return nil, fault.New(fault.Stopped, keyUnknown, hint, "cannot trust %s: no source tells its key", web.Public(c.URL))
			}
			data, err := web.New(keyFetch, nil).ReadAll(ctx, c.KeyURL, keyLimit)
			if err != nil {
				return nil, fault.New(fault.Stopped, keyUnknown, hint, "cannot get the key of %s: %w", web.Public(c.URL), err)
			}
			candidates = []string{string(data)}
		}
		var problems []string
		var key []byte
		for _, text := range candidates {
			armored, _, err := openpgpkey.Pick([]byte(text), c.Fingerprint, now)
			if err == nil {
				key = armored
				break
			}
			problems = append(problems, err.Error())
		}
		if key == nil {
			return nil, fault.New(fault.Stopped, "key-wrong", hint, "cannot trust the key of %s: %s", web.Public(c.URL), strings.Join(problems, "; "))
		}
		address := c.URL
		if strings.HasPrefix(address, "/") {
			address = "file:" + address
		}
		out = append(out, pkgmgr.Repository{
			ID: c.ID(), Name: fmt.Sprintf("rdmactl: %s", s.Summary), URL: address, Key: key, Fingerprint: c.Fingerprint, SignedIndex: c.SignedIndex,
		})
	}
	return out, nil
}
