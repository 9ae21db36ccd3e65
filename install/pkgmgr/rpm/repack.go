package rpm

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// repacked ends the name of a package that was packed from installed files.
const repacked = ".repacked-unsigned.rpm"

// Repacked says that a kept file was packed from installed files.
func Repacked(file string) bool { return strings.HasSuffix(file, repacked) }

// repack builds a package from its installed files and what the database knows of it, by rpmbuild. A
// package that cannot be had back so as it was, is refused: one with files changed or missing, or with
// triggers. Configuration files are packed as they are.
func (t Tool) repack(ctx context.Context, p pkgmgr.Package, dir, target string) error {
	if there, err := exists(t.Host, "/usr/bin/rpmbuild"); err != nil {
		return err
	} else if !there {
		return errors.New("rpmbuild is not installed (package rpm-build)")
	}
	nevra := NEVRA(p)
	res, err := t.Query(ctx, "", "rpm", "-V", "--nodeps", "--noscripts", nevra)
	if err != nil {
		return err
	}
	for _, v := range parseVerify(res.Stdout) {
		if !v.config && (v.missing || v.content) {
			return fmt.Errorf("%s is not as the package brought it", v.path)
		}
	}
	triggers, err := t.Ask(ctx, "rpm", "-q", "--triggers", "--filetriggers", nevra)
	var command *pkgmgr.CommandError
	if errors.As(err, &command) { // rpm before 4.13, as of EL 7, knows no triggers of files
		triggers, err = t.Ask(ctx, "rpm", "-q", "--triggers", nevra)
	}
	if err != nil {
		return err
	}
	if strings.TrimSpace(triggers) != "" {
		return errors.New("it has triggers")
	}
	spec, files, err := t.spec(ctx, nevra)
	if err != nil {
		return err
	}
	work := path.Join(dir, "repack")
	list := strings.Join(files, "\n") + "\n"
	err = pkgmgr.WriteFiles(t.Writer, []pkgmgr.File{
		{Path: work + "/files", Data: []byte(list), Mode: 0o600}, {Path: work + "/package.spec", Data: []byte(spec), Mode: 0o600},
	})
	if err != nil {
		return err
	}
	build := []string{"rpmbuild", "-bb", "--target", p.Arch, "--noclean"}
	for _, d := range []string{
		"_topdir " + work, "_tmppath " + work, "_rpmdir " + work, "_build_name_fmt package.rpm", "_buildhost localhost",
		"_binary_payload w6.gzdio", "__os_install_post %{nil}", "debug_package %{nil}", "_build_id_links none",
		"_unpackaged_files_terminate_build 0", "_binaries_in_noarch_packages_terminate_build 0", "_missing_build_ids_terminate_build 0",
		"kept_files " + work + "/files",
	} {
		build = append(build, "-D", d)
	}
	if _, err := t.Run(ctx, "", append(build, "--buildroot", work+"/buildroot", work+"/package.spec")...); err != nil {
		return err
	}
	out, err := t.Ask(ctx, "rpm", "-qp", "--nosignature", "--qf", databaseFormat, work+"/package.rpm")
	if err != nil {
		return err
	}
	got, err := parseDatabase(out)
	if err != nil {
		return err
	}
	if len(got) != 1 || got[0].Version != p.Version || NEVRA(got[0]) != nevra {
		return fmt.Errorf("rpmbuild made %s of it", strings.TrimSpace(out))
	}
	if err := t.Writer.Rename(work+"/package.rpm", target); err != nil {
		return fmt.Errorf("cannot keep %s: %w", target, err)
	}
	_, err = t.Run(ctx, "", "rm", "-rf", "--", work)
	return err
}

