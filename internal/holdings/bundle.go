package holdings

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// Bundle is what the name of a bundle tells.
type Bundle struct {
	Version string
	Label   string // rhel9.4; empty for an "ext" bundle of mlnx_add_kernel_support.sh without one
	Arch    string
}

var bundleName = regexp.MustCompile(`^MLNX_OFED_LINUX-(\d{1,2}\.\d{1,2}-\d+\.\d+\.\d+\.\d+(?:\.\d+)?)-([a-z]+[0-9a-z.]*?)-(?:(x86_64|aarch64|ppc64le|ppc64)|ext)(?:\.tgz|\.iso|\.tar\.gz)?$`)

// ParseBundleName reads MLNX_OFED_LINUX-<version>-<label>-<arch>, with or without an ending.
func ParseBundleName(name string) (Bundle, bool) {
	m := bundleName.FindStringSubmatch(path.Base(name))
	if m == nil {
		return Bundle{}, false
	}
	return Bundle{m[1], m[2], m[3]}, true
}

var fileVersion = regexp.MustCompile(`^\d{1,2}\.\d{1,2}-\d+\.\d+\.\d+\.\d+(?:\.\d+)?$`)

// isBundle says that a folder has the version file that the vendor's installer asks for.
func isBundle(ctx context.Context, t tree) (bool, error) {
	if ok, err := exists(ctx, t, "distro"); !ok || err != nil {
		return false, err
	}
	_, _, err := readAny(ctx, t, maxSmallFile, ".mlnx", "mlnx")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// readBundle reads an unpacked MLNX_OFED bundle.
func (im *importer) readBundle(ctx context.Context, t tree) (*found, error) {
	head := found{}
	text, err := im.bundleLine(ctx, t, ".mlnx", "mlnx")
	if err != nil {
		return nil, err
	}
	if head.version = text; !fileVersion.MatchString(text) {
		return nil, refuse(hintDamaged, "its version file has %q, which is no version", clip(text))
	}
	if text, err = im.bundleLine(ctx, t, "distro"); err != nil {
		return nil, err
	}
	sys, ok := parseLabel(text)
	if !ok {
		return nil, refuse("say which system it is for in an issue, with the content of the file", "its file distro has %q, which names no system known here", clip(text))
	}
	head.system = sys
	if text, err = im.bundleLine(ctx, t, ".arch", "arch"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if head.arch, ok = archOf(text); !ok && text != "" {
		return nil, refuse(hintDamaged, "its file .arch has %q, which is no architecture", clip(text))
	}
	if head.supported, err = supportedKernels(ctx, t); err != nil {
		return nil, err
	}
	if err := im.offerKeys(ctx, t, ".", "RPMS", "DEBS"); err != nil {
		return nil, err
	}
	f, err := im.bundlePackages(ctx, t)
	if err != nil {
		return nil, err
	}
	f.version, f.system, f.arch, f.supported = head.version, head.system, head.arch, head.supported
	return f, nil
}

// bundlePackages reads the repository of a bundle. Up to 5.0 there are several: COMMON beside one for
// the vendor's own libraries, which is the installer's default and links into COMMON.
func (im *importer) bundlePackages(ctx context.Context, t tree) (*found, error) {
	for _, dir := range []string{"DEBS", "DEBS/MLNX_LIBS", "DEBS/UPSTREAM_LIBS"} {
		ok, err := aptRelease(ctx, t, dir)
		if err != nil {
			return nil, err
		}
		if ok {
			return im.readApt(ctx, t, dir)
		}
	}
	for _, dir := range []string{"RPMS", "RPMS/MLNX_LIBS", "RPMS/UPSTREAM_LIBS"} {
		ok, err := exists(ctx, t, path.Join(dir, "repodata/repomd.xml"))
		if err != nil {
			return nil, err
		}
		if ok {
			return im.readRPMMD(ctx, t, dir)
		}
	}
	return nil, refuse("unpack the bundle whole; one of mlnx_add_kernel_support.sh needs its repository (without --skip-repo)", "the bundle has no repository in DEBS or RPMS")
}

// bundleLine reads a file of one line.
func (im *importer) bundleLine(ctx context.Context, t tree, names ...string) (string, error) {
	data, _, err := readAny(ctx, t, maxSmallFile, names...)
	line, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	return strings.TrimSpace(line), err
}

func supportedKernels(ctx context.Context, t tree) ([]string, error) {
	data, name, err := readAny(ctx, t, maxSmallFile, ".supported_kernels", "supported_kernels")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var kernels []string
	for _, k := range strings.Fields(string(data)) {
		if !kernelPattern.MatchString(k) {
			return nil, refuse(hintHostile, "%s has %q, which is no kernel release", name, clip(k))
		}
		if kernels = append(kernels, k); len(kernels) > maxKernels {
			return nil, refuse(hintHostile, "%s names more than %d kernels", name, maxKernels)
		}
	}
	return kernels, nil
}
