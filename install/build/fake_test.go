package build_test

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/build"
)

// fakeCMake stands for cmake. It does what the tree's file "build.sh" says for configure, compile and
// install, with the prefix and the rest of the options in its environment.
const fakeCMake = `#!/bin/sh
case "$1" in
--version) echo "cmake version ${FAKE_CMAKE:-3.31.6}"; echo; echo "CMake suite"; exit 0 ;;
--build) exec sh "$(cat tree)/build.sh" compile "$@" ;;
-P) exec sh "$(cat tree)/build.sh" install ;;
esac
for last; do :; done
printf '%s' "$last" >tree
printf '%s\n' "$@" >options
for o; do case "$o" in -DCMAKE_INSTALL_PREFIX=*) printf '%s' "${o#*=}" >prefix ;; esac; done
exec sh "$last/build.sh" configure "$@"
`

// goodBuild is what a sound tree does. LIBS is where the test compiled its libraries.
const goodBuild = `set -e
case "$1" in
configure) echo "-- Configuring done"; env >env; id -u >uid; umask >mask ;;
compile) echo "[1/2] Building C object"; sleep "${SLOW:-0}" ;;
install)
	d="$DESTDIR$(cat prefix)"
	mkdir -p "$d/bin" "$d/lib/libibverbs" "$d/etc/libibverbs.d" "$d/lib/udev/rules.d" "$d/lib/systemd/system" "$d/etc/rdma/modules"
	cp LIBS/libibverbs.so.1 "$d/lib/libibverbs.so.1.14.56.1"
	ln -s libibverbs.so.1.14.56.1 "$d/lib/libibverbs.so.1"
	cp LIBS/provider.so "$d/lib/libmlx5.so.1.25.56.1"
	ln -s ../libmlx5.so.1.25.56.1 "$d/lib/libibverbs/libmlx5-rdmav34.so"
	cp LIBS/provider.so "$d/lib/libibverbs/librxe-rdmav34.so"
	echo "driver mlx5" >"$d/etc/libibverbs.d/mlx5.driver"
	echo "driver rxe" >"$d/etc/libibverbs.d/rxe.driver"
	printf '#!/bin/sh\n' >"$d/bin/ibv_devices"; chmod 755 "$d/bin/ibv_devices"
	printf '#!/bin/sh\n' >"$d/lib/udev/rdma_rename"; chmod 755 "$d/lib/udev/rdma_rename"
	echo 'ACTION=="add", PROGRAM="rdma_rename %k NAME_FALLBACK", RUN{builtin}+="kmod load x", PROGRAM=="other a"' >"$d/lib/udev/rules.d/60-rdma-persistent-naming.rules"
	echo "[Service]" >"$d/lib/systemd/system/ibacm.service"
	printf '# a comment\nib_ipoib\n\n; another\nrdma_ucm\n' >"$d/etc/rdma/modules/rdma.conf"
	# EXTRA
	;;
esac
`

// bench is a live host with a PATH of fakes, and a directory for all that a build makes.
type bench struct {
	t   testing.TB
	dir string
	h   *host.Live
	req build.Request
}

func newBench(t testing.TB) *bench {
	t.Helper()
	dir := openTemp(t)
	b := &bench{t: t, dir: dir}
	for _, d := range []string{"bin", "opt", "cache", "src", "libs"} {
		must(t, os.Mkdir(filepath.Join(dir, d), 0o755))
		must(t, os.Chmod(filepath.Join(dir, d), 0o755))
	}
	b.program("cmake", fakeCMake)
	b.program("ninja", "#!/bin/sh\necho 1.12.1\n")
	b.program("cc", "#!/bin/sh\necho 'cc (Debian) 14.2.0'\n")
	b.libraries()
	b.h = host.NewLive(host.WithPath(filepath.Join(dir, "bin") + ":/usr/sbin:/usr/bin:/sbin:/bin"))
	b.req = build.Request{
		Version: "56.1", Prefix: filepath.Join(dir, "opt/rdma-core/56.1"), Cache: filepath.Join(dir, "cache/build"),
		Options: []string{"-DCMAKE_BUILD_TYPE=Release"}, Providers: []string{"mlx5", "rxe"}, Jobs: 3,
	}
	b.source(goodBuild)
	return b
}

