package rpm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"sort"
	"strings"

	"github.com/rdmactl/rdmactl/host"
)

// Edited returns the configuration files (%config) of packages whose content was changed.
func (t Tool) Edited(ctx context.Context, names []string) ([]string, error) {
	edited := []string{}
	for _, name := range names {
		if err := CheckName(name); err != nil {
			return nil, err
		}
		// Ends with 1 on any difference, and when a package is not installed.
		res, err := t.Query(ctx, "", "rpm", "-V", "--nodeps", "--noscripts", word(name))
		if err != nil {
			return nil, err
		}
		for _, v := range parseVerify(res.Stdout) {
			if v.config && v.content {
				edited = append(edited, v.path)
			}
		}
	}
	sort.Strings(edited)
	return edited, nil
}

// word is a package as rpm's and dnf's command lines name it: name or name.arch.
func word(name string) string { return strings.Replace(name, ":", ".", 1) }

// verified is one line of `rpm -V`.
type verified struct {
	path    string
	config  bool // %config
	content bool // size or digest differ
	missing bool
}

// parseVerify reads the lines of `rpm -V`:
//
//	S.5....T.  c /etc/rdma/rdma.conf
//	missing     /usr/bin/ibv_devinfo
func parseVerify(out string) []verified {
	all := []verified{}
	form := regexp.MustCompile(`^(missing  |[.A-Z0-9?]{8,10}) +(?:([acdgilmnr]) +)?(/.*)$`)
	for line := range strings.Lines(out) {
		m := form.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		v := verified{path: path.Clean(m[3]), config: m[2] == "c", missing: strings.HasPrefix(m[1], "missing")}
		v.content = !v.missing && (m[1][0] == 'S' || m[1][2] == '5')
		if v.missing {
			v.path = path.Clean(strings.TrimSuffix(m[3], " (Permission denied)"))
		}
		all = append(all, v)
	}
	return all
}

// Leftovers are the files that rpm lays beside configuration files which the administrator edited:
// NAME.rpmnew and NAME.rpmsave. Those of packages that are about to go or to be replaced are noted
// first, so that an undo takes away what it and its transaction left, and nothing else.
type Leftovers struct {
	tool    Tool
	configs []string
	had     map[string]bool
}

// Beside looks at the configuration files of installed packages.
func (t Tool) Beside(ctx context.Context, names []string) (*Leftovers, error) {
	l := &Leftovers{tool: t, had: map[string]bool{}}
	for _, name := range names {
		res, err := t.Query(ctx, "", "rpm", "-qc", word(name))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(res.Stdout) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "/") {
				l.configs = append(l.configs, path.Clean(line))
			}
		}
	}
	for _, c := range l.configs {
		for _, suffix := range []string{".rpmnew", ".rpmsave"} {
			switch there, err := exists(t.Host, c+suffix); {
			case err != nil:
				return nil, err
			case there:
				l.had[c+suffix] = true
			}
		}
	}
	return l, nil
}

// New are the files that came since Beside.
func (l *Leftovers) New() ([]string, error) {
	out := []string{}
	for _, c := range l.configs {
		for _, suffix := range []string{".rpmnew", ".rpmsave"} {
			there, err := exists(l.tool.Host, c+suffix)
			if err != nil {
				return nil, err
			}
			if there && !l.had[c+suffix] {
				out = append(out, c+suffix)
			}
		}
	}
	sort.Strings(out)
	return out, nil
}

// Keep puts the administrator's files back in their places: for a %config file without noreplace rpm
// moves the edited one to NAME.rpmsave and installs its own. That one is laid beside as NAME.rpmnew, as
// for all others, unless it is not wanted. It returns what lies beside now.
func (l *Leftovers) Keep(ctx context.Context, wanted bool) ([]string, error) {
	for _, c := range l.configs {
		saved, err := exists(l.tool.Host, c+".rpmsave")
		if err != nil {
			return nil, err
		}
		there, err := exists(l.tool.Host, c)
		if err != nil {
			return nil, err
		}
		if !saved || l.had[c+".rpmsave"] || !there {
			continue // with its package gone, the edited file is NAME.rpmsave
		}
		if wanted {
			if _, err := l.tool.Run(ctx, "", "cp", "-a", "--", c, c+".rpmnew"); err != nil {
				return nil, err
			}
		}
		if err := l.tool.Writer.Rename(c+".rpmsave", c); err != nil {
			return nil, fmt.Errorf("cannot keep the edited %s: %w", c, err)
		}
	}
	return l.New()
}

// Pristine are the NAME.rpmnew files that hold exactly what the installed package brought: no hand
// has touched them, and with the package they go.
func (l *Leftovers) Pristine(ctx context.Context) ([]string, error) {
	out := []string{}
	for _, c := range l.configs {
		if !l.had[c+".rpmnew"] {
			continue
		}
		same, err := l.tool.pristine(ctx, c, c+".rpmnew")
		if err != nil {
			return nil, err
		}
		if same {
			out = append(out, c+".rpmnew")
		}
	}
	return out, nil
}

// Drop removes files.
func (t Tool) Drop(files []string) error {
	for _, f := range files {
		if err := t.Writer.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove %s: %w", f, err)
		}
	}
	return nil
}

func exists(r host.Reader, file string) (bool, error) {
	_, err := r.Lstat(file)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	}
	return false, fmt.Errorf("cannot look at %s: %w", file, err)
}
