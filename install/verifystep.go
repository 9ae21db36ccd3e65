package install

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// verifyStep tests the host at the end of a run and decides what a failure means for it.
type verifyStep struct {
	noUndo
	run *run
}

func (x *verifyStep) check(_ context.Context, _ plan.Step, changed bool) (bool, error) {
	return !changed, nil
}

func (x *verifyStep) prepare(context.Context, plan.Step) (any, error) { return nil, nil }

func (x *verifyStep) do(ctx context.Context, _ plan.Step, _ json.RawMessage) (any, string, error) {
	if x.run.env.Verify == nil {
		return nil, "not verified: this build has no verifier", nil
	}
	out, err := x.run.env.Verify(ctx)
	if err != nil {
		// The verification itself could not run: that says nothing about the host.
		out = Outcome{Verdict: verifyNotTestable, Summary: err.Error()}
	}
	x.run.verify = out.Verdict
	if len(out.Report) > 0 {
		if err := x.run.journal.WriteFile("verify.json", out.Report); err != nil {
			return nil, "", err
		}
	}
	if out.Verdict != verifyFail {
		return nil, out.Verdict + ": " + strings.TrimPrefix(out.Summary, out.Verdict+": "), nil
	}
	reason := strings.TrimPrefix(out.Summary, out.Verdict+": ") // a summary may begin with the verdict
	policy := x.run.order.OnVerifyFailure
	if policy == VerifyAuto {
		policy = VerifyKeep
		if x.run.baseline == verifyPass || x.run.baseline == verifyWarn {
			policy = VerifyRollback
		}
	}
	if policy == VerifyRollback {
		return nil, "", fault.New(fault.Unhealthy, "verify-failed", "`rdmactl verify` shows each check",
			"cannot keep the new stack: the verification failed: %s", reason)
	}
	return nil, "fail, and the new stack is kept: " + reason, nil
}

func (x *verifyStep) undo(context.Context, plan.Step, record) (undone, error) { return undone{}, nil }
