package udev

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

const shipped = `# NAME_PCI would be another choice
ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_FALLBACK"
# ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_KERNEL"
`

func TestNamingPolicy(t *testing.T) {
	const etc, usr = "/etc/udev/rules.d/" + namingRules, "/usr/lib/udev/rules.d/" + namingRules
	for name, tc := range map[string]struct {
		h    *fakeHost
		want Naming
	}{
		"shipped": {&fakeHost{files: map[string]string{usr: shipped}}, Naming{File: usr, Policy: "NAME_FALLBACK"}},
		"overridden": {
			&fakeHost{files: map[string]string{usr: shipped, etc: "ACTION==\"add\", SUBSYSTEM==\"infiniband\", PROGRAM=\"rdma_rename %k NAME_KERNEL\"\n"}},
			Naming{File: etc, Policy: "NAME_KERNEL"},
		},
		"masked by a link":        {&fakeHost{files: map[string]string{usr: shipped}, links: map[string]string{etc: "/dev/null"}}, Naming{File: etc, Masked: true, Policy: "NAME_KERNEL"}},
		"masked by an empty file": {&fakeHost{files: map[string]string{usr: shipped, etc: ""}}, Naming{File: etc, Masked: true, Policy: "NAME_KERNEL"}},
		"fixed name": {
			&fakeHost{files: map[string]string{etc: shipped + "ACTION==\"add\", ATTR{board_id}==\"MSF0010110035\", SUBSYSTEM==\"infiniband\", PROGRAM=\"rdma_rename %k NAME_FIXED myib\"\n"}},
			Naming{File: etc, Policy: "NAME_FALLBACK", Fixed: []FixedName{{Name: "myib", Match: `ATTR{board_id}=="MSF0010110035"`, Line: 4}}},
		},
		"a rule that udev refuses": {&fakeHost{files: map[string]string{etc: "ACTION==add, PROGRAM=\"rdma_rename %k NAME_PCI\"\n"}}, Naming{File: etc, Policy: "NAME_KERNEL"}},
	} {
		got, err := NamingPolicy(tc.h)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNamingPolicyUnknown(t *testing.T) {
	const etc, usr = "/etc/udev/rules.d/" + namingRules, "/usr/lib/udev/rules.d/" + namingRules
	if _, err := NamingPolicy(&fakeHost{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := NamingPolicy(&fakeHost{silent: true}); !errors.Is(err, host.ErrUnknown) {
		t.Errorf("silence: %v", err)
	}
	h := &fakeHost{files: map[string]string{usr: shipped, etc: "x"}, denied: map[string]bool{etc: true}}
	if n, err := NamingPolicy(h); err != nil || len(n.Unread) != 1 || n.File != usr {
		t.Errorf("stronger file that may not be read: %+v, %v", n, err)
	}
}
