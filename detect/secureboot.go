package detect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// secureBootVariable is the EFI variable SecureBoot of the global vendor: four bytes of attributes
// and one of value. Any user may read it.
const secureBootVariable = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

// secureBoot asks the firmware through its variable and the kernel for its signature policy.
func (p probe) secureBoot(container facts.Field[bool]) facts.SecureBoot {
	s := facts.SecureBoot{
		Enabled:    p.secureBootEnabled(container),
		SigEnforce: parsed(p.attr("/sys/module/module/parameters/sig_enforce"), yesNo),
		DKMSKey:    p.dkmsKey(), EnrolledKeys: p.enrolledKeys(container),
	}
	s.DKMSKeyEnrolled = p.keyEnrolled(s.DKMSKey, s.EnrolledKeys)
	return s
}

// enforcedBy fills in what the kernel's configuration or command line settles where its parameter was not
// told. Neither rules enforcement out: Secure Boot may turn it on as well.
func enforcedBy(told facts.Field[bool], k facts.Kernel) facts.Field[bool] {
	if !told.IsUnknown() {
		return told
	}
	for argument := range strings.FieldsSeq(k.Cmdline.Or("")) {
		if k.Running && (argument == "module.sig_enforce" || argument == "module.sig_enforce=1") {
			return facts.Is(true, k.Cmdline.Source)
		}
	}
	if k.Config.Or(nil)["MODULE_SIG_FORCE"] == "y" {
		return facts.Is(true, k.Config.Source)
	}
	return told
}

func (p probe) secureBootEnabled(container facts.Field[bool]) facts.Field[bool] {
	const source = "mokutil --sb-state"
	if p.told.IsImage() {
		return facts.Field[bool]{Source: source} // of the machine that an image will run on
	}
	res, err := p.r.Derive(p.ctx, secureBootVariable, strings.Fields(source), decodeSecureBoot)
	if err == nil {
		if enabled, ok := parseSecureBoot(res.Stdout + res.Stderr); ok {
			return facts.Is(enabled, source)
		}
		return unknown[bool](source, "it says %q", strings.TrimSpace(res.Stdout+res.Stderr))
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, host.ErrUnknown) {
		return facts.Failed[bool](secureBootVariable, err)
	}
	const efi = "/sys/firmware/efi"
	_, statErr := p.r.Stat(efi)
	switch {
	case statErr == nil && errors.Is(err, fs.ErrNotExist):
		// Firmware without the variable has no Secure Boot; so does a mount without efivarfs.
		if _, err := p.r.Stat(efi + "/efivars"); err != nil {
			return unknown[bool](secureBootVariable, "efivarfs is not mounted")
		}
		if names, err := p.r.ReadDir(efi + "/efivars"); err != nil || len(names) == 0 {
			return unknown[bool](secureBootVariable, "efivarfs is not mounted")
		}
		return facts.Is(false, efi+"/efivars")
	case errors.Is(statErr, fs.ErrNotExist):
		// Container runtimes hide /sys/firmware.
		if container.Or(false) {
			return unknown[bool](efi, "a container does not see the firmware")
		}
		return facts.Is(false, efi)
	}
	return facts.Field[bool]{Source: source}
}

// decodeSecureBoot prints what mokutil prints about the variable.
func decodeSecureBoot(file io.ReaderAt, _ int64) (string, error) {
	var value [5]byte
	n, err := file.ReadAt(value[:], 0)
	if n < len(value) {
		return "", fmt.Errorf("the variable has %d bytes, want 5: %w", n, err)
	}
	if value[4] == 1 {
		return "SecureBoot enabled\n", nil
	}
	return "SecureBoot disabled\n", nil
}

// parseSecureBoot reads mokutil's answer.
func parseSecureBoot(text string) (enabled, ok bool) {
	switch {
	case strings.Contains(text, "SecureBoot enabled"):
		// In setup mode no key is enrolled and the firmware checks nothing.
		return !strings.Contains(text, "Setup Mode"), true
	case strings.Contains(text, "SecureBoot disabled"),
		strings.Contains(text, "EFI variables are not supported"),
		strings.Contains(text, "doesn't support Secure Boot"):
		return false, true
	}
	return false, false
}
