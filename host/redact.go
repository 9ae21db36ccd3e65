package host

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Redact takes credentials out of an evidence and, unless keep is set, replaces GUIDs, MAC and IP
// addresses, serial numbers, host and user names by pseudonyms: the same value by the same one,
// of the same shape, so that parsers and comparisons still work. Kernel and package versions and
// PCI addresses are never touched.
func Redact(e *Evidence, keep bool) error {
	r := &redactor{names: newPseudonyms(), keep: keep}
	hosts := append([]*Evidence{e}, e.Peers...)
	if !keep {
		for _, h := range hosts {
			r.collect(h)
		}
	}
	for _, h := range hosts {
		if err := r.evidence(h); err != nil {
			return err
		}
	}
	return nil
}

type redactor struct {
	names *pseudonyms
	keep  bool
	hosts []string // names of hosts, longest first
	users []string // names of people
	sites []string // hosts in URLs that are not public, longest first
}

// collect finds the names of hosts and people before they are looked for in texts.
func (r *redactor) collect(e *Evidence) {
	addHost := func(name string) {
		name = strings.TrimSpace(name)
		short, _, _ := strings.Cut(name, ".")
		for _, n := range []string{name, short} {
			if len(n) > 1 && hostName.MatchString(n) && !slices.Contains([]string{"localhost", "none", "(none)"}, n) && !slices.Contains(r.hosts, n) {
				r.hosts = append(r.hosts, n)
			}
		}
	}
	for _, p := range []string{"/etc/hostname", "/proc/sys/kernel/hostname"} {
		addHost(e.Files[p])
	}
	for _, c := range []string{"hostname", "hostname -f", "hostname -s", "uname -n", "cat /etc/hostname"} {
		if a := e.Commands[c]; a.Exit == 0 {
			addHost(a.Stdout)
		}
	}
	for _, key := range sortedKeys(e.Commands) {
		out := e.Commands[key].Stdout
		switch {
		case key == "uname -a":
			if f := strings.Fields(out); len(f) > 2 && f[0] == "Linux" {
				addHost(f[1])
			}
		case strings.HasPrefix(key, "journalctl"):
			for line := range strings.Lines(out) {
				if m := syslogHost.FindStringSubmatch(line); m != nil {
					addHost(m[1])
				}
			}
		case strings.HasPrefix(key, "stat "):
			if info, ok := parseStatLine(out); ok {
				r.addUser(info.Owner, uint64(info.UID))
				r.addUser(info.Group, uint64(info.GID))
			}
		case key == "id" || strings.HasPrefix(key, "id "):
			for _, m := range idName.FindAllStringSubmatch(out, -1) {
				if id, err := strconv.ParseUint(m[1], 10, 32); err == nil {
					r.addUser(m[2], id)
				}
			}
		}
	}
	for _, p := range []string{"/etc/passwd", "/etc/group", "getent passwd", "getent group"} {
		text := e.Files[p]
		if text == "" {
			text = e.Commands[p].Stdout
		}
		for line := range strings.Lines(text) {
			if f := strings.Split(line, ":"); len(f) > 2 {
				if id, err := strconv.ParseUint(f[2], 10, 32); err == nil {
					r.addUser(f[0], id)
				}
			}
		}
	}
	r.collectSites(e)
	// Longest first, so that a full name is not replaced by halves.
	slices.SortStableFunc(r.hosts, func(a, b string) int { return len(b) - len(a) })
	slices.SortStableFunc(r.sites, func(a, b string) int { return len(b) - len(a) })
	slices.SortStableFunc(r.users, func(a, b string) int { return len(b) - len(a) })
}

// addUser takes names of people; those of the system are the same everywhere and matter.
func (r *redactor) addUser(name string, id uint64) {
	if id >= 1000 && id != 65534 && len(name) > 1 && !slices.Contains(r.users, name) && !strings.HasPrefix(name, "user") {
		r.users = append(r.users, name)
	}
}

