package rpm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/openpgpkey"
)

// Keyring makes an rpm database in dir that holds nothing but keys: those that the host trusts, and
// the files given. With it packages are verified by keys that the host does not trust yet.
func (t Tool) Keyring(ctx context.Context, dir string, files []string) error {
	if err := t.Writer.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make %s: %w", dir, err)
	}
	own := dir + "/host-keys.asc"
	res, err := t.Query(ctx, "", "rpm", "-q", "gpg-pubkey", "--qf", `%{DESCRIPTION}\n`)
	if err != nil {
		return err
	}
	// Without any key it ends with 1 and says so on its output.
	if res.Exit == 0 && strings.Contains(res.Stdout, "-----BEGIN PGP") {
		if err := t.Writer.WriteFile(own, []byte(res.Stdout), 0o600); err != nil {
			return fmt.Errorf("cannot write %s: %w", own, err)
		}
		files = append([]string{own}, files...)
	} else if err := t.Writer.Remove(own); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove %s: %w", own, err)
	}
	for _, f := range files {
		if _, err := t.Run(ctx, "", "rpmkeys", "--dbpath", dir, "--import", f); err != nil {
			return err
		}
	}
	return nil
}

// Trust takes keys into rpm's database. A key that is there already stays the one that it is.
func (t Tool) Trust(ctx context.Context, files []string) error {
	for _, f := range files {
		if _, err := t.Run(ctx, "", "rpmkeys", "--import", f); err != nil {
			return err
		}
	}
	return nil
}

// trustedBefore has the keys that rpm trusted when a directory was staged in for the first time.
const trustedBefore = "trusted-before.json"

// trusted are the keys in rpm's database, as gpg-pubkey-ID-CREATED: ID are the last 8 hex digits of the
// fingerprint (rpm 6 has all of it).
func (t Tool) trusted(ctx context.Context) ([]string, error) {
	out, err := t.Ask(ctx, "rpm", "-qa", "--qf", `%{NAME}-%{VERSION}-%{RELEASE}\n`, "gpg-pubkey")
	if err != nil {
		return nil, err
	}
	return strings.Fields(out), nil
}

// NoteTrust writes down what rpm trusts, unless that was done in dir already.
func (t Tool) NoteTrust(ctx context.Context, dir string) error {
	file := path.Join(dir, trustedBefore)
	if there, err := exists(t.Host, file); err != nil || there {
		return err
	}
	keys, err := t.trusted(ctx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(keys)
	if err != nil {
		return fmt.Errorf("cannot note trusted keys: %w", err)
	}
	return pkgmgr.WriteFiles(t.Writer, []pkgmgr.File{{Path: file, Data: text, Mode: 0o600}})
}

// Untrust takes out of rpm's database the keys that were staged in dir and were not trusted before.
func (t Tool) Untrust(ctx context.Context, dir string) error {
	file := path.Join(dir, trustedBefore)
	text, err := t.Host.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was staged
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", file, err)
	}
	var before []string
	if err := json.Unmarshal(text, &before); err != nil {
		return fmt.Errorf("cannot read %s: %w", file, err)
	}
	names, err := t.Host.ReadDir(path.Join(dir, "keys"))
	if err != nil {
		return fmt.Errorf("cannot read the staged keys: %w", err)
	}
	ids := []string{}
	for _, n := range names {
		data, err := t.Host.ReadFile(path.Join(dir, "keys", n))
		if err != nil {
			return fmt.Errorf("cannot read the staged key %s: %w", n, err)
		}
		keys, err := openpgpkey.Read(data)
		if err != nil {
			return fmt.Errorf("cannot read the staged key %s: %w", n, err)
		}
		for _, k := range keys {
			ids = append(ids, strings.ToLower(openpgpkey.Fingerprint(k)))
		}
	}
	now, err := t.trusted(ctx)
	if err != nil {
		return err
	}
	for _, k := range now {
		id, _, _ := strings.Cut(strings.TrimPrefix(k, "gpg-pubkey-"), "-")
		ours := id != "" && slices.ContainsFunc(ids, func(fingerprint string) bool { return strings.HasSuffix(fingerprint, id) })
		if !ours || slices.Contains(before, k) {
			continue
		}
		if _, err := t.Run(ctx, "", "rpm", "-e", k); err != nil {
			return err
		}
	}
	return nil
}
