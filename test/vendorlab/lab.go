package vendorlab

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/test/internal/cache"
)

// version changes when the lab makes something else of the same inputs that are hashed.
const version = 1

// Lab makes vendor repositories, and keeps them in the tests' cache directory.
type Lab struct {
	cache *cache.Cache
	log   io.Writer
}

// Open opens the lab; log gets a line for what takes long. The error of Missing comes first.
func Open(log io.Writer) (*Lab, error) {
	if why := Missing(); why != "" {
		return nil, errors.New(why)
	}
	c, err := cache.Open()
	if err != nil {
		return nil, err
	}
	return &Lab{cache: c, log: log}, nil
}

// Missing says why this machine cannot make the lab, empty when it can: the word for a test's Skip.
func Missing() string {
	if os.Getenv("RDMACTL_ROOTS") != "1" {
		return "RDMACTL_ROOTS=1 is not set"
	}
	if os.Geteuid() != 0 {
		return "needs root"
	}
	var missing []string
	for _, tool := range []string{"mmdebstrap", "unshare", "dpkg-deb", "apt-ftparchive", "gpg", "gpgconf", "rpmbuild", "rpmsign", "createrepo_c", "tar", "gzip", "xz"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, tool)
		}
	}
	if len(missing) > 0 {
		return "not installed: " + strings.Join(missing, ", ")
	}
	return ""
}

// Scratch makes an empty directory for a test, on the file system of the cache: copies of roots are large, and
// may share blocks with what they are copied from. The test removes it; what a killed test left goes after a
// day.
func (l *Lab) Scratch() (string, error) {
	old, err := filepath.Glob(filepath.Join(l.cache.Dir, "labrun-*"))
	if err != nil {
		return "", err
	}
	for _, dir := range old {
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another run's, just now
		}
		if err != nil {
			return "", err
		}
		if time.Since(info.ModTime()) > 24*time.Hour {
			if err := os.RemoveAll(dir); err != nil {
				return "", err
			}
		}
	}
	return os.MkdirTemp(l.cache.Dir, "labrun-")
}

func (l *Lab) say(format string, args ...any) {
	fmt.Fprintf(l.log, "vendorlab: "+format+"\n", args...)
}

// run runs a command; its error has the end of what it wrote.
func run(cmd *exec.Cmd) error {
	_, err := output(cmd)
	return err
}

func output(cmd *exec.Cmd) (string, error) {
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C")
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, end(out.Bytes()), end(stderr.Bytes()))
	}
	return out.String(), nil
}

// end is the end of what a command wrote.
func end(text []byte) []byte { return text[max(0, len(text)-4000):] }

// in sets a command's directory.
func in(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	return cmd
}
