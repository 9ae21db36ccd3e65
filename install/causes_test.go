package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
)

func TestSignatureHint(t *testing.T) {
	const other = "repair or disable that repository"
	for said, want := range map[string]string{
		"E: Release file for file:/srv/repo/./InRelease is not valid yet (invalid for another 2d 23h 59min 44s). Updates for this repository will not be applied.": "clock",
		"Err: Sub-process /usr/bin/sqv returned an error code (1), error message is: Not live until 2026-12-01T00:00:00Z":                                          "clock",
		"gpgv: key 0123 was created 86400 seconds in the future (time warp or clock problem)":                                                                      "clock",
		"W: GPG error: file:/srv/repo ./ InRelease: The following signatures were invalid: EXPKEYSIG BC977DD172D2EDC4 test":                                        "its key has expired",
		"W: GPG error: The following signatures couldn't be verified because the public key is not available: NO_PUBKEY 0B574C75C7AEADDA":                          "replaced the key",
		"rpm: perftest-1.rpm: Header V4 RSA/SHA256 Signature, key ID 1234: NOKEY":                                                                                  "replaced the key",
		"W: GPG error: The following signatures were invalid: BADSIG 0B574C75C7AEADDA test":                                                                        other,
		"E: Release file for file:/srv/repo/./InRelease is expired (invalid since 3d).":                                                                            other,
		"Hash Sum mismatch": other,
	} {
		got := signatureHint(&pkgmgr.SignatureError{Lines: []string{"E: something before", said}})
		if !strings.Contains(got, want) || !strings.HasSuffix(got, "nothing was changed") || want != other && strings.Contains(got, other) {
			t.Errorf("%s: the hint is %q, want %q in it", said, got, want)
		}
	}
}

func TestCauseHint(t *testing.T) {
	command := func(line string) error {
		return fmt.Errorf("cannot install packages: %w", &pkgmgr.CommandError{Command: "apt-get install", Exit: 100, Lines: []string{line}})
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"dpkg":         {command("dpkg: error processing archive x.deb (--unpack): cannot copy extracted data for './usr/x': failed to write (No space left on device)"), "make room"},
		"rpm":          {command("At least 10MB more space needed; installing x needs 10MB more space on the / filesystem"), "make room"},
		"our own":      {fmt.Errorf("cannot write /etc/x: %w", &fs.PathError{Op: "write", Path: "/etc/x", Err: syscall.ENOSPC}), "make room"},
		"disk error":   {command("dpkg: error: unable to write status: Read-only file system"), "mount it writable"},
		"another":      {command("post-installation script subprocess returned error exit status 1"), ""},
		"none known":   {errors.New("no"), ""},
		"another kind": {fmt.Errorf("cannot write: %w", syscall.EACCES), ""},
	} {
		if got := causeHint(c.err); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: the hint is %q, want %q", name, got, c.want)
		}
	}
}

// TestKeyOfTheFuture has a vendor's key that was made after what this host takes for today.
func TestKeyOfTheFuture(t *testing.T) {
	for name, c := range map[string]struct {
		made time.Time
		hint string
	}{
		"made next year": {time.Now().AddDate(1, 0, 0), "clock is probably wrong"},
		"another's":      {time.Now().AddDate(-1, 0, 0), "get the vendor's public key"},
	} {
		t.Run(name, func(t *testing.T) {
			key, fingerprint := vendorKey(t, c.made, 0)
			if name == "another's" {
				_, fingerprint = vendorKey(t, c.made, 0)
			}
			b := vendorBench(t, key)
			before := b.h.tree()
			_, err := b.startVendor(fingerprint)
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.Stopped || !strings.Contains(f.Hint, c.hint) {
				t.Errorf("%v, want the hint %q", err, c.hint)
			}
			if diff := cmp.Diff(before, b.h.tree()); diff != "" {
				t.Errorf("something changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestIsFull has a file system in memory, and fills it.
func TestIsFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: a file system is mounted")
	}
	dir := t.TempDir()
	if err := unix.Mount("rdmactl-test", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if isFull(dir) {
		t.Error("an empty file system is full")
	}
	if err := os.WriteFile(dir+"/ballast", make([]byte, 240<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if !isFull(dir) {
		t.Error("a full file system is not")
	}
	if isFull(dir + "/gone") {
		t.Error("what is not there is full")
	}
}
