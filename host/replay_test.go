package host_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
)

const ticket = `apiVersion: rdmactl/v1
kind: Evidence
title: a ticket
recorded_at: "2025-03-01T10:00:00Z"
context: {container: true, container_runtime: docker, uid: 1000}
request: {intent: install, stack: mlnx-ofed, version: "5.4", target_kernel: "5.14"}
files:
  /etc/os-release: |
    ID=ubuntu
  /etc/empty: ""
  /sys/file: a
  /sys/bus/pci/devices/0000:01:00.0/vendor: "0x15b3\n"
links:
  /sys/class/net/eth0/device: ../../../bus/pci/devices/0000:01:00.0
  /loop/a: b
  /loop/b: a
dirs:
  /sys/class/infiniband: []
  /lib/modules: [6.2.0-36-generic, 5.17.0-1035-oem]
nodes:
  /dev/infiniband/uverbs0: {mode: "0600", owner: root, group: rdma, major: 231, minor: 192}
commands:
  uname -r: {stdout: "6.2.0\n"}
  lspci -nn: {stderr: "sh: lspci: command not found\n", exit: 127}
  application: {stderr: "boom\n"}
  dpkg-query -W -f ${Package}\t${Version}\t${Status}\n: {stdout: "a\t1\tinstall ok installed\n"}
  cat /sys/class/infiniband_mad/abi_version: {stdout: "5\n"}
  cat /sys/speed: {stderr: "cat: /sys/speed: Invalid argument\n", exit: 1}
  cat /root/x: {stderr: "cat: /root/x: Permission denied\n", exit: 1}
  cat /gone/file: {stderr: "cat: /gone/file: No such file or directory\n", exit: 1}
  ls /gone/dir: {stderr: "ls: cannot access '/gone/dir': No such file or directory\n", exit: 2}
  ls -d /secret/dir: {stderr: "ls: cannot access '/secret/dir': Permission denied\n", exit: 2}
  readlink /sys/driver: {exit: 1}
  readlink /sys/file: {exit: 1}
  test -e /flag: {exit: 1}
  ls /sys/class/net: {stdout: "eth0  lo\n"}
  ls -l /dev/mst: {stdout: "total 0\ncrw------- 1 root root 231, 5 Jan  1 10:00 mt4119\nlrwxrwxrwx 1 root root 6 Jan  1 10:00 link -> mt4119\n"}
peers:
- title: its host
  context: {container: false}
  files: {/etc/os-release: "ID=rhel\n"}
inferred: [commands.uname -r]
truncated: [/etc/os-release]
`

func parse(t *testing.T, text string) *host.Replay {
	t.Helper()
	all, err := host.ParseEvidence("ticket.yaml", []byte(text))
	must(t, err)
	return host.NewReplay(all[0])
}

func TestReplayFiles(t *testing.T) {
	r := parse(t, ticket)
	for p, want := range map[string]string{
		"/etc/os-release": "ID=ubuntu\n", "/etc/../etc/os-release": "ID=ubuntu\n", "/etc/empty": "", "/sys/class/net/eth0/device/vendor": "0x15b3\n",
		"/sys/class/infiniband_mad/abi_version": "5\n",
	} {
		if data, err := r.ReadFile(p); err != nil || string(data) != want {
			t.Errorf("%s reads %q, %v", p, data, err)
		}
	}
	for p, want := range map[string]error{
		"/sys/class/infiniband/mlx5_0/fw_ver": fs.ErrNotExist, "/lib/modules/6.8.0/modules.dep": fs.ErrNotExist, "/gone/file": fs.ErrNotExist, "/gone/dir/x": fs.ErrNotExist,
		"/flag": fs.ErrNotExist, "/sys/driver": fs.ErrNotExist, "/sys/class/net/eth1/mtu": fs.ErrNotExist, "/root/x": fs.ErrPermission, "/secret/dir": fs.ErrPermission,
		"/sys/speed": syscall.EINVAL, "/loop/a": syscall.ELOOP,
		"/etc/hostname": host.ErrUnknown, "/gone/other": host.ErrUnknown, "/lib/modules/6.2.0-36-generic/modules.dep": host.ErrUnknown, "/sys/class/net/eth0/device/device": host.ErrUnknown,
		"/sys/class/net/eth0/mtu": host.ErrUnknown, "relative": syscall.EINVAL,
	} {
		if _, err := r.ReadFile(p); !errors.Is(err, want) {
			t.Errorf("%s gives %v, want %v", p, err, want)
		}
	}
	// A file that cannot be read is there all the same.
	if _, err := r.Stat("/root/x"); errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat of an unreadable file gives %v", err)
	}
}

