package zypper

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
	"github.com/rdmactl/rdmactl/plan"
)

// decoder reads what zypper writes with --xmlout. A file that a package name or a repository's
// description went into unescaped is still read as far as it goes.
func decoder(out string) *xml.Decoder {
	d := xml.NewDecoder(strings.NewReader(out))
	d.Strict = false
	return d
}

// solvable is one package of a summary.
type solvable struct {
	Type       string `xml:"type,attr"`
	Name       string `xml:"name,attr"`
	Edition    string `xml:"edition,attr"`
	EditionOld string `xml:"edition-old,attr"`
	Arch       string `xml:"arch,attr"`
	ArchOld    string `xml:"arch-old,attr"`
	Repository string `xml:"repository,attr"`
}

// summary is zypper's answer to a request.
type summary struct {
	told                bool
	actions             []plan.ResolvedPackage
	download, installed int64
}

// parseSummary reads <install-summary>, with a list for each kind of change.
func parseSummary(out string) (summary, error) {
	sum := summary{actions: []plan.ResolvedPackage{}, download: -1, installed: -1}
	d := decoder(out)
	section := ""
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return sum, nil
		}
		if err != nil {
			return sum, fmt.Errorf("cannot read zypper's answer: %w", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch name := start.Name.Local; {
		case name == "install-summary":
			sum.told = true
			for _, a := range start.Attr {
				n, err := strconv.ParseInt(a.Value, 10, 64)
				if err != nil {
					continue
				}
				switch a.Name.Local {
				case "download-size":
					sum.download = n
				case "space-usage-diff":
					sum.installed = n
				}
			}
		case strings.HasPrefix(name, "to-"):
			section = name
		case name == "solvable" && section != "":
			var s solvable
			if err := d.DecodeElement(&s, &start); err != nil {
				return sum, fmt.Errorf("cannot read zypper's answer: %w", err)
			}
			if s.Type != "package" && s.Type != "" {
				continue // patches and patterns are only sets of packages
			}
			action, ok := sectionAction(section)
			if !ok {
				return sum, fmt.Errorf("cannot read zypper's answer: it has a list %s that is not known", section)
			}
			if s.Name == "" || s.Edition == "" || s.Arch == "" {
				return sum, fmt.Errorf("cannot read zypper's answer: a package without name, version or architecture in %s", section)
			}
			a := plan.ResolvedPackage{Name: s.Name, Arch: s.Arch, Version: rpm.Normal(s.Edition), Origin: s.Repository, Action: action}
			if action == "remove" {
				a.From, a.Version, a.Origin = a.Version, "", ""
			}
			sum.actions = append(sum.actions, a)
			if action == "change-arch" {
				sum.actions[len(sum.actions)-1].Action = "install"
				sum.actions = append(sum.actions, plan.ResolvedPackage{Name: s.Name, Arch: s.ArchOld, From: rpm.Normal(s.EditionOld), Action: "remove"})
			}
		}
	}
}

// sectionAction is the action of a list; which it is exactly is told from the database. The -change-arch lists also exist for packages that change nothing else.
func sectionAction(section string) (string, bool) {
	switch section {
	case "to-install", "to-reinstall", "to-change-vendor":
		return "install", true
	case "to-upgrade":
		return "upgrade", true
	case "to-downgrade":
		return "downgrade", true
	case "to-upgrade-change-arch", "to-downgrade-change-arch", "to-change-arch":
		return "change-arch", true
	case "to-remove":
		return "remove", true
	}
	return "", false
}

