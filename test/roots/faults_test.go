package roots

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/dnf"
	"github.com/rdmactl/rdmactl/install/pkgmgr/zypper"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// rpmKind is one of the two managers of rpm packages.
type rpmKind struct {
	name, pose, dir string
	lines           []string
	make            func(host.Writer) pkgmgr.Manager
}

func rpmKinds() []rpmKind {
	return []rpmKind{
		{"dnf", "rocky", "/etc/yum.repos.d", nil, func(w host.Writer) pkgmgr.Manager { return dnf.New(w) }},
		{"zypper", "leap", "/etc/zypp/repos.d", []string{"type=rpm-md", "autorefresh=0"}, func(w host.Writer) pkgmgr.Manager { return zypper.New(w) }},
	}
}

// TestFaultyIndex: what cannot be trusted stops, what cannot be reached is a warning.
func TestFaultyIndex(t *testing.T) {
	for _, kind := range rpmKinds() {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			r := rpmRoot(t, kind.pose)
			m := kind.make(r)
			for _, one := range []struct {
				repo    string
				trusted bool
			}{
				{repoBadSignature, false},
				{repoNoSignature, false},
				{repoOtherIndex, false},
				{repoBadChecksum, false},
				{repoExpiredKey, false},
				{"nowhere", true},
				{repoGood, true},
			} {
				r.configure(kind.dir, one.repo, kind.lines...)
				if one.repo == repoExpiredKey {
					// The key itself is the one that is configured and trusted; only its time is over.
					key := readFile(t, filepath.Join(r.repo, "expired.asc"))
					r.Put("/etc/pki/rpm-gpg/RPM-GPG-KEY-expired", key)
					r.Put(kind.dir+"/"+one.repo+".repo", strings.Replace(r.Text(kind.dir+"/"+one.repo+".repo"), "KEY-test", "KEY-expired", 1))
					r.must("rpmkeys", "--import", "/etc/pki/rpm-gpg/RPM-GPG-KEY-expired")
				}
				warnings, err := m.Refresh(context.Background())
				var sig *pkgmgr.SignatureError
				switch {
				case one.trusted && err != nil:
					t.Errorf("%s: %v", one.repo, err)
				case !one.trusted && !errors.As(err, &sig):
					t.Errorf("%s is trusted: %v, %v", one.repo, warnings, err)
				case one.repo == "nowhere" && (len(warnings) != 1 || !strings.Contains(warnings[0], "nowhere")):
					t.Errorf("%s: warnings %q", one.repo, warnings)
				case one.repo == repoGood && len(warnings) != 0:
					t.Errorf("%s: warnings %q", one.repo, warnings)
				}
				t.Logf("%s: %v, %v", one.repo, warnings, err)
				r.must("rm", kind.dir+"/"+one.repo+".repo")
			}
		})
	}
}

// TestFaultyPackage: nothing that is not signed by a trusted key gets through Fetch, whatever the
// repository's configuration says, and nothing changes.
func TestFaultyPackage(t *testing.T) {
	for _, kind := range rpmKinds() {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			r := rpmRoot(t, kind.pose)
			for _, repo := range []string{repoUnsigned, repoOtherKey, repoTampered, repoGood} {
				s := subject{Root: r, m: kind.make(r), release: "-1"}
				r.configure(kind.dir, repo, kind.lines...)
				if repo == repoUnsigned {
					r.Put(kind.dir+"/"+repo+".repo", strings.Replace(r.Text(kind.dir+"/"+repo+".repo"), "\ngpgcheck=1", "\ngpgcheck=0", 1))
				}
				if warnings, err := s.m.Refresh(ctx); err != nil || len(warnings) > 0 {
					t.Fatalf("refresh %s: %v, %v", repo, warnings, err)
				}
				before, tree := s.db(), r.Tree()
				req := s.want("alpha=1.0")
				err := s.m.Fetch(ctx, req)
				var sig *pkgmgr.SignatureError
				if repo == repoGood {
					if err != nil {
						t.Errorf("%s: %v", repo, err)
					}
				} else if !errors.As(err, &sig) {
					t.Errorf("%s: %v", repo, err)
				}
				t.Logf("%s: %v", repo, err)
				if diff := cmp.Diff(before, s.db()); diff != "" {
					t.Errorf("%s changed the database:\n%s", repo, diff)
				}
				r.must("rm", kind.dir+"/"+repo+".repo")
				if diff := cmp.Diff(tree, r.Tree()); !strings.Contains(diff, repo+".repo") {
					t.Errorf("%s changed files:\n%s", repo, diff)
				}
			}
		})
	}
}

