package rpmhosts

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// args is a command about the host: what would be asked for ConnectX-5 with the distribution's stack.
func (im image) args(verb string, more ...string) []string {
	return append([]string{verb, "--root", im.Dir, "--profile", "inbox", "--card", "connectx-5", "--kernel", im.kernel}, more...)
}

// installs installs and returns the report.
func (im image) installs(t *testing.T) rootlab.Report {
	t.Helper()
	return rootlab.Decode[rootlab.Report](t, lab.Rdmactl(t, 0, im.args("install", "--yes", "-o", "json")...))
}

// files is the host without what a rollback leaves: the exceptions, databases and caches of the package
// manager, which packages tells of, and the runs themselves.
func (im image) files(t *testing.T) rootlab.Tree {
	t.Helper()
	skip := []string{
		"/var/lib/rdmactl", "/var/log", "/var/cache", "/var/lib/rpm", "/usr/lib/sysimage/rpm",
		"/var/lib/dnf", "/var/lib/zypp",
		"/var/lib/YaST2", // libzypp keeps the cookies of web servers there
	}
	for _, e := range install.Exceptions() {
		skip = append(skip, e.Path)
	}
	return rootlab.TreeOf(t, im.Dir, rootlab.View{
		Skip: skip,
		Omit: func(path string) bool { return strings.Contains(path, "__pycache__") },
		// Large, and nobody writes into them but with another time.
		Dated: func(path string) bool {
			return strings.HasPrefix(path, "/usr/lib/modules/") && strings.HasSuffix(path, ".ko") || strings.HasPrefix(path, "/boot/")
		},
	})
}

// inside runs a command in the root and returns what it prints.
func (im image) inside(t *testing.T, script string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := chroot(im.Dir, script)
	cmd.Stdout = &out
	must(t, rootlab.Run(cmd))
	return out.String()
}

// packages is the rpm database as rpm tells it, keys included: name and architecture to version.
func (im image) packages(t *testing.T) rootlab.Tree {
	t.Helper()
	out := rootlab.Tree{}
	for line := range strings.Lines(im.inside(t, `rpm -qa --qf '%{NAME}\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\t%{ARCH}\n'`)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 {
			t.Fatalf("rpm says %q", line)
		}
		name := f[0]
		if name == "gpg-pubkey" {
			name += "-" + f[1]
		}
		if was, twice := out[name]; twice {
			t.Errorf("%s is installed as %s and as %s", name, was, f[1])
		}
		out[name] = f[1]
	}
	return out
}
