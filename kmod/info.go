package kmod

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
)

// Info is what one module file says about itself. An empty field means that the text has no such
// line; a pasted text may be an excerpt.
type Info struct {
	Name     string // as the kernel has it, with '_'
	Filename string // absolute path, empty for a built-in module
	Builtin  bool   // part of the kernel image; modprobe has nothing to load

	Version       string // MODULE_VERSION; MLNX_OFED modules carry their release here
	SrcVersion    string // hash of the sources, compared with /sys/module/NAME/srcversion
	Vermagic      string // whole string, without the trailing blank
	KernelRelease string // first word of Vermagic: the only kernel that loads the file without modversions
	License       string
	Description   string

	Depends  []string // direct dependencies, names as in the file
	Softdeps []Softdep
	Aliases  []string
	Firmware []string
	Params   []Param
	Intree   bool // built from the kernel's own tree

	Signature Signature
}

// Signature is the signature appended to the file. It says who signed, not that the signature is
// valid: only the kernel, with its key rings, can tell.
type Signature struct {
	Present  bool
	ID       string // "PKCS#7"
	Signer   string // common name of the signer's issuer; empty: signed, and the signer is unknown
	Key      string // serial number or key id, "25:5E:..."
	HashAlgo string // "sha256"
}

// Param is one module parameter.
type Param struct {
	Name string
	Desc string
	Type string // "int", "bool", "array of int"; empty when not told
}

// Softdep are modules wanted before and after another.
type Softdep struct {
	Pre, Post []string
}

// ParseModinfo reads the text that modinfo(8) prints about one module.
func ParseModinfo(text string) (Info, error) {
	var info Info
	var fields []infoField
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		key, value, ok := splitInfoLine(line)
		switch {
		case ok:
			fields = append(fields, infoField{key, value})
		case len(fields) > 0:
			// A value of several lines: the signature, or a description with a newline in it.
			fields[len(fields)-1].value += "\n" + strings.TrimSpace(line)
		}
	}
	if len(fields) == 0 {
		return Info{}, errors.New("cannot read modinfo text: no line of the form \"key: value\"")
	}
	seen := map[string]bool{}
	for _, f := range fields {
		if f.key == "filename" && seen[f.key] {
			return Info{}, errors.New("cannot read modinfo text: it describes more than one module")
		}
		seen[f.key] = true
		info.set(f.key, f.value)
	}
	if info.Name == "" {
		info.Name = nameOf(info.Filename)
	}
	return info, nil
}

type infoField struct{ key, value string }

// splitInfoLine cuts "key:   value". Keys are C identifiers; a line of hex digits of a signature
// starts with a tab and is none.
func splitInfoLine(line string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(line, ":")
	if !ok || !isInfoKey(key) {
		return "", "", false
	}
	if value != "" && value[0] != ' ' && value[0] != '\t' {
		// modinfo pads to column 16; only a key of 15 and more characters meets its value.
		if len(key) < 15 {
			return "", "", false
		}
	}
	return key, strings.TrimSpace(value), true
}

func isInfoKey(key string) bool {
	for _, c := range []byte(key) {
		if c == '-' || !isNameByte(c) && c != '.' {
			return false
		}
	}
	return key != ""
}

func (info *Info) set(key, value string) {
	switch key {
	case "name":
		info.Name = Normalize(value)
	case "filename":
		if value == "(builtin)" {
			info.Builtin = true
		} else {
			info.Filename = value
		}
	case "version":
		info.Version = value
	case "srcversion":
		info.SrcVersion = value
	case "vermagic":
		info.Vermagic = value
		info.KernelRelease, _, _ = strings.Cut(value, " ")
	case "license":
		info.License = value
	case "description":
		info.Description = value
	case "depends":
		info.Depends = append(info.Depends, splitList(value)...)
	case "softdep":
		info.Softdeps = append(info.Softdeps, parseSoftdep(strings.Fields(value)))
	case "alias":
		info.Aliases = append(info.Aliases, value)
	case "firmware":
		info.Firmware = append(info.Firmware, value)
	case "parm":
		info.Params = append(info.Params, parseParam(value))
	case "intree":
		info.Intree = value == "Y"
	case "sig_id":
		info.Signature.Present = true
		info.Signature.ID = value
	case "signer":
		info.Signature.Present = true
		info.Signature.Signer = value
	case "sig_key":
		info.Signature.Key = value
	case "sig_hashalgo":
		info.Signature.HashAlgo = value
	case "signature":
		info.Signature.Present = true
	}
}

