package detect

import (
	"io"
	"regexp"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

// originPattern are the lines of a Release file that tell who made it.
const originPattern = "^(Origin|Label):"

// releaseOrigin tells a vendor's apt repository by what it says of itself where its address does not: a mirror may have
// any. apt keeps the Release files of what it has read; MLNX_OFED's have "Origin: MLNX_OFED" and "Label:
// MLNX_OFED_LINUX", DOCA-Host's "Origin: DOCA" or a label that begins so.
func (p probe) releaseOrigin(r *facts.Repository) {
	if r.Kind != "apt" || r.Stack != other || !r.Enabled || r.URL == "" || strings.Contains(r.URL, "[") { // an IPv6 address would stand in the name of a file
		return
	}
	index := listName(r.URL, r.Suite)
	for _, name := range []string{"InRelease", "Release"} {
		file := "/var/lib/apt/lists/" + index + name
		res, err := p.r.Derive(p.ctx, file, []string{"grep", "-E", originPattern, file}, filterOrigin)
		if err != nil {
			continue // not there, or not for this user to read: its address alone tells what it is
		}
		for line := range strings.Lines(res.Stdout) {
			_, value, _ := strings.Cut(line, ":")
			value = strings.ToUpper(strings.TrimSpace(value))
			switch {
			case strings.HasPrefix(value, "MLNX_OFED"):
				r.Stack, r.Supplier = mlnxOFED, nvidia
				return
			case value == "DOCA", strings.HasPrefix(value, "DOCA-"), strings.HasPrefix(value, "DOCA "):
				r.Stack, r.Supplier = docaOFED, nvidia
				return
			}
		}
		return
	}
}

// listName is how apt names the files of a repository: its address without the scheme, with what a file's name cannot
// have, and the underscore that stands for a slash, as %xx.
func listName(url, suite string) string {
	_, at, _ := strings.Cut(url, ":")
	at = strings.TrimPrefix(at, "//")
	at = strings.TrimSuffix(at, "/") + "/"
	switch {
	case suite == "/":
	case strings.HasSuffix(suite, "/"):
		at += suite
	default:
		at += "dists/" + suite + "/"
	}
	var out strings.Builder
	for _, c := range []byte(at) {
		switch {
		case c == '/':
			out.WriteByte('_')
		case strings.IndexByte(`\|{}[]<>"^~_=!@#$%&*`, c) >= 0, c <= ' ', c > '~':
			const hex = "0123456789abcdef"
			out.Write([]byte{'%', hex[c>>4], hex[c&15]})
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

func filterOrigin(file io.ReaderAt, size int64) (string, error) {
	const head = 8 << 10 // the checksums, which make a Release file long, come after it
	data, err := io.ReadAll(io.NewSectionReader(file, 0, min(size, head)))
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		if regexp.MustCompile(originPattern).MatchString(line) {
			out.WriteString(strings.TrimRight(line, "\n") + "\n")
		}
	}
	return out.String(), err
}
