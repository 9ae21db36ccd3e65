package rpm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/plan"
)

// unfinishedFile has the transaction that is under way. rpm writes a package's entry after its files:
// when a transaction is killed in between, the database does not show that files were replaced.
const unfinishedFile = "/var/lib/rdmactl/rpm-transaction.json"

// Unfinished is a transaction that was started: Request or Undo is there.
type Unfinished struct {
	Request *pkgmgr.Request `json:"request,omitempty"`
	Undo    *pkgmgr.Undo    `json:"undo,omitempty"`
	// Comes are the packages that the transaction brings, with the file of each that is put back.
	Comes []pkgmgr.OldPackage `json:"comes"`
	// Packages are the files of those that a request brings. A manager may remove them one by one.
	Packages []string `json:"packages,omitempty"`
	// Staged is the directory of the staged repositories that it installs from, if any.
	Staged string `json:"staged,omitempty"`
}

// ComesOf are the packages that a solved request brings.
func ComesOf(actions []plan.ResolvedPackage) []pkgmgr.OldPackage {
	out := []pkgmgr.OldPackage{}
	for _, a := range actions {
		if a.Action == "remove" {
			continue
		}
		p := pkgmgr.Package{Name: a.Name, Arch: a.Arch, Version: a.Version, Status: pkgmgr.Installed}
		if base, ok := strings.CutSuffix(a.Name, "-"+WithoutEpoch(a.Version)); ok {
			p.Base = base
		}
		out = append(out, pkgmgr.OldPackage{Package: p})
	}
	return out
}

// During notes a transaction, runs it, and takes the note away when it came to its own end, good or
// bad. What is killed, or killed us, leaves the note.
func (t Tool) During(u Unfinished, transaction func() (ended bool, err error)) error {
	text, err := json.Marshal(u)
	if err != nil {
		return fmt.Errorf("cannot note the transaction: %w", err)
	}
	if err := t.Writer.MkdirAll(path.Dir(unfinishedFile), 0o700); err != nil {
		return fmt.Errorf("cannot make %s: %w", path.Dir(unfinishedFile), err)
	}
	if err := t.Writer.WriteFile(unfinishedFile, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("cannot note the transaction in %s: %w", unfinishedFile, err)
	}
	ended, err := transaction()
	if !ended {
		return err
	}
	return errors.Join(err, t.Drop([]string{unfinishedFile}))
}

// Pending returns the transaction that was cut short, nil if none was.
func (t Tool) Pending() (*Unfinished, error) {
	text, err := t.Host.ReadFile(unfinishedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", unfinishedFile, err)
	}
	info, err := t.Host.Lstat(unfinishedFile)
	if err != nil {
		return nil, fmt.Errorf("cannot look at %s: %w", unfinishedFile, err)
	}
	if info.UID != 0 || !info.Mode.IsRegular() || info.Mode.Perm()&0o022 != 0 {
		return nil, fmt.Errorf("cannot use %s: others than root may write it", unfinishedFile)
	}
	var u Unfinished
	if err := json.Unmarshal(text, &u); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", unfinishedFile, err)
	}
	if u.Request == nil && u.Undo == nil {
		return nil, fmt.Errorf("cannot read %s: it names no transaction", unfinishedFile)
	}
	return &u, nil
}

// Healthy returns an error that says what is broken in the rpm database, or what transaction was cut
// short.
func (t Tool) Healthy(ctx context.Context) error {
	res, err := t.Query(ctx, "", "rpm", "--verifydb")
	if err != nil {
		return err
	}
	if res.Exit != 0 {
		return fmt.Errorf("the rpm database is damaged: %s", strings.Join(ErrorLines(res.Stderr, res.Stdout), "; "))
	}
	pending, err := t.Pending()
	if err != nil {
		return err
	}
	if pending != nil {
		return errors.New("a transaction of rpm packages was interrupted")
	}
	older, err := t.Duplicates(ctx)
	if err != nil {
		return err
	}
	if len(older) > 0 {
		return fmt.Errorf("a transaction of rpm packages was interrupted, which left older versions beside newer ones: %s", strings.Join(older, ", "))
	}
	return nil
}

