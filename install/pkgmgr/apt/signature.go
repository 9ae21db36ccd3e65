package apt

import (
	"regexp"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// sortMessages reads what `apt-get update` said. apt ends with 0 on a bad signature when it has older
// lists, so the words count: bad are about signatures and checksums, failed about repositories that
// could not be read, other are errors of any other kind. apt 3.0 writes Warning: and Error: where earlier ones write W: and E:.
func sortMessages(out string) (bad, failed, other []string) {
	for line := range strings.Lines(out) {
		line = pkgmgr.WithoutCredentials(strings.TrimSpace(line))
		label, _, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		switch label {
		case "W", "E", "Err", "Warning", "Error":
		default:
			continue
		}
		switch {
		case harmless().MatchString(line):
		case badSignature().MatchString(line):
			bad = append(bad, line)
		case label == "Err", strings.Contains(line, "Failed to fetch"), strings.Contains(line, "failed to download"):
			failed = append(failed, line)
		case label == "E", label == "Error":
			other = append(other, line)
		}
	}
	return bad, failed, other
}

func badSignature() *regexp.Regexp {
	return regexp.MustCompile(`(?i)GPG error|OpenPGP signature|signature verification|signatures? (?:couldn't|could not|were invalid|is invalid)|` +
		`invalid signature|not signed|unsigned|no longer signed|NO_PUBKEY|NOSPLIT|BADSIG|EXPKEYSIG|EXPSIG|REVKEYSIG|KEYEXPIRED|NODATA|` +
		`Clearsigned file|Missing key|Hash Sum mismatch|(?:does not have|no longer has) a Release file|Sub-process (?:\S*/)?(?:sqv|gpgv)\b|` +
		`is expired|is not valid yet|not live until`)
}

// harmless are warnings about signatures that apt accepted.
func harmless() *regexp.Regexp {
	return regexp.MustCompile(`weak (?:digest )?algorithm|weak security information|legacy trusted\.gpg|will reject signature|` +
		`should be removed|keyring is stored|is configured multiple times`)
}

// errorLines picks the first lines of an output that say what failed.
func errorLines(stderr, stdout string) []string {
	lines := []string{}
	for _, text := range []string{stderr, stdout} {
		why := false // dpkg tells the cause on the next line, set in
		for line := range strings.Lines(text) {
			inset := strings.HasPrefix(line, " ")
			line = pkgmgr.WithoutCredentials(strings.TrimSpace(line))
			if why && inset {
				lines[len(lines)-1] += " " + line
			}
			why = strings.HasPrefix(line, "dpkg: error processing") && strings.HasSuffix(line, ":")
			if strings.HasPrefix(line, "E:") || strings.HasPrefix(line, "Error:") || strings.HasPrefix(line, "Err:") ||
				strings.HasPrefix(line, "dpkg: error") || strings.Contains(line, "unmet dependencies") ||
				strings.Contains(line, " : Depends:") || strings.Contains(line, "post-installation script subprocess returned") {
				lines = append(lines, line)
			}
		}
	}
	if len(lines) == 0 {
		for line := range strings.Lines(stderr) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, pkgmgr.WithoutCredentials(line))
			}
		}
	}
	if len(lines) > 5 {
		lines = lines[:5]
	}
	return lines
}
