package holdings

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

func knownReleases(t *testing.T) *matrix.Index {
	t.Helper()
	embedded, err := matrix.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	known, err := matrix.NewIndex(embedded)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// text is a result by the line: "STACK VERSION ID VERSION_ID ARCH kernels, dkms: PACKAGES", then the notes.
func (r Result) text() string {
	var b strings.Builder
	for _, h := range r.Holdings {
		fmt.Fprintln(&b, summary(h))
	}
	for _, n := range r.Notes {
		fmt.Fprintln(&b, "note:", n)
	}
	return b.String()
}

// mirrorDebs has two releases of MLNX_OFED in one index: what a version tells, what only one version of is
// there (knem-dkms), and what two versions of are there that nothing tells apart (mft).
func (l *lab) mirrorDebs() string {
	l.t.Helper()
	dir := l.t.TempDir() + "/mlnx/ubuntu22.04/x86_64"
	write(l.t, dir+"/pool/README", "")
	for _, r := range []struct{ release, driver, build, mft string }{
		{"23.10-2.1.3.1", "23.10.OFED.23.10.2.1.3.1-1", "2307mlnx47-1.2310213", "4.26.1-3"},
		{"24.10-1.1.4.0", "24.10.OFED.24.10.1.1.4.1-1", "2410mlnx54-1.2410114", "4.30.1-8"},
	} {
		l.debWith("Depends: rdma-core, mlnx-ofed-kernel-dkms | kmod-other, knem-dkms (>= 1.1), mft, libc6 (>= 2.34)\n", dir+"/pool", "mlnx-ofed-all", r.release, "all", nil)
		l.debWith("Depends: ofed-scripts (= "+r.driver+"), dkms\nProvides: mlnx-ofed-kernel-modules-any\n", dir+"/pool", "mlnx-ofed-kernel-dkms", r.driver, "all", nil)
		l.deb(dir+"/pool", "ofed-scripts", r.driver, "amd64", nil)
		l.debWith("Depends: libc6\n", dir+"/pool", "rdma-core", r.build, "amd64", nil)
		l.deb(dir+"/pool", "mft", r.mft, "amd64", nil)
	}
	l.debWith("Depends: mlnx-ofed-kernel-modules-any\n", dir+"/pool", "knem-dkms", "1.1.4.90mlnx3-OFED.23.10.0.2.1.1", "all", nil)
	l.deb(dir+"/pool", "strange", "1-1", "amd64", nil)
	l.index(dir, map[string]string{"Label": "MLNX_OFED_LINUX", "Suite": "mirror"})
	return dir
}

const (
	deb2310 = "mlnx-ofed 23.10-2.1.3.1 for ubuntu 22.04 x86_64, kernels [], dkms true: knem-dkms=1.1.4.90mlnx3-OFED.23.10.0.2.1.1 mlnx-ofed-all=23.10-2.1.3.1 mlnx-ofed-kernel-dkms=23.10.OFED.23.10.2.1.3.1-1 ofed-scripts=23.10.OFED.23.10.2.1.3.1-1 rdma-core=2307mlnx47-1.2310213\n"
	deb2410 = "mlnx-ofed 24.10-1.1.4.0 for ubuntu 22.04 x86_64, kernels [], dkms true: knem-dkms=1.1.4.90mlnx3-OFED.23.10.0.2.1.1 mlnx-ofed-all=24.10-1.1.4.0 mlnx-ofed-kernel-dkms=24.10.OFED.24.10.1.1.4.1-1 ofed-scripts=24.10.OFED.24.10.1.1.4.1-1 rdma-core=2410mlnx54-1.2410114\n"
	untold  = "note: left out, because nothing tells of which release it is: mft 4.26.1-3, mft 4.30.1-8, strange 1-1\n"
)

func TestSeveralReleasesInAptIndex(t *testing.T) {
	l := newLab(t)
	dir := l.mirrorDebs()
	opts := l.options()
	opts.Known = knownReleases(t)
	of := func(t *testing.T, dir string, releases ...string) string {
		t.Helper()
		with := opts
		with.Releases = releases
		got, err := Import(context.Background(), dir, with)
		if err != nil {
			t.Fatal(err)
		}
		checkLoads(t, got.Holdings)
		for _, h := range got.Holdings {
			if h.Signed != l.fingerprint("vendor") || h.Origin != dir {
				t.Errorf("%s %s: signed %q, origin %q", h.Stack, h.Version, h.Signed, h.Origin)
			}
		}
		return got.text()
	}
	same := func(t *testing.T, got, want string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	same(t, of(t, dir), deb2310+deb2410+untold)
	for wanted, want := range map[string]string{"24.10": deb2410, "24.10-1.1.4.0": deb2410, "23.10-2.1.3.1": deb2310, "23.10": deb2310} {
		same(t, of(t, dir, wanted), want+untold)
	}
	same(t, of(t, dir, "23.10", "24.10"), deb2310+deb2410+untold)
	for wanted, cause := range map[string]string{
		"5.8": "no release 5.8, but mlnx-ofed 23.10-2.1.3.1, mlnx-ofed 24.10-1.1.4.0", "24.10-1.1.4.9": "no release", "2.9.1": "no release", "newest": "is no version",
		"24.1": "no release", // not a part of 24.10
	} {
		with := opts
		with.Releases = []string{wanted}
		refused(t, dir, with, cause)
	}
	stated := opts
	stated.Stated = Stated{Stack: "mlnx-ofed", Version: "24.10-1.1.4.0"}
	if got, err := Import(context.Background(), dir, stated); err != nil || got.text() != deb2410+untold {
		t.Errorf("the one that is asked for: %s, %v", got.text(), err)
	}

	for name, tt := range map[string]struct {
		gone []string // files of packages
		lack string   // of 23.10
	}{
		"no metapackage":   {[]string{"mlnx-ofed-all_23.10-2.1.3.1_all.deb"}, "its metapackage is not there"},
		"no drivers":       {[]string{"mlnx-ofed-kernel-dkms_23.10.OFED.23.10.2.1.3.1-1_all.deb"}, "neither modules nor module sources of its drivers are there"},
		"no user space":    {[]string{"rdma-core_2307mlnx47-1.2310213_amd64.deb"}, "mlnx-ofed-all 23.10-2.1.3.1 needs rdma-core, of which only those of other releases are there"},
		"an exact version": {[]string{"ofed-scripts_23.10.OFED.23.10.2.1.3.1-1_amd64.deb"}, "mlnx-ofed-kernel-dkms 23.10.OFED.23.10.2.1.3.1-1 needs ofed-scripts (= 23.10.OFED.23.10.2.1.3.1-1), which is not there"},
		"what both need": {
			[]string{"rdma-core_2307mlnx47-1.2310213_amd64.deb", "ofed-scripts_23.10.OFED.23.10.2.1.3.1-1_amd64.deb"},
			"mlnx-ofed-all 23.10-2.1.3.1 needs rdma-core, of which only those of other releases are there, and 1 more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := copyTree(t, dir)
			for _, file := range tt.gone {
				remove(t, c+"/pool/"+file)
			}
			note := "note: mlnx-ofed 23.10-2.1.3.1 for x86_64 is left out: " + tt.lack + "\n"
			missing := fmt.Sprintf("note: %d of the 12 packages that the index names are not there, and left out\n", len(tt.gone))
			same(t, of(t, c), deb2410+missing+note+untold)
			same(t, of(t, c, "24.10"), deb2410+missing+untold)
			with := opts
			with.Releases = []string{"23.10"}
			refused(t, c, with, "mlnx-ofed 23.10-2.1.3.1 for x86_64 cannot be installed from it: "+tt.lack)
			for _, file := range tt.gone { // and where the index does not name it at all
				file = strings.Replace(file, "23.10-2.1.3.1", "24.10-1.1.4.0", 1)
				file = strings.ReplaceAll(strings.ReplaceAll(file, "23.10.OFED.23.10.2.1.3.1", "24.10.OFED.24.10.1.1.4.1"), "2307mlnx47-1.2310213", "2410mlnx54-1.2410114")
				remove(t, c+"/pool/"+file)
			}
			refused(t, c, opts, "none can be installed from it: mlnx-ofed 23.10-2.1.3.1 for x86_64: ")
		})
	}
	t.Run("a metapackage of exact versions tells what the versions do not", func(t *testing.T) {
		c := copyTree(t, dir)
		l.debWith("Depends: mft (= 4.30.1-8)\n", c+"/pool", "mlnx-ofed-all-exact", "24.10-1.1.4.0", "all", nil)
		l.index(c, nil)
		got := of(t, c)
		if !strings.Contains(got, "mft=4.30.1-8 mlnx-ofed-all=24.10") || strings.Contains(got, "mft=4.26") || !strings.Contains(got, "which release it is: mft 4.26.1-3, strange 1-1\n") {
			t.Error(got)
		}
	})
	t.Run("releases with the same drivers", func(t *testing.T) {
		c := copyTree(t, dir)
		l.debWith("Depends: mlnx-ofed-kernel-dkms\n", c+"/pool", "mlnx-ofed-all", "23.10-2.1.3.1.201", "all", nil)
		l.index(c, nil)
		both := "mlnx-ofed 23.10-2.1.3.1.201 for ubuntu 22.04 x86_64, kernels [], dkms true: mlnx-ofed-all=23.10-2.1.3.1.201 mlnx-ofed-kernel-dkms=23.10.OFED.23.10.2.1.3.1-1 ofed-scripts=23.10.OFED.23.10.2.1.3.1-1\n"
		same(t, of(t, c), deb2310+both+deb2410+untold) // there is but one that both can have
		l.debWith("Provides: mlnx-ofed-kernel-modules-any\n", c+"/pool", "mlnx-ofed-kernel-dkms", "23.10.OFED.23.10.2.1.3.1.201-1", "all", nil)
		l.index(c, nil)
		got := of(t, c)
		if !strings.HasPrefix(got, deb2410) || !strings.Contains(got, "mlnx-ofed 23.10-2.1.3.1.201 for x86_64 is left out: neither modules") ||
			!strings.Contains(got, "left out, because nothing tells of which of its releases it is: mlnx-ofed-kernel-dkms 23.10.OFED.23.10.2.1.3.1-1, mlnx-ofed-kernel-dkms 23.10.OFED.23.10.2.1.3.1.201-1") {
			t.Error(got)
		}
	})
	t.Run("drivers without a metapackage", func(t *testing.T) {
		c := copyTree(t, dir)
		for _, file := range []string{"mlnx-ofed-all_23.10-2.1.3.1_all.deb", "rdma-core_2307mlnx47-1.2310213_amd64.deb"} {
			remove(t, c+"/pool/"+file)
		}
		l.index(c, nil)
		got := of(t, c)
		if !strings.HasPrefix(got, deb2410[:strings.Index(deb2410, ":")]) || strings.Contains(strings.Split(got, "\n")[0], "23.10.OFED.23.10.2") ||
			!strings.Contains(got, "of a release whose metapackage is not there: mlnx-ofed-kernel-dkms 23.10.OFED.23.10.2.1.3.1-1, ofed-scripts") {
			t.Error(got)
		}
	})
	t.Run("another architecture", func(t *testing.T) {
		c := copyTree(t, dir)
		l.deb(c+"/pool", "mlnx-ofed-kernel-modules", "23.10.OFED.23.10.2.1.3.1.kver.5.15.0-25-generic", "arm64", nil)
		l.index(c, nil)
		got := of(t, c, "23.10")
		if strings.Count(got, "dkms true") != 1 || !strings.Contains(got, "mlnx-ofed 23.10-2.1.3.1 for aarch64 is left out: mlnx-ofed-all 23.10-2.1.3.1 needs rdma-core, which is not there") {
			t.Error(got)
		}
	})
	t.Run("a relation that cannot be read", func(t *testing.T) {
		c := copyTree(t, dir)
		edit(t, c+"/Packages", "Depends: libc6\n", "Depends: lib\x1b[31mc6 (=\n")
		l.plain(c, nil)
		refused(t, c, opts, "has the relation")
	})
	t.Run("a bundle is of one release", func(t *testing.T) {
		bundle := t.TempDir() + "/MLNX_OFED_LINUX-24.10-1.1.4.0-ubuntu22.04-x86_64"
		write(t, bundle+"/distro", "ubuntu22.04\n")
		write(t, bundle+"/.mlnx", "24.10-1.1.4.0\n")
		c := bundle + "/DEBS"
		l.run(filepath.Dir(bundle), "cp", "-a", dir, c)
		refused(t, bundle, opts, "its version file says 24.10-1.1.4.0, and it has packages of other releases")
	})
}

// TestSeveralReleasesOfDOCA needs the matrix, which tells the drivers of each.
func TestSeveralReleasesOfDOCA(t *testing.T) {
	l := newLab(t)
	dir := t.TempDir() + "/doca/ubuntu22.04/x86_64"
	write(t, dir+"/pool/README", "")
	add := func(release, driver, build string) {
		l.debWith("Depends: rdma-core, mlnx-ofed-kernel-dkms, doca-extra\n", dir+"/pool", "doca-ofed", release+"-0.1", "amd64", nil)
		l.deb(dir+"/pool", "doca-extra", release+"-0.1", "amd64", nil)
		l.deb(dir+"/pool", "mlnx-ofed-kernel-dkms", driver, "all", nil)
		l.deb(dir+"/pool", "rdma-core", build, "amd64", nil)
	}
	add("2.9.1", "24.10.OFED.24.10.1.1.4.1-1", "2410mlnx54-1.2410114")
	add("2.9.3", "24.10.OFED.24.10.3.2.5.1-1", "2410mlnx54-1.2410325")
	l.deb(dir+"/pool", "mlnx-ofed-all", "24.10-3.2.5.0", "all", nil)
	l.index(dir, map[string]string{"Label": "DOCA-HOST", "Suite": "mirror"})
	opts := l.options()
	refused(t, dir, opts, "the matrix does not tell which drivers are its own")
	opts.Known = knownReleases(t)
	got, err := Import(context.Background(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	line := func(release, driver, build, more string) string {
		return "doca-ofed " + release + " for ubuntu 22.04 x86_64, kernels [], dkms true: doca-extra=" + release + "-0.1 doca-ofed=" + release + "-0.1 " + more + "mlnx-ofed-kernel-dkms=" + driver + " rdma-core=" + build + "\n"
	}
	first, second := line("2.9.1", "24.10.OFED.24.10.1.1.4.1-1", "2410mlnx54-1.2410114", ""), line("2.9.3", "24.10.OFED.24.10.3.2.5.1-1", "2410mlnx54-1.2410325", "mlnx-ofed-all=24.10-3.2.5.0 ")
	if diff := cmp.Diff(first+second, got.text()); diff != "" {
		t.Error(diff)
	}
	t.Run("and one of MLNX_OFED", func(t *testing.T) {
		c := copyTree(t, dir)
		l.debWith("Depends: mlnx-ofed-kernel-dkms\n", c+"/pool", "mlnx-ofed-all", "23.10-2.1.3.1", "all", nil)
		l.deb(c+"/pool", "mlnx-ofed-kernel-dkms", "23.10.OFED.23.10.2.1.3.1-1", "all", nil)
		l.index(c, nil)
		got, err := Import(context.Background(), c, opts)
		if err != nil {
			t.Fatal(err)
		}
		third := "mlnx-ofed 23.10-2.1.3.1 for ubuntu 22.04 x86_64, kernels [], dkms true: mlnx-ofed-all=23.10-2.1.3.1 mlnx-ofed-kernel-dkms=23.10.OFED.23.10.2.1.3.1-1\n"
		if diff := cmp.Diff(first+second+third, got.text()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("drivers that no release is known to have", func(t *testing.T) {
		c := copyTree(t, dir)
		remove(t, c+"/pool/mlnx-ofed-kernel-dkms_24.10.OFED.24.10.1.1.4.1-1_all.deb")
		l.deb(c+"/pool", "mlnx-ofed-kernel-dkms", "24.10.OFED.24.10.9.9.9.1-1", "all", nil)
		l.index(c, nil)
		got, err := Import(context.Background(), c, opts)
		if err != nil {
			t.Fatal(err)
		}
		if text := got.text(); !strings.HasPrefix(text, second) || !strings.Contains(text, "doca-ofed 2.9.1 for x86_64 is left out") || !strings.Contains(text, "mlnx-ofed-kernel-dkms 24.10.OFED.24.10.9.9.9.1-1") {
			t.Error(text)
		}
	})
}

func TestSeveralReleasesInRPMIndex(t *testing.T) {
	l := newLab(t)
	need(t, "rpmbuild", "rpmsign", "createrepo_c")
	dir := t.TempDir()
	write(t, dir+"/README", "")
	const kernel2310 = "5.14.0-362.8.1.el9_3.x86_64"
	for _, r := range []struct{ branch, rest, driver, build, kernel, mft string }{
		{"23.10", "2.1.3.1.rhel9.4", "OFED.23.10.2.1.3.1.rhel9u4", "2307mlnx47-1.2310213", kernel2310, "4.26.1"},
		{"24.10", "1.1.4.0.rhel9.4", "OFED.24.10.1.1.4.1.rhel9u4", "2410mlnx54-1.2410114", rpmKernel, "4.30.1"},
	} {
		l.rpmWith("Requires: rdma-core, mft, kmod-mlnx-ofa_kernel = "+r.branch+"-"+r.driver+", knem >= 1.1, bash\n", dir, "mlnx-ofed-all", r.branch, r.rest, "noarch", nil, "")
		l.rpm(dir, "kmod-mlnx-ofa_kernel", r.branch, r.driver, "x86_64", []string{"/lib/modules/" + r.kernel + "/extra/mlnx-ofa_kernel/mlx5_core.ko"}, "")
		version, release, _ := strings.Cut(r.build, "-")
		l.rpmWith("Provides: librdma.so.1\n", dir, "rdma-core", version, release, "x86_64", nil, "")
		l.rpm(dir, "mft", r.mft, "1", "x86_64", nil, "")
	}
	l.rpmWith("Requires: librdma.so.1\n", dir, "knem", "1.1.4.90mlnx3", "OFED.23.10.0.2.1.1", "x86_64", nil, "")
	l.createrepo(dir, "vendor")
	opts, fpr := l.options(), l.fingerprint("vendor")
	opts.Known = knownReleases(t)
	line := func(version, driver, build, kernel string) string {
		branch, rest, _ := strings.Cut(version, "-")
		return "mlnx-ofed " + version + " for rhel 9.4 x86_64, kernels [" + kernel + "], dkms false: kmod-mlnx-ofa_kernel=" + branch + "-" + driver + " knem=1.1.4.90mlnx3-OFED.23.10.0.2.1.1 mlnx-ofed-all=" + branch + "-" + rest + ".rhel9.4 rdma-core=" + build + "\n"
	}
	rpm2310 := line("23.10-2.1.3.1", "OFED.23.10.2.1.3.1.rhel9u4", "2307mlnx47-1.2310213", kernel2310)
	rpm2410 := line("24.10-1.1.4.0", "OFED.24.10.1.1.4.1.rhel9u4", "2410mlnx54-1.2410114", rpmKernel)
	const doubt = "note: left out, because nothing tells of which release it is: mft 4.26.1-1, mft 4.30.1-1\n"
	import1 := func(t *testing.T, dir string, releases ...string) string {
		t.Helper()
		with := opts
		with.Releases = releases
		got, err := Import(context.Background(), dir, with)
		if err != nil {
			t.Fatal(err)
		}
		checkLoads(t, got.Holdings)
		if slices.ContainsFunc(got.Holdings, func(h matrix.Holding) bool { return h.Signed != fpr }) {
			t.Errorf("%+v", got.Holdings)
		}
		return got.text()
	}
	for _, tt := range []struct {
		name, got, want string
	}{
		{"all", import1(t, dir), rpm2310 + rpm2410 + doubt},
		{"one", import1(t, dir, "23.10"), rpm2310 + doubt},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	t.Run("one is asked for", func(t *testing.T) {
		with := opts
		with.Stated = Stated{Stack: "mlnx-ofed", Version: "24.10-1.1.4.0"}
		got, err := Import(context.Background(), dir, with)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rpm2410+doubt, got.text()); diff != "" {
			t.Error(diff)
		}
		with.Stated.Version = ""
		if got, err = Import(context.Background(), dir, with); err != nil || got.text() != rpm2310+rpm2410+doubt {
			t.Errorf("%s, %v", got.text(), err)
		}
		with.Stated.Version = "24.10-2.1.8.0"
		refused(t, dir, with, "none of which is mlnx-ofed 24.10-2.1.8.0: mlnx-ofed 23.10-2.1.3.1, mlnx-ofed 24.10-1.1.4.0")
		with.Stated = Stated{Stack: "doca-ofed"}
		refused(t, dir, with, "none of which is doca-ofed")
	})
	t.Run("index unsigned", func(t *testing.T) {
		c := copyTree(t, dir)
		remove(t, c+"/repodata/repomd.xml.asc")
		if diff := cmp.Diff(rpm2310+rpm2410+"note: the index is not signed; each of the 9 packages is\n"+doubt, import1(t, c)); diff != "" {
			t.Error(diff)
		}
		// What an unsigned index says of needs is not what the signed packages say.
		remove(t, c+"/rdma-core-2307mlnx47-1.2310213.x86_64.rpm")
		l.createrepo(c, "")
		if got := import1(t, c); !strings.HasPrefix(got, rpm2410) || !strings.Contains(got, "needs rdma-core, of which only those of other releases are there") {
			t.Error(got)
		}
	})
	for name, tt := range map[string]struct{ gone, lack string }{
		"no metapackage": {"mlnx-ofed-all-23.10-2.1.3.1.rhel9.4.noarch.rpm", "its metapackage is not there"},
		"no drivers":     {"kmod-mlnx-ofa_kernel-23.10-OFED.23.10.2.1.3.1.rhel9u4.x86_64.rpm", "neither modules nor module sources of its drivers are there"},
		"no user space":  {"rdma-core-2307mlnx47-1.2310213.x86_64.rpm", "mlnx-ofed-all 23.10-2.1.3.1.rhel9.4 needs rdma-core, of which only those of other releases are there"},
	} {
		t.Run(name, func(t *testing.T) {
			c := copyTree(t, dir)
			remove(t, c+"/"+tt.gone)
			got := import1(t, c)
			if !strings.HasPrefix(got, rpm2410) || strings.Contains(got, rpm2310) || !strings.Contains(got, "note: mlnx-ofed 23.10-2.1.3.1 for x86_64 is left out: "+tt.lack) {
				t.Error(got)
			}
			with := opts
			with.Releases = []string{"23.10"}
			refused(t, c, with, tt.lack)
		})
	}
}

// TestManyReleases bounds what an index may ask of the reader.
func TestManyReleases(t *testing.T) {
	one := func(name, version string) pkg {
		return pkg{HoldingPackage: matrix.HoldingPackage{Name: name, Version: version, Arch: "amd64"}}
	}
	f := &found{}
	for n := range 200 {
		f.packages = append(f.packages, one("mlnx-ofed-all", fmt.Sprintf("24.10-%d.1.4.0", n)))
	}
	if _, err := f.assemble("o", "/ubuntu22.04", Options{}); err == nil || !strings.Contains(err.Error(), "more than 64 releases") {
		t.Errorf("%v", err)
	}
	f = &found{packages: []pkg{one("mlnx-ofed-all", "24.10-1.1.4.0"), one("mlnx-ofed-all", "23.10-2.1.3.1")}}
	for n := range 5000 {
		p := one(fmt.Sprintf("p%d", n), "2410mlnx54-1.2410114")
		p.needs, p.gives = [][]capability{{{name: "all", op: ">", version: "9"}}}, []capability{{name: "all", version: "1"}}
		f.packages = append(f.packages, p)
	}
	if _, err := f.assemble("o", "/ubuntu22.04", Options{}); err == nil || !strings.Contains(err.Error(), "more ways than can be followed") {
		t.Errorf("%v", err)
	}
}