// Mender is what a manager brings to a repair.
type Mender interface {
	Apply(ctx context.Context, req pkgmgr.Request) error
	Undo(ctx context.Context, undo pkgmgr.Undo) error
	// Again installs packages once more that are installed already.
	Again(ctx context.Context, packages []pkgmgr.OldPackage) error
	// AgainLast says that Again is for after the transaction: before it, the manager finds what was not replaced
	// yet in the way.
	AgainLast() bool
}

// Repair rebuilds a damaged database, has the transaction that was cut short carried to its end, and
// erases what it left of older versions. What had come before it was cut is installed once more: its
// scripts may not have run, which no database tells.
func (t Tool) Repair(ctx context.Context, m Mender) (string, error) {
	fault := t.Healthy(ctx)
	if fault == nil {
		return "", nil
	}
	fail := func(err error) (string, error) { return "", errors.Join(fault, err) }
	done := []string{}
	res, err := t.Query(ctx, "", "rpm", "--verifydb")
	if err != nil {
		return fail(err)
	}
	if res.Exit != 0 {
		if _, err := t.Run(ctx, "", "rpm", "--rebuilddb"); err != nil {
			return fail(err)
		}
		done = append(done, "rpm --rebuilddb rebuilt the database")
	}
	pending, err := t.Pending()
	if err != nil {
		return fail(err)
	}
	if pending != nil {
		// First of all: a package's script runs ldconfig, which makes links to half-written libraries too, as their
		// names are higher.
		if err := t.sweep(ctx, *pending); err != nil {
			return fail(err)
		}
	}
	// To erase the older version is what was left to do, with the scripts that an upgrade runs for it.
	// Before the rest, as the solver may find the rest impossible with two of one package.
	gone, refused := t.eraseOlder(ctx)
	if refused != nil && pending == nil {
		return fail(refused)
	}
	done = append(done, gone...)
	if pending != nil {
		if err := t.carryOn(ctx, *pending, m); err != nil {
			return fail(errors.Join(refused, err))
		}
		done = append(done, "the transaction was carried to its end")
	}
	if refused != nil {
		// It was needed by what had not been replaced yet.
		if gone, err = t.eraseOlder(ctx); err != nil {
			return fail(err)
		}
		done = append(done, gone...)
	}
	if err := t.Healthy(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("%v; %s", fault, strings.Join(done, "; ")), nil
}

func (t Tool) eraseOlder(ctx context.Context) ([]string, error) {
	older, err := t.Duplicates(ctx)
	if err != nil || len(older) == 0 {
		return nil, err
	}
	if _, err := t.Run(ctx, "", append([]string{"rpm", "-e"}, older...)...); err != nil {
		return nil, err
	}
	return []string{"erased " + strings.Join(older, ", ")}, nil
}

func (t Tool) carryOn(ctx context.Context, u Unfinished, m Mender) error {
	db, err := t.Installed(ctx)
	if err != nil {
		return err
	}
	again := []pkgmgr.OldPackage{}
	for _, p := range u.Comes {
		if now := db[p.Key()]; now.Version == p.Version {
			again = append(again, p)
		}
	}
	if len(again) > 0 && !m.AgainLast() {
		if err := m.Again(ctx, again); err != nil {
			return err
		}
	}
	if u.Request != nil {
		err = m.Apply(ctx, *u.Request)
	} else {
		err = m.Undo(ctx, *u.Undo)
	}
	if err != nil {
		return err
	}
	if len(again) > 0 && m.AgainLast() {
		// The transaction has come to its end, its repair has not.
		err := t.During(u, func() (bool, error) { err := m.Again(ctx, again); return err == nil, err })
		if err != nil {
			return err
		}
	}
	if err := t.sweep(ctx, u); err != nil {
		return err
	}
	return t.Drop([]string{unfinishedFile}) // when nothing was left to do, nothing else took it away
}
