package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/detect"
	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/spf13/pflag"
)

// sourceOptions say which host a command reads: this one, an image, or evidence.
type sourceOptions struct {
	evidence []string
	root     string
	kernel   string
}

func (s *sourceOptions) addFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&s.evidence, "evidence", nil, "read a host from `PATH`: a file, a directory of *.yaml, or - (may be repeated)")
	f.StringVar(&s.root, "root", "", "read the image below `DIR` instead of this host")
	f.StringVar(&s.kernel, "kernel", "", "answer for the kernel `RELEASE` instead of the running one")
}

// source is one host that a command answers for.
type source struct {
	name   string // for people: the file's name, or ""
	reader host.Reader
	facts  facts.Facts
}

// hostName is how the host is called in answers about several.
func (s source) hostName() string { return s.facts.Host.Or(s.name) }

// each reads the facts of every host asked for, one after another, and calls answer with each. several
// says whether the answer is about hosts in the plural: a directory and a repeated --evidence are, whatever
// is found in them, so that a fleet of one is printed as a fleet. Of one file or stream the first host is kept
// back until it is known whether a second one comes. Files that cannot be read, and hosts that answer fails
// for among several, are one usage fault at the end, beside the answers about the others.
func (s *sourceOptions) each(ctx context.Context, g *globalOptions, answer func(src source, several bool) error) error {
	if len(s.evidence) > 0 && s.root != "" {
		return fault.New(fault.Usage, "usage", "give one of them", "cannot read two hosts at once: --evidence and --root were both given")
	}
	if len(s.evidence) == 0 {
		src, err := s.here(ctx, g)
		if err != nil {
			return err
		}
		return sound(func() error { return answer(src, false) })
	}
	list := hostList{answer: answer, several: s.plural()}
	g.lines = list.several || slices.Contains(s.evidence, "-")
	for _, path := range s.evidence {
		files, err := evidenceFiles(path)
		if err != nil {
			list.faulty = append(list.faulty, err.Error())
			continue
		}
		for _, file := range files {
			docs, err := readEvidence(ctx, path, file, g.in)
			if ctx.Err() != nil {
				return err
			}
			if err != nil {
				list.faulty = append(list.faulty, err.Error())
			}
			for i, doc := range docs {
				name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
				if file == "-" {
					name = "stdin"
				}
				if len(docs) > 1 {
					name = fmt.Sprintf("%s#%d", name, i+1)
				}
				if err := list.read(name, func() source { return s.detect(ctx, name, g.verbosely(host.NewReplay(doc))) }); err != nil {
					return err
				}
			}
		}
	}
	return list.end(s.evidence)
}

// plural says that the evidence is of hosts in the plural, however many are found.
func (s *sourceOptions) plural() bool {
	if len(s.evidence) > 1 {
		return true
	}
	info, err := os.Stat(s.evidence[0])
	return s.evidence[0] != "-" && err == nil && info.IsDir()
}

// here is the one host that is not read from evidence: this one, or an image.
func (s *sourceOptions) here(ctx context.Context, g *globalOptions) (source, error) {
	if s.root == "" {
		return s.detect(ctx, "", g.verbosely(host.NewLive())), nil
	}
	name, err := filepath.Abs(s.root)
	if err != nil {
		return source{}, fault.New(fault.Usage, "usage", "give the directory's full path", "cannot read the image %s: %w", s.root, err)
	}
	r, err := host.NewRootedAs(s.root, name)
	if err != nil {
		return source{}, fault.New(fault.Usage, "usage", "name the directory of an unpacked image", "cannot read the image %s: %w", s.root, err)
	}
	return s.detect(ctx, "", g.verbosely(r)), nil
}

// hostList hands hosts on as they come.
type hostList struct {
	answer  func(src source, several bool) error
	several bool
	first   *source // kept back until a second one comes, where that decides about several
	n       int
	faulty  []string
	// kind, code and hint are of the first host that failed for another reason than its evidence.
	kind       fault.Kind
	code, hint string
}