// spec writes the recipe of an installed package, and the paths of the files that are to be packed.
func (t Tool) spec(ctx context.Context, nevra string) (string, []string, error) {
	ask := func(format string) (string, error) { return t.Ask(ctx, "rpm", "-q", "--qf", format, nevra) }
	var b strings.Builder
	b.WriteString("AutoReqProv: no\n")
	for _, tag := range []string{"Name", "Epoch", "Version", "Release", "Summary", "License", "Group", "Vendor", "URL", "Packager", "Distribution"} {
		v, err := ask("%{" + strings.ToUpper(tag) + "}")
		if err != nil {
			return "", nil, err
		}
		if v = strings.TrimSpace(v); v != "" && v != "(none)" {
			if strings.Contains(v, "\n") {
				return "", nil, fmt.Errorf("its %s has more than one line", tag)
			}
			fmt.Fprintf(&b, "%s: %s\n", tag, escape(v))
		}
	}
	self, err := ask(`%{NAME} %{EPOCH}:%{VERSION}-%{RELEASE}`)
	if err != nil {
		return "", nil, err
	}
	name, evr, _ := strings.Cut(self, " ")
	evr = strings.TrimPrefix(evr, "(none):")
	for _, kind := range []struct{ tag, head string }{
		{"REQUIRE", "Requires"},
		{"PROVIDE", "Provides"},
		{"CONFLICT", "Conflicts"},
		{"OBSOLETE", "Obsoletes"},
		{"RECOMMEND", "Recommends"},
		{"SUGGEST", "Suggests"},
		{"SUPPLEMENT", "Supplements"},
		{"ENHANCE", "Enhances"},
	} {
		out, err := ask(fmt.Sprintf(`[%%{%[1]sNAME}\t%%{%[1]sFLAGS:depflags}\t%%{%[1]sVERSION}\t%%{%[1]sFLAGS:deptype}\n]`, kind.tag))
		var command *pkgmgr.CommandError
		if errors.As(err, &command) && kind.tag[0] != 'R' && kind.tag[0] != 'P' {
			continue // rpm before 4.12 knows no weak dependencies
		}
		if err != nil {
			return "", nil, err
		}
		for line := range strings.Lines(out) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if len(f) != 4 {
				return "", nil, fmt.Errorf("its dependencies cannot be read: %q", line)
			}
			own := kind.tag == "PROVIDE" && f[2] == evr && (f[0] == name || strings.HasPrefix(f[0], name+"("))
			if own || strings.HasPrefix(f[0], "rpmlib(") || strings.Contains(f[3], "interp") {
				continue // rpmbuild adds these itself
			}
			fmt.Fprintf(&b, "%s: %s\n", kind.head, escape(strings.TrimSpace(f[0]+" "+strings.TrimSpace(f[1])+" "+f[2])))
		}
	}
	description, err := ask("%{DESCRIPTION}")
	if err != nil {
		return "", nil, err
	}
	fmt.Fprintf(&b, "\n%%description\n%s\n\n%%install\nmkdir -p %%{buildroot}\ntar -C / --no-recursion --xattrs --acls -T %%{kept_files} -cf - | tar -C %%{buildroot} --xattrs --acls -xpf -\n", escape(description))
	for _, s := range []struct{ tag, section string }{
		{"PRETRANS", "pretrans"},
		{"PREIN", "pre"},
		{"POSTIN", "post"},
		{"PREUN", "preun"},
		{"POSTUN", "postun"},
		{"POSTTRANS", "posttrans"},
		{"VERIFYSCRIPT", "verifyscript"},
	} {
		prog, err := ask("[%{" + s.tag + "PROG} ]")
		if err != nil {
			return "", nil, err
		}
		text, err := ask("%{" + s.tag + "}")
		if err != nil {
			return "", nil, err
		}
		if prog = strings.TrimSpace(prog); prog == "" || prog == "(none)" {
			continue
		}
		if text == "(none)" {
			text = ""
		}
		fmt.Fprintf(&b, "\n%%%s -p %s\n%s\n", s.section, prog, escape(text))
	}
	lines, files, err := t.specFiles(ask)
	if err != nil {
		return "", nil, err
	}
	b.WriteString("\n%files\n" + lines)
	return b.String(), files, nil
}

func escape(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// specFiles are the lines of %files, and the paths that are copied for them.
func (t Tool) specFiles(ask func(string) (string, error)) (lines string, files []string, err error) {
	out, err := ask(`[%{FILENAMES}\t%{FILEMODES:octal}\t%{FILEUSERNAME}\t%{FILEGROUPNAME}\t%{FILEFLAGS:fflags}\t%{FILESTATES}\n]`)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) == 1 && f[0] == "" || strings.HasPrefix(line, "(none)") {
			continue
		}
		if len(f) != 6 || !strings.HasPrefix(f[0], "/") || strings.ContainsAny(f[0], "*?[]{}\"\\%\n") {
			return "", nil, fmt.Errorf("its file %q cannot be written into a recipe", f[0])
		}
		name, mode, flags := f[0], f[1], f[4]
		switch f[5] {
		case "0": // normal
		case "2":
			continue // left out at installation, such as documentation
		default:
			return "", nil, fmt.Errorf("its file %s was replaced by another package", name)
		}
		info, err := t.Host.Lstat(name)
		ghost := strings.Contains(flags, "g")
		if err != nil && !ghost {
			return "", nil, fmt.Errorf("cannot look at %s: %w", name, err)
		}
		fmt.Fprintf(&b, "%s\n", fileLine(name, mode, f[2], f[3], flags, info))
		if err == nil {
			files = append(files, name)
		}
	}
	return b.String(), files, nil
}

func fileLine(name, mode, user, group, flags string, info host.FileInfo) string {
	words := []string{}
	// Modes of links are not kept by rpm either.
	if !strings.HasPrefix(mode, "0120") && !strings.HasPrefix(mode, "120") {
		words = append(words, fmt.Sprintf("%%attr(%s,%s,%s)", mode[max(0, len(mode)-4):], user, group))
	} else {
		words = append(words, fmt.Sprintf("%%attr(-,%s,%s)", user, group))
	}
	options := []string{}
	for _, o := range []struct{ flag, word string }{{"m", "missingok"}, {"n", "noreplace"}} {
		if strings.Contains(flags, o.flag) {
			options = append(options, o.word)
		}
	}
	if strings.Contains(flags, "c") {
		word := "%config"
		if len(options) > 0 {
			word += "(" + strings.Join(options, " ") + ")"
		}
		words = append(words, word)
	}
	for _, o := range []struct{ flag, word string }{{"d", "%doc"}, {"g", "%ghost"}, {"l", "%license"}} {
		if strings.Contains(flags, o.flag) {
			words = append(words, o.word)
		}
	}
	if strings.HasPrefix(mode, "040") || strings.HasPrefix(mode, "40") || info.Mode.IsDir() {
		words = append(words, "%dir")
	}
	return strings.Join(append(words, `"`+name+`"`), " ")
}
