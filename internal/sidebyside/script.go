package sidebyside

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// Shells are the names that Script knows.
func Shells() []string { return []string{"sh", "bash", "dash", "ksh", "zsh", "fish", "csh", "tcsh"} }

// Script is what a shell evaluates to make the changes.
func Script(changes []Change, shell string) (string, error) {
	set, unset := "export %s=%s\n", "unset %s\n"
	quote := quotePOSIX
	switch shell {
	case "sh", "bash", "dash", "ksh", "zsh":
	case "fish":
		set, unset, quote = "set -gx %s %s;\n", "set -e %s;\n", quoteFish
	case "csh", "tcsh":
		set, unset, quote = "setenv %s %s;\n", "unsetenv %s;\n", quoteCsh
	default:
		return "", fault.New(fault.Usage, "usage", "it is one of "+strings.Join(Shells(), ", "), "cannot print for shell %q: its language is not known", shell)
	}
	var out strings.Builder
	for _, c := range changes {
		switch {
		case c.Unset:
			fmt.Fprintf(&out, unset, c.Name)
		case (shell == "csh" || shell == "tcsh") && strings.ContainsAny(c.Value, "\n\r"):
			return "", fault.New(fault.Stopped, "unquotable", "change the variable first", "cannot print %s for %s: its value has a line break", c.Name, shell)
		case shell == "fish" && slices.Contains([]string{"PATH", "LD_LIBRARY_PATH"}, c.Name):
			// A list in fish; fish before 3.0 does not split what is set at the colons.
			var elements []string
			for _, element := range strings.Split(c.Value, ":") {
				elements = append(elements, quote(element))
			}
			sep := " "
			if c.Name != "PATH" {
				sep = ":" // before 3.0 only PATH was a list
			}
			fmt.Fprintf(&out, set, c.Name, strings.Join(elements, sep))
		default:
			fmt.Fprintf(&out, set, c.Name, quote(c.Value))
		}
	}
	return out.String(), nil
}

func quotePOSIX(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func quoteFish(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", `\'`) + "'"
}

// quoteCsh also keeps "!" from the history, which csh looks at within quotes, too.
func quoteCsh(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "'", `'\''`), "!", `\!`) + "'"
}