func TestReplayListings(t *testing.T) {
	r := parse(t, ticket)
	for p, want := range map[string][]string{
		"/sys/class/infiniband": {}, "/lib/modules": {"5.17.0-1035-oem", "6.2.0-36-generic"}, "/sys/class/net": {"eth0", "lo"}, "/dev/mst": {"link", "mt4119"},
	} {
		got, err := r.ReadDir(p)
		if err != nil {
			t.Errorf("%s: %v", p, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", p, diff)
		}
	}
	for p, want := range map[string]error{
		"/etc": host.ErrUnknown, "/dev/infiniband": host.ErrUnknown, "/sys/class": host.ErrUnknown, "/gone/dir": fs.ErrNotExist, "/secret/dir": fs.ErrPermission,
	} {
		if names, err := r.ReadDir(p); !errors.Is(err, want) {
			t.Errorf("%s gives %v, %v; want %v", p, names, err, want)
		}
	}
}

func TestReplayStat(t *testing.T) {
	r := parse(t, ticket)
	for p, want := range map[string]host.FileInfo{
		"/dev/infiniband/uverbs0":       {Mode: fs.ModeDevice | fs.ModeCharDevice | 0o600, Owner: "root", Group: "rdma", Size: -1, Major: 231, Minor: 192},
		"/dev/mst/mt4119":               {Mode: fs.ModeDevice | fs.ModeCharDevice | 0o600, Owner: "root", Group: "root", Size: -1, Major: 231, Minor: 5},
		"/dev/mst/link":                 {Mode: fs.ModeDevice | fs.ModeCharDevice | 0o600, Owner: "root", Group: "root", Size: -1, Major: 231, Minor: 5},
		"/etc/empty":                    {},
		"/etc/os-release":               {Size: -1}, // cut
		"/etc":                          {Mode: fs.ModeDir, Size: -1},
		"/lib/modules/6.2.0-36-generic": {Mode: fs.ModeIrregular, Size: -1},
		"/sys/class/net/eth0/device":    {Mode: fs.ModeDir, Size: -1},
		"/sys/class/infiniband":         {Mode: fs.ModeDir, Size: -1},
	} {
		got, err := r.Stat(p)
		if err != nil {
			t.Errorf("%s: %v", p, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", p, diff)
		}
	}
	if info, err := r.Lstat("/sys/class/net/eth0/device"); err != nil || info.Mode&fs.ModeSymlink == 0 {
		t.Errorf("lstat of a link: %+v, %v", info, err)
	}
	for p, want := range map[string]error{"/lib/modules/6.8.0": fs.ErrNotExist, "/opt": host.ErrUnknown, "/sys/class/infiniband/mlx5_0": fs.ErrNotExist, "/dev/mst/other": fs.ErrNotExist} {
		if _, err := r.Stat(p); !errors.Is(err, want) {
			t.Errorf("%s gives %v, want %v", p, err, want)
		}
	}
	if target, err := r.Readlink("/dev/mst/link"); err != nil || target != "mt4119" {
		t.Errorf("readlink gives %q, %v", target, err)
	}
	for p, want := range map[string]error{
		"/dev/mst/mt4119": syscall.EINVAL, "/sys/file": syscall.EINVAL,
		// They may have been read through a link.
		"/etc/os-release": host.ErrUnknown, "/etc": host.ErrUnknown, "/sys/class/infiniband": host.ErrUnknown,
	} {
		if target, err := r.Readlink(p); !errors.Is(err, want) {
			t.Errorf("readlink of %s gives %q, %v; want %v", p, target, err, want)
		}
	}
	if _, err := r.Readlink("/sys/driver"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("readlink of a missing link gives %v", err)
	}
}

func TestReplayCommands(t *testing.T) {
	r := parse(t, ticket)
	ctx := context.Background()
	for _, argv := range [][]string{{"dpkg-query", "-W", "-f", `${Package}\t${Version}\t${Status}\n`}, {"dpkg-query", "-W", "-f", "${Package}\t${Version}\t${Status}\n"}} {
		if res, err := r.Query(ctx, argv...); err != nil || res.Stdout != "a\t1\tinstall ok installed\n" {
			t.Errorf("%q gives %+v, %v", argv, res, err)
		}
	}
	if res, err := r.Query(ctx, "application"); err != nil || res.Stderr != "boom\n" {
		t.Errorf("application gives %+v, %v", res, err)
	}
	for line, want := range map[string]error{"lspci -nn": host.ErrNotInstalled, "lsmod": host.ErrUnknown, "uname -a": host.ErrUnknown, "modprobe x": host.ErrNotAllowed} {
		if _, err := r.Query(ctx, strings.Split(line, " ")...); !errors.Is(err, want) {
			t.Errorf("%s gives %v, want %v", line, err, want)
		}
	}
	if res, err := r.Derive(ctx, "/x", []string{"uname", "-r"}, nil); err != nil || res.Stdout != "6.2.0\n" {
		t.Errorf("derive gives %+v, %v", res, err)
	}
	if _, err := r.Derive(ctx, "/gone/dir/x.ko", []string{"modinfo", "x"}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("derive of a missing file gives %v", err)
	}
	if _, err := r.Derive(ctx, "/etc/os-release", []string{"readelf", "-d", "x"}, nil); !errors.Is(err, host.ErrUnknown) {
		t.Errorf("derive of what was not recorded gives %v", err)
	}
}

func TestReplayTold(t *testing.T) {
	r := parse(t, ticket)
	uid, container := 1000, true
	want := host.Told{
		Kind: "evidence", Title: "a ticket", UID: &uid, Container: &container, ContainerRuntime: "docker",
		Request: &host.Request{Intent: "install", Stack: "mlnx-ofed", Version: "5.4", TargetKernel: "5.14"},
	}
	if diff := cmp.Diff(want, r.Told()); diff != "" {
		t.Error(diff)
	}
	if r.Now().Unix() != 1740823200 || !r.Inferred("commands.uname -r") || r.Inferred("files./etc/os-release") || !r.Truncated("/etc/os-release") {
		t.Errorf("time %v", r.Now())
	}
	peers := r.Peers()
	if len(peers) != 1 || *peers[0].Told().Container {
		t.Fatalf("peers are %+v", peers)
	}
	if data, err := peers[0].ReadFile("/etc/os-release"); err != nil || string(data) != "ID=rhel\n" || !peers[0].Now().IsZero() {
		t.Errorf("the peer reads %q, %v", data, err)
	}
}

func TestEvidenceIsStrict(t *testing.T) {
	const head = "apiVersion: rdmactl/v1\nkind: Evidence\n"
	for name, tt := range map[string]struct{ in, want string }{
		"version":     {"apiVersion: rdmactl/v2\nkind: Evidence\n", `e.yaml:1:13: apiVersion must be "rdmactl/v1", not "rdmactl/v2"`},
		"kind":        {"apiVersion: rdmactl/v1\n", `e.yaml:1:1: kind must be "Evidence", not ""`},
		"unknown key": {head + "file: {}\n", `e.yaml:3:1: unknown key "file"; did you mean "files"?`},
		"relative":    {head + "files: {etc/x: a}\n", `e.yaml:3:9: files: "etc/x" is not an absolute path`},
		"slash":       {head + "dirs: {/etc/: []}\n", `e.yaml:3:8: dirs: "/etc/" is not an absolute path`},
		"name":        {head + "dirs: {/etc: [c, a/b]}\n", `e.yaml:3:18: dirs "/etc": "a/b" is not a name`},
		"null list":   {head + "dirs:\n  /etc:\n", `write [] for an empty list`},
		"time":        {head + "recorded_at: \"yesterday\"\n", `e.yaml:3:14: recorded_at must be a time`},
		"node mode":   {head + "nodes: {/dev/x: {mode: \"rw\"}}\n", `e.yaml:3:24: nodes "/dev/x": mode must be octal`},
		"number mode": {head + "nodes: {/dev/x: {mode: 0600}}\n", `quote it: "0600"`},
		"version num": {head + "request: {version: 5.4}\n", `quote it: "5.4"`},
		"peer's peer": {head + "peers: [{peers: [{title: a}]}]\n", `e.yaml:3:10: a peer cannot have peers`},
		"kind given":  {"apiVersion: rdmactl/v1\nkind: Host\n", `e.yaml:2:7: kind must be "Evidence", not "Host"`},
		"peer's path": {head + "peers:\n- title: a\n  files:\n    x: y\n", `e.yaml:6:5: files: "x" is not an absolute path`},
		"two things":  {head + "files: {/a: x}\ndirs:\n  /a: []\n", `e.yaml:5:3: dirs: "/a" is a directory, and a file in files`},
		"file, node":  {head + "files: {/a: x}\nnodes:\n  /a: {mode: \"0600\"}\n", `e.yaml:5:3: nodes: "/a" is a device node, and a file in files`},
		"NUL in path": {head + "files: {\"/a\\0\": x}\n", `e.yaml:3:9: files: "/a\x00" holds a NUL byte`},
		"NUL in text": {head + "files: {/a: \"x\\0\"}\n", `e.yaml:3:13: files "/a" holds a NUL byte`},
		"NUL in name": {head + "dirs: {/a: [\"x\\0\"]}\n", `e.yaml:3:13: dirs "/a": "x\x00" is not a name`},
		"NUL printed": {head + "commands: {a b: {stdout: \"x\\0\"}}\n", `e.yaml:3:26: stdout of "a b" holds a NUL byte`},
		"intent":      {head + "request:\n  intent: instal\n", `e.yaml:4:11: request.intent must be one of install, use, verify, not "instal"`},
		"stack":       {head + "request: {stack: mofed}\n", `e.yaml:3:18: request.stack must be one of inbox, rdma-core, ofed, mlnx-ofed, doca-ofed, not "mofed"`},
		"empty":       {"", `the file has no document`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := host.ParseEvidence("e.yaml", []byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) || fault.KindOf(err) != fault.Usage {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	all, err := host.ParseEvidence("e.yaml", []byte(head+"---\n"+head+"title: b\n"))
	if err != nil || len(all) != 2 || all[1].Title != "b" {
		t.Errorf("a stream gives %+v, %v", all, err)
	}
	// What a recorder writes that followed a link, and a request without errors.
	good := head + "request: {intent: use, stack: doca-ofed}\nfiles: {/a: x}\nlinks: {/a: b}\n"
	if _, err := host.ParseEvidence("e.yaml", []byte(good)); err != nil {
		t.Errorf("a link beside what it leads to: %v", err)
	}
}

func FuzzParseEvidence(f *testing.F) {
	f.Add([]byte(ticket), "/sys/class/net/eth0/device/vendor")
	f.Add([]byte("apiVersion: rdmactl/v1\nkind: Evidence\ncommands: {ls -la /a: {stdout: \"total 0\\nlrwxrwxrwx 1 a b 1 Jan 1 10:00 x -> ..\\n\"}}\n"), "/a/x/x")
	f.Fuzz(func(t *testing.T, data []byte, p string) {
		all, err := host.ParseEvidence("f.yaml", data)
		if err != nil {
			return
		}
		for _, e := range all {
			r := host.NewReplay(e)
			for q := range 9 {
				first, second := answer(r, q, p), answer(r, q, p)
				if first != second {
					t.Errorf("question %d about %q: %s, then %s", q, p, first, second)
				}
			}
			text, err := e.Marshal()
			must(t, err)
			again, err := host.ParseEvidence("again.yaml", text)
			if err != nil {
				t.Fatalf("what was parsed and written is refused: %v\n%s", err, text)
			}
			for q := range 9 {
				if a, b := answer(r, q, p), answer(host.NewReplay(again[0]), q, p); a != b {
					t.Errorf("question %d about %q: %s, then %s", q, p, a, b)
				}
			}
			must(t, host.Redact(e, true))
		}
	})
}
