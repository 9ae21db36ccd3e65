package apt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// repackedEnd ends the name of a package that was packed from installed files.
const repackedEnd = ".repacked.deb"

// keptAlready is the file of a package that was kept before, empty for none.
func (m *Manager) keptAlready(target string) (string, error) {
	for _, file := range []string{target, strings.TrimSuffix(target, ".deb") + repackedEnd} {
		switch _, err := m.Host.Lstat(file); {
		case err == nil:
			return file, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("cannot look at %s: %w", file, err)
		}
	}
	return "", nil
}

// repacked packs a package that no repository has any more, as one from a bundle that was thrown away.
func (m *Manager) repacked(ctx context.Context, p pkgmgr.Package, dir string, why error) (string, error) {
	target := path.Join(dir, fmt.Sprintf("%s_%s_%s%s", p.Name, strings.ReplaceAll(p.Version, ":", "%3a"), p.Arch, repackedEnd))
	if err := m.repack(ctx, p, path.Join(dir, "repack"), target); err != nil {
		return "", fmt.Errorf("cannot keep package %s %s: no repository has it any more (%w), and it cannot be packed from its files, so it could not be put back: %w", p.Name, p.Version, why, err)
	}
	return target, nil
}

// repack builds a package of its installed files and of what dpkg keeps of it. Configuration files are packed as they
// are. One that has a file diverted or missing, other than a configuration file, is refused: it could not be had back
// as it was.
func (m *Manager) repack(ctx context.Context, p pkgmgr.Package, work, target string) error {
	control, conffiles, err := m.control(ctx, p)
	if err != nil {
		return err
	}
	out, err := m.ask(ctx, "dpkg-query", "-L", p.Key())
	if err != nil {
		// A package of the architecture "all" is known by its plain name.
		if out, err = m.ask(ctx, "dpkg-query", "-L", p.Name); err != nil {
			return err
		}
	}
	tree := work + "/tree"
	if _, err := m.run(ctx, "rm", "-rf", "--", work); err != nil {
		return err
	}
	if err := m.Writer.MkdirAll(tree+"/DEBIAN", 0o755); err != nil {
		return fmt.Errorf("cannot make %s: %w", tree, err)
	}
	if err := m.fill(ctx, strings.Split(strings.TrimSpace(out), "\n"), conffiles, tree); err != nil {
		return err
	}
	if err := m.scripts(ctx, p, tree); err != nil {
		return err
	}
	files := []pkgmgr.File{{Path: tree + "/DEBIAN/control", Data: []byte(control), Mode: 0o644}}
	if len(conffiles) > 0 {
		files = append(files, pkgmgr.File{Path: tree + "/DEBIAN/conffiles", Data: []byte(strings.Join(conffiles, "\n") + "\n"), Mode: 0o644})
	}
	if err := pkgmgr.WriteFiles(m.Writer, files); err != nil {
		return err
	}
	if _, err := m.run(ctx, "dpkg-deb", "-Zgzip", "--build", tree, work+"/package.deb"); err != nil {
		return err
	}
	if err := m.Writer.Rename(work+"/package.deb", target); err != nil {
		return fmt.Errorf("cannot keep %s: %w", target, err)
	}
	_, err = m.run(ctx, "rm", "-rf", "--", work)
	return err
}

// control is the control file of an installed package, and the configuration files of it that are there.
func (m *Manager) control(ctx context.Context, p pkgmgr.Package) (string, []string, error) {
	text, err := m.Host.ReadFile(dpkgStatus)
	if err != nil {
		return "", nil, fmt.Errorf("cannot read %s: %w", dpkgStatus, err)
	}
	for paragraph := range strings.SplitSeq(string(text), "\n\n") {
		if field(paragraph, "Package")+":"+field(paragraph, "Architecture") != p.Key() || field(paragraph, "Version") != p.Version {
			continue
		}
		var out strings.Builder
		var listed strings.Builder
		keep, list := true, false
		for line := range strings.Lines(paragraph + "\n") {
			if line[0] != ' ' && line[0] != '\t' {
				name, _, _ := strings.Cut(line, ":")
				list = name == "Conffiles"
				// What dpkg adds for itself is no field of a package.
				keep = !slices.Contains([]string{"Status", "Conffiles", "Config-Version", "Triggers-Pending", "Triggers-Awaited"}, name)
			}
			switch {
			case list:
				listed.WriteString(line)
			case keep && strings.TrimSpace(line) != "":
				out.WriteString(line)
			}
		}
		conffiles := []string{}
		for _, c := range parseConffiles(listed.String()) {
			if _, err := m.Host.Lstat(c.path); err == nil {
				conffiles = append(conffiles, c.path)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return "", nil, fmt.Errorf("cannot look at %s: %w", c.path, err)
			}
		}
		return out.String(), conffiles, nil
	}
	return "", nil, fmt.Errorf("%s has no entry of %s %s", dpkgStatus, p.Key(), p.Version)
}