func (r *redactor) evidence(e *Evidence) error {
	var err error
	if e.Files, err = rekey(r, e.Files, func(key, text string) string { return r.text(key, text) }); err != nil {
		return err
	}
	if e.Links, err = rekey(r, e.Links, func(_, target string) string { return r.path(target) }); err != nil {
		return err
	}
	if e.Dirs, err = rekey(r, e.Dirs, func(dir string, names []string) []string {
		new := make([]string, len(names))
		for i, n := range names {
			if new[i] = r.path(n); dir == "/home" && !r.keep {
				new[i] = r.names.word("user", n)
			}
		}
		return new
	}); err != nil {
		return err
	}
	if e.Nodes, err = rekey(r, e.Nodes, func(_ string, n Node) Node {
		n.Owner, n.Group = r.user(n.Owner), r.user(n.Group)
		return n
	}); err != nil {
		return err
	}
	if e.Commands, err = rekey(r, e.Commands, func(key string, a Answer) Answer {
		return Answer{Stdout: r.text(key, a.Stdout), Stderr: r.text(key, a.Stderr), Exit: a.Exit}
	}); err != nil {
		return err
	}
	for i := range e.Truncated {
		e.Truncated[i] = r.path(e.Truncated[i])
	}
	for i := range e.Inferred {
		e.Inferred[i] = r.path(e.Inferred[i])
	}
	e.Title = r.text("title", e.Title)
	if e.Request != nil {
		request := *e.Request
		request.Text = r.text("title", request.Text)
		e.Request = &request
	}
	return nil
}

// rekey redacts a section's keys and values in the order of the keys, on which pseudonyms depend.
func rekey[V any](r *redactor, m map[string]V, redact func(string, V) V) (map[string]V, error) {
	if m == nil {
		return nil, nil
	}
	out := make(map[string]V, len(m))
	for _, key := range sortedKeys(m) {
		new := r.path(CleanCredentials(key, key))
		if _, ok := out[new]; ok {
			return nil, fmt.Errorf("cannot redact %q: it becomes the same as another", new)
		}
		out[new] = redact(key, m[key])
	}
	return out, nil
}

var (
	hostName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	syslogHost = regexp.MustCompile(`^(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) (\S+) `)
	idName     = regexp.MustCompile(`(\d+)\(([^)]+)\)`)

	// what stands before a version in the kernel's log and in programs' output
	versionWord = regexp.MustCompile(`(?i)\b(?:version|ver|release|fw|firmware)[:=]?[ \t]*$`)

	hexRun   = regexp.MustCompile(`[0-9A-Fa-f]*(?::[0-9A-Fa-f]*)+(?:\.\d+){0,3}`)
	guidHex  = regexp.MustCompile(`\b(?:0x|S-|H-)[0-9A-Fa-f]{16}\b`)
	guidDash = regexp.MustCompile(`\b[0-9a-f]{2}(?:-[0-9a-f]{2}){7}\b`)
	// a MAC address with dashes; behind 01- (Ethernet) or 20- (InfiniBand) as PXE's BOOTIF has it
	macDash = regexp.MustCompile(`\b[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2}){5,8}\b`)
	// as switches write it, and bare; of digits alone it may be a version
	macDots = regexp.MustCompile(`\b[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\b`)
	macBare = regexp.MustCompile(`(?i)(\b(?:mac|hwaddr|bootif)[ =:]+)([0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}|[0-9a-f]{12})\b`)
	// mstflint and flint: "Base GUID:  b8599f0300da8e98  8", "Base MAC: b8599fda8e98"
	bareHex = regexp.MustCompile(`(?m)^(.*\b(?:GUID|MAC)s?\b[^:\n]*:\s*)([0-9a-f]{16}|[0-9a-f]{12})\b`)
	// "40::10.1.2.1", "::10.1.2.1", "::ffff:10.1.2.1": the end is an IPv4 address by itself
	mixed     = regexp.MustCompile(`\.\d+$`)
	ip4       = regexp.MustCompile(`\d{1,3}(?:\.\d{1,3}){3}`)
	macName   = regexp.MustCompile(`\b((?:en|ib|wl|ww)x)([0-9a-f]{12})\b`)
	home      = regexp.MustCompile(`(/home/)([A-Za-z0-9._-]+)`)
	serialRow = regexp.MustCompile(`(?im)^(.*\b(?:serial[ _-]?number|board\.serial_number|\[SN\] Serial number|Serial No|uuid)\b\s*[:=]?\s+)(\S+)[ \t]*$`)
)

