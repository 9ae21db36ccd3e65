package host

import (
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
)

// publicSites are the repositories that everybody can use, and with them their subdomains. Which of
// them a host uses is a fact that decides plans and tells nothing about whose host it is.
func publicSites() []string {
	return []string{
		"debian.org", "ubuntu.com", "launchpad.net", "launchpadcontent.net", "linuxmint.com", "kali.org",
		"linux.mellanox.com", "content.mellanox.com", "www.mellanox.com", "nvidia.com", "nvidia.github.io",
		"fedoraproject.org", "redhat.com", "centos.org", "rockylinux.org", "almalinux.org", "oracle.com", "elrepo.org", "rpmfusion.org",
		"opensuse.org", "suse.com", "openeuler.org", "openanolis.cn", "kylinos.cn", "archlinux.org", "kernel.org", "alpinelinux.org",
		"amazonlinux.com", "packages.microsoft.com", "download.docker.com", "repo.radeon.com",
		"repositories.intel.com", "apt.repos.intel.com", "yum.repos.intel.com", "github.com", "pkgs.k8s.io", "w3.org", "gnu.org",
	}
}

var (
	urlHost  = regexp.MustCompile(`://(?:[^\s/@"'<>]*@)?([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)`)
	siteName = regexp.MustCompile(`^site\d+\.example$`) // a pseudonym
	// root=//server/share, nfsroot=server:/path, root=nfs:server:/path
	bootServer = regexp.MustCompile(`(?:=//|=nfs4?:|nfsroot=)([A-Za-z][A-Za-z0-9.-]*)(?::?/)`)
	bootUser   = regexp.MustCompile(`(\b(?:user|username)=)([A-Za-z0-9._-]+)`)
	bootName   = regexp.MustCompile(`(?:^|\s)(?:systemd\.)?hostname=([A-Za-z0-9][A-Za-z0-9._-]*)`)
	bootIP     = regexp.MustCompile(`((?:^|\s)ip=(?:[0-9.]*:){4})([A-Za-z0-9][A-Za-z0-9._-]*)(:)`)
)

// namesSites says that a text lists repositories or proxies, or is a kernel command line.
func namesSites(source string) bool {
	program, p := sourcePath(source)
	switch program {
	case "apt-cache", "apt-get", "apt", "apt-config", "dnf", "yum", "zypper", "yum-config-manager":
		return true
	case "", "cat":
		return isEnvironment(source) || slices.ContainsFunc([]string{"/etc/apt/", "/etc/yum", "/etc/dnf/", "/etc/zypp/", "/etc/sysconfig/proxy"}, func(dir string) bool { return strings.HasPrefix(p, dir) }) ||
			isCommandLine(source)
	}
	return isCommandLine(source) || isEnvironment(source)
}

// collectSites finds the hosts that stand in URLs of repositories and of the command line.
func (r *redactor) collectSites(e *Evidence) {
	add := func(source, text string) {
		if !namesSites(source) {
			return
		}
		found := urlHost.FindAllStringSubmatch(text, -1)
		if isCommandLine(source) {
			found = append(found, bootServer.FindAllStringSubmatch(text, -1)...)
		}
		for _, m := range found {
			if !publicSite(m[1]) && !slices.Contains(r.sites, m[1]) {
				r.sites = append(r.sites, m[1])
			}
		}
	}
	for _, p := range sortedKeys(e.Files) {
		add(p, CleanCredentials(p, e.Files[p]))
	}
	for _, key := range sortedKeys(e.Commands) {
		add(key, CleanCredentials(key, e.Commands[key].Stdout))
	}
}

func publicSite(name string) bool {
	lower := strings.ToLower(name)
	if _, err := netip.ParseAddr(name); err == nil {
		return true // replaced as an address
	}
	return lower == "localhost" || lower == strings.ToLower(hidden) || siteName.MatchString(lower) || slices.ContainsFunc(publicSites(), func(public string) bool {
		return lower == public || strings.HasSuffix(lower, "."+public)
	})
}

// siteWords replaces full names of hosts wherever they stand, in names of files as well: they are
// too long to be anything else.
func (r *redactor) siteWords(text string) string {
	for _, site := range r.sites {
		if strings.Contains(site, ".") {
			text = r.siteWord(text, site)
		}
	}
	return text
}

