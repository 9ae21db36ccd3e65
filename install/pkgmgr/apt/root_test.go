package apt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/host"
)

// aptRoot is a root with its own package database and a signed repository, driven by the machine's
// real apt and dpkg. Packages in it have no scripts, since there is no shell in it; a package with a
// script is one whose script fails.
type aptRoot struct {
	t    *testing.T
	dir  string // of the root
	repo string
	env  []string
	gpg  []string
	free int64
	ran  []string
	// asked are the commands that went through Query.
	asked [][]string
}

func newAptRoot(t *testing.T) *aptRoot {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: dpkg changes owners below its root")
	}
	for _, p := range []string{"apt-get", "dpkg", "dpkg-deb", "apt-ftparchive", "gpg"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("needs %s", p)
		}
	}
	// Not t.TempDir: a comma in its name is more than sources.list can take.
	base, err := os.MkdirTemp("", "rdmactl-apt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	r := &aptRoot{t: t, dir: base + "/root", repo: base + "/repo", free: 10 << 20, gpg: []string{"GNUPGHOME=" + base + "/gpg"}}
	for _, d := range []string{
		r.repo, base + "/gpg", r.dir + "/var/lib/dpkg/updates", r.dir + "/var/lib/dpkg/info", r.dir + "/var/lib/dpkg/triggers",
		r.dir + "/var/lib/apt/lists/partial", r.dir + "/var/cache/apt/archives/partial", r.dir + "/etc/apt/apt.conf.d",
		r.dir + "/etc/apt/preferences.d", r.dir + "/etc/apt/sources.list.d", r.dir + "/etc/apt/trusted.gpg.d", r.dir + "/var/log/apt",
		r.dir + "/usr/share/doc", r.dir + "/proc/sys/kernel",
	} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(base+"/gpg", 0o700); err != nil {
		t.Fatal(err)
	}
	// dpkg removes a directory that it owns when it is empty, so the ones that stay hold something.
	r.put("/usr/share/doc/stays", "")
	r.put("/var/lib/dpkg/status", "")
	r.put("/var/lib/dpkg/available", "")
	r.put("/etc/apt/sources.list", fmt.Sprintf("deb [signed-by=%s/key.gpg] file:%s ./\n", base, r.repo))
	conf := fmt.Sprintf("Dir %q;\nDir::State::status %q;\nDir::Etc::Parts %q;\nAPT::Sandbox::User \"root\";\nDPkg::Options { \"--root=%s\"; };\n",
		r.dir, r.dir+"/var/lib/dpkg/status", r.dir+"/etc/apt/apt.conf.d", r.dir)
	if err := os.WriteFile(base+"/apt.conf", []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	r.env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "APT_CONFIG=" + base + "/apt.conf", "DPKG_ROOT=" + r.dir}
	r.sh(r.gpg, base, "gpg", "--batch", "--passphrase", "", "--quick-gen-key", "test@example.org", "rsa2048", "sign", "never")
	r.sh(r.gpg, base, "gpg", "--batch", "--output", base+"/key.gpg", "--export")
	t.Cleanup(func() {
		cmd := exec.Command("gpgconf", "--kill", "gpg-agent")
		cmd.Env = append(os.Environ(), r.gpg...)
		_ = cmd.Run() // the agent ends by itself when its directory goes
	})
	return r
}

func (r *aptRoot) sh(env []string, dir, name string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%s %v: %v\n%s", name, args, err, stderr.String())
	}
	return string(out)
}

// deb builds a package into the repository. fields are added to its control file, postinst may be empty.
func (r *aptRoot) deb(name, version, fields, postinst string) {
	r.t.Helper()
	dir := r.t.TempDir()
	files := map[string]string{
		"DEBIAN/control":              fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: Test <test@example.org>\nInstalled-Size: 10\n%sDescription: test\n", name, version, fields),
		"DEBIAN/conffiles":            "/etc/" + name + ".conf\n",
		"etc/" + name + ".conf":       "default\n",
		"usr/share/" + name + "/data": version + "\n",
	}
	if postinst != "" {
		files["DEBIAN/postinst"] = postinst
	}
	for f, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o755); err != nil {
			r.t.Fatal(err)
		}
		mode := fs.FileMode(0o644)
		if f == "DEBIAN/postinst" {
			mode = 0o755
		}
		if err := os.WriteFile(filepath.Join(dir, f), []byte(text), mode); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		r.t.Fatal(err)
	}
	r.sh(nil, dir, "dpkg-deb", "--root-owner-group", "-Zgzip", "-b", dir, fmt.Sprintf("%s/%s_%s_all.deb", r.repo, name, version))
}

