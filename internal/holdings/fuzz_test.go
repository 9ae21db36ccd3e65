package holdings

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"
)

func FuzzPackages(f *testing.F) {
	f.Add([]byte("Package: doca-ofed\nVersion: 2.9.1-0.1.6\nArchitecture: amd64\nFilename: ./pool/a.deb\nSize: 3\nSHA256: 00\n\nPackage: b\n"))
	f.Add([]byte("Package: a\n b\n\r\n:\n"))
	f.Add([]byte("Package: mlnx-ofed-all\nVersion: 24.10-1.1.4.0\nArchitecture: all\nDepends: a (>= 1) | b, c\nProvides: d (= 1)\nFilename: a.deb\nSize: 3\n\n" +
		"Package: mlnx-ofed-all\nVersion: 23.10-2.1.3.1\nArchitecture: all\nDepends: mlnx-ofed-kernel-dkms\nFilename: b.deb\nSize: 3\n\n" +
		"Package: mlnx-ofed-kernel-dkms\nVersion: 23.10.OFED.23.10.2.1.3.1-1\nArchitecture: amd64\nFilename: c.deb\nSize: 3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parsePackages("Packages", data)
		if err != nil {
			return
		}
		for _, p := range list {
			if err := checkPackage(p.Name, p.Version, p.Arch); err != nil || p.Bytes < 0 {
				t.Errorf("%+v: %v", p, err)
			}
			if _, err := checkPath(p.path); err != nil {
				t.Error(err)
			}
		}
		got, err := (&found{packages: list}).assemble("origin", "/srv/ubuntu22.04/x86_64", Options{Now: time.Unix(1_790_000_000, 0)})
		if err != nil {
			return
		}
		for _, h := range got {
			for _, p := range h.Packages {
				if !slices.ContainsFunc(list, func(have pkg) bool { return have.HoldingPackage == p }) {
					t.Errorf("%s %s is in no index", p.Name, p.Version)
				}
			}
		}
	})
}

func FuzzRelease(f *testing.F) {
	f.Add([]byte("Label: DOCA-HOST\nDate: Mon, 30 Nov 2026 10:00:00 UTC\nSHA256:\n 00 3 Packages\n 00 3 main/binary-amd64/Packages.gz\n"))
	f.Add([]byte("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nLabel: x\n-----BEGIN PGP SIGNATURE-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRelease(data, time.Unix(1_790_000_000, 0))
		if err != nil {
			return
		}
		for name, s := range r.files {
			if _, err := checkPath(name); err != nil || s.size < 0 {
				t.Errorf("%s %+v: %v", name, s, err)
			}
		}
		r.indexes()
	})
}

func FuzzRepomd(f *testing.F) {
	f.Add([]byte(`<repomd xmlns="http://linux.duke.edu/metadata/repo"><data type="primary"><checksum type="sha256">00</checksum><location href="repodata/primary.xml.gz"/><size>3</size></data></repomd>`))
	f.Add([]byte(`<metadata><package type="rpm"><name>a</name><arch>noarch</arch><version epoch="0" ver="1" rel="2"/><checksum type="sha256">00</checksum><size package="3"/><location href="a.rpm"/></package></metadata>`))
	f.Add([]byte(`<filelists><package pkgid="00" name="kmod-mlnx-ofa_kernel" arch="x86_64"><version epoch="0" ver="1" rel="2"/><file>/lib/modules/5.14.0/extra/mlx5_core.ko</file></package></filelists>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := parseRepomd(data); err == nil {
			if _, name, ok, err := r.index("primary"); ok && err == nil {
				if _, err := checkPath(name); err != nil {
					t.Error(err)
				}
			}
		}
		if list, err := parsePrimary("primary.xml", data); err == nil {
			for _, p := range list {
				if err := checkPackage(p.Name, p.Version, p.Arch); err != nil || p.Bytes < 0 {
					t.Errorf("%+v: %v", p, err)
				}
			}
		}
		if kernels, err := parseFilelists("filelists.xml", data); err == nil {
			for _, list := range kernels {
				for _, k := range list {
					if !kernelPattern.MatchString(k) {
						t.Errorf("%q", k)
					}
				}
			}
		}
	})
}

func FuzzBundleName(f *testing.F) {
	f.Add("MLNX_OFED_LINUX-24.10-1.1.4.0-rhel9.4-x86_64.tgz")
	f.Add("rhel810")
	f.Fuzz(func(t *testing.T, name string) {
		if b, ok := ParseBundleName(name); ok && (!fileVersion.MatchString(b.Version) || b.Label == "") {
			t.Errorf("%+v", b)
		}
		if s, ok := parseLabel(name); ok && (s.id == "" || s.version == "") {
			t.Errorf("%+v", s)
		}
		kernelsOfRPM("mlnx-ofa_kernel-modules", name)
		kernelsOfDeb("mlnx-ofed-kernel-modules", name)
	})
}

func FuzzPackageFiles(f *testing.F) {
	f.Add(append([]byte{0xed, 0xab, 0xee, 0xdb, 3, 0}, make([]byte, 200)...))
	f.Add([]byte("!<arch>\ndebian-binary   0           0     0     100644  4         `\n2.0\n"))
	f.Add(bytes.Repeat([]byte("070701"), 30))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := openRPM("a.rpm", bytes.NewReader(data)); err == nil {
			if err := checkPackage(p.Name, p.Version, p.Arch); err != nil {
				t.Error(err)
			}
			relationsOfHeader(p.parsed)
		}
		if d, err := openDeb(context.Background(), "a.deb", bytes.NewReader(data)); err == nil {
			if err := checkPackage(d.pkg.Name, d.pkg.Version, d.pkg.Arch); err != nil {
				t.Error(err)
			}
		}
		a := newContents(true)
		if err := walkCPIO(context.Background(), bytes.NewReader(data), "a", takeCPIO(context.Background(), a)); err == nil && a.kept > int64(len(data)) {
			t.Error("more was kept than there is")
		}
	})
}
