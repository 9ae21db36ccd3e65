package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sort"
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
		return answer(src, false)
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
			docs, err := readEvidence(ctx, file, g.in)
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
				if err := list.add(s.detect(ctx, name, g.verbosely(host.NewReplay(doc)))); err != nil {
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

// call answers for one of several: a faulty host is noted, and does not keep the others from theirs.
func (l *hostList) call(src source) error {
	err := l.answer(src, true)
	if f := (*fault.Error)(nil); errors.As(err, &f) && f.Kind == fault.Usage && f.Code != "usage" {
		l.faulty = append(l.faulty, src.hostName()+": "+f.Msg)
		return nil
	}
	return err
}

func (l *hostList) end(asked []string) error {
	if l.first != nil {
		if err := l.answer(*l.first, false); err != nil {
			return err
		}
	}
	if len(l.faulty) > 0 {
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
	files, err := filepath.Glob(filepath.Join(path, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("cannot read evidence %s: %w", path, err)
	}
	sort.Strings(files)
	return files, nil
}

// maxEvidence bounds one evidence file in bytes.
const maxEvidence = 64 << 20

func readEvidence(ctx context.Context, file string, stdin io.Reader) ([]*host.Evidence, error) {
	var data []byte
	var err error
	if file == "-" {
		data, err = readStdin(ctx, stdin, maxEvidence)
	} else {
		data, err = readRegular(file, maxEvidence)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read evidence %s: %w", file, err)
	}
	return host.ParseEvidence(file, data)
}
