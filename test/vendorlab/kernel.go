package vendorlab

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

//go:embed all:assets
var assets embed.FS

// asset is an embedded file with its @WORDS@ filled in, which come in pairs.
func asset(name string, words ...string) ([]byte, error) {
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		return nil, err
	}
	text := strings.NewReplacer(words...).Replace(string(data))
	return []byte(text), nil
}

// putAsset writes an embedded file.
func putAsset(to, name string, mode os.FileMode, words ...string) error {
	data, err := asset(name, words...)
	if err != nil {
		return err
	}
	return put(to, data, mode)
}

// assetsKey is what the embedded files are, for the hash of what is made of them.
func assetsKey() ([]string, error) {
	var all []string
	err := fs.WalkDir(assets, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := assets.ReadFile(path)
		all = append(all, path, string(data))
		return err
	})
	return all, err
}

const (
	mlxfwDir = "drivers/net/ethernet/mellanox/mlxfw"
	coreDir  = "drivers/infiniband/core"
)

// module is one of the vendor's modules and its directory in the DKMS sources.
type module struct{ name, dir string }

// vendorModules are the modules of a release. Core adds those that the vendor replaces below
// drivers/infiniband/core; without it only mlx_compat and mlxfw are built, which takes seconds.
func vendorModules(core bool) []module {
	list := []module{{"mlx_compat", "."}, {"mlxfw", mlxfwDir}}
	if core {
		for _, name := range []string{"ib_core", "ib_cm", "iw_cm", "ib_umad", "ib_uverbs", "rdma_cm", "rdma_ucm"} {
			list = append(list, module{name, coreDir})
		}
	}
	return list
}

// moduleSource writes the sources as the vendor's DKMS package has them.
func (b Base) moduleSource(dir string, r Release, core bool) error {
	words := []string{"@MODULE_VERSION@", r.three(), "@BASE@", "Korg 6.8-rc4", "@VERSION@", r.dkms()}
	var conf strings.Builder
	for i, m := range vendorModules(core) {
		fmt.Fprintf(&conf, "BUILT_MODULE_NAME[%d]=%q\nBUILT_MODULE_LOCATION[%d]=%q\nDEST_MODULE_LOCATION[%d]=\"/updates\"\n", i, m.name, i, m.dir, i)
	}
	kbuild, err := asset("dkms/Kbuild", words...)
	if err != nil {
		return err
	}
	errs := []error{
		copyTree(filepath.Join(b.source, mlxfwDir), filepath.Join(dir, mlxfwDir)),
		putAsset(filepath.Join(dir, mlxfwDir, "vendor.c"), "dkms/vendor.c", 0o644),
		putAsset(filepath.Join(dir, mlxfwDir, "Makefile"), "dkms/Kbuild.mlxfw", 0o644),
		putAsset(filepath.Join(dir, "mlx_compat.c"), "dkms/mlx_compat.c", 0o644),
		putAsset(filepath.Join(dir, "makefile"), "dkms/makefile", 0o644),
		putAsset(filepath.Join(dir, "dkms.conf"), "dkms/dkms.conf", 0o644, append(words, "@MODULES@\n", conf.String())...),
	}
	if core {
		kbuild = append(kbuild, "obj-m += "+coreDir+"/\n"...)
		to := filepath.Join(dir, coreDir)
		errs = append(
			errs,
			copyTree(filepath.Join(b.source, coreDir), to),
			os.Rename(to+"/Makefile", to+"/Makefile.kernel"),
			putAsset(to+"/Makefile", "dkms/Kbuild.core", 0o644),
			// The kernel's tracing headers name themselves relative to this directory.
			put(filepath.Join(dir, "include/trace/README"), []byte("The kernel's tracing headers are relative to this directory.\n"), 0o644),
		)
	}
	for _, m := range vendorModules(core) {
		if m.dir == coreDir {
			errs = append(errs, putAsset(filepath.Join(dir, coreDir, "vendor_"+m.name+".c"), "dkms/vendor.c", 0o644))
		}
	}
	return errors.Join(append(errs, put(filepath.Join(dir, "Kbuild"), kbuild, 0o644))...)
}

// modules builds the vendor's modules for the kernel of the base and returns their directory.
func (l *Lab) modules(b Base, r Release, core bool) (string, error) {
	files, err := assetsKey()
	if err != nil {
		return "", err
	}
	hash, err := l.key("modules", files, b.Root, b.Kernel, r.three(), core)
	if err != nil {
		return "", err
	}
	kind := "labmodules-light"
	if core {
		kind = "labmodules-core"
	}
	return l.cache.Get(kind, hash, func(dir string) (err error) {
		begin := time.Now()
		source := filepath.Join(dir, "source")
		defer func() { err = errors.Join(err, os.RemoveAll(source)) }()
		if err := b.moduleSource(source, r, core); err != nil {
			return err
		}
		var list strings.Builder
		for _, m := range vendorModules(core) {
			list.WriteString(" " + quoted(path.Join(m.dir, m.name+".ko")))
		}
		script := "cd /mnt && make -j2 -f makefile KERNELRELEASE=" + quoted(b.Kernel) + " && strip --strip-debug" + list.String()
		if err := run(Chroot(b.Root, script, Bind{source, "/mnt"})); err != nil {
			return err
		}
		for _, m := range vendorModules(core) {
			if err := os.Rename(filepath.Join(source, m.dir, m.name+".ko"), filepath.Join(dir, m.name+".ko")); err != nil {
				return err
			}
		}
		l.say("modules of %s built in %.0f s", r, time.Since(begin).Seconds())
		return nil
	})
}

func copyTree(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return run(exec.Command("cp", "--archive", "--no-target-directory", from, to))
}

// linkTree makes a copy that shares the files' content. Never write into them in place.
func linkTree(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return run(exec.Command("cp", "--archive", "--link", "--no-target-directory", from, to))
}