// read adds a host whose facts are read by detect.
func (l *hostList) read(name string, detect func() source) error {
	var src source
	if err := sound(func() error { src = detect(); return nil }); err != nil {
		l.n++
		l.note(name, err)
		return nil
	}
	return l.add(src)
}

func (l *hostList) add(src source) error {
	l.n++
	if l.n == 2 {
		// Each host leaves some 700 kB behind: with the usual setting a fleet spends a third of its time
		// collecting a heap of 3 MB.
		debug.SetGCPercent(800)
	}
	if !l.several && l.n == 1 {
		l.first = &src
		return nil
	}
	l.several = true
	if first := l.first; first != nil {
		l.first = nil
		if err := l.call(*first); err != nil {
			return err
		}
	}
	return l.call(src)
}

// call answers for one of several: a host that fails is noted, and does not keep the others from theirs. What is
// wrong with the command, with its output or with this process ends it.
func (l *hostList) call(src source) error {
	err := sound(func() error { return l.answer(src, true) })
	if l.note(src.hostName(), err) {
		return nil
	}
	return err
}

// note keeps the fault of one host for the end, and says whether err is one.
func (l *hostList) note(name string, err error) bool {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind == fault.Interrupted || f.Code == "usage" {
		return false
	}
	l.faulty = append(l.faulty, name+": "+f.Msg)
	if f.Kind != fault.Usage && l.kind == 0 {
		l.kind, l.code, l.hint = f.Kind, f.Code, f.Hint
	}
	return true
}

// sound answers for one host. An answer that panics is a fault of this program about that host alone.
func sound(answer func() error) (err error) {
	defer func() {
		if what := recover(); what != nil {
			err = fault.New(fault.Failed, "internal", "report this with the evidence of the host; others are not touched by it",
				"cannot answer for the host: %v, at %s", what, panicked())
		}
	}()
	return answer()
}

// panicked is where the program was as it panicked.
func panicked() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	for after := false; ; {
		frame, more := frames.Next()
		if after && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
		after = after || frame.Function == "runtime.gopanic"
		if !more {
			return "an unknown place"
		}
	}
}

func (l *hostList) end(asked []string) error {
	if l.first != nil {
		if err := sound(func() error { return l.answer(*l.first, false) }); err != nil {
			return err
		}
	}
	switch {
	case len(l.faulty) > 0 && l.kind != 0:
		return fault.New(l.kind, l.code, l.hint, "%s", strings.Join(l.faulty, "\n"))
	case len(l.faulty) > 0:
		return fault.New(fault.Usage, "faulty-evidence", "the format of evidence is in docs/evidence.md", "%s", strings.Join(l.faulty, "\n"))
	}
	if l.n == 0 {
		return fault.New(fault.Usage, "faulty-evidence", "a directory is read for its *.yaml files", "cannot read evidence: no host in %s", strings.Join(asked, ", "))
	}
	return nil
}

func (s *sourceOptions) detect(ctx context.Context, name string, r host.Reader) source {
	kernel := s.kernel
	if kernel == "" {
		if req := r.Told().Request; req != nil {
			kernel = req.TargetKernel
		}
	}
	return source{name: name, reader: r, facts: detect.HostWithKernel(ctx, r, kernel)}
}

// evidenceFiles lists the files of one --evidence.
func evidenceFiles(path string) ([]string, error) {
	if path == "-" {
		return []string{"-"}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read evidence %s: %w", path, cause(err))
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err := yamlFiles(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read evidence %s: %w", path, err)
	}
	return files, nil
}

// maxEvidence bounds one evidence file in bytes.
const maxEvidence = 64 << 20

// readEvidence reads a file that was named, or one of a directory that was.
func readEvidence(ctx context.Context, named, file string, stdin io.Reader) ([]*host.Evidence, error) {
	var data []byte
	var err error
	switch file {
	case "-":
		data, err = readStdin(ctx, stdin, maxEvidence)
	case named:
		data, err = readRegular(file, maxEvidence)
	default:
		data, err = readBelow(named, filepath.Base(file), maxEvidence)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read evidence %s: %w", file, err)
	}
	return host.ParseEvidence(file, data)
}
