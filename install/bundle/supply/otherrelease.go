package supply

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// otherRelease is the fault of a mirror that is of another release of the host's distribution: its packages would
// resolve, and not fit what the host has.
func otherRelease(h Host, of, is string) error {
	id, release := h.Facts.Distro.ID.Or(""), h.Facts.Distro.VersionID.Or("")
	hint := "name the mirror of the host's own release"
	if code := h.Facts.Distro.Codename.Or(""); code != "" {
		hint += `, such as --mirror "ADDRESS ` + code + ` COMPONENT..."`
	}
	hint += "; where the mirrors are for several hosts, write DISTRIBUTION-RELEASE= before each"
	return fault.New(fault.Stopped, "mirror-of-other-release", hint, "cannot make a bundle for %s, which is %s %s: %s is of %s", h.Name, id, release, of, is)
}

// checkDebReleases reads what the indexes in a directory of lists of apt's say of themselves. Those of other
// publishers, such as a site's own repository, tell nothing that could be compared.
func checkDebReleases(h Host, lists string) error {
	files, err := filepath.Glob(filepath.Join(lists, "*Release"))
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", lists, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("cannot read %s: %w", file, err)
		}
		if is := notOfRelease(releaseHead(data), h.Facts.Distro); is != "" {
			return otherRelease(h, "the mirror with "+listedAs(file), is)
		}
	}
	return nil
}

// listedAs is the address of an index, out of the name that apt gives its file.
func listedAs(file string) string {
	name := filepath.Base(file)
	name = strings.TrimSuffix(strings.TrimSuffix(name, "_InRelease"), "_Release")
	return strings.ReplaceAll(name, "_", "/")
}

// releaseHead are the fields of a Release file before its checksums.
func releaseHead(data []byte) map[string]string {
	out := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), ":")
		if ok && !strings.HasPrefix(name, " ") {
			if strings.EqualFold(name, "MD5Sum") || strings.EqualFold(name, "SHA256") {
				break
			}
			out[strings.ToLower(name)] = strings.TrimSpace(value)
		}
	}
	return out
}

// notOfRelease names the release that an index of the host's distribution is of where it is another than the host's,
// empty for one that fits or does not tell. Suites of one release have a word behind it: bookworm-updates.
func notOfRelease(head map[string]string, d facts.Distro) string {
	publisher, _, _ := strings.Cut(strings.ToLower(head["origin"]), " ")
	if publisher == "" || publisher != d.ID.Or("") {
		return ""
	}
	is := strings.TrimSpace(head["origin"] + " " + head["codename"])
	if code := d.Codename.Or(""); code != "" && head["codename"] != "" {
		if name, _, _ := strings.Cut(head["codename"], "-"); name != code {
			return is
		}
		return ""
	}
	release := d.VersionID.Or("")
	version, _, _ := strings.Cut(head["version"], "-")
	if release == "" || version == "" || version == release || strings.HasPrefix(version, release+".") {
		return ""
	}
	return strings.TrimSpace(head["origin"] + " " + version)
}

// checkRPMReleases compares what packages of mirrors were built for with the host. What repositories of rpm tell of
// themselves does not name a release; packages of RHEL and what is built from it have it in their own.
func checkRPMReleases(h Host, mirrors []pkgmgr.Repository, actions []plan.ResolvedPackage) error {
	if h.Facts.Distro.Family.Or("") != "rhel" || h.Facts.Distro.ID.Or("") == "fedora" {
		return nil
	}
	major, _, _ := strings.Cut(h.Facts.Distro.VersionID.Or(""), ".")
	built := regexp.MustCompile(`\.el([0-9]+)`)
	for _, a := range actions {
		i := slices.IndexFunc(mirrors, func(r pkgmgr.Repository) bool { return r.ID == a.Origin })
		m := built.FindStringSubmatch(a.Version)
		if i >= 0 && m != nil && m[1] != major {
			return otherRelease(h, "the mirror "+pkgmgr.WithoutCredentials(mirrors[i].URL), "el"+m[1]+" (it has "+a.Name+" "+a.Version+")")
		}
	}
	return nil
}
