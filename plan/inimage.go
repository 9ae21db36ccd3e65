package plan

import "strings"

// InImage has the commands that a text names between backquotes be about the image in the directory dir: rdmactl's get
// --root, and those of package managers run in the image, since typed as they stand they would change the build host.
func InImage(text, dir string) string {
	dir = quoted(dir)
	for _, program := range []string{"dpkg", "apt-get", "apt-mark", "dnf", "yum", "yum-complete-transaction", "package-cleanup", "zypper", "rpm"} {
		for _, before := range []string{"`", "`sudo "} {
			text = strings.ReplaceAll(text, before+program+" ", before+"chroot "+dir+" "+program+" ")
		}
	}
	for _, verb := range []string{"install", "rollback", "uninstall", "history", "plan", "detect"} {
		for _, before := range []string{"`", "`sudo "} {
			for _, end := range []string{" ", "`"} { // in this order: what the second one adds would match the first
				text = strings.ReplaceAll(text, before+"rdmactl "+verb+end, before+"rdmactl "+verb+" --root "+dir+end)
			}
		}
	}
	return text
}

// inImage has hints be about the image that was asked about; what is said of a bare command is said of it.
func inImage(hints []Hint, dir, kernel string) []Hint {
	var out []Hint
	for _, h := range hints {
		h.Command = strings.Trim(InImage("`"+h.Command+"`", dir), "`")
		h.Text = InImage(h.Text, dir)
		if head, rest, ok := strings.Cut(h.Command, "rdmactl plan --root "+quoted(dir)); ok && kernel != "" {
			h.Command = head + "rdmactl plan --root " + quoted(dir) + " --kernel " + quoted(kernel) + rest
		}
		out = append(out, h)
	}
	return out
}
