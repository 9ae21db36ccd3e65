package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// BuildUser is the user and group number that a build runs as: one that neither distributions nor systemd
// give to anybody (systemd's "Users, Groups, UIDs and GIDs" lists 60706 to 61183 as unused), so that no other
// process of the host can reach into the build, nor the build into another's.
const BuildUser = 61173

// builder runs the commands of a build. As root it runs them as BuildUser: a verified source still is a
// program of several hundred thousand lines that is run before anybody looked at it, and one that writes
// beside its directory, by mistake or not, must fail instead of changing the host.
type builder struct {
	host  Host
	dir   string // absolute directory on the host, the builder's own
	drop  []string
	apart string // see host.Command
	as    string
	nice  int
	log   *os.File
	name  string // of the log on the host
	extra io.Writer
}

// unprivileged finds how to give up root on this host.
func unprivileged(h Host) (drop []string, as string, err error) {
	told := h.Told().UID
	if told == nil || *told != 0 {
		return nil, "this process's user", nil
	}
	number := strconv.Itoa(BuildUser)
	for _, program := range []string{"/usr/bin/setpriv", "/bin/setpriv"} {
		if _, err := h.Stat(program); err == nil {
			return []string{program, "--reuid", number, "--regid", number, "--clear-groups", "--no-new-privs", "--"}, "user " + number, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, "", fmt.Errorf("cannot look for setpriv: %w", err)
		}
	}
	// util-linux of RHEL 7 has no setpriv; python3 is there, since the build needs it.
	const python, script = "/usr/bin/python3", "import os,sys; os.setgroups([]); os.setgid(%[1]s); os.setuid(%[1]s); os.execvp(sys.argv[1], sys.argv[1:])"
	if _, err := h.Stat(python); err == nil {
		return []string{python, "-I", "-c", fmt.Sprintf(script, number)}, "user " + number, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("cannot look for python3: %w", err)
	}
	return nil, "", stop("no-build-tools", "install util-linux or python3", "cannot build without the rights of root: neither setpriv nor python3 is installed")
}

// command is argv as the builder runs it: in a directory, with nothing of the caller's environment. Proxies
// go as well, since a build that loads something from the network would run what nobody verified.
func (b *builder) command(dir string, env []string, argv []string) []string {
	out := append([]string{}, b.drop...)
	out = append(out, "env")
	for _, name := range []string{"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"} {
		out = append(out, "-u", name)
	}
	out = append(out, "HOME="+path.Join(b.dir, "home"), "TMPDIR="+path.Join(b.dir, "tmp"), "CCACHE_DISABLE=1")
	out = append(out, env...)
	if b.nice > 0 {
		out = append(out, "nice", "-n", strconv.Itoa(b.nice))
	}
	out = append(out, "sh", "-c", `umask 022 && cd "$1" && shift && exec "$@"`, "sh", dir)
	return append(out, argv...)
}

// run runs one command of the build; what names it in an error.
func (b *builder) run(ctx context.Context, what, dir string, env []string, argv ...string) error {
	from, err := b.log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("cannot write the build's log: %w", err)
	}
	var out io.Writer = b.log
	if b.extra != nil {
		out = io.MultiWriter(b.log, b.extra)
	}
	full := b.command(dir, env, argv)
	if _, err := fmt.Fprintf(b.log, "+ %q\n", full); err != nil {
		return fmt.Errorf("cannot write the build's log: %w", err)
	}
	result, err := b.host.Run(ctx, host.Command{Argv: full, Output: out, Apart: b.apart})
	if err != nil {
		return fmt.Errorf("cannot %s: %w", what, err)
	}
	if result.Exit == 0 {
		return nil
	}
	text, err := io.ReadAll(io.NewSectionReader(b.log, from, maxLog))
	if err != nil {
		return fmt.Errorf("cannot %s: it ended with %d, and its output cannot be read: %w", what, result.Exit, err)
	}
	_, rest, _ := cutLine(text)
	line := firstError(string(rest))
	if line == "" {
		line = "it printed nothing"
	}
	return fault.New(fault.Failed, "build-failed", adviceFor(line, b.name), "cannot %s (exit %d): %s", what, result.Exit, line)
}

// cutLine parts the first line, which is the command itself, from what it printed.
func cutLine(text []byte) (line, rest []byte, found bool) {
	for i, c := range text {
		if c == '\n' {
			return text[:i], text[i+1:], true
		}
	}
	return nil, text, false
}