// path redacts what stands in names: an interface called after its MAC, a home directory.
func (r *redactor) path(p string) string {
	if r.keep {
		return p
	}
	p = macName.ReplaceAllStringFunc(p, func(s string) string {
		raw, err := hex.DecodeString(s[3:])
		if err != nil {
			return s
		}
		r.names.mac(raw)
		return s[:3] + hex.EncodeToString(raw)
	})
	p = r.siteWords(p)
	if strings.Contains(p, "/apt/lists/") {
		p = r.addresses4(p, false)
	}
	return home.ReplaceAllStringFunc(p, func(s string) string { return "/home/" + r.names.word("user", s[len("/home/"):]) })
}

func (r *redactor) user(name string) string {
	if !r.keep && slices.Contains(r.users, name) {
		return r.names.word("user", name)
	}
	return name
}

// text redacts the text of a file or command. Source is its path or command line.
func (r *redactor) text(source, text string) string {
	text = CleanCredentials(source, text)
	if r.keep || text == "" {
		return text
	}
	text = dropComments(source, text)
	text = r.path(text)
	text = r.hexAddresses(source, text)
	if isCommandLine(source) {
		text = r.bootNames(text)
	}
	if namesSites(source) {
		text = r.proxySites(r.shortSites(text))
	}
	if isSerial(source) {
		if word := strings.TrimSpace(text); word != "" && !strings.ContainsAny(word, " \n") {
			return strings.Replace(text, word, r.names.word("serial", word), 1)
		}
		return text
	}
	addresses := hasAddresses(source)
	if hasDevices(source) {
		text = r.devices(text, addresses)
		text = serialRow.ReplaceAllStringFunc(text, func(line string) string {
			m := serialRow.FindStringSubmatch(line)
			if guidDash.MatchString(m[2]) {
				return line // replaced as a GUID
			}
			return m[1] + r.names.word("serial", m[2])
		})
	}
	text = r.addresses4(text, addresses)
	if addresses || strings.HasPrefix(source, "uname") {
		text = r.words(text, r.hosts, "host")
	}
	if addresses || strings.HasPrefix(source, "stat ") || strings.HasPrefix(source, "ls ") || strings.HasPrefix(source, "id") ||
		strings.HasPrefix(source, "getent ") || source == "/etc/passwd" || source == "/etc/group" {
		text = r.words(text, r.users, "user")
	}
	return text
}

