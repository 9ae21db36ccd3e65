// Package install executes a plan as a journalled transaction, and takes it back.
//
// A run is: lock, preflight, stage, then the plan's steps. Nothing on the host changes before staging
// is complete. Before a step changes anything the journal holds what is needed to undo it, so that a
// run that died at any point is continued (Resume) or undone (Rollback), never guessed at. The steps
// run in a worker process of their own (a transient systemd unit, or a session of its own where
// there is no systemd), which a closed terminal does not reach; the front-end follows its journal.
package install

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/plan"
)

// Env is what every entry point is given.
type Env struct {
	Host host.Writer
	// Verify tests the host with traffic. Without it a verify step is skipped, which is said.
	Verify VerifyFunc
	// Manager is the package manager; nil is the one that the plan names, on Host.
	Manager pkgmgr.Manager
	// Paths are where the tool keeps its own files; zero is DefaultPaths.
	Paths Paths
	// Tool is the version of rdmactl, for the journal.
	Tool string
	// Image is what Host stands in, nil for the running host.
	Image *Image

	// transport is for the keys of repositories; nil is the network.
	transport http.RoundTripper
	// packager builds packages from a source; nil is package build.
	packager *packager
	// settle is how long a verification after a boot is tried again; 0 is settleLimit. Tests shorten it.
	settle time.Duration
	// hook is called before and after each journal entry; tests end the process there.
	hook func(when string, e journal.Entry)
}

// Paths are where the tool keeps its own files.
type Paths struct {
	State string // runs, journals, backups
	Log   string // directory of logs
	Lock  string // file
	// Inside is State as the programs of an image see it, and Shown is Log as people do. Empty on a host: as
	// this process does.
	Inside, Shown string
}

// DefaultPaths are those of a host.
func DefaultPaths() Paths {
	return Paths{State: "/var/lib/rdmactl", Log: "/var/log/rdmactl", Lock: "/run/rdmactl/lock"}
}

func (p Paths) orDefault() Paths {
	if p == (Paths{}) {
		return DefaultPaths()
	}
	return p
}

func (p Paths) store() journal.Store { return journal.Store{Dir: p.State} }

// logFile is the log of a run as it is named to people, logAt where this process finds it.
func (p Paths) logFile(id string) string {
	if p.Shown != "" {
		return filepath.Join(p.Shown, id+".log")
	}
	return p.logAt(id)
}

func (p Paths) logAt(id string) string { return filepath.Join(p.Log, id+".log") }

// inside is State as the host's own programs see it, runInside the directory of a run.
func (p Paths) inside() string {
	if p.Inside != "" {
		return p.Inside
	}
	return p.State
}

func (p Paths) runInside(id string) string { return journal.Store{Dir: p.inside()}.RunDir(id) }

// VerifyFunc tests, in seconds, whether the host works; how fast it is, is not a run's question.
type VerifyFunc func(ctx context.Context) (Outcome, error)

// Outcome is what a verification found.
type Outcome struct {
	Verdict string          // pass, warn, fail or not-testable
	Summary string          // one line
	Report  json.RawMessage // the whole report, kept as verify.json in the run's directory
}

// The verdicts of a verification.
const (
	verifyPass        = "pass"
	verifyWarn        = "warn"
	verifyFail        = "fail"
	verifyNotTestable = "not-testable"
)

// What to do when the verification at the end of a run fails.
const (
	VerifyAuto     = "auto"     // roll back if the host passed before, else keep
	VerifyRollback = "rollback" // roll back
	VerifyKeep     = "keep"     // keep
)

// Options are the user's choices for a run.
type Options struct {
	OnVerifyFailure string          // VerifyAuto if empty
	AllowRemove     []string        // packages that may go although the plan does not name them
	Request         json.RawMessage // what the user asked for; kept with the run
	LockWait        time.Duration   // for another package manager; 0 is two minutes
	// TrustSource takes a directory to build from without other proof than who owns it: root, this process's
	// user, or one of TrustUsers.
	TrustSource bool
	TrustUsers  []uint32
	Keys        []string // public keys of repositories that the user trusts, as they stand in files
	Offline     *Offline // install from a bundle that was unpacked on the host, and from nothing else
	// Fetched is the file of this machine that the source was fetched to for the plan, empty for none.
	Fetched string
	// ModuleKey signs the modules that DKMS builds; nil leaves the key to DKMS.
	ModuleKey  *ModuleKey
	Foreground bool     // run in this process
	Progress   Progress // nil is silent
}

// order is what a run keeps in request.json.
type order struct {
	OnVerifyFailure string          `json:"on_verify_failure"`
	AllowRemove     []string        `json:"allow_remove"`
	LockWaitSeconds float64         `json:"lock_wait_seconds"`
	Keys            []string        `json:"keys,omitempty"`
	TrustSource     bool            `json:"trust_source,omitempty"`
	TrustUsers      []uint32        `json:"trust_users,omitempty"`
	Fetched         string          `json:"fetched,omitempty"`
	Request         json.RawMessage `json:"request,omitempty"`
	Offline         *Offline        `json:"offline,omitempty"`
	ModuleKey       *ModuleKey      `json:"module_key,omitempty"`
}

const defaultLockWait = 2 * time.Minute

func (o Options) order() order {
	wait := o.LockWait
	if wait == 0 {
		wait = defaultLockWait
	}
	verify := o.OnVerifyFailure
	if verify == "" {
		verify = VerifyAuto
	}
	return order{OnVerifyFailure: verify, AllowRemove: o.AllowRemove, LockWaitSeconds: wait.Seconds(), Keys: o.Keys, TrustSource: o.TrustSource, TrustUsers: o.TrustUsers, Fetched: o.Fetched, Request: o.Request, Offline: o.Offline, ModuleKey: o.ModuleKey}
}

// manager is the host's package manager as the plan names it.
func (env Env) manager(w host.Writer, p plan.Plan, note func(string)) (pkgmgr.Manager, error) {
	if env.Manager != nil {
		return env.Manager, nil
	}
	return managerOf(p.Manager, w, note)
}

// isRoot says whether the host is changed as root.
func (env Env) isRoot() bool {
	if uid := env.Host.Told().UID; uid != nil {
		return *uid == 0
	}
	return os.Geteuid() == 0
}
