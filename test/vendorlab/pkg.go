package vendorlab

import (
	"crypto/md5" // #nosec: the format of md5sums in a package
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// pkg is how a package is made, of either format.
type pkg struct {
	name string
	// version is upstream version and revision, which for an RPM are its version and release.
	version, arch, summary string
	// relations are fields of the control file, or tags of the spec file, as they stand there.
	relations []string
	conffiles []string
	// scripts are maintainer scripts with their first line, or bodies of an RPM's scriptlets.
	scripts map[string]string
	// fill puts the files into place; nil for a package without files.
	fill func(root string) error
}

const maintainer = "rdmactl test vendor <vendor@rdmactl.invalid>"

// epoch makes packages of the same input the same byte for byte.
const epoch = "SOURCE_DATE_EPOCH=1735689600"

func (p pkg) debFile() string { return p.name + "_" + p.version + "_" + p.arch + ".deb" }

// deb builds the package into dir.
func (p pkg) deb(dir string) error {
	root, err := os.MkdirTemp(dir, "tree")
	if err != nil {
		return err
	}
	err = p.debTree(root)
	if err == nil {
		err = buildDeb(root, filepath.Join(dir, p.debFile()))
	}
	return errors.Join(err, os.RemoveAll(root))
}

func (p pkg) debTree(root string) error {
	if err := os.Chmod(root, 0o755); err != nil {
		return err
	}
	if p.fill != nil {
		if err := p.fill(root); err != nil {
			return err
		}
	}
	var c strings.Builder
	fmt.Fprintf(&c, "Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: %s\nSection: net\nPriority: optional\n", p.name, p.version, p.arch, maintainer)
	for _, line := range p.relations {
		c.WriteString(line + "\n")
	}
	fmt.Fprintf(&c, "Description: %s\n Made for tests of rdmactl.\n", p.summary)
	errs := []error{put(root+"/DEBIAN/control", []byte(c.String()), 0o644)}
	for name, text := range p.scripts {
		errs = append(errs, put(root+"/DEBIAN/"+name, []byte(text), 0o755))
	}
	if len(p.conffiles) > 0 {
		errs = append(errs, put(root+"/DEBIAN/conffiles", []byte(strings.Join(p.conffiles, "\n")+"\n"), 0o644))
	}
	return errors.Join(append(errs, sums(root))...)
}

// sums writes md5sums and Installed-Size, which dpkg and its users read.
func sums(root string) error {
	var text strings.Builder
	var kib int64
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(path, root+"/")
		switch {
		case err != nil:
			return err
		case rel == "DEBIAN":
			return fs.SkipDir
		case !d.Type().IsRegular():
			kib++
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := md5.Sum(data)
		fmt.Fprintf(&text, "%s  %s\n", hex.EncodeToString(sum[:]), rel)
		kib += int64(len(data)+1023) / 1024
		return nil
	})
	if err != nil {
		return err
	}
	control, err := os.ReadFile(root + "/DEBIAN/control")
	if err != nil {
		return err
	}
	var lines []string
	for line := range strings.Lines(string(control)) {
		if !strings.HasPrefix(line, "Installed-Size:") {
			lines = append(lines, line)
		}
	}
	lines = slices.Insert(lines, 1, fmt.Sprintf("Installed-Size: %d\n", kib))
	return errors.Join(
		put(root+"/DEBIAN/control", []byte(strings.Join(lines, "")), 0o644),
		put(root+"/DEBIAN/md5sums", []byte(text.String()), 0o644),
	)
}

func buildDeb(root, file string) error {
	cmd := exec.Command("dpkg-deb", "--root-owner-group", "-Zgzip", "--build", root, file)
	cmd.Env = append(os.Environ(), epoch)
	return run(cmd)
}

// rpmFile is the package's file name. The vendor's labels are part of the release.
func (p pkg) rpmFile() string { return p.name + "-" + p.version + "." + p.arch + ".rpm" }

// rpm builds the package into dir, not signed.
func (p pkg) rpm(dir string) (err error) {
	top, err := os.MkdirTemp(dir, "top")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	tree := filepath.Join(top, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return err
	}
	if p.fill != nil {
		if err := p.fill(tree); err != nil {
			return err
		}
	}
	files, err := rpmFiles(tree)
	if err != nil {
		return err
	}
	v, rel, _ := strings.Cut(p.version, "-")
	var s strings.Builder
	fmt.Fprintf(&s, "Name: %s\nVersion: %s\nRelease: %s\nSummary: %s\nLicense: GPLv2 or BSD\nVendor: rdmactl test vendor\n", p.name, v, rel, p.summary)
	if p.arch == "noarch" {
		s.WriteString("BuildArch: noarch\n")
	}
	// What glibc and the shell bring is not asked for: the root may have them without an RPM of them.
	s.WriteString("AutoReq: no\n" + strings.Join(p.relations, "\n") + "\n")
	s.WriteString("%global debug_package %{nil}\n%global __os_install_post %{nil}\n%global _build_id_links none\n")
	s.WriteString("%description\nMade for tests of rdmactl.\n%install\nmkdir -p %{buildroot}\ncp -a " + quoted(tree) + "/. %{buildroot}/\n")
	for _, name := range slices.Sorted(maps.Keys(p.scripts)) {
		s.WriteString("%" + name + "\n" + p.scripts[name] + "\n")
	}
	s.WriteString("%files\n" + strings.Join(files, "\n") + "\n")
	spec := filepath.Join(top, "p.spec")
	if err := put(spec, []byte(s.String()), 0o644); err != nil {
		return err
	}
	args := []string{
		"-bb", "--quiet", "--define", "_topdir " + top, "--define", "_rpmdir " + dir, "--define", "_dbpath " + top + "/db",
		"--define", "_rpmfilename %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm", "--define", "_binary_payload w3.gzdio",
		"--define", "use_source_date_epoch_as_buildtime 1", "--define", "_buildhost vendor.rdmactl.invalid",
	}
	if p.arch != "noarch" {
		args = append(args, "--target", p.arch+"-linux")
	}
	cmd := in(top, "rpmbuild", append(args, spec)...)
	cmd.Env = append(os.Environ(), epoch, "HOME="+top)
	return run(cmd)
}

// rpmFiles is the list of a spec file: all files, and configuration as such.
func rpmFiles(tree string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, tree)
		line := `"` + name + `"`
		if strings.HasPrefix(name, "/etc/") && d.Type().IsRegular() && !strings.HasPrefix(name, "/etc/init.d/") && !strings.HasPrefix(name, "/etc/systemd/") {
			line = "%config(noreplace) " + line
		}
		files = append(files, line)
		return nil
	})
	return files, err
}