// devices replaces MAC addresses, GUIDs and, where there are addresses, IPv6.
func (r *redactor) devices(text string, addresses bool) string {
	text = replaceRuns(hexRun, text, func(before byte, run string) string {
		head, tail := "", ""
		if before == '.' || mixed.MatchString(run) {
			return run // ip=10.1.2.3::10.1.2.1:...: what stands here are IPv4 addresses
		}
		if isWord(before) { // "gid:fe80::1": the first group belongs to a word
			i := strings.IndexByte(run, ':') + 1
			head, run = run[:i], run[i:]
		}
		if strings.HasSuffix(run, ":") && !strings.HasSuffix(run, "::") {
			run, tail = run[:len(run)-1], ":"
		}
		new, _ := r.names.colonHex(run, addresses)
		return head + new + tail
	})
	guid := func(s string) string {
		raw, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
		if err != nil {
			return s
		}
		r.names.guid(raw)
		if strings.Contains(s, "-") {
			return strings.ReplaceAll(group(hex.EncodeToString(raw), 2), ":", "-")
		}
		return sameCase(s, hex.EncodeToString(raw))
	}
	text = guidHex.ReplaceAllStringFunc(text, func(s string) string { return s[:2] + guid(s[2:]) })
	text = macDash.ReplaceAllStringFunc(text, func(s string) string {
		raw, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
		if err != nil {
			return s
		}
		switch {
		case len(raw) == 6:
			r.names.mac(raw)
		case len(raw) == 7 && raw[0] == 1:
			r.names.mac(raw[1:])
		case len(raw) == 8:
			r.names.guid(raw)
		case len(raw) == 9 && raw[0] == 0x20:
			r.names.guid(raw[1:])
		default:
			return s
		}
		return sameCase(s, strings.ReplaceAll(group(hex.EncodeToString(raw), 2), ":", "-"))
	})
	mac := func(s string) string {
		raw, err := hex.DecodeString(strings.ReplaceAll(s, ".", ""))
		if err != nil {
			return s
		}
		r.names.mac(raw)
		if strings.Contains(s, ".") {
			return sameCase(s, strings.ReplaceAll(group(hex.EncodeToString(raw), 4), ":", "."))
		}
		return sameCase(s, hex.EncodeToString(raw))
	}
	// Once each: the pseudonym of a pseudonym would be another.
	text = macBare.ReplaceAllStringFunc(text, func(s string) string {
		m := macBare.FindStringSubmatch(s)
		if strings.Contains(m[2], ".") && strings.ContainsAny(m[2], "abcdefABCDEF") {
			return s
		}
		return m[1] + mac(m[2])
	})
	text = macDots.ReplaceAllStringFunc(text, func(s string) string {
		if !strings.ContainsAny(s, "abcdefABCDEF") {
			return s
		}
		return mac(s)
	})
	return bareHex.ReplaceAllStringFunc(text, func(line string) string {
		m := bareHex.FindStringSubmatch(line)
		if len(m[2]) == 16 {
			return m[1] + guid(m[2])
		}
		raw, err := hex.DecodeString(m[2])
		if err != nil {
			return line
		}
		r.names.mac(raw)
		return m[1] + hex.EncodeToString(raw)
	})
}

// addresses4 replaces IPv4 addresses: everywhere in URLs, else only where addresses are expected,
// since versions of packages look the same.
func (r *redactor) addresses4(text string, everywhere bool) string {
	var b strings.Builder
	last := 0
	for _, at := range ip4.FindAllStringIndex(text, -1) {
		start, end := at[0], at[1]
		if versionWord.MatchString(text[max(start-16, 0):start]) {
			continue
		}
		// apt's files have the address of their repository for a name, with underscores for slashes.
		listed := strings.HasSuffix(text[:start], "/apt/lists/")
		inURL := listed || strings.HasSuffix(text[:start], "://") || strings.HasSuffix(text[:start], "@")
		if !everywhere && !inURL {
			continue
		}
		if start > 0 && (isWord(text[start-1]) || strings.IndexByte(".-+~", text[start-1]) >= 0) ||
			end < len(text) && (isWord(text[end]) && !(listed && text[end] == '_') || text[end] == '-' || text[end] == '.' && end+1 < len(text) && isWord(text[end+1])) {
			continue
		}
		a, err := netip.ParseAddr(text[start:end])
		if err != nil {
			continue
		}
		b.WriteString(text[last:start])
		b.WriteString(r.names.ip4(a).String())
		last = end
	}
	b.WriteString(text[last:])
	return b.String()
}

