package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// several says whether the answer is about a list of hosts.
func (s *sourceOptions) several(sources []source) bool { return len(sources) > 1 }

// open reads the facts of every host asked for. Files that cannot be read are returned as one usage
// fault beside the hosts that could be.
func (s *sourceOptions) open(ctx context.Context, g *globalOptions) ([]source, error) {
	if len(s.evidence) > 0 && s.root != "" {
		return nil, fault.New(fault.Usage, "usage", "give one of them", "cannot read two hosts at once: --evidence and --root were both given")
	}
	if s.root != "" {
		r, err := host.NewRooted(s.root)
		if err != nil {
			return nil, fault.New(fault.Usage, "usage", "name the directory of an unpacked image", "cannot read the image %s: %w", s.root, err)
		}
		return []source{s.detect(ctx, "", g.verbosely(r))}, nil
	}
	if len(s.evidence) == 0 {
		return []source{s.detect(ctx, "", g.verbosely(host.NewLive()))}, nil
	}
	var out []source
	var faulty []string
	for _, path := range s.evidence {
		files, err := evidenceFiles(path)
		if err != nil {
			faulty = append(faulty, err.Error())
			continue
		}
		for _, file := range files {
			docs, err := readEvidence(ctx, file, g.in)
			if ctx.Err() != nil {
				return nil, err
			}
			if err != nil {
				faulty = append(faulty, err.Error())
			}
			for i, doc := range docs {
				name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
				if file == "-" {
					name = "stdin"
				}
				if len(docs) > 1 {
					name = fmt.Sprintf("%s#%d", name, i+1)
				}
				out = append(out, s.detect(ctx, name, g.verbosely(host.NewReplay(doc))))
			}
		}
	}
	if len(faulty) > 0 {
		return out, fault.New(fault.Usage, "faulty-evidence", "the format of evidence is in docs/evidence.md",
			"%s", strings.Join(faulty, "\n"))
	}
	if len(out) == 0 {
		return nil, fault.New(fault.Usage, "faulty-evidence", "a directory is read for its *.yaml files", "cannot read evidence: no host in %s", strings.Join(s.evidence, ", "))
	}
	return out, nil
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
