package sidebyside

import (
	"context"
	"debug/elf"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// ProgramHost is what a program is looked at with: host.Live is one.
type ProgramHost interface {
	host.Reader
	Xattrs(path string) (map[string][]byte, error)
}

// Caller is who starts the program.
type Caller struct {
	UID, GID uint32
	// Dir is the working directory.
	Dir string
	// NoSUID says whether the file system of a file is mounted nosuid; nil says that none is.
	NoSUID func(file string) bool
}

// Find is the file that a name stands for, by the PATH of an environment, as execvp(3) finds it.
func Find(h host.Reader, name string, env []string, by Caller) (string, error) {
	const hint = "give its full path, or see PATH"
	absolute := func(file string) string {
		if path.IsAbs(file) {
			return path.Clean(file)
		}
		return path.Join(by.Dir, file)
	}
	runnable := func(file string) error {
		info, err := h.Stat(file)
		switch {
		case err != nil:
			return err
		case info.Mode.IsDir():
			return errors.New("it is a directory")
		case info.Mode.Perm()&0o111 == 0:
			return errors.New("it is not executable")
		}
		return nil
	}
	if name == "" {
		return "", fault.New(fault.Usage, "usage", "name a program after --", "cannot run a program: its name is empty")
	}
	if strings.Contains(name, "/") {
		file := absolute(name)
		if err := runnable(file); err != nil {
			return "", fault.New(fault.Stopped, "no-such-program", hint, "cannot run %s: %w", name, reason(err))
		}
		return file, nil
	}
	for _, dir := range environ(env).list("PATH", "") {
		if file := path.Join(absolute(dir), name); runnable(file) == nil {
			return file, nil
		}
	}
	return "", fault.New(fault.Stopped, "no-such-program", hint, "cannot run %s: no directory of PATH has it", name)
}

// reason is an error without the call and the path that it names.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// CheckProgram says why a program would not get the copy although its environment names it: the loader drops
// LD_LIBRARY_PATH for programs that gain rights (ld.so(8), "secure-execution mode"), looks for RPATH before it, and
// passes over libraries of another architecture without a word.
func CheckProgram(ctx context.Context, h ProgramHost, file string, c Copy, by Caller) error {
	for range 5 { // a script's interpreter may be a script
		told, err := lookAt(ctx, h, file)
		if err != nil {
			return nil //nolint:nilerr // it may be run and not be read; then nothing can be said of it
		}
		if told.interpreter != "" {
			// The kernel takes no rights from a script itself.
			file = told.interpreter
			if !path.IsAbs(file) {
				file = path.Join(by.Dir, file)
			}
			continue
		}
		if err := checkRights(h, file, c, by); err != nil {
			return err
		}
		if told.format != "" && c.Format != "" && told.format != c.Format {
			return fault.New(fault.Stopped, "other-architecture", "use a program of this host's own architecture",
				"cannot run %s with %s: it is of another architecture (%s, the library has %s), so the loader would pass over the library", file, c.Name(), told.format, c.Format)
		}
		return checkRPath(h, file, told, c)
	}
	return nil
}

func checkRights(h ProgramHost, file string, c Copy, by Caller) error {
	stop := func(why string) error {
		hint := "copy it without them, or "
		if path.Base(file) == "sudo" || path.Base(file) == "su" || path.Base(file) == "doas" {
			hint = ""
		}
		return fault.New(fault.Stopped, "secure-program", hint+"run rdmactl itself as that user: `sudo rdmactl run --stack "+c.Name()+" -- COMMAND`",
			"cannot run %s with %s: it %s, and for such programs the loader drops LD_LIBRARY_PATH, so it would get the default library", file, c.Name(), why)
	}
	info, err := h.Stat(file)
	if err != nil {
		return fault.New(fault.Stopped, "no-such-program", "give its full path", "cannot run %s: %w", file, reason(err))
	}
	if by.NoSUID != nil && by.NoSUID(file) {
		return nil // the kernel gives no rights there
	}
	switch {
	case info.Mode&fs.ModeSetuid != 0 && info.UID != by.UID:
		return stop("is set-user-id")
	case info.Mode&fs.ModeSetgid != 0 && info.Mode.Perm()&0o010 != 0 && info.GID != by.GID:
		return stop("is set-group-id")
	}
	attributes, err := h.Xattrs(file)
	if err != nil {
		return nil //nolint:nilerr // a file system without attributes has no capabilities
	}
	if _, has := attributes["security.capability"]; has && by.UID != 0 {
		return stop("has file capabilities")
	}
	return nil
}

// program is what the first bytes and the dynamic section of a file tell.
type program struct {
	interpreter string // of a script
	format      string
	rpath       []string // DT_RPATH, where there is no DT_RUNPATH beside it
}

func lookAt(ctx context.Context, h host.Reader, file string) (program, error) {
	res, err := h.Derive(ctx, file, []string{"readelf", "-h", "-d", file}, func(r io.ReaderAt, _ int64) (string, error) {
		head := make([]byte, 256)
		n, err := r.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if line, ok := strings.CutPrefix(string(head[:n]), "#!"); ok {
			line, _, _ = strings.Cut(line, "\n")
			if words := strings.Fields(line); len(words) > 0 {
				return "interpreter " + words[0] + "\n", nil
			}
			return "", nil
		}
		f, err := elf.NewFile(r)
		if err != nil {
			return "", nil //nolint:nilerr // of a kind that binfmt_misc knows, or none
		}
		defer f.Close() //nolint:errcheck // NewFile opened nothing
		out := "format " + formatOf(f) + "\n"
		if run, err := f.DynString(elf.DT_RUNPATH); err == nil && len(run) > 0 {
			return out, nil
		}
		if list, err := f.DynString(elf.DT_RPATH); err == nil {
			for _, text := range list {
				out += "rpath " + text + "\n"
			}
		}
		return out, nil
	})
	if err != nil {
		return program{}, err
	}
	var p program
	for line := range strings.Lines(res.Stdout) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		switch key {
		case "interpreter":
			p.interpreter = value
		case "format":
			p.format = value
		case "rpath":
			p.rpath = append(p.rpath, strings.Split(value, ":")...)
		}
	}
	return p, nil
}

func checkRPath(h host.Reader, file string, told program, c Copy) error {
	for _, dir := range told.rpath {
		dir = path.Clean(strings.NewReplacer("$ORIGIN", path.Dir(file), "${ORIGIN}", path.Dir(file)).Replace(dir))
		if !path.IsAbs(dir) || dir == c.Dir() {
			continue
		}
		if _, err := h.Stat(path.Join(dir, "libibverbs.so.1")); err == nil {
			return fault.New(fault.Stopped, "rpath-wins", "link it without RPATH (or with RUNPATH, which gives way), or change it with `chrpath -d`",
				"cannot run %s with %s: its RPATH names %s, which has a libibverbs of its own, and the loader looks there first", file, c.Name(), dir)
		}
	}
	return nil
}
