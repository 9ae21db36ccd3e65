package roots

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// killInside kills whatever this test runs inside its root: the helper is process 1 of the root's
// process namespace, and the kernel ends all others with it.
func (r *Root) killInside() {
	r.t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		r.t.Fatal(err)
	}
	killed := 0
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if err != nil || !strings.Contains(string(status), "\nPPid:\t"+strconv.Itoa(os.Getpid())+"\n") {
			continue
		}
		if line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline"); err != nil || !strings.Contains(string(line), host.ImageExecCommand) {
			continue
		}
		if mounts, err := os.ReadFile("/proc/" + e.Name() + "/mountinfo"); err != nil || !strings.Contains(string(mounts), filepath.Base(filepath.Dir(r.Dir))+"/root / ") {
			continue // of another test's root
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			r.t.Fatal(err)
		}
		killed++
	}
	if killed == 0 {
		r.t.Fatal("nothing runs in the root that could be killed")
	}
}

// TestInterrupted: a transaction that is killed inside a script, before the package came or after it
// came and before its older version went, is seen, named, and carried to its end; and from there an
// undo leads back to the start. A manager that knows nothing of staged repositories can do it as well.
func TestInterrupted(t *testing.T) {
	for _, kind := range rpmKinds() {
		for _, at := range []string{"before", "between", "staged"} {
			t.Run(kind.name+"/"+at, func(t *testing.T) {
				t.Parallel()
				ctx := context.Background()
				r := rpmRoot(t, kind.pose)
				r.configure(kind.dir, repoGood, kind.lines...)
				s := subject{Root: r, m: kind.make(r), release: "-1"}
				if _, err := s.m.Refresh(ctx); err != nil {
					t.Fatal(err)
				}
				req, undo := s.want("slow=1.0"), pkgmgr.Undo{Purge: []string{"slow", "beta"}}
				before, tree := s.db(), r.Tree()
				if at == "between" {
					s.apply(s.want("slow=1.0"))
					before, tree = s.db(), r.Tree()
					kept, err := s.m.Keep(ctx, []pkgmgr.Package{before["slow:noarch"]}, "/var/lib/rdmactl/runs/test/packages")
					if err != nil {
						t.Fatal(err)
					}
					req, undo = s.want("slow=2.0"), pkgmgr.Undo{Back: kept}
					r.must("rm", "/waiting")
				}
				host := s.m
				if at == "staged" {
					r.must("rm", kind.dir+"/"+repoGood+".repo")
					tree = r.Tree()
					staged, err := s.m.(pkgmgr.Staging).WithRepositories(ctx, "/var/lib/rdmactl/runs/test/repositories", []pkgmgr.Repository{{
						ID: "rdmactl-test", URL: r.URL + "/good", SignedIndex: true, Key: []byte(readFile(t, filepath.Join(r.repo, "trusted.asc"))),
					}})
					if err != nil {
						t.Fatal(err)
					}
					if _, err := staged.Refresh(ctx); err != nil {
						t.Fatal(err)
					}
					s.m = staged
				}
				announced := s.solve(req).Actions
				if err := s.m.Fetch(ctx, req); err != nil {
					t.Fatal(err)
				}
				r.Put("/hold", "")
				failed := make(chan error, 1)
				go func() { failed <- s.m.Apply(ctx, req) }()
				rootlab.Eventually(t, "the script of slow", func() bool {
					_, err := os.Stat(r.Dir + "/waiting")
					return err == nil
				})
				time.Sleep(50 * time.Millisecond)
				r.killInside()
				if err := <-failed; err == nil {
					t.Fatal("a killed transaction is no error")
				}
				r.must("rm", "/hold", "/waiting")
				s.m = host
				err := s.m.Healthy(ctx)
				if err == nil || !strings.Contains(err.Error(), "interrupted") {
					t.Errorf("healthy: %v", err)
				}
				t.Logf("healthy: %v", err)
				text, err := s.m.Repair(ctx)
				if err != nil || text == "" {
					t.Fatalf("repair: %q, %v", text, err)
				}
				t.Logf("repair: %s", text)
				if diff := pkgmgr.Difference(before, s.db(), announced); len(diff) > 0 {
					t.Errorf("after repair the database differs from the answer: %v", diff)
				}
				if err := s.m.Healthy(ctx); err != nil {
					t.Errorf("after repair: %v", err)
				}
				if again, err := s.m.Repair(ctx); again != "" || err != nil {
					t.Errorf("repair a second time: %q, %v", again, err)
				}
				if err := os.Remove(r.Dir + "/waiting"); err != nil {
					t.Errorf("the script that was killed did not run again: %v", err)
				}
				if err := s.m.Undo(ctx, undo); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(before, s.db()); diff != "" {
					t.Errorf("the database after undo (-before +after):\n%s", diff)
				}
				if diff := cmp.Diff(tree, r.Tree()); diff != "" {
					t.Errorf("files after undo (-before +after):\n%s", diff)
				}
			})
		}
	}
}

// TestDiskFull: rpm sees before it begins that there is no room, and nothing changes.
func TestDiskFull(t *testing.T) {
	for _, kind := range rpmKinds() {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			r := rpmRoot(t, kind.pose)
			r.configure(kind.dir, repoGood, kind.lines...)
			s := subject{Root: r, m: kind.make(r), release: "-1"}
			if _, err := s.m.Refresh(ctx); err != nil {
				t.Fatal(err)
			}
			req := s.want("big=1.0")
			before := s.db()
			if err := s.m.Fetch(ctx, req); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mount("small", r.Dir+"/opt", "tmpfs", 0, "size=64k"); err != nil {
				t.Skipf("cannot mount a small file system: %v", err)
			}
			mounted := true
			unmount := func() {
				if mounted {
					mounted = false
					if err := syscall.Unmount(r.Dir+"/opt", syscall.MNT_DETACH); err != nil {
						t.Error(err)
					}
				}
			}
			defer unmount()
			err := s.m.Apply(ctx, req)
			var command *pkgmgr.CommandError
			if !errors.As(err, &command) || !strings.Contains(err.Error(), "space") {
				t.Errorf("error: %v", err)
			}
			undo := pkgmgr.Undo{}
			for k, p := range s.db() {
				if before[k].Status == "" {
					undo.Purge = append(undo.Purge, p.Name)
				}
			}
			if err := s.m.Undo(ctx, undo); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, s.db()); diff != "" {
				t.Errorf("the database (-before +after):\n%s", diff)
			}
			unmount()
			if err := s.m.Fetch(ctx, req); err != nil { // zypper drops from its cache what was installed once
				t.Fatal(err)
			}
			if err := s.m.Apply(ctx, req); err != nil {
				t.Errorf("with room: %v", err)
			}
		})
	}
}