// publish writes and signs the repository's index.
func (r *aptRoot) publish() {
	r.t.Helper()
	write := func(name, text string) {
		if err := os.WriteFile(r.repo+"/"+name, []byte(text), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	for _, f := range []string{"Release", "InRelease"} {
		if err := os.Remove(r.repo + "/" + f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.t.Fatal(err)
		}
	}
	write("Packages", r.sh(nil, r.repo, "apt-ftparchive", "packages", "."))
	release := r.sh(nil, r.repo, "apt-ftparchive", "-o", "APT::FTPArchive::Release::Origin=test", "-o", "APT::FTPArchive::Release::Suite=stable", "release", ".")
	write("Release", release)
	r.sh(r.gpg, r.repo, "gpg", "--batch", "--yes", "--clearsign", "-o", "InRelease", "Release")
}

func (r *aptRoot) path(p string) string {
	if strings.HasPrefix(p, r.dir+"/") {
		return p // the tool's own state, which tests keep below the root
	}
	return filepath.Join(r.dir, p)
}

func (r *aptRoot) put(p, text string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(p)), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path(p), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// tree is /etc and /usr of the root.
func (r *aptRoot) tree() map[string]string {
	r.t.Helper()
	state := map[string]string{}
	for _, top := range []string{"/etc", "/usr"} {
		err := filepath.WalkDir(r.dir+top, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			text := []byte{}
			if !d.IsDir() {
				if text, err = os.ReadFile(p); err != nil {
					return err
				}
			}
			state[strings.TrimPrefix(p, r.dir)] = info.Mode().String() + " " + string(text)
			return nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	return state
}

func (r *aptRoot) exec(argv, env []string) (host.Result, error) {
	r.ran = append(r.ran, strings.Join(argv, " "))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = "/", append(append([]string{}, r.env...), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	started := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return host.Result{}, err
	}
	return host.Result{Argv: argv, Stdout: stdout.String(), Stderr: stderr.String(), Exit: cmd.ProcessState.ExitCode(), Duration: time.Since(started)}, nil
}

func (r *aptRoot) Query(_ context.Context, argv ...string) (host.Result, error) {
	r.asked = append(r.asked, argv)
	if argv[0] == "df" {
		return host.Result{Argv: argv, Stdout: fmt.Sprintf("Filesystem\n/dev/vda 1 1 %d 1%% /\n", r.free)}, nil
	}
	return r.exec(argv, nil)
}

func (r *aptRoot) Run(_ context.Context, cmd host.Command) (host.Result, error) {
	return r.exec(cmd.Argv, cmd.Env)
}

func (r *aptRoot) ReadFile(p string) ([]byte, error) { return os.ReadFile(r.path(p)) }

func (r *aptRoot) ReadDir(p string) ([]string, error) {
	entries, err := os.ReadDir(r.path(p))
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (r *aptRoot) Readlink(p string) (string, error) { return os.Readlink(r.path(p)) }

func (r *aptRoot) Stat(p string) (host.FileInfo, error) {
	info, err := os.Stat(r.path(p))
	return infoFrom(info, err)
}

func (r *aptRoot) Lstat(p string) (host.FileInfo, error) {
	info, err := os.Lstat(r.path(p))
	return infoFrom(info, err)
}

func infoFrom(info fs.FileInfo, err error) (host.FileInfo, error) {
	if err != nil {
		return host.FileInfo{}, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return host.FileInfo{Mode: info.Mode(), UID: st.Uid, GID: st.Gid, Size: info.Size()}, nil
}

func (r *aptRoot) Now() time.Time { return time.Now() }

func (r *aptRoot) Told() host.Told {
	uid := os.Geteuid()
	return host.Told{Kind: "live", UID: &uid}
}

func (r *aptRoot) Derive(context.Context, string, []string, host.Decoder) (host.Result, error) {
	return host.Result{}, host.ErrUnknown
}

func (r *aptRoot) WriteFile(p string, data []byte, mode fs.FileMode) error {
	if mode == 0 {
		mode = 0o644
	}
	if err := os.WriteFile(r.path(p), data, mode); err != nil {
		return err
	}
	return os.Chmod(r.path(p), mode)
}

func (r *aptRoot) MkdirAll(p string, mode fs.FileMode) error { return os.MkdirAll(r.path(p), mode) }
func (r *aptRoot) Remove(p string) error                     { return os.Remove(r.path(p)) }
func (r *aptRoot) Rename(from, to string) error              { return os.Rename(r.path(from), r.path(to)) }

func (r *aptRoot) Symlink(target, p string) error { return os.Symlink(target, r.path(p)) }

func (r *aptRoot) Chown(p string, uid, gid uint32) error {
	return os.Chown(r.path(p), int(uid), int(gid))
}

func (r *aptRoot) Chmod(p string, mode fs.FileMode) error   { return os.Chmod(r.path(p), mode) }
func (r *aptRoot) SetXattr(string, string, []byte) error    { return nil }
func (r *aptRoot) Xattrs(string) (map[string][]byte, error) { return nil, nil }
