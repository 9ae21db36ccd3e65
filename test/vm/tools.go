package vm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// tools maps each program that the harness runs to the Debian package that has it.
func tools() map[string]string {
	return map[string]string{
		"mmdebstrap":         "mmdebstrap",
		"qemu-system-x86_64": "qemu-system-x86",
		"qemu-img":           "qemu-utils",
		"apt-ftparchive":     "apt-utils",
		"gpg":                "gpg",
		"gpg-agent":          "gpg-agent",
		"gpgconf":            "gpgconf",
		"mke2fs":             "e2fsprogs",
	}
}

// ready says why machines cannot be tested here; an empty reason means that they can. Missing
// programs are installed once, and log says so.
func ready(log io.Writer) (reason string, err error) {
	if os.Getenv("RDMACTL_VM") != "1" {
		return "RDMACTL_VM is not 1", nil
	}
	if os.Geteuid() != 0 {
		return "needs root to make roots and disks", nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return "needs a Debian-like machine: there is no apt-get", nil
	}
	var missing []string
	for program, pkg := range tools() {
		if _, err := exec.LookPath(program); errors.Is(err, exec.ErrNotFound) {
			missing = append(missing, pkg)
		}
	}
	if len(missing) == 0 {
		return "", nil
	}
	fmt.Fprintf(log, "vm: installing %s\n", strings.Join(missing, " "))
	if err := run(aptGet("update")); err != nil {
		return "", err
	}
	return "", run(aptGet(append([]string{"install", "--yes", "--no-install-recommends"}, missing...)...))
}

func aptGet(args ...string) *exec.Cmd {
	cmd := exec.Command("apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	return cmd
}

// run runs cmd; an error has the last lines that the command wrote.
func run(cmd *exec.Cmd) error {
	var out bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	cmd.Stderr = &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd.Args[0], err, lastLines(out.String(), 15))
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
