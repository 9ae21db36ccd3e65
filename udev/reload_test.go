package udev

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
)

func udevHost(t *testing.T, results map[string]host.Result) *fakeHost {
	return &fakeHost{
		t: t, nodes: map[string]host.FileInfo{"/run/udev/control": {}},
		run: func(line string) (host.Result, error) {
			for part, res := range results {
				if strings.Contains(line, part) {
					return res, nil
				}
			}
			return host.Result{}, nil
		},
	}
}

func TestReload(t *testing.T) {
	const reload, settle = "udevadm control --reload", "udevadm settle --timeout=60"
	h := udevHost(t, nil)
	if err := Reload(context.Background(), h, "infiniband_verbs", "infiniband_mad"); err != nil {
		t.Fatal(err)
	}
	want := []string{reload, "udevadm trigger --action=add --subsystem-match=infiniband_verbs --subsystem-match=infiniband_mad", settle}
	if diff := cmp.Diff(want, h.ran); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	h = udevHost(t, nil)
	if err := Reload(context.Background(), h); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{reload}, h.ran); diff != "" {
		t.Errorf("without subsystems (-want +got):\n%s", diff)
	}
}

func TestReloadFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		results  map[string]host.Result
		code     string
		commands int
	}{
		"reload":  {map[string]host.Result{"control": {Exit: 1, Stderr: "Failed to send reload request"}}, CodeReloadFailed, 1},
		"trigger": {map[string]host.Result{"trigger": {Exit: 1}}, CodeReloadFailed, 3},
		"settle":  {map[string]host.Result{"settle": {Exit: 1}}, CodeSettle, 3},
		"chroot":  {map[string]host.Result{"control": {Stderr: "Running in chroot, ignoring request."}}, CodeNoUdevd, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := udevHost(t, tc.results)
			err := Reload(context.Background(), h, "infiniband")
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != tc.code || f.Hint == "" {
				t.Errorf("%v, want code %s", err, tc.code)
			}
			if len(h.ran) != tc.commands {
				t.Errorf("ran %q", h.ran)
			}
		})
	}
	h := &fakeHost{t: t} // no /run/udev/control, and Run must not be called
	if err := Reload(context.Background(), h, "infiniband"); fault.KindOf(err) != fault.Stopped {
		t.Errorf("without udevd: %v", err)
	}
	h = udevHost(t, nil)
	h.run = func(string) (host.Result, error) { return host.Result{}, host.ErrNotInstalled }
	if err := Reload(context.Background(), h, "infiniband"); !errors.Is(err, host.ErrNotInstalled) {
		t.Errorf("without udevadm: %v", err)
	}
	h = udevHost(t, nil)
	for _, bad := range []string{"", "-x", "a b", "*"} {
		if err := Reload(context.Background(), h, bad); fault.KindOf(err) != fault.Usage || h.ran != nil {
			t.Errorf("subsystem %q: %v, ran %q", bad, err, h.ran)
		}
	}
}
