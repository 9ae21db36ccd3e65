package udev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// Codes of faults of Reload.
const (
	CodeNoUdevd      = "udevd-not-running"
	CodeReloadFailed = "udev-reload-failed"
	CodeSettle       = "udev-settle-timeout"
)

// Reload makes udevd read the rules again and apply them to the devices of the named subsystems
// only (a trigger of all devices renames networks and restarts services on a running host), then
// waits up to 60 seconds for the queue to empty. Without a subsystem nothing is triggered: the rules
// then hold for devices that come.
func Reload(ctx context.Context, w host.Writer, subsystems ...string) error {
	for _, s := range subsystems {
		if !validSubsystem(s) {
			return fault.New(fault.Usage, CodeReloadFailed, "", "cannot trigger udev: subsystem %q is not a name", s)
		}
	}
	if _, err := w.Lstat("/run/udev/control"); errors.Is(err, fs.ErrNotExist) {
		return noUdevd("there is no /run/udev/control")
	} else if err != nil {
		return fmt.Errorf("cannot reload udev rules: %w", err)
	}
	if err := udevadm(ctx, w, CodeReloadFailed, "control", "--reload"); err != nil {
		return err
	}
	if len(subsystems) == 0 {
		return nil
	}
	trigger := []string{"trigger", "--action=add"}
	for _, s := range subsystems {
		trigger = append(trigger, "--subsystem-match="+s)
	}
	// A trigger fails when one device went away meanwhile; the others got theirs, so the queue is
	// waited for in any case.
	triggerErr := udevadm(ctx, w, CodeReloadFailed, trigger...)
	return errors.Join(triggerErr, udevadm(ctx, w, CodeSettle, "settle", "--timeout=60"))
}

func validSubsystem(s string) bool {
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return s != "" && s[0] != '-'
}

func udevadm(ctx context.Context, w host.Writer, code string, args ...string) error {
	argv := append([]string{"udevadm"}, args...)
	what := strings.Join(argv, " ")
	res, err := w.Run(ctx, host.Command{Argv: argv})
	if err != nil {
		return fault.New(fault.Failed, code, "udevadm is in the package udev (systemd-udev)", "cannot run %s: %w", what, err)
	}
	said := strings.TrimSpace(res.Stderr + res.Stdout)
	if strings.Contains(said, "Running in chroot") {
		// udevadm ends 0 then and has done nothing.
		return noUdevd("udevadm says that it runs in a chroot")
	}
	if res.Exit == 0 {
		return nil
	}
	hint := "look at `journalctl -u systemd-udevd`"
	if code == CodeSettle {
		hint = "a rule's program hangs: look at `udevadm monitor` and `journalctl -u systemd-udevd`"
	}
	if said == "" {
		said = "no message"
	}
	return fault.New(fault.Failed, code, hint, "cannot apply udev rules: %s ended with %d: %s", what, res.Exit, said)
}

func noUdevd(why string) error {
	return fault.New(fault.Stopped, CodeNoUdevd, "in an image or container the rules take effect where udevd runs, at its next start",
		"cannot reload udev rules: udevd does not run here: %s", why)
}
