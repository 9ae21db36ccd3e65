package faults

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/cache"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// buildPackages are what profile edge builds with, and what profile inbox installs, so that a plan has no packages
// to install.
func buildPackages() []string {
	return []string{
		"build-essential", "cmake", "ninja-build", "pkg-config", "python3", "libnl-3-dev", "libnl-route-3-dev", "libudev-dev", "libsystemd-dev",
		"systemd", "kmod", "rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "librdmacm1", "rdmacm-utils", "infiniband-diags", "perftest", "mstflint",
	}
}

// workshop is a kept root with a compiler and the distribution's stack.
func workshop(t testing.TB) string {
	t.Helper()
	need(t)
	c, err := cache.Open()
	must(t, err)
	hash, err := cache.Key(1, suite, buildPackages())
	must(t, err)
	dir, err := c.Get("faultswork-"+suite, hash, func(dir string) error {
		args := []string{"mmdebstrap", "--variant=minbase", "--quiet", "--include=" + strings.Join(buildPackages(), ",")}
		for _, glob := range []string{"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*"} {
			args = append(args, "--dpkgopt=path-exclude="+glob)
		}
		return rootlab.Run(exec.Command("nice", append(args, suite, filepath.Join(dir, "root"))...))
	})
	must(t, err)
	return filepath.Join(dir, "root")
}

// What stands for rdma-core's source: a library and a provider with its names, places and versions of symbols,
// that real tools build in a second. The build of the real source is test/sourcebuild's.
const (
	sourceVersion = "65.0"
	sourceCMake   = `cmake_minimum_required(VERSION 3.11)
project(rdma-core C)
set(PACKAGE_NAME "RDMA")
set(PACKAGE_VERSION "` + sourceVersion + `")
set(IBVERBS_PABI_VERSION "34")
include(GNUInstallDirs)
add_library(ibverbs SHARED verbs.c)
set_target_properties(ibverbs PROPERTIES SOVERSION 1 VERSION 1.14.65.0 LINK_FLAGS "-Wl,--version-script=${CMAKE_SOURCE_DIR}/verbs.map")
install(TARGETS ibverbs DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(P mlx4 mlx5 rxe)
  add_library(${P} MODULE provider.c)
  target_link_libraries(${P} ibverbs)
  set_target_properties(${P} PROPERTIES OUTPUT_NAME ${P}-rdmav34)
  install(TARGETS ${P} DESTINATION ${CMAKE_INSTALL_LIBDIR}/libibverbs)
  file(WRITE ${CMAKE_BINARY_DIR}/${P}.driver "driver ${P}\n")
  install(FILES ${CMAKE_BINARY_DIR}/${P}.driver DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/libibverbs.d)
endforeach()
add_executable(ibv_devices devices.c)
target_link_libraries(ibv_devices ibverbs)
install(TARGETS ibv_devices DESTINATION bin)
`
)

// sourceArchive makes the archive, and tells its checksum.
func sourceArchive(t testing.TB) (file, sum string) {
	t.Helper()
	dir := t.TempDir()
	name := "rdma-core-" + sourceVersion
	for rel, text := range map[string]string{
		"CMakeLists.txt": sourceCMake,
		"verbs.c":        "int ibv_private_register(void) { return 0; }\nint ibv_get_device_list(void) { return 0; }\n",
		"verbs.map":      "IBVERBS_1.1 { global: ibv_get_device_list; local: *; };\nIBVERBS_PRIVATE_34 { global: ibv_private_register; };\n",
		"provider.c":     "int ibv_private_register(void);\nint provider(void) { return ibv_private_register(); }\n",
		"devices.c":      "int ibv_get_device_list(void);\nint main(void) { return ibv_get_device_list(); }\n",
	} {
		must(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name, rel), []byte(text), 0o644))
	}
	file = filepath.Join(dir, name+".tar.gz")
	must(t, rootlab.Run(exec.Command("tar", "--create", "--gzip", "--directory", dir, "--file", file, name)))
	data, err := os.ReadFile(file)
	must(t, err)
	digest := sha256.Sum256(data)
	return file, hex.EncodeToString(digest[:])
}

// source builds rdma-core beside the distribution's, and makes it what programs get.
func source(t *testing.T) *scenario {
	kept := workshop(t)
	archive, sum := sourceArchive(t)
	im := over(t, kept)
	im.quick(t)
	const (
		loader = "/etc/ld.so.conf.d/00-rdmactl-rdma-core.conf"
		login  = "/etc/profile.d/rdmactl-rdma-core.sh"
	)
	s := &scenario{
		name: "source", start: im, look: &looker{kept: kept}, argv: rooted(t),
		args: []string{"--profile", "edge", "--stack", "rdma-core", "--version", sourceVersion, "--source", archive, "--sha256", sum, "--card", "connectx-5"},
		points: []point{
			{"build", "before", logged("preflight-done", ""), false},
			{"build", "begun", logged("step-started", "build"), false},
			{"build", "inside, configuring", opened("build", by("cmake", "/build/CMakeCache.txt")), true},
			{"build", "inside, compiling", opened("build", by("cc1", "/provider.c")), false},
			{"build", "inside, installing beside", opened("build", file("/bin/ibv_devices")), true},
			{"build", "inside, in its place", opened("build", having("/opt/rdma-core/"+sourceVersion)), false},
			{"build", "after", logged("step-done", "build"), false},
			{"use", "before", logged("step-done", "build"), true}, // as after build
			{"use", "begun", logged("step-started", "use"), false},
			{"use", "inside, moved to its name", moved("use", loader), false},
			{"use", "inside, before the second file", opened("use", temporary(login)), true},
			{"use", "inside, before the loader's cache", opened("use", by("ldconfig", "/ld.so.cache~")), false},
			{"use", "after", logged("step-done", "use"), false},
		},
	}
	s.twin(t)
	return s
}