func splitList(value string) []string {
	var list []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// parseSoftdep reads "pre: a b post: c"; names before any word are ignored, as kmod does.
func parseSoftdep(words []string) Softdep {
	var s Softdep
	var into *[]string
	for _, w := range words {
		switch {
		case w == "pre:":
			into = &s.Pre
		case w == "post:":
			into = &s.Post
		case into != nil:
			*into = append(*into, w)
		}
	}
	return s
}

// parseParam reads "name:description (type)", or "name:type" where the author gave no description.
func parseParam(value string) Param {
	name, rest, _ := strings.Cut(value, ":")
	p := Param{Name: name, Desc: rest}
	if open := strings.LastIndex(rest, " ("); open >= 0 && strings.HasSuffix(rest, ")") {
		p.Desc, p.Type = rest[:open], rest[open+2:len(rest)-1]
	} else if isParamType(rest) {
		p.Desc, p.Type = "", rest
	}
	return p
}

func isParamType(s string) bool {
	s = strings.TrimPrefix(s, "array of ")
	return slices.Contains([]string{
		"byte", "short", "ushort", "int", "uint", "long", "ulong", "ullong", "hexint",
		"charp", "bool", "invbool", "bint", "string",
	}, s)
}

// nameOf returns the module's name from its file's, "" for "".
func nameOf(file string) string {
	if file == "" {
		return ""
	}
	base, _, _ := strings.Cut(path.Base(file), ".ko")
	return Normalize(base)
}

// Read describes the module that modprobe would load under this name for this kernel ("" is the
// running one). The text is recorded as `modinfo NAME` for the running kernel and as
// `modinfo -k KERNEL NAME` for a named one, which are the commands that print the same. A replay
// that has only the plain command still answers for a named kernel if the text says that it speaks
// of that kernel (file name, vermagic, or `uname -r`).
func Read(ctx context.Context, r host.Reader, kernel, name string) (Info, error) {
	if err := CheckName(name); err != nil {
		return Info{}, fmt.Errorf("cannot read modinfo: %w", err)
	}
	loc, err := Find(ctx, r, kernel, name)
	return ReadFound(ctx, r, kernel, name, loc, err)
}

// ReadFound is Read with the answer of Find, for who has it: the search is half of the work.
func ReadFound(ctx context.Context, r host.Reader, kernel, name string, loc Location, err error) (Info, error) {
	switch {
	case err == nil && loc.Builtin:
		return Info{Name: Normalize(name), Builtin: true}, nil
	case err == nil:
	case errors.Is(err, host.ErrUnknown):
		// A typed evidence has no modules.dep, but may have the text itself. The path only says
		// which tree is asked about.
		loc.Path = path.Join(modulesRoot, kernel, "modules.dep")
	default:
		return Info{}, err
	}
	argv := []string{"modinfo", name}
	if kernel != "" {
		argv = []string{"modinfo", "-k", kernel, name}
	}
	info, err := derive(ctx, r, loc.Path, argv)
	if kernel != "" && errors.Is(err, host.ErrUnknown) {
		info, err = derivePlain(ctx, r, loc.Path, kernel, name)
	}
	return info, err
}

// ReadFile describes one module file (.ko, .ko.xz, .ko.zst, .ko.gz), wherever it is. The text is
// recorded as `modinfo PATH`. A replay without that command answers from `modinfo -k KERNEL NAME`
// or `modinfo NAME` if their text names the same file; kernel "" is the running one.
func ReadFile(ctx context.Context, r host.Reader, file, kernel string) (Info, error) {
	if !strings.HasPrefix(file, "/") || strings.ContainsAny(file, "\x00\n") {
		return Info{}, fmt.Errorf("cannot read modinfo of %q: not an absolute path", file)
	}
	info, err := derive(ctx, r, file, []string{"modinfo", file})
	if !errors.Is(err, host.ErrUnknown) {
		return info, err
	}
	name := nameOf(file)
	if CheckName(name) != nil {
		return Info{}, err
	}
	tries := [][]string{{"modinfo", name}}
	if kernel != "" {
		tries = [][]string{{"modinfo", "-k", kernel, name}, {"modinfo", name}}
	}
	for _, argv := range tries {
		if other, otherErr := derive(ctx, r, file, argv); otherErr == nil && other.Filename == file {
			return other, nil
		}
	}
	return Info{}, err
}

func derive(ctx context.Context, r host.Reader, file string, argv []string) (Info, error) {
	res, err := r.Derive(ctx, file, argv, modinfoDecoder(file))
	if err != nil {
		return Info{}, &lookupError{"read modinfo of", argv[len(argv)-1], "", "", err}
	}
	return infoOf(res)
}

// infoOf judges the text of a modinfo command, which may have failed where it was typed.
func infoOf(res host.Result) (Info, error) {
	what := strings.Join(res.Argv, " ")
	if strings.TrimSpace(res.Stdout) == "" {
		switch {
		case strings.Contains(res.Stderr, "not found") && !strings.Contains(res.Stderr, "command not found"):
			return Info{}, fmt.Errorf("cannot find module: %s says %q: %w", what, strings.TrimSpace(res.Stderr), fs.ErrNotExist)
		default:
			return Info{}, fmt.Errorf("cannot read modinfo: %s printed nothing (exit %d): %w", what, res.Exit, host.ErrUnknown)
		}
	}
	return ParseModinfo(res.Stdout)
}

// derivePlain asks the command without a kernel, and accepts its text only for that kernel.
func derivePlain(ctx context.Context, r host.Reader, file, kernel, name string) (Info, error) {
	info, err := derive(ctx, r, file, []string{"modinfo", name})
	if err != nil {
		return Info{}, err
	}
	if release, told := info.tellsKernel(); told {
		if release == kernel {
			return info, nil
		}
		return Info{}, fmt.Errorf("cannot read modinfo of %s for kernel %s: the text is about %s: %w", name, kernel, release, host.ErrUnknown)
	}
	running, err := Running(ctx, r)
	if err == nil && running == kernel {
		return info, nil
	}
	return Info{}, fmt.Errorf("cannot read modinfo of %s for kernel %s: the text does not say for which kernel it is: %w", name, kernel, host.ErrUnknown)
}

// tellsKernel returns the kernel whose module tree the text speaks of. The directory comes first:
// a weak-updates module has the vermagic of another kernel and is still this kernel's.
func (info Info) tellsKernel() (string, bool) {
	if rest, ok := cutModulesRoot(info.Filename); ok {
		release, _, _ := strings.Cut(rest, "/")
		return release, release != ""
	}
	return info.KernelRelease, info.KernelRelease != ""
}

// cutModulesRoot returns the path below /lib/modules or /usr/lib/modules.
func cutModulesRoot(file string) (string, bool) {
	return strings.CutPrefix(strings.TrimPrefix(file, "/usr"), modulesRoot+"/")
}