func (r *redactor) siteWord(text, site string) string {
	part := func(c byte) bool { return isNamePart(c) && c != '_' || c == '.' }
	var b strings.Builder
	for {
		i := strings.Index(text, site)
		if i < 0 {
			return b.String() + text
		}
		end := i + len(site)
		b.WriteString(text[:i])
		// mirror.corp.example.list is a file; x.mirror.corp.example is another host
		whole := (i == 0 || !part(text[i-1])) && (end == len(text) || !isNamePart(text[end]) || text[end] == '_')
		if whole {
			b.WriteString(r.site(site))
		} else {
			b.WriteString(site)
		}
		text = text[end:]
	}
}

// site is the pseudonym of a host in a URL. RFC 2606 keeps .example for such names.
func (r *redactor) site(name string) string {
	if slices.Contains(r.hosts, name) {
		return r.names.word("host", name)
	}
	return r.names.word("site", name) + ".example"
}

// shortSites replaces names of one label, in URLs only.
func (r *redactor) shortSites(text string) string {
	return replaceGroup(urlHost, text, func(name string) string {
		if slices.Contains(r.sites, name) && !strings.Contains(name, ".") {
			return r.site(name)
		}
		return name
	})
}

// bootNames replaces what only a kernel command line tells: the host's own name in ip= and
// hostname=, users, and servers outside of URLs. UUIDs of file systems stay: they tell disks apart,
// and nobody finds a host by them.
func (r *redactor) bootNames(text string) string {
	host := func(name string) string {
		if _, err := netip.ParseAddr(name); err == nil || name == "localhost" {
			return name
		}
		return r.names.word("host", name)
	}
	text = bootIP.ReplaceAllStringFunc(text, func(s string) string {
		m := bootIP.FindStringSubmatch(s)
		return m[1] + host(m[2]) + m[3]
	})
	text = replaceGroup(bootName, text, host)
	text = replaceGroup(bootServer, text, func(name string) string {
		if slices.Contains(r.sites, name) {
			return r.site(name)
		}
		return name
	})
	return bootUser.ReplaceAllStringFunc(text, func(s string) string {
		m := bootUser.FindStringSubmatch(s)
		if m[2] == "root" || m[2] == hidden {
			return s
		}
		return m[1] + r.names.word("user", m[2])
	})
}

// replaceGroup replaces the first group of each match.
func replaceGroup(re *regexp.Regexp, text string, replace func(string) string) string {
	var b strings.Builder
	last := 0
	for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[last:m[2]])
		b.WriteString(replace(text[m[2]:m[3]]))
		last = m[3]
	}
	return b.String() + text[last:]
}

// dropComments empties the comments of a configuration file, where people write names; the lines
// stay. The files of this program keep theirs: they are its own, and their sums are compared.
func dropComments(source, text string) string {
	program, p := sourcePath(source)
	if program != "" && program != "cat" || !strings.HasPrefix(p, "/etc/") && !strings.HasPrefix(p, "/run/modules-load.d/") && !strings.HasPrefix(p, "/usr/local/") ||
		strings.Contains(path.Base(p), "rdmactl") {
		return text
	}
	marks := "#"
	if path.Ext(p) == ".repo" || path.Base(p) == "yum.conf" || path.Base(p) == "dnf.conf" {
		marks = "#;"
	}
	// In these a comment may also follow a word.
	trailing := path.Ext(p) == ".list" || strings.HasPrefix(p, "/etc/security/") || strings.HasPrefix(p, "/etc/ld.so.conf") || p == "/etc/modules"
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		body := strings.TrimRight(line, "\r\n")
		ending := line[len(body):]
		bare := strings.TrimLeft(body, " \t")
		switch {
		case bare == "":
		case strings.IndexByte(marks, bare[0]) >= 0:
			lines[i] = bare[:1] + continued(bare) + ending
		case trailing:
			if at := strings.IndexByte(body, '#'); at > 0 && (body[at-1] == ' ' || body[at-1] == '\t') {
				lines[i] = body[:at+1] + ending
			}
		}
	}
	return strings.Join(lines, "")
}

// continued keeps the mark by which the next line belongs to a comment.
func continued(comment string) string {
	if len(comment) > 1 && strings.HasSuffix(comment, `\`) {
		return ` \`
	}
	return ""
}
