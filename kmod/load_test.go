package kmod

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// loadHost is treeHost with /proc/modules, where modprobe does what its arguments say.
func loadHost(t *testing.T) *fakeHost {
	h := treeHost(t)
	h.files["/proc/modules"] = "ib_core 1 0 - Live 0x0\n"
	h.files["/etc/modprobe.d/x.conf"] = "# nothing\n"
	h.run = func(argv []string) host.Result {
		name := argv[len(argv)-1]
		if argv[1] == "-r" {
			h.files["/proc/modules"] = ""
			return host.Result{}
		}
		if name == "xprtrdma" {
			name = "rpcrdma"
		}
		h.files["/proc/modules"] += Normalize(name) + " 1 0 - Live 0x0\n"
		return host.Result{}
	}
	return h
}

func faultOf(t *testing.T, err error) *fault.Error {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatalf("error %v is no fault", err)
	}
	return f
}

func TestLoad(t *testing.T) {
	for name, want := range map[string][]string{
		"ib_core":   nil, // loaded
		"mlx4-core": nil, // built in
		"ib-uverbs": {"modprobe -b -- ib-uverbs"},
		"xprtrdma":  {"modprobe -b -- xprtrdma"},
	} {
		h := loadHost(t)
		if err := Load(context.Background(), h, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, h.ran); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLoadRefusesBlacklisted(t *testing.T) {
	for name, wants := range map[string]string{
		"ib_uverbs": "it is blacklisted in /etc/modprobe.d/x.conf:1",
		"rdma_ucm":  "it needs ib_uverbs, which is blacklisted in /etc/modprobe.d/x.conf:1",
	} {
		h := loadHost(t)
		h.files["/etc/modprobe.d/x.conf"] = "blacklist ib_uverbs\n"
		f := faultOf(t, Load(context.Background(), h, name))
		if f.Kind != fault.Stopped || f.Code != CodeBlacklisted || !strings.Contains(f.Msg, wants) {
			t.Errorf("%s: %+v", name, f)
		}
		if h.ran != nil {
			t.Errorf("%s: ran %q", name, h.ran)
		}
	}
	h := loadHost(t)
	h.files["/etc/modprobe.d/x.conf"] = "blacklist ib_core\n"
	if err := Load(context.Background(), h, "ib_uverbs"); err != nil {
		t.Errorf("blacklisted dependency that is loaded: %v", err)
	}
	h = loadHost(t)
	h.denied = map[string]bool{"/etc/modprobe.d/x.conf": true}
	if f := faultOf(t, Load(context.Background(), h, "ib_uverbs")); f.Code != CodeConfigUnknown || h.ran != nil {
		t.Errorf("configuration that may not be read: %+v, ran %q", f, h.ran)
	}
}

func TestLoadProves(t *testing.T) {
	h := loadHost(t)
	h.run = func([]string) host.Result { return host.Result{} } // as modprobe -b on what it finds blacklisted
	if f := faultOf(t, Load(context.Background(), h, "ib_uverbs")); f.Code != CodeNotLoaded {
		t.Errorf("silent modprobe: %+v", f)
	}
	h.dryRun, h.ran = true, nil
	if err := Load(context.Background(), h, "ib_uverbs"); err != nil || len(h.ran) != 1 {
		t.Errorf("dry run: %v, ran %q", err, h.ran)
	}
	if err := Load(context.Background(), loadHost(t), "--version"); fault.KindOf(err) != fault.Usage {
		t.Errorf("an option as name: %v", err)
	}
}

func TestLoadFailures(t *testing.T) {
	const could = "modprobe: ERROR: could not insert 'ib_uverbs': "
	for name, tc := range map[string]struct{ stderr, dmesg, code, says string }{
		"symbol":          {could + "Unknown symbol in module, or unknown parameter (see dmesg)\n", "[  1.0] ib_uverbs: Unknown symbol ib_x (err -2)\n", CodeUnknownSymbol, "Unknown symbol ib_x"},
		"symbol, no log":  {could + "Unknown symbol in module, or unknown parameter (see dmesg)\n", "", CodeUnknownSymbol, "missing"},
		"symbol version":  {could + "Invalid argument\n", "[  1.0] ib_uverbs: disagrees about version of symbol ib_x\nib_uverbs: Unknown symbol ib_x (err -22)\n", CodeSymbolVersion, "disagrees"},
		"vermagic":        {could + "Exec format error\n", "ib_uverbs: version magic '5.10' should be '6.1'\n", CodeVermagic, "should be '6.1'"},
		"key":             {could + "Key was rejected by service\n", "", CodeSignature, "signature"},
		"key missing":     {could + "Required key not available\n", "", CodeSignature, "signature"},
		"lockdown":        {could + "Operation not permitted\n", "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7\n", CodeLockdown, "lockdown"},
		"not permitted":   {could + "Operation not permitted\n", "mlx5_ib: Unknown symbol other (err -2)\n", CodeNotPermitted, "does not let"},
		"not found":       {"modprobe: FATAL: Module ib_uverbs not found in directory /lib/modules/6.1.0\n", "", CodeNotFound, "no such module"},
		"something else":  {could + "Cannot allocate memory\n", "", CodeLoadFailed, "Cannot allocate memory"},
		"nothing printed": {"", "", CodeLoadFailed, "ended with 1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := loadHost(t)
			h.commands = map[string]host.Result{"dmesg": {Stdout: tc.dmesg}}
			h.run = func([]string) host.Result { return host.Result{Exit: 1, Stderr: tc.stderr} }
			f := faultOf(t, Load(context.Background(), h, "ib_uverbs"))
			if f.Kind != fault.Failed || f.Code != tc.code || !strings.Contains(f.Msg, tc.says) || f.Hint == "" {
				t.Errorf("%+v, want code %s and %q", f, tc.code, tc.says)
			}
		})
	}
}

func TestUnload(t *testing.T) {
	ctx := context.Background()
	h := loadHost(t)
	if err := Unload(ctx, h, "ib-core"); err != nil || len(h.ran) != 1 || h.ran[0] != "modprobe -r -- ib-core" {
		t.Errorf("unload: %v, ran %q", err, h.ran)
	}
	if err := Unload(ctx, loadHost(t), "siw"); err != nil {
		t.Errorf("not loaded: %v", err)
	}
	for line, says := range map[string]string{
		"ib_core 1 2 ib_uverbs,mlx5_ib, Live 0x0\n": "ib_uverbs, mlx5_ib",
		"ib_core 1 3 - Live 0x0\n":                  "3 references",
		"ib_core 1 1 [permanent], Live 0x0\n":       "permanent",
	} {
		h := loadHost(t)
		h.files["/proc/modules"] = line
		f := faultOf(t, Unload(ctx, h, "ib_core"))
		if f.Kind != fault.Stopped || f.Code != CodeInUse || !strings.Contains(f.Msg, says) || h.ran != nil {
			t.Errorf("%q: %+v, ran %q", line, f, h.ran)
		}
	}
	h = loadHost(t)
	h.run = func([]string) host.Result {
		return host.Result{Exit: 1, Stderr: "modprobe: FATAL: Module ib_core is in use.\n"}
	}
	if f := faultOf(t, Unload(ctx, h, "ib_core")); f.Code != CodeInUse {
		t.Errorf("in use meanwhile: %+v", f)
	}
	h.run = func([]string) host.Result { return host.Result{} }
	if err := Unload(ctx, h, "ib_core"); err == nil || !strings.Contains(err.Error(), "still in /proc/modules") {
		t.Errorf("modprobe -r that did nothing: %v", err)
	}
}
