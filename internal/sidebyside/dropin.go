package sidebyside

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
)

var unitName = regexp.MustCompile(`^[A-Za-z0-9:_.\\-]+(@[A-Za-z0-9:_.\\-]*)?\.service$`)

// Unit is the full name of a service unit: "slurmd" is slurmd.service.
func Unit(name string) (string, error) {
	full := name
	if !strings.Contains(name, ".") {
		full += ".service"
	}
	if !unitName.MatchString(full) || len(full) > 255 || full[0] == '-' || full[0] == '.' {
		return "", fault.New(fault.Usage, "usage", "name a service, such as slurmd.service", "cannot use unit %q: it is not the name of a service", name)
	}
	return full, nil
}

// systemPath is what systemd gives services that set no PATH of their own (systemd.exec(5)), with the two
// directories that are the same elsewhere and their own on systems without a merged /usr.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// DropIn is a drop-in of systemd that gives a service a copy. own is what the unit sets by Environment= as it is
// now, an earlier drop-in of this kind included.
func DropIn(unit string, c Copy, all Copies, own []string, opts Options) string {
	base := environ(Back(own))
	for _, name := range []string{"LD_LIBRARY_PATH", "PATH"} {
		// What an earlier drop-in added is not the unit's own.
		elements := slices.DeleteFunc(base.list(name, ""), func(dir string) bool { return dir == inboxDir(all) && name != "PATH" })
		base = base.setList(name, elements)
	}
	if _, has := base.get("PATH"); !has && len(c.Programs) > 0 {
		base = base.with("PATH", systemPath)
	}
	after := environ(Enter(base, c, all, opts))
	var out strings.Builder
	out.WriteString("# Written by rdmactl: " + unit + " uses " + c.Name() + " (" + c.Library + ").\n" +
		"# It takes effect when the unit is restarted. `rdmactl use inbox --unit " + unit + "` or `rdmactl rollback` takes it away.\n[Service]\n")
	for _, name := range []string{"LD_LIBRARY_PATH", "PATH", "LD_PRELOAD"} {
		value, has := after.get(name)
		was, had := environ(own).get(name)
		switch {
		case has && (name == "LD_LIBRARY_PATH" || len(c.Programs) > 0 || was != value):
			out.WriteString("Environment=" + quoteUnit(name+"="+value) + "\n")
		case !has && had:
			out.WriteString("UnsetEnvironment=" + name + "\n")
		}
	}
	out.WriteString("Environment=" + quoteUnit(StackVariable+"="+c.Name()) + "\n")
	if !opts.KeepDrivers {
		out.WriteString("UnsetEnvironment=IBV_DRIVERS RDMAV_DRIVERS\n")
	}
	return out.String()
}

func inboxDir(all Copies) string {
	if all.Inbox == nil {
		return "-"
	}
	return all.Inbox.Dir()
}

// quoteUnit quotes a word of Environment=, where "%" is a specifier and a backslash escapes (systemd.syntax(7)).
func quoteUnit(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "\n", `\n`, "\t", `\t`).Replace(s)
	return `"` + s + `"`
}

// Words splits what "systemctl show" prints for a list of words: separated by blanks, those with blanks or special
// characters in double quotes or as $'...', with C's escapes.
func Words(text string) []string {
	var out []string
	var word strings.Builder
	var quote rune
	in, escaped := false, false
	var before rune
	for _, r := range text {
		switch {
		case escaped:
			switch r {
			case 'n':
				r = '\n'
			case 't':
				r = '\t'
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped, in = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			if before == '$' && r == '\'' {
				rest := strings.TrimSuffix(word.String(), "$")
				word.Reset()
				word.WriteString(rest)
			}
			quote, in = r, true
		case r == ' ' || r == '\n':
			if in {
				out = append(out, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteRune(r)
			in = true
		}
		before = r
	}
	if in {
		out = append(out, word.String())
	}
	return out
}