func (b *bench) program(name, text string) {
	b.t.Helper()
	at := filepath.Join(b.dir, "bin", name)
	must(b.t, os.WriteFile(at, []byte(text), 0o755))
	must(b.t, os.Chmod(at, 0o755))
}

// libraries are a libibverbs with its private version, one with another, and providers that need them. They
// are compiled once.
func (b *bench) libraries() {
	b.t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		b.t.Skip("needs gcc: libraries with symbol versions")
	}
	files, err := compiled()
	must(b.t, err)
	must(b.t, os.Mkdir(filepath.Join(b.dir, "libs/old"), 0o755))
	for name, text := range files {
		must(b.t, os.WriteFile(filepath.Join(b.dir, "libs", name), text, 0o755))
	}
}

var compiled = sync.OnceValues(func() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "rdmactl-libs")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	const script = `set -e
mkdir old
echo 'int ibv_open(void){return 0;} int ibv_private(void){return 0;}' >v.c
echo 'int ibv_private(void); int provider(void){return ibv_private();}' >p.c
echo 'IBVERBS_1.1 { global: ibv_open; local: *; }; IBVERBS_PRIVATE_34 { global: ibv_private; };' >v.map
echo 'IBVERBS_1.1 { global: ibv_open; local: *; }; IBVERBS_PRIVATE_22 { global: ibv_private; };' >old/v.map
for d in . old; do
	gcc -shared -nostdlib -fPIC -Wl,-soname,libibverbs.so.1 -Wl,--version-script=$d/v.map -o $d/libibverbs.so.1 v.c
	gcc -shared -nostdlib -fPIC -o $d/provider.so p.c $d/libibverbs.so.1
done`
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gcc: %w: %s", err, out)
	}
	files := map[string][]byte{}
	for _, name := range []string{"libibverbs.so.1", "provider.so", "old/libibverbs.so.1", "old/provider.so"} {
		if files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return files, nil
})

// source makes the archive of a tree whose build.sh is script, and asks for it with its checksum.
func (b *bench) source(script string) {
	b.t.Helper()
	cmakeLists := "project(rdma-core C)\nset(PACKAGE_VERSION \"56.1\")\n# a comment\nset(IBVERBS_PABI_VERSION \"34\")\n"
	b.archive(
		entry{tar.Header{Name: "rdma-core-56.1/", Typeflag: tar.TypeDir, Mode: 0o755}, ""},
		file("rdma-core-56.1/CMakeLists.txt", cmakeLists),
		file("rdma-core-56.1/build.sh", strings.ReplaceAll(script, "LIBS", filepath.Join(b.dir, "libs"))),
	)
}

func (b *bench) archive(entries ...entry) {
	b.t.Helper()
	data := gzipped(b.t, tarOf(b.t, entries...))
	at := filepath.Join(b.dir, "src/rdma-core-56.1.tar.gz")
	must(b.t, os.WriteFile(at, data, 0o644))
	sum := sha256.Sum256(data)
	b.req.Source = build.Source{Location: at, SHA256: hex.EncodeToString(sum[:])}
}

// extra adds lines to the installation of a good tree.
func (b *bench) extra(lines string) {
	b.t.Helper()
	b.source(strings.Replace(goodBuild, "# EXTRA", lines, 1))
}

func (b *bench) make() (build.Built, error) {
	b.t.Helper()
	return build.Make(context.Background(), b.h, b.req)
}

func (b *bench) made() build.Built {
	b.t.Helper()
	built, err := b.make()
	if err != nil {
		log, readErr := os.ReadFile(built.Log)
		b.t.Fatalf("%v\n%s%v", err, log, readErr)
	}
	return built
}

func (b *bench) placed() build.Built {
	b.t.Helper()
	built := b.made()
	must(b.t, build.Place(context.Background(), b.h, built))
	return built
}

func (b *bench) at(name string) string { return filepath.Join(b.req.Prefix, name) }

func (b *bench) write(name, text string) {
	b.t.Helper()
	must(b.t, os.WriteFile(b.at(name), []byte(text), 0o644))
}

func asRoot() bool { return os.Geteuid() == 0 }

func buildUID() string {
	if asRoot() {
		return fmt.Sprint(build.BuildUser)
	}
	return fmt.Sprint(os.Geteuid())
}