// messages are the texts of an output, errors marked as rpm and dnf mark them.
func messages(out string) string {
	var b strings.Builder
	d := decoder(out)
	for {
		token, err := d.Token()
		if err != nil { // cut short, or the end
			return b.String()
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "message" && start.Name.Local != "text" && start.Name.Local != "description" {
			continue
		}
		var m struct {
			Type string `xml:"type,attr"`
			Text string `xml:",chardata"`
		}
		if d.DecodeElement(&m, &start) != nil {
			return b.String()
		}
		for i, line := range strings.Split(strings.TrimSpace(m.Text), "\n") {
			switch {
			case i == 0 && m.Type == "error" && !strings.HasPrefix(line, "Error"):
				b.WriteString("Error: ")
			case i > 0:
				b.WriteString(" ")
			}
			b.WriteString(line + "\n")
		}
	}
}

// repo is one repository of `zypper repos`.
type repo struct {
	Alias    string `xml:"alias,attr"`
	Name     string `xml:"name,attr"`
	Enabled  bool   `xml:"enabled,attr"`
	Priority int    `xml:"priority,attr"`
	URL      string `xml:"url"`
}

func parseRepos(out string) ([]repo, error) {
	repos := []repo{}
	err := each(out, "repo", func(d *xml.Decoder, start xml.StartElement) error {
		var r repo
		if err := d.DecodeElement(&r, &start); err != nil {
			return err
		}
		repos = append(repos, r)
		return nil
	})
	return repos, err
}

// offer is a package that `zypper search` found.
type offer struct {
	Kind       string `xml:"kind,attr"`
	Name       string `xml:"name,attr"`
	Edition    string `xml:"edition,attr"`
	Arch       string `xml:"arch,attr"`
	Repository string `xml:"repository,attr"` // name, not alias
}

// remote says that a repository has the package, and not only the database.
func (o offer) remote() bool { return !strings.HasPrefix(o.Repository, "(") }

func parseSearch(out string) ([]offer, error) {
	offers := []offer{}
	err := each(out, "solvable", func(d *xml.Decoder, start xml.StartElement) error {
		var o offer
		if err := d.DecodeElement(&o, &start); err != nil {
			return err
		}
		if o.Kind == "package" {
			offers = append(offers, o)
		}
		return nil
	})
	return offers, err
}

func each(out, element string, read func(*xml.Decoder, xml.StartElement) error) error {
	d := decoder(out)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			if start, ok := token.(xml.StartElement); ok && start.Name.Local == element {
				err = read(d, start)
			}
		}
		if err != nil {
			return fmt.Errorf("cannot read zypper's answer: %w", err)
		}
	}
}

// best is the version that zypper would take for a word: the newest in the repositories of the best
// priority, where 32-bit packages that a 64-bit host also sees do not count.
func best(word string, offers []offer, repos []repo) (string, bool) {
	priority := map[string]int{}
	for _, r := range repos {
		priority[r.Name] = r.Priority
	}
	i386 := regexp.MustCompile(`^i[3-6]86$`)
	found := offer{}
	for _, o := range offers {
		if !o.remote() || !rpm.Means(word, o.Name, "", o.Arch) {
			continue
		}
		switch c, err := rpm.Compare(o.Edition, found.Edition); {
		case found.Edition == "", i386.MatchString(found.Arch) && !i386.MatchString(o.Arch):
			found = o
		case i386.MatchString(o.Arch) && !i386.MatchString(found.Arch):
		case priority[o.Repository] < priority[found.Repository]:
			found = o
		case priority[o.Repository] == priority[found.Repository] && err == nil && c > 0:
			found = o
		}
	}
	return rpm.Normal(found.Edition), found.Edition != ""
}

// expired is what libzypp says of a key that it goes on to trust.
func expired(line string) bool {
	return strings.Contains(line, "gpg key signing file") && strings.HasSuffix(line, "has expired.")
}

// sortMessages reads what refresh said: bad are about signatures and checksums, failed about
// repositories that could not be read. Each repository ends with "Skipping repository 'x' because of
// the above error".
func sortMessages(text string) (bad, failed []string) {
	end := regexp.MustCompile(`Skipping repository '([^']*)' because of the above error`)
	block := []string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if expired(line) {
			bad = append(bad, line)
		}
		if m := end.FindStringSubmatch(line); m != nil {
			what := "repository " + m[1] + ": " + strings.Join(block, " ")
			if lines := rpm.SignatureLines(strings.Join(block, "\n")); len(lines) > 0 {
				bad = append(bad, "repository "+m[1]+": "+strings.Join(lines, " "))
			} else {
				failed = append(failed, strings.TrimSpace(what))
			}
			block = nil
			continue
		}
		if line != "" && !strings.HasPrefix(line, "Retrieving repository") {
			block = append(block, line)
		}
		if strings.HasPrefix(line, "Repository '") && strings.HasSuffix(line, "is up to date.") {
			block = nil
		}
	}
	return bad, failed
}
