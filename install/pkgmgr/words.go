package pkgmgr

import "regexp"

// WithoutCredentials takes user and password out of the URLs of a line.
func WithoutCredentials(line string) string {
	return regexp.MustCompile(`://[^/@\s]+@`).ReplaceAllString(line, "://")
}