// words replaces whole words.
func (r *redactor) words(text string, words []string, kind string) string {
	for _, w := range words {
		new := r.names.word(kind, w)
		var b strings.Builder
		for {
			i := strings.Index(text, w)
			if i < 0 {
				break
			}
			end := i + len(w)
			whole := (i == 0 || !isNamePart(text[i-1])) && (end == len(text) || !isNamePart(text[end]))
			b.WriteString(text[:i])
			if whole {
				b.WriteString(new)
			} else {
				b.WriteString(w)
			}
			text = text[end:]
			// What was consumed still bounds the next word: it ends in a name's letter.
			if !whole && strings.HasPrefix(text, w) {
				b.WriteString(w)
				text = text[len(w):]
			}
		}
		b.WriteString(text)
		text = b.String()
	}
	return text
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isNamePart(c byte) bool { return isWord(c) || c == '-' }

// replaceRuns is ReplaceAllStringFunc that also tells the byte before a match, 0 at the start.
func replaceRuns(re *regexp.Regexp, text string, replace func(before byte, run string) string) string {
	var b strings.Builder
	last := 0
	for _, at := range re.FindAllStringIndex(text, -1) {
		var before byte
		if at[0] > 0 {
			before = text[at[0]-1]
		}
		b.WriteString(text[last:at[0]])
		b.WriteString(replace(before, text[at[0]:at[1]]))
		last = at[1]
	}
	b.WriteString(text[last:])
	return b.String()
}

func isSerial(source string) bool {
	return slices.Contains([]string{"serial", "serial_number", "product_serial", "board_serial", "chassis_serial", "product_uuid", "machine-id", "boot_id"}, path.Base(source))
}

// sourcePath splits a source into the program, empty for a file, and the path it read last.
func sourcePath(source string) (program, p string) {
	if strings.HasPrefix(source, "/") && !strings.Contains(source, " ") {
		return "", source
	}
	fields := strings.Fields(source)
	if len(fields) == 0 {
		return "", ""
	}
	return path.Base(fields[0]), fields[len(fields)-1]
}

// hasDevices says that MACs, GUIDs or serial numbers may occur in a text. Module signers are the
// other runs of hex that tools print, and have to stay.
func hasDevices(source string) bool {
	program, p := sourcePath(source)
	switch program {
	case "":
		return !strings.HasPrefix(p, "/sys/module/") && !strings.HasPrefix(p, "/etc/os-release")
	case "modinfo", "mokutil", "rpm", "dpkg-query", "dpkg", "apt-cache", "readelf", "objdump", "uname", "lsmod", "stat":
		return false
	}
	return true
}

// hasAddresses says that IP addresses and names of hosts may occur in a text.
func hasAddresses(source string) bool {
	if isEnvironment(source) {
		return true
	}
	program, p := sourcePath(source)
	switch program {
	case "ip", "ifconfig", "ethtool", "rdma", "ibstat", "ibstatus", "ibv_devinfo", "ibv_devices", "ibdev2netdev", "show_gids", "ibnetdiscover",
		"iblinkinfo", "ibhosts", "sminfo", "dmesg", "journalctl", "findmnt", "mount", "df", "hostname", "nmcli", "ss", "netstat", "nvme", "application",
		"getent", "route", "arp", "who", "w", "last", "ps", "title":
		return true
	case "cat", "":
	default:
		return false
	}
	for _, prefix := range []string{
		"/proc/net/", "/proc/mounts", "/proc/self/mount", "/proc/self/net/", "/proc/sys/kernel/hostname", "/proc/cmdline", "/sys/class/net/", "/sys/class/infiniband",
		"/sys/devices/", "/sys/bus/", "/etc/host", "/etc/resolv.conf", "/etc/network", "/etc/netplan/", "/etc/sysconfig/network", "/etc/sysconfig/proxy", "/etc/NetworkManager/", "/etc/fstab",
		"/etc/opensm/", "/etc/exports", "/etc/chrony", "/etc/ntp", "/etc/systemd/network/", "/etc/rdma/", "/etc/nvme/", "/etc/iscsi/", "/var/log/", "/run/utmp",
	} {
		if strings.HasPrefix(p, prefix) {
			return true
		}
	}
	return false
}
