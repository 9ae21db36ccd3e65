package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// exeName is the run's own copy of the program. `go run` removes its binary when it ends, and an
// upgrade may replace the installed one, but the worker has to outlive both.
const exeName = "rdmactl"

// detach starts the worker where the end of this process, its terminal and its login session do not
// reach it: as a transient unit where systemd runs, else in a session of its own.
func detach(env Env, j *journal.Run, do string) error {
	if env.Image != nil {
		return env.Image.start(j, do)
	}
	exe, err := ownCopy(j)
	if err != nil {
		return fmt.Errorf("cannot start the worker: %w", err)
	}
	args := workerArguments(j.ID, do, "")
	_, err = env.Host.Stat("/run/systemd/system")
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		// KillMode=mixed: at shutdown only the worker is told, so that dpkg below it can finish.
		argv := append([]string{
			"systemd-run", "--unit=rdmactl-run-" + j.ID, "--collect", "--quiet", "--no-ask-password",
			"--description=rdmactl run " + j.ID,
			"-p", "KillMode=mixed", "-p", "TimeoutStopSec=30min", "-p", "StandardInput=null",
			"-p", "EnvironmentFile=" + filepath.Join(j.Dir, envName), "--", exe,
		}, args...)
		if err := j.WriteFile(envName, proxyEnvironment(os.Environ())); err != nil {
			return fmt.Errorf("cannot start the worker: %w", err)
		}
		res, rerr := env.Host.Run(ctx, host.Command{Argv: argv})
		if rerr == nil && res.Exit == 0 {
			return nil
		}
		// systemd that cannot be reached must not keep a host from its installation.
		if started, lerr := begun(env, j); lerr != nil || started {
			return lerr
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot tell whether systemd runs: %w", err)
	}
	return ownSession(j, exe, args)
}

// envName is a file that hands the proxy settings of the front-end to a worker below systemd, which
// does not inherit them. Not on a command line or in a unit's properties, since passwords may be in
// them. It is removed with the copy of the program.
const envName = "environment"

// proxyEnvironment writes the proxy variables in the form of systemd's EnvironmentFile.
func proxyEnvironment(environ []string) []byte {
	var out strings.Builder
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		switch strings.ToLower(name) {
		case "http_proxy", "https_proxy", "ftp_proxy", "no_proxy":
		default:
			continue
		}
		if strings.ContainsAny(value, "\n\r\x00") {
			continue
		}
		value = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(value)
		fmt.Fprintf(&out, "%s=\"%s\"\n", name, value)
	}
	return []byte(out.String())
}

// begun says whether a worker has come up although its starter reported a failure.
func begun(env Env, j *journal.Run) (bool, error) {
	time.Sleep(time.Second)
	again, err := env.Paths.orDefault().store().Open(j.ID)
	if err != nil {
		return false, journalFault(err)
	}
	return len(again.Entries) > len(j.Entries), nil
}

func ownSession(j *journal.Run, exe string, args []string) error {
	out, err := j.Output("worker.out")
	if err != nil {
		return fmt.Errorf("cannot start the worker: %w", err)
	}
	defer out.Close()
	cmd := exec.Command(exe, args...)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start the worker: %w", err)
	}
	go func() { _ = cmd.Wait() }() // its outcome is in the journal
	return nil
}

// ownCopy copies the running program into the run's directory, unless programs cannot run from there.
func ownCopy(j *journal.Run) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	var st unix.Statfs_t
	if err := unix.Statfs(j.Dir, &st); err != nil {
		return "", err
	}
	if st.Flags&unix.ST_NOEXEC != 0 {
		return self, nil
	}
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", err
	}
	defer in.Close()
	target := filepath.Join(j.Dir, exeName)
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", fmt.Errorf("cannot copy the program to %s: %w", target, err)
	}
	return target, nil
}

// followRun follows a detached run. When stop closes, the worker is asked once to stop; its end is
// waited for in any case, since it finishes or undoes what it is at.
func followRun(ctx context.Context, stop <-chan struct{}, paths Paths, id string, skip int, progress Progress) error {
	ended := make(chan error, 1)
	entries := make(chan journal.Entry)
	go func() {
		ended <- paths.store().Follow(ctx, id, skip, alive(paths, id), func(e journal.Entry) { entries <- e })
	}()
	for {
		select {
		case e := <-entries:
			if progress != nil {
				progress.Entry(e)
			}
		case err := <-ended:
			return err
		case <-stop:
			stop = nil
			if progress != nil { // what ends the step at hand may take a minute
				progress.Entry(journal.Entry{Event: journal.Note, Text: "interrupted: the step at hand is ended, then all is taken back; " +
					"interrupted again, this command ends and the run goes on (`rdmactl history --follow` shows it)"})
			}
			if err := askToStop(paths, id); err != nil {
				return err
			}
		}
	}
}

// askToStop sends SIGINT to the process that holds the lock for a run.
func askToStop(paths Paths, id string) error {
	for range 50 {
		holder, held, err := journal.LockHolder(paths.Lock)
		if err != nil {
			return err
		}
		if held && holder.Run == id {
			if paths.Inside != "" && !isWorkerOf(holder.PID, id) {
				return fault.New(fault.Failed, "cannot-stop", "", "cannot stop run %s: pid %d, which its lock names, is not its worker", id, holder.PID)
			}
			if err := syscall.Kill(holder.PID, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fault.New(fault.Failed, "cannot-stop", "", "cannot stop run %s (pid %d): %w", id, holder.PID, err)
			}
			return nil
		}
		j, err := paths.store().Open(id)
		if err != nil {
			return err
		}
		if n := len(j.Entries); n > 0 && j.Entries[n-1].Event == journal.RunEnded {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil // it never came up; Follow says so
}
