package detect

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// distro reads os-release(5): /etc/os-release, or /usr/lib/os-release where that does not exist.
func (p probe) distro() facts.Distro {
	source := "/etc/os-release"
	text, err := p.text(source)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, host.ErrUnknown) {
		if other, otherErr := p.text("/usr/lib/os-release"); otherErr == nil {
			text, err, source = other, nil, "/usr/lib/os-release"
		}
	}
	if err != nil {
		if system, from := p.firstTold("uname -s"); system != "" && strings.TrimSpace(system) != "Linux" {
			return otherSystem(strings.ToLower(strings.TrimSpace(system)), from)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("the host has no os-release file")
		}
		return facts.Distro{
			ID: field("", source, err), VersionID: field("", source, err), IDLike: field[[]string](nil, source, err),
			Codename: field("", source, err), PrettyName: field("", source, err), Family: field("", source, err),
			PointRelease: p.pointRelease(""), ServicePack: field("", source, err),
		}
	}
	values := parseOSRelease(text)
	get := func(key string) facts.Field[string] {
		if v := values[key]; v != "" {
			return facts.Is(v, source)
		}
		return facts.None[string](source)
	}
	d := facts.Distro{
		ID: get("ID"), VersionID: get("VERSION_ID"), Codename: get("VERSION_CODENAME"), PrettyName: get("PRETTY_NAME"),
		IDLike: list(strings.Fields(values["ID_LIKE"]), source),
	}
	d.PointRelease = p.pointRelease(values["ID"])
	d.ServicePack = facts.None[string](source)
	if m := servicePack.FindStringSubmatch(values["VERSION"] + " " + values["PRETTY_NAME"]); m != nil {
		d.ServicePack = facts.Is(strings.ToUpper(m[1]), source)
	} else if values["VERSION"] == "" && values["PRETTY_NAME"] == "" {
		d.ServicePack = facts.Field[string]{Source: source} // an excerpt
	}
	if family := distroFamily(values["ID"], strings.Fields(values["ID_LIKE"])); family != "" {
		d.Family = facts.Is(family, source)
	} else {
		d.Family = facts.Failed[string](source, errors.New("os-release has no ID"))
	}
	return d
}

// otherSystem describes a host that does not run Linux.
func otherSystem(name, source string) facts.Distro {
	none := facts.None[string](source)
	return facts.Distro{
		ID: facts.Is(name, source), Family: facts.Is(name, source), VersionID: facts.Field[string]{Source: source},
		IDLike: facts.None[[]string](source), Codename: none, PointRelease: none, PrettyName: none, ServicePack: none,
	}
}

// 22.03 (LTS-SP3) of openEuler, 15-SP6 of SLES
var servicePack = regexp.MustCompile(`(?i)[-( ](SP[0-9]+)\b`)

var releaseNumber = regexp.MustCompile(`\b([0-9]+\.[0-9]+(?:\.[0-9]+)?)\b`)

// pointRelease reads the distribution's own file of its full version. Derivatives of Debian ship
// Debian's file, which is not theirs.
func (p probe) pointRelease(id string) facts.Field[string] {
	file := "/etc/redhat-release"
	if id == "debian" {
		file = "/etc/debian_version"
	}
	return parsed(p.attr(file), func(text string) (string, error) {
		if m := releaseNumber.FindStringSubmatch(text); m != nil {
			return m[1], nil
		}
		return "", fmt.Errorf("%q names no point release", text) // "trixie/sid", a stream
	})
}

// parseOSRelease reads the shell-like assignments of os-release(5). Lines that are none are
// skipped, and of a key that is there twice the last one counts, as in a shell.
func parseOSRelease(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, raw, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || key == "" || strings.ContainsAny(key, " \t") {
			continue
		}
		value, err := unquoteShell(raw)
		if err != nil {
			continue
		}
		values[key] = value
	}
	return values
}

// unquoteShell undoes the quoting that os-release(5) allows: none, single, or double quotes in
// which a backslash escapes ", $, `, and itself.
func unquoteShell(raw string) (string, error) {
	if raw == "" {
		return "", nil
	}
	var out strings.Builder
	switch quote := raw[0]; quote {
	case '\'':
		end := strings.IndexByte(raw[1:], '\'')
		if end < 0 {
			return "", fmt.Errorf("%s: the quote is not closed", raw)
		}
		return raw[1 : 1+end], nil
	case '"':
		for i := 1; i < len(raw); i++ {
			switch c := raw[i]; {
			case c == '"':
				return out.String(), nil
			case c == '\\' && i+1 < len(raw) && strings.IndexByte("\"$`\\", raw[i+1]) >= 0:
				i++
				out.WriteByte(raw[i])
			default:
				out.WriteByte(c)
			}
		}
		return "", fmt.Errorf("%s: the quote is not closed", raw)
	}
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case ' ', '\t', '#':
			return out.String(), nil
		case '\\':
			if i++; i == len(raw) {
				return out.String(), nil
			}
		}
		out.WriteByte(raw[i])
	}
	return out.String(), nil
}

// distroFamily names the package family. What is not of the three is its own.
func distroFamily(id string, like []string) string {
	for _, name := range append([]string{id}, like...) {
		switch strings.ToLower(name) {
		case "debian", "ubuntu", "raspbian", "linuxmint", "proxmox", "pop", "kylin-desktop", "uos":
			return "debian"
		case "rhel", "fedora", "centos", "rocky", "almalinux", "ol", "oracle", "amzn", "openeuler", "anolis", "alinux", "ctyunos", "bclinux", "kylin", "tencentos", "xenserver", "eurolinux", "circle", "scientific", "azurelinux", "mariner", "photon":
			return "rhel"
		case "suse", "sles", "sled", "sle_hpc", "opensuse", "opensuse-leap", "opensuse-tumbleweed", "sle-micro":
			return "suse"
		}
	}
	if slices.Contains(like, "") || id == "" {
		return ""
	}
	return id
}
