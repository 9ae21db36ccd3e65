package kmod

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
)

// ModprobeDirs returns the directories of modprobe.d(5), the strongest first: of files with one name
// only the first is read.
func ModprobeDirs() []string {
	return []string{
		"/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d",
		"/usr/lib/modprobe.d", "/lib/modprobe.d",
	}
}

// Directive is one line of modprobe.d, or one argument of the kernel command line.
type Directive struct {
	Word   string // blacklist, install, remove, options, softdep, weakdep, alias
	Module string // as written; of alias: the alias
	Args   string // the rest of the line, blanks collapsed
	Where  string // "file:line" or "kernel command line"
}

// Configuration is what the host tells modprobe and the kernel about modules.
type Configuration struct {
	Directives []Directive // in the order in which modprobe reads them
	// Unread are the directories, files and sources that could not be read: what they say is
	// unknown, so "not blacklisted" is then not certain.
	Unread []error
}

// Config reads modprobe.d and the kernel command line. The error says that nothing at all could be
// read; what failed in part is in Unread.
func Config(r host.Reader) (Configuration, error) {
	var c Configuration
	files := map[string]string{} // base name -> path
	told := false
	for _, dir := range ModprobeDirs() {
		names, err := r.ReadDir(dir)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				told = true
			} else {
				c.Unread = append(c.Unread, fmt.Errorf("cannot list %s: %w", dir, err))
			}
			continue
		}
		told = true
		for _, name := range names {
			if _, shadowed := files[name]; !shadowed && strings.HasSuffix(name, ".conf") {
				files[name] = path.Join(dir, name)
			}
		}
	}
	for _, name := range sortedKeys(files) {
		file := files[name]
		if target, err := r.Readlink(file); err == nil && target == "/dev/null" {
			continue // masked
		}
		text, err := r.ReadFile(file)
		if err != nil {
			c.Unread = append(c.Unread, fmt.Errorf("cannot read %s: %w", file, err))
			continue
		}
		c.Directives = append(c.Directives, ParseModprobe(file, string(text))...)
	}
	cmdline, err := r.ReadFile("/proc/cmdline")
	if err == nil {
		told = true
		c.Directives = append(c.Directives, ParseCmdline(string(cmdline))...)
	} else if !errors.Is(err, fs.ErrNotExist) {
		c.Unread = append(c.Unread, fmt.Errorf("cannot read /proc/cmdline: %w", err))
	}
	if !told {
		return c, fmt.Errorf("cannot read the configuration of modprobe: %w", errors.Join(c.Unread...))
	}
	return c, nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// ParseModprobe reads one file of modprobe.d. Lines that modprobe does not know it ignores with a
// warning, and so does this. A backslash before the newline joins lines.
func ParseModprobe(file, text string) []Directive {
	var list []Directive
	joined, first, n := "", 0, 0
	flush := func() {
		words := strings.Fields(joined)
		if len(words) >= 2 && words[0][0] != '#' {
			switch words[0] {
			case "blacklist", "install", "remove", "options", "softdep", "weakdep", "alias":
				list = append(list, Directive{
					Word: words[0], Module: words[1], Args: strings.Join(words[2:], " "),
					Where: fmt.Sprintf("%s:%d", file, first),
				})
			}
		}
		joined = ""
	}
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if joined == "" {
			first = n
		}
		if more, ok := strings.CutSuffix(line, `\`); ok {
			joined += more + " "
			continue
		}
		joined += line
		flush()
	}
	flush()
	return list
}

// ParseCmdline reads the arguments that keep modules out: modprobe.blacklist= (modprobe),
// module_blacklist= (the kernel itself, whoever asks), and NAME.PARAM=VALUE as options.
func ParseCmdline(text string) []Directive {
	const where = "kernel command line"
	var list []Directive
	for arg := range strings.FieldsSeq(text) {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			continue
		}
		switch {
		case Same(key, "modprobe.blacklist"), Same(key, "module_blacklist"):
			for _, name := range splitList(value) {
				list = append(list, Directive{Word: "blacklist", Module: name, Args: key, Where: where + " (" + key + ")"})
			}
		default:
			if name, param, ok := strings.Cut(key, "."); ok && CheckName(name) == nil && param != "" {
				list = append(list, Directive{Word: "options", Module: name, Args: param + "=" + value, Where: where})
			}
		}
	}
	return list
}

// Blacklisted says whether the host keeps a module out, and where: a blacklist line, a kernel
// argument, or an install command that only ends (`install X /bin/false`). A plain blacklist line
// stops loading by alias only; to load the module all the same would still be against what the
// administrator wrote.
func (c Configuration) Blacklisted(name string) (bool, string) {
	for _, d := range c.Directives {
		if !Same(d.Module, name) {
			continue
		}
		switch {
		case d.Word == "blacklist":
			return true, d.Where
		case d.Word == "install" && onlyEnds(d.Args):
			return true, fmt.Sprintf("%s (install %s)", d.Where, d.Args)
		}
	}
	return false, ""
}

// onlyEnds says that an install command does nothing but end.
func onlyEnds(command string) bool {
	words := strings.Fields(command)
	if len(words) == 0 {
		return false
	}
	switch path.Base(words[0]) {
	case "true", "false", ":", "exit":
		// "/bin/true && modprobe ..." does more; "/bin/true # comment" does not.
		return len(words) == 1 || words[0] == "exit" && len(words) == 2 || strings.HasPrefix(words[1], "#")
	}
	return false
}

// Options returns the parameters set for a module, in the order in which they are given; the last
// one of a name wins.
func (c Configuration) Options(name string) []Directive {
	var list []Directive
	for _, d := range c.Directives {
		if d.Word == "options" && Same(d.Module, name) {
			list = append(list, d)
		}
	}
	return list
}

// Softdeps returns the modules wanted around a module by modprobe.d (those in the module file are in
// Info).
func (c Configuration) Softdeps(name string) []Softdep {
	var list []Softdep
	for _, d := range c.Directives {
		if d.Word == "softdep" && Same(d.Module, name) {
			list = append(list, parseSoftdep(strings.Fields(d.Args)))
		}
	}
	return list
}