// TestRepositoryGone: what was not staged before the repository went cannot be applied; what was, can.
func TestRepositoryGone(t *testing.T) {
	managers(t, func(t *testing.T, s subject) {
		ctx := context.Background()
		isPackage := func(r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, ".rpm") || strings.HasSuffix(r.URL.Path, ".deb")
		}
		before := s.db()
		s.Lose(func(r *http.Request) bool { return isPackage(r) && strings.Contains(r.URL.Path, "beta") })
		req := s.want("alpha=1.0")
		if err := s.m.Fetch(ctx, req); err == nil {
			t.Error("half of the packages are enough")
		}
		s.Lose(isPackage)
		if err := s.m.Apply(ctx, req); err == nil {
			t.Error("applied what was not staged")
		}
		if diff := cmp.Diff(before, s.db()); diff != "" {
			t.Errorf("the database changed:\n%s", diff)
		}
		s.Lose(nil)
		if err := s.m.Fetch(ctx, req); err != nil {
			t.Fatal(err)
		}
		s.Lose(func(*http.Request) bool { return true })
		if err := s.m.Apply(ctx, req); err != nil {
			t.Errorf("what was staged cannot be applied: %v", err)
		}
		if !s.db().Has("alpha") {
			t.Error("alpha is not installed")
		}
	})
}

// TestFailingScript: the error carries the words of the package manager, and an undo leads back.
func TestFailingScript(t *testing.T) {
	managers(t, func(t *testing.T, s subject) {
		ctx := context.Background()
		names := []string{"badpost"}
		if s.release != "" {
			names = append(names, "badpre")
		}
		for _, name := range names {
			before, tree := s.db(), s.Tree()
			req := s.want(name + "=1.0")
			if err := s.m.Fetch(ctx, req); err != nil {
				t.Fatal(err)
			}
			err := s.m.Apply(ctx, req)
			var command *pkgmgr.CommandError
			if !errors.As(err, &command) || !strings.Contains(command.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
			undo := pkgmgr.Undo{}
			for k, p := range s.db() {
				if before[k].Status == "" {
					undo.Purge = append(undo.Purge, p.Name)
				}
			}
			slices.Sort(undo.Purge)
			if err := s.m.Undo(ctx, undo); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, s.db()); diff != "" {
				t.Errorf("%s: the database after undo (-before +after):\n%s", name, diff)
			}
			if diff := cmp.Diff(tree, s.Tree()); diff != "" {
				t.Errorf("%s: files after undo (-before +after):\n%s", name, diff)
			}
			if err := s.m.Healthy(ctx); err != nil {
				t.Errorf("%s: not healthy: %v", name, err)
			}
		}
	})
}

// Told says that the root is a running host.
func (o outside) Told() host.Told {
	told := o.Root.Told()
	told.Kind = "live"
	return told
}

// outside is a root seen from the machine: its processes are this machine's, as on a live host.
type outside struct{ *Root }

func (o outside) ReadFile(p string) ([]byte, error) {
	if strings.HasPrefix(p, "/proc/") {
		return os.ReadFile(p)
	}
	return o.Root.ReadFile(p)
}

func (o outside) ReadDir(p string) ([]string, error) {
	if !strings.HasPrefix(p, "/proc/") {
		return o.Root.ReadDir(p)
	}
	entries, err := os.ReadDir(p)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (o outside) Readlink(p string) (string, error) {
	if !strings.HasPrefix(p, "/proc/") {
		return o.Root.Readlink(p)
	}
	target, err := os.Readlink(p)
	return strings.TrimPrefix(target, o.Dir), err
}

// slow starts a transaction in the root, as another process on the same machine, that waits in a
// script of the package slow until release is called.
func (r *Root) slow(argv ...string) (cmd *exec.Cmd, release func()) {
	r.t.Helper()
	r.Put("/hold", "")
	cmd = exec.Command("chroot", append([]string{r.Dir, "env", "-i", "LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, argv...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it has ended, if all went well
		_ = cmd.Wait()
	})
	rootlab.Eventually(r.t, "the script of slow", func() bool {
		_, err := os.Stat(r.Dir + "/waiting")
		return err == nil
	})
	return cmd, func() {
		if err := os.Remove(r.Dir + "/hold"); err != nil {
			r.t.Error(err)
		}
	}
}

// TestLockOwnerIsNamed is not parallel: a process in another root has the same path for its lock.
func TestLockOwnerIsNamed(t *testing.T) {
	for _, kind := range rpmKinds() {
		t.Run(kind.name, func(t *testing.T) {
			ctx := context.Background()
			r := rpmRoot(t, kind.pose)
			r.configure(kind.dir, repoGood, kind.lines...)
			m := kind.make(outside{r})
			if err := m.Wait(ctx, 0); err != nil {
				t.Fatalf("nobody is there, but %v", err)
			}
			argv := map[string][]string{
				"dnf":    {"dnf", "-y", "install", "slow-1.0"},
				"zypper": {"zypper", "--non-interactive", "install", "slow=1.0"},
			}[kind.name]
			if _, err := m.Refresh(ctx); err != nil {
				t.Fatal(err)
			}
			cmd, release := r.slow(argv...)
			err := m.Wait(ctx, 0)
			var locked *pkgmgr.LockedError
			if !errors.As(err, &locked) || locked.PID == 0 || !slices.Contains([]string{"dnf", "zypper", "rpm"}, locked.Command) {
				t.Errorf("the owner is not named: %v", err)
			}
			t.Log(err)
			waited := make(chan error, 1)
			go func() { waited <- m.Wait(ctx, time.Minute) }()
			release()
			if err := cmd.Wait(); err != nil {
				t.Errorf("the other process: %v", err)
			}
			if err := <-waited; err != nil {
				t.Errorf("it has ended, but %v", err)
			}
		})
	}
}