// fill copies the files of a package into a tree. A directory that is a link on this host (/lib to /usr/lib) is a
// directory in the package.
func (m *Manager) fill(ctx context.Context, files, conffiles []string, tree string) error {
	plain := []string{}
	for _, file := range files {
		switch {
		case strings.HasPrefix(file, "diverted by ") || strings.HasPrefix(file, "package diverts "):
			return errors.New("a file of it is diverted")
		case file == "/.", file == "/", file == "":
			continue
		case !path.IsAbs(file) || path.Clean(file) != file:
			return fmt.Errorf("its file %q is not a clean path", file)
		}
		info, err := m.Host.Lstat(file)
		if errors.Is(err, fs.ErrNotExist) && (slices.Contains(conffiles, file) || strings.HasPrefix(file, "/etc/") || strings.HasPrefix(file, "/usr/share/doc/") ||
			strings.HasPrefix(file, "/usr/share/man/") || strings.HasPrefix(file, "/usr/share/locale/") || strings.HasPrefix(file, "/usr/share/info/")) {
			continue // removed by the administrator, or left out at the installation, as images do
		}
		if err != nil {
			return fmt.Errorf("cannot look at %s: %w", file, err)
		}
		dir := info.Mode.IsDir() || info.Mode&fs.ModeSymlink != 0 && slices.ContainsFunc(files, func(other string) bool { return strings.HasPrefix(other, file+"/") })
		if !dir {
			plain = append(plain, file)
			continue
		}
		if info.Mode.IsDir() {
			if err := m.directory(tree+file, info); err != nil {
				return err
			}
		} else if err := m.Writer.MkdirAll(tree+file, 0o755); err != nil {
			return fmt.Errorf("cannot make %s: %w", tree+file, err)
		}
	}
	for chunk := range slices.Chunk(plain, 200) {
		// Without xattrs: a package carries none.
		argv := append([]string{"cp", "-P", "--preserve=mode,ownership,timestamps,links", "--parents", "-t", tree, "--"}, chunk...)
		if _, err := m.run(ctx, argv...); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) directory(dir string, like host.FileInfo) error {
	special := like.Mode & (fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
	if err := m.Writer.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make %s: %w", dir, err)
	}
	if err := m.Writer.Chown(dir, like.UID, like.GID); err != nil {
		return fmt.Errorf("cannot give %s its owner: %w", dir, err)
	}
	if err := m.Writer.Chmod(dir, like.Mode.Perm()|special); err != nil {
		return fmt.Errorf("cannot give %s its mode: %w", dir, err)
	}
	return nil
}

// scripts copies what dpkg keeps of a package's control files: NAME.postinst or NAME:ARCH.postinst.
func (m *Manager) scripts(ctx context.Context, p pkgmgr.Package, tree string) error {
	const info = "/var/lib/dpkg/info"
	for _, kind := range []string{"preinst", "postinst", "prerm", "postrm", "config", "templates", "triggers", "shlibs", "symbols", "md5sums"} {
		for _, name := range []string{p.Name, p.Name + ":" + p.Arch} {
			file := info + "/" + name + "." + kind
			switch _, err := m.Host.Lstat(file); {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				return fmt.Errorf("cannot look at %s: %w", file, err)
			}
			if _, err := m.run(ctx, "cp", "--preserve=mode", "--", file, tree+"/DEBIAN/"+kind); err != nil {
				return err
			}
		}
	}
	return nil
}
