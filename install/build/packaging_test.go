package build_test

import (
	"archive/tar"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/install/build"
)

const (
	someControl = `Source: rdma-core
Maintainer: Test <test@rdmactl.invalid>
# a comment
Build-Depends: cmake (>= 2.8.11),
               cython3 <!nopython>,
               debhelper (>= 10),
               pandoc,
               python3-dev:any,
               python3-docutils, ,
               valgrind [amd64 arm64]
Rules-Requires-Root: no

Package: rdma-core
Architecture: any

Package: libibverbs1
Architecture: any

Package: ibverbs-providers
Architecture: any

Package: python3-pyverbs
Architecture: any
`
	someRules     = "#!/usr/bin/make -f\n%:\n\tdh $@ -- $(EXTRA_CMAKE_FLAGS)\n"
	someChangelog = "rdma-core (56.1-1) unstable; urgency=low\n\n  * Test.\n\n -- Test <test@rdmactl.invalid>  Thu, 03 Apr 2025 08:44:30 +0200\n"
)

// packagingTree is the tree of a source with a packaging; files replace or, where they are empty, remove its own.
func (b *bench) packagingTree(files map[string]string) {
	b.t.Helper()
	all := map[string]string{
		"CMakeLists.txt":   "project(rdma-core C)\nset(PACKAGE_VERSION \"56.1\")\nset(IBVERBS_PABI_VERSION \"34\")\n",
		"debian/control":   someControl,
		"debian/rules":     someRules,
		"debian/changelog": someChangelog,
	}
	for name, text := range files {
		if all[name] = text; text == "" {
			delete(all, name)
		}
	}
	entries := []entry{{tar.Header{Name: "rdma-core-56.1/", Typeflag: tar.TypeDir, Mode: 0o755}, ""}}
	for name, text := range all {
		entries = append(entries, file("rdma-core-56.1/"+name, text))
	}
	b.archive(entries...)
}

func (b *bench) unpacked() (build.Packaging, error) {
	b.t.Helper()
	return build.UnpackPackaging(context.Background(), b.h, b.req)
}

func TestUnpackPackaging(t *testing.T) {
	for _, test := range []struct {
		name     string
		files    map[string]string
		version  string
		packages []string
		leftOut  []string
		needs    []string // in the control that the package manager reads
		not      []string
		profiles []string
	}{
		{
			"a git tree", nil, "56.1-1+rdmactl1",
			[]string{"rdma-core", "libibverbs1", "ibverbs-providers"},
			[]string{"cython3", "python3-dev", "valgrind"},
			[]string{"build-essential", "cmake (>= 2.8.11)", "debhelper (>= 10)", "pandoc", "python3-docutils"},
			[]string{"cython3", "valgrind", "fakeroot"},
			[]string{"nocheck", "nopython"},
		},
		{
			"a release, with ready-made pages",
			map[string]string{"buildlib/pandoc-prebuilt/0123": "page"},
			"56.1-1+rdmactl1",
			[]string{"rdma-core", "libibverbs1", "ibverbs-providers"},
			[]string{"cython3", "pandoc", "python3-dev", "valgrind"},
			[]string{"python3-docutils"},
			[]string{"pandoc"},
			[]string{"nocheck", "nopython"},
		},
		{
			"rules that take no flags build all",
			map[string]string{"debian/rules": "#!/usr/bin/make -f\n"},
			"56.1-1+rdmactl1",
			[]string{"rdma-core", "libibverbs1", "ibverbs-providers", "python3-pyverbs"},
			[]string{"valgrind"},
			[]string{"cython3 <!nopython>", "python3-dev:any"},
			[]string{"valgrind"},
			[]string{"nocheck", "nopython"},
		},
		{
			"rules that want root",
			map[string]string{"debian/control": strings.Replace(someControl, "Rules-Requires-Root: no\n", "", 1)},
			"56.1-1+rdmactl1",
			[]string{"rdma-core", "libibverbs1", "ibverbs-providers"},
			[]string{"cython3", "python3-dev", "valgrind"},
			[]string{"fakeroot"},
			nil,
			[]string{"nocheck", "nopython"},
		},
		{
			"a version that is marked",
			map[string]string{"debian/changelog": strings.Replace(someChangelog, "56.1-1", "1:56.1-1+rdmactl3", 1)},
			"1:56.1-1+rdmactl3",
			[]string{"rdma-core", "libibverbs1", "ibverbs-providers"},
			[]string{"cython3", "python3-dev", "valgrind"},
			nil, nil,
			[]string{"nocheck", "nopython"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.packagingTree(test.files)
			p, err := b.unpacked()
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(p.LeftOut)
			if p.Version != test.version || !slices.Equal(p.Packages, test.packages) || !slices.Equal(p.LeftOut, test.leftOut) || !slices.Equal(p.Profiles, test.profiles) {
				t.Errorf("version %s, packages %v, left out %v, profiles %v", p.Version, p.Packages, p.LeftOut, p.Profiles)
			}
			control, err := os.ReadFile(filepath.Join(p.Needs, "debian/control"))
			must(t, err)
			for _, need := range test.needs {
				if !strings.Contains(string(control), " "+need) {
					t.Errorf("%q is not asked for:\n%s", need, control)
				}
			}
			for _, not := range test.not {
				if strings.Contains(string(control), not) {
					t.Errorf("%q is asked for:\n%s", not, control)
				}
			}
			must(t, build.ForgetPackaging(b.h, p.Work))
			if _, err := os.Stat(p.Work); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", p.Work, err)
			}
		})
	}
}

func TestUnpackPackagingRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		says  string
	}{
		"no packaging":        {map[string]string{"debian/control": "", "debian/rules": "", "debian/changelog": ""}, "debian/control"},
		"no rules":            {map[string]string{"debian/rules": ""}, "debian/rules"},
		"another source":      {map[string]string{"debian/control": strings.Replace(someControl, "rdma-core", "sudo", 1)}, "not that of rdma-core"},
		"a path as a package": {map[string]string{"debian/control": someControl + "\nPackage: ../../etc\nArchitecture: any\n"}, "names a package"},
		"a package twice":     {map[string]string{"debian/control": someControl + "\nPackage: libibverbs1\nArchitecture: any\n"}, "names a package"},
		"a version as a command": {
			map[string]string{"debian/changelog": strings.Replace(someChangelog, "56.1-1", "56.1-1;id", 1)}, "does not begin with a version",
		},
		"another version": {map[string]string{"CMakeLists.txt": "project(rdma-core C)\nset(PACKAGE_VERSION \"57.0\")\nset(IBVERBS_PABI_VERSION \"57\")\n"}, "is of version 57.0"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.packagingTree(test.files)
			p, err := b.unpacked()
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("got %+v, %v, want %q", p, err, test.says)
			}
			left, err := filepath.Glob(filepath.Join(b.req.Cache, "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("it left %v, %v", left, err)
			}
		})
	}
}

// TestMakePackages has the real namespaces around a program that stands for dpkg-buildpackage.
func TestMakePackages(t *testing.T) {
	if !asRoot() {
		t.Skip("needs root: the build is shut in by namespaces")
	}
	const good = `for p in rdma-core libibverbs1 ibverbs-providers; do echo "$p" >../${p}_56.1-1+rdmactl1_amd64.deb; done
echo text >../rdma-core_56.1-1+rdmactl1_amd64.buildinfo
`
	for _, test := range []struct {
		name, script, says string
		packages           int
	}{
		{"good", good, "", 3},
		{"fails", "echo 'x.c:1: error: no such thing'; exit 2\n", "no such thing", 0},
		{"one is missing", "for p in rdma-core libibverbs1; do echo >../${p}_56.1-1+rdmactl1_amd64.deb; done\n", "no package ibverbs-providers", 0},
		{"one that is not named", good + "echo >../sudo_56.1-1+rdmactl1_amd64.deb\n", "sudo_56.1", 0},
		{"of another version", good + "echo >../rdma-core_99_amd64.deb\n", "rdma-core_99", 0},
		{"a link", good + "rm ../libibverbs1_*; ln -s /etc/shadow ../libibverbs1_56.1-1+rdmactl1_amd64.deb\n", "libibverbs1", 0},
		{"a pipe", good + "rm ../libibverbs1_*; mkfifo ../libibverbs1_56.1-1+rdmactl1_amd64.deb\n", "no regular file", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			if err := build.CanConfine(context.Background(), b.h); err != nil {
				t.Skip("needs namespaces: ", err)
			}
			b.program("dpkg-checkbuilddeps", "#!/bin/sh\nexit 0\n")
			b.program("dpkg-buildpackage", "#!/bin/sh\nhead -1 debian/changelog\necho uid=$(id -u) \"options=$DEB_BUILD_OPTIONS\" \"flags=$EXTRA_CMAKE_FLAGS\" \"$@\"\ncat /proc/net/route /proc/net/dev\n"+test.script)
			b.packagingTree(nil)
			p, err := b.unpacked()
			must(t, err)
			out, err := build.MakePackages(context.Background(), b.h, b.req, p)
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Fatalf("got %v, want %q", err, test.says)
				}
				names, err := os.ReadDir(p.Work)
				if err != nil || len(names) != 1 || names[0].Name() != "build.log" {
					t.Errorf("it left %v, %v", names, err)
				}
				return
			}
			must(t, err)
			if len(out.Packages) != test.packages {
				t.Errorf("packages %v", out.Packages)
			}
			for _, f := range out.Packages {
				info, err := os.Lstat(filepath.Join(out.Dir, f.File))
				must(t, err)
				if !info.Mode().IsRegular() || info.Mode().Perm() != 0o644 {
					t.Errorf("%s is %v", f.File, info.Mode())
				}
			}
			log, err := os.ReadFile(out.Log)
			must(t, err)
			for _, want := range []string{
				"rdma-core (56.1-1+rdmactl1) UNRELEASED", "uid=" + buildUID(), "options=nocheck noautodbgsym parallel=3", "flags=-DNO_PYVERBS=1", "-b -us -uc -d -Pnocheck,nopython",
			} {
				if !strings.Contains(string(log), want) {
					t.Errorf("the log lacks %q:\n%s", want, log)
				}
			}
			if strings.Contains(string(log), "eth") || strings.Contains(string(log), "ens") {
				t.Errorf("the build sees a network:\n%s", log)
			}
		})
	}
}
