package install

import (
	"errors"
	"regexp"
	"strings"
	"syscall"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// What lies behind the words of a package manager, and what to do then. The words are those of apt and gpgv, of sqv
// (apt 3.0), of gpgme (librepo, libzypp) and of rpm.

// signatureHint says what to do about a repository that cannot be trusted.
func signatureHint(err *pkgmgr.SignatureError) string {
	const unchanged = "; nothing was changed"
	said := strings.Join(err.Lines, "\n")
	switch {
	case ofTheFuture().MatchString(said):
		return "it is signed in what is the future here, so this host's clock is probably wrong: compare `date`, set it, then run again" + unchanged
	case keyExpired().MatchString(said):
		return "its key has expired: install the new one of who publishes it, got over a way that you trust, or disable that repository; see with `date` that this host's clock is right" + unchanged
	case keyMissing().MatchString(said):
		return "it is signed by a key that is not trusted here: if its owner replaced the key, install the new one, got over a way that you trust; else disable that repository" + unchanged
	}
	return "repair or disable that repository" + unchanged
}

// keyHint says what to do about a key that does not count, by what is wrong with it; other is for all but the clock.
func keyHint(said, other string) string {
	if ofTheFuture().MatchString(said) {
		return "this host's clock is probably wrong: compare `date`, set it, then run again; nothing was changed"
	}
	return other
}

func ofTheFuture() *regexp.Regexp {
	return regexp.MustCompile(`(?i)is not valid yet|not live until|in the future|time warp or clock problem|after this host's today`)
}

func keyExpired() *regexp.Regexp {
	return regexp.MustCompile(`(?i)EXPKEYSIG|KEYEXPIRED|key (?:\S+ )?(?:has |is )?expired`)
}

func keyMissing() *regexp.Regexp {
	return regexp.MustCompile(`(?i)NO_PUBKEY|no public key|missing key|public key (?:\S+ )?is not (?:available|installed)|NOKEY`)
}

// causeHint says what to do first about an error of which only its cause is known; empty for one that says itself.
func causeHint(err error) string {
	said := ""
	var command *pkgmgr.CommandError
	if errors.As(err, &command) {
		said = strings.Join(command.Lines, "\n")
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), noRoomLeft().MatchString(said):
		return "make room on the file system that is full (`df` shows which)"
	case errors.Is(err, syscall.EROFS), strings.Contains(said, "Read-only file system"):
		return "see with `dmesg` why a file system became read-only, and mount it writable"
	}
	return ""
}

// noRoomLeft is of the kernel, and of rpm, which counts before it begins.
func noRoomLeft() *regexp.Regexp {
	return regexp.MustCompile(`(?i)no space left on device|needs \S+ more space on the|needs \S+ more inodes on the|disk quota exceeded`)
}
