package verbs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/verbs/internal/ibv"
)

// runWorker runs a worker in this process on a fake library and a fake host.
func runWorker(t *testing.T, h fakeHost, l *fakeLib, q Request) (Report, []progressRecord) {
	t.Helper()
	in, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var out, prog bytes.Buffer
	code := work(h, bytes.NewReader(in), &out, &prog, workerOptions{load: l.load, patience: 30 * time.Millisecond})
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	var r Report
	dec := json.NewDecoder(&out)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		t.Fatal(err)
	}
	var records []progressRecord
	for line := range strings.Lines(prog.String()) {
		var rec progressRecord
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatal(err)
		}
		records = append(records, rec)
	}
	return r, records
}

// roceHost is a host with one active RoCE port, and the library for it.
func roceHost() (fakeHost, *fakeLib) {
	h := newFakeHost()
	h.device("rxe0", "uverbs0", activePort())
	return h, newFakeLib()
}

func ibHost(state ibv.PortState, lid uint16, pkeys ...string) (fakeHost, *fakeLib) {
	h, l := newFakeHost(), newFakeLib()
	h.device("mlx5_0", "uverbs0", fakePort{state: fmt.Sprintf("%d: %s", state, state), phys: "5: LinkUp", linkLayer: "InfiniBand", lid: fmt.Sprintf("0x%x", lid), pkeys: pkeys})
	l.names = []string{"mlx5_0"}
	l.portAttrs[1] = ibPort(state, lid)
	return h, l
}

var compareOnly = Request{NoMeasure: true, Quick: true}

func TestWorker(t *testing.T) {
	for _, tt := range []struct {
		name    string
		setUp   func() (fakeHost, *fakeLib)
		request Request
		verdict Status
		code    Code // of the first check that does not pass; empty when all pass
		layer   Layer
		detail  []string // parts of that check's detail
	}{
		{name: "roce port passes", setUp: roceHost, verdict: Pass},
		{name: "infiniband port passes by LID", setUp: func() (fakeHost, *fakeLib) { return ibHost(ibv.PortActive, 7) }, verdict: Pass},
		{
			name: "no library",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := roceHost()
				l.loadErr = fmt.Errorf("%w: not found", ibv.ErrNoLibrary)
				return h, l
			},
			verdict: NotTestable, code: CodeNoLibrary, layer: LayerLibrary, detail: []string{"libibverbs.so.1", "not found"},
		},
		{
			name:    "built without verbs",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.loadErr = ibv.ErrNotBuilt; return h, l },
			verdict: NotTestable, code: CodeNotBuilt, layer: LayerLibrary,
		},
		{
			name: "unknown library",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := roceHost()
				l.loadErr = fmt.Errorf("%w: no ibv_reg_mr", ibv.ErrABI)
				return h, l
			},
			verdict: NotTestable, code: CodeABI, layer: LayerLibrary, detail: []string{"ibv_reg_mr"},
		},
		{
			name: "no kernel module",
			setUp: func() (fakeHost, *fakeLib) {
				l := newFakeLib()
				l.listErr = &ibv.CallError{Call: "ibv_get_device_list", Errno: syscall.ENOSYS}
				return newFakeHost(), l
			},
			verdict: NotTestable, code: CodeNoKernelModule, layer: LayerKernel, detail: []string{"ib_uverbs"},
		},
		{
			name:    "no device",
			setUp:   func() (fakeHost, *fakeLib) { l := newFakeLib(); l.names = nil; return newFakeHost(), l },
			verdict: NotTestable, code: CodeNoDevice, layer: LayerDevice,
		},
		{
			name: "no device and no ib_uverbs",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := newFakeHost(), newFakeLib()
				h.files["/sys/class/net/lo/mtu"] = "65536\n"
				h.files["/etc/modprobe.d/site.conf"] = "blacklist ib_uverbs\n"
				l.names = nil
				return h, l
			},
			verdict: NotTestable, code: CodeNoKernelModule, layer: LayerKernel, detail: []string{"/etc/modprobe.d/site.conf"},
		},
		{
			name: "no device with ib_uverbs",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := newFakeHost(), newFakeLib()
				h.files["/sys/class/infiniband_verbs/abi_version"] = "6\n"
				l.names = nil
				return h, l
			},
			verdict: NotTestable, code: CodeNoDevice, layer: LayerDevice,
		},
		{
			name:    "a device by name and none at all",
			setUp:   func() (fakeHost, *fakeLib) { l := newFakeLib(); l.names = nil; return newFakeHost(), l },
			request: Request{Device: "mlx5_9"},
			verdict: NotTestable, code: CodeNoDevice, layer: LayerDevice, detail: []string{"mlx5_9", "neither the kernel"},
		},
		{
			name: "a device by name and no kernel module",
			setUp: func() (fakeHost, *fakeLib) {
				l := newFakeLib()
				l.listErr = &ibv.CallError{Call: "ibv_get_device_list", Errno: syscall.ENOSYS}
				return newFakeHost(), l
			},
			request: Request{Device: "mlx5_9"},
			verdict: NotTestable, code: CodeNoKernelModule, layer: LayerKernel, detail: []string{"mlx5_9", "ib_uverbs"},
		},
		{
			name: "a device by name and no library",
			setUp: func() (fakeHost, *fakeLib) {
				l := newFakeLib()
				l.loadErr = fmt.Errorf("%w: libibverbs.so.1", ibv.ErrNoLibrary)
				return newFakeHost(), l
			},
			request: Request{Device: "mlx5_9"},
			verdict: NotTestable, code: CodeNoLibrary, layer: LayerLibrary, detail: []string{"mlx5_9", "libibverbs.so.1"},
		},
		{
			name:  "device that does not exist",
			setUp: roceHost, request: Request{Device: "mlx5_9"},
			verdict: NotTestable, code: CodeNoSuchDevice, layer: LayerDevice, detail: []string{"mlx5_9", "rxe0"},
		},
		{
			name:  "port that does not exist",
			setUp: roceHost, request: Request{Device: "rxe0", Port: 2},
			verdict: NotTestable, code: CodeNoSuchPort, layer: LayerDevice, detail: []string{"number 2"},
		},
		{
			name: "provider of another private ABI",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := roceHost()
				delete(h.files, "/usr/lib64/libibverbs/librxe-rdmav34.so")
				h.provider(25)
				l.names = nil
				return h, l
			},
			verdict: NotTestable, code: CodeProviderMissing, layer: LayerProvider,
			detail: []string{"private ABI 34", "private ABI 25 (rxe)", "/usr/lib64/libibverbs"},
		},
		{
			name: "no provider at all",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := roceHost()
				delete(h.files, "/usr/lib64/libibverbs/librxe-rdmav34.so")
				l.names = nil
				return h, l
			},
			verdict: NotTestable, code: CodeProviderMissing, layer: LayerProvider, detail: []string{"no providers"},
		},
		{
			name: "device without verbs interface",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := newFakeHost(), newFakeLib()
				h.device("rxe0", "", activePort())
				l.names = nil
				return h, l
			},
			verdict: NotTestable, code: CodeNoKernelModule, layer: LayerKernel, detail: []string{"ib_uverbs"},
		},
		{
			name: "no device node",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := roceHost()
				delete(h.modes, "/dev/infiniband/uverbs0")
				l.names = nil
				return h, l
			},
			verdict: NotTestable, code: CodeNoDeviceNode, layer: LayerPermission, detail: []string{"/dev/infiniband/uverbs0"},
		},
		{
			name:    "no permission",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.openErr = syscall.EACCES; return h, l },
			verdict: NotTestable, code: CodeNoPermission, layer: LayerPermission,
			detail: []string{"/dev/infiniband/uverbs0", "mode 0600", "root:rdma"},
		},
		{
			name:    "not permitted by the container",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.openErr = syscall.EPERM; return h, l },
			verdict: NotTestable, code: CodeNoPermission, layer: LayerPermission,
		},
		{
			name:    "device busy",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.openErr = syscall.EBUSY; return h, l },
			verdict: NotTestable, code: CodeDeviceBusy, layer: LayerDevice,
		},
		{
			name: "memlock too low",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := roceHost()
				h.limits("65536", "0000000000000000")
				l.regErr = syscall.ENOMEM
				return h, l
			},
			verdict: NotTestable, code: CodeMemlock, layer: LayerMemory, detail: []string{"4096 KiB", "64 KiB"},
		},
		{
			name: "memlock lower than needed but not enforced",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := roceHost()
				h.limits("65536", "0000000000000000")
				return h, l
			},
			verdict: Warn, code: CodeMemlock, layer: LayerMemory, detail: []string{"4096 KiB", "64 KiB"},
		},
		{
			name: "memlock lifted by CAP_IPC_LOCK",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := roceHost()
				h.limits("65536", "0000000000004000")
				return h, l
			},
			verdict: Pass,
		},
		{
			name:    "memory really short",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.regErr = syscall.ENOMEM; return h, l },
			verdict: Fail, code: CodeVerbFailed, layer: LayerProvider,
		},
		{
			name:    "no reliable connections",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.qpErr = syscall.EOPNOTSUPP; return h, l },
			verdict: NotTestable, code: CodeNoRC, layer: LayerDevice,
		},
		{
			name: "port down",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := newFakeHost(), newFakeLib()
				h.device("rxe0", "uverbs0", fakePort{state: "1: DOWN", phys: "3: Disabled", linkLayer: "Ethernet"})
				l.portAttrs[1] = rocePort(ibv.PortDown)
				return h, l
			},
			verdict: NotTestable, code: CodePortDown, layer: LayerPort, detail: []string{"DOWN", "3: Disabled"},
		},
		{
			name: "one port down beside one that passes",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := newFakeHost(), newFakeLib()
				h.device("rxe0", "uverbs0", fakePort{state: "1: DOWN", linkLayer: "Ethernet"}, activePort())
				l.portAttrs = map[int]ibv.PortAttr{1: rocePort(ibv.PortDown), 2: rocePort(ibv.PortActive)}
				return h, l
			},
			verdict: Pass, code: CodePortDown, layer: LayerPort,
		},
		{
			name: "one port without address beside one that passes",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := newFakeHost(), newFakeLib()
				h.device("rxe0", "uverbs0", fakePort{state: "4: ACTIVE", linkLayer: "Ethernet"}, activePort())
				l.portAttrs[2] = rocePort(ibv.PortActive)
				return h, l
			},
			verdict: Warn, code: CodeNoGID, layer: LayerAddress,
		},
		{
			name: "all ports down",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := newFakeHost(), newFakeLib()
				down := fakePort{state: "1: DOWN", linkLayer: "Ethernet"}
				h.device("rxe0", "uverbs0", down, down)
				l.portAttrs = map[int]ibv.PortAttr{1: rocePort(ibv.PortDown), 2: rocePort(ibv.PortDown)}
				return h, l
			},
			verdict: NotTestable, code: CodePortDown, layer: LayerPort,
		},
		{
			name: "no address",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := newFakeHost(), newFakeLib()
				p := activePort()
				p.gids = p.gids[4:] // the empty one
				h.device("rxe0", "uverbs0", p)
				return h, l
			},
			verdict: NotTestable, code: CodeNoGID, layer: LayerAddress,
		},
		{
			name:    "address gone when connecting",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.rtrErr = syscall.ENODATA; return h, l },
			verdict: NotTestable, code: CodeNoGID, layer: LayerAddress, detail: []string{"GID 3", "10.9.0.1"},
		},
		{
			name:    "no route to the GID",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.rtrErr = syscall.ENETUNREACH; return h, l },
			verdict: NotTestable, code: CodeNoGID, layer: LayerAddress, detail: []string{"GID 3", "no such address"},
		},
		{
			name:    "no subnet manager",
			setUp:   func() (fakeHost, *fakeLib) { return ibHost(ibv.PortInit, 0) },
			verdict: NotTestable, code: CodeNoLID, layer: LayerPort, detail: []string{"INIT", "subnet manager"},
		},
		{
			name:    "active without LID",
			setUp:   func() (fakeHost, *fakeLib) { return ibHost(ibv.PortActive, 0) },
			verdict: NotTestable, code: CodeNoLID, layer: LayerPort,
		},
		{
			name:    "only limited member of partitions",
			setUp:   func() (fakeHost, *fakeLib) { return ibHost(ibv.PortActive, 7, "0x7fff", "0x0000", "0x0012") },
			verdict: NotTestable, code: CodeNoPKey, layer: LayerPort,
		},
		{
			name: "iwarp",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := roceHost()
				h.files["/sys/class/infiniband/rxe0/node_type"] = "4: RNIC\n"
				return h, l
			},
			verdict: NotTestable, code: CodeNeedsCM, layer: LayerPort,
		},
		{
			name: "wrong byte",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := roceHost()
				l.damage = func(op ibv.Opcode, dst []byte) {
					if op == ibv.OpRead && len(dst) > 1000 {
						dst[1000] ^= 0x10
					}
				}
				return h, l
			},
			verdict: Fail, code: CodeWrongData, layer: LayerTraffic, detail: []string{"RDMA READ", "1 of 1023 bytes", "offset 1000", "0 of them were never written"},
		},
		{
			name:    "data misplaced",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.misplace = 1; return h, l },
			verdict: Fail, code: CodeWrongData, layer: LayerTraffic, detail: []string{"SEND"},
		},
		{
			name:    "wrong length",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.recvLen = -1; return h, l },
			verdict: Fail, code: CodeWrongData, layer: LayerTraffic, detail: []string{"0 bytes were reported"},
		},
		{
			name:    "nothing arrives",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.lost[ibv.OpWrite] = true; return h, l },
			verdict: Fail, code: CodeWrongData, layer: LayerTraffic, detail: []string{"RDMA WRITE", "1 of 1 bytes are wrong, 1 of them were never written"},
		},
		{
			name:    "source changed",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.scribble = true; return h, l },
			verdict: Fail, code: CodeWrongData, layer: LayerTraffic, detail: []string{"the source was changed"},
		},
		{
			name:    "completion of another kind",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.wrongOpcode = true; return h, l },
			verdict: Fail, code: CodeWrongData, layer: LayerTraffic, detail: []string{"completed as opcode 128"},
		},
		{
			name:    "completion of another request",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.skipID = 1; return h, l },
			verdict: Fail, code: CodeWrongData, layer: LayerTraffic, detail: []string{"request 1 completed where 0 was due"},
		},
		{
			name: "wrong atomic",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := roceHost()
				l.damage = func(op ibv.Opcode, dst []byte) {
					if op == ibv.OpFetchAdd {
						dst[3]++
					}
				}
				return h, l
			},
			verdict: Fail, code: CodeWrongData, layer: LayerTraffic, detail: []string{"FETCH_AND_ADD"},
		},
		{
			name: "atomics not offered",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := roceHost()
				l.attr.AtomicCap = ibv.AtomicNone
				l.status[ibv.OpFetchAdd] = ibv.WCRemInvReqErr // must not be asked for
				l.status[ibv.OpCmpSwap] = ibv.WCRemInvReqErr
				return h, l
			},
			verdict: Pass,
		},
		{
			name: "completion error",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := roceHost()
				l.status[ibv.OpWrite] = ibv.WCRemAccessErr
				return h, l
			},
			verdict: Fail, code: CodeCompletionError, layer: LayerTraffic,
			detail: []string{"RDMA WRITE from side A", "remote access error", "IBV_WC_REM_ACCESS_ERR"},
		},
		{
			name: "a receive that waits for a send that failed",
			setUp: func() (fakeHost, *fakeLib) {
				h, l := roceHost()
				l.status[ibv.OpSend] = ibv.WCRetryExcErr
				return h, l
			},
			verdict: Fail, code: CodeCompletionError, layer: LayerTraffic, detail: []string{"IBV_WC_RETRY_EXC_ERR"},
		},
		{
			name:    "no completion",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.silent[ibv.OpRead] = true; return h, l },
			verdict: Fail, code: CodeTimeout, layer: LayerTraffic,
		},
		{
			name:    "device cannot be closed",
			setUp:   func() (fakeHost, *fakeLib) { h, l := roceHost(); l.closeErr = syscall.EBUSY; return h, l },
			verdict: Fail, code: CodeVerbFailed, layer: LayerProvider,
		},
		{
			name: "device that sysfs hides",
			setUp: func() (fakeHost, *fakeLib) {
				_, l := ibHost(ibv.PortActive, 3)
				return newFakeHost(), l
			},
			verdict: Pass,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, l := tt.setUp()
			q := tt.request
			q.NoMeasure, q.Quick = true, true
			r, records := runWorker(t, h, l, q)
			if r.Verdict != tt.verdict {
				t.Errorf("verdict %s, want %s", r.Verdict, tt.verdict)
			}
			var first Check
			for _, c := range r.Checks {
				if c.Status != Pass {
					first = c
					break
				}
			}
			if first.Code != tt.code || first.Layer != tt.layer {
				t.Errorf("first check that does not pass: code %q in layer %q, want %q in %q: %s", first.Code, first.Layer, tt.code, tt.layer, first.Detail)
			}
			for _, part := range tt.detail {
				if !strings.Contains(first.Detail, part) {
					t.Errorf("detail %q does not say %q", first.Detail, part)
				}
			}
			if tt.code != "" && first.Remedy == "" {
				t.Error("no remedy")
			}
			if l.open != 0 {
				t.Errorf("%d objects were left open", l.open)
			}
			// Everything in the report was told on the way, too.
			var told []Check
			for _, rec := range records {
				if rec.Check != nil {
					told = append(told, *rec.Check)
				}
			}
			if diff := cmp.Diff(told, r.Checks); diff != "" {
				t.Errorf("progress (-) and report (+) differ:\n%s", diff)
			}
			if last := records[len(records)-1]; last.Stage != StageDone {
				t.Errorf("last stage %q", last.Stage)
			}
		})
	}
}

func TestWorkerReportsThePathThatWasUsed(t *testing.T) {
	h, l := roceHost()
	r, _ := runWorker(t, h, l, compareOnly)
	d := r.Devices[0]
	if diff := cmp.Diff(&GID{Index: 3, Type: typeRoCEv2, Address: "10.9.0.1", Netdev: "eth0"}, d.GID); diff != "" {
		t.Error(diff)
	}
	if d.LID != nil || d.MTU != 1024 || d.LinkLayer != "Ethernet" || d.State != "ACTIVE" || d.Rate != "100 Gb/sec (4X EDR)" {
		t.Errorf("port %+v", d)
	}
	for _, p := range l.paths {
		if !p.Global || p.SGIDIndex != 3 || p.DGID != [16]byte{10: 0xff, 11: 0xff, 12: 10, 13: 9, 14: 0, 15: 1} {
			t.Errorf("path %+v", p)
		}
	}
	if len(l.paths) != 2 || l.paths[0].DestQPNum == l.paths[1].DestQPNum || l.paths[0].PSN == l.paths[1].PSN {
		t.Errorf("the two paths do not cross: %+v", l.paths)
	}

	h, l = ibHost(ibv.PortActive, 7, "0x7fff", "0x0000", "0x8012", "0xffff")
	r, _ = runWorker(t, h, l, compareOnly)
	d = r.Devices[0]
	if d.GID != nil || d.LID == nil || *d.LID != 7 || d.MTU != 4096 || d.LinkLayer != "InfiniBand" {
		t.Errorf("port %+v", d)
	}
	if diff := cmp.Diff([]int{2, 2}, l.pkeys); diff != "" {
		t.Errorf("P_Key indexes: %s", diff)
	}
	for _, p := range l.paths {
		if p.Global || p.LID != 7 {
			t.Errorf("path %+v", p)
		}
	}
}

func TestWorkerComparesEveryOperationBothWays(t *testing.T) {
	h, l := roceHost()
	r, _ := runWorker(t, h, l, Request{NoMeasure: true})
	got := map[string]int{}
	for _, row := range r.Devices[0].Tests {
		if row.Measure != Integrity || row.Status != Pass || row.Latency != nil || row.Gbps != nil {
			t.Errorf("row %+v", row)
		}
		if row.Iterations != 8 { // four passes, two directions
			t.Errorf("%s of %d bytes: %d iterations", row.Op, row.Size, row.Iterations)
		}
		got[row.Op]++
	}
	want := map[string]int{opSend: 5, opWrite: 5, opRead: 5, opCmpSwap: 1, opFetchAdd: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Damage in one direction only must be seen: the pattern of the other does not cover it.
func TestWorkerSeesDamageInTheSecondDirection(t *testing.T) {
	h, l := roceHost()
	n := 0
	l.damage = func(op ibv.Opcode, dst []byte) {
		if n++; op == ibv.OpSend && n == 2 {
			dst[0] ^= 1
		}
	}
	r, _ := runWorker(t, h, l, compareOnly)
	last := r.Checks[len(r.Checks)-1]
	if r.Verdict != Fail || last.Code != CodeWrongData || !strings.Contains(last.Detail, "from side B to A") {
		t.Errorf("verdict %s, %+v", r.Verdict, last)
	}
}

func TestWorkerMeasures(t *testing.T) {
	h, l := roceHost()
	r, _ := runWorker(t, h, l, Request{Iterations: 2000, Sizes: []int{2, 4096}})
	if r.Verdict != Pass {
		t.Fatalf("verdict %s: %+v", r.Verdict, r.Checks)
	}
	got := map[string]int{}
	for _, row := range r.Devices[0].Tests {
		switch row.Measure {
		case LatencyOf:
			got["latency "+row.Op]++
			if row.Iterations != 2000 || row.Latency.P50 == nil || row.Latency.P99 == nil || row.Latency.P999 != nil || row.Gbps != nil {
				t.Errorf("%s of %d bytes: %+v", row.Op, row.Size, row)
			}
			kind := OneWay
			if row.Op == opRead {
				kind = RoundTrip
			}
			if row.Latency.Kind != kind {
				t.Errorf("%s is %s", row.Op, row.Latency.Kind)
			}
		case Bandwidth:
			got["bandwidth "+row.Op]++
			if row.Iterations != 2000 || row.Gbps == nil || *row.Gbps <= 0 || row.Mpps == nil || row.CPU == nil || row.Latency != nil || row.Window < 1 || row.Window > 64 {
				t.Errorf("%s of %d bytes: %+v", row.Op, row.Size, row)
			}
		}
	}
	want := map[string]int{
		"latency send": 2, "latency write": 2, "latency read": 2,
		"bandwidth send": 2, "bandwidth write": 2, "bandwidth read": 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWorkerBoundsBytes(t *testing.T) {
	h, l := roceHost()
	r, _ := runWorker(t, h, l, Request{Iterations: 100, MaxBytes: 10 * 4096, Sizes: []int{4096}})
	for _, row := range r.Devices[0].Tests {
		if row.Measure == Bandwidth && row.Iterations != 10 {
			t.Errorf("%s: %d messages of %d bytes", row.Op, row.Iterations, row.Size)
		}
	}
}

// Data that goes wrong only under load is found after the measurements.
func TestWorkerSeesDamageThatBeginsWhileMeasuring(t *testing.T) {
	h, l := roceHost()
	n := 0
	l.damage = func(op ibv.Opcode, dst []byte) {
		if n++; n > 500 {
			dst[len(dst)/2] ^= 1
		}
	}
	r, _ := runWorker(t, h, l, Request{Quick: true, Iterations: 1000, Sizes: []int{64}})
	last := r.Checks[len(r.Checks)-1]
	if r.Verdict != Fail || last.Name != checkMeasure {
		t.Errorf("verdict %s, %+v", r.Verdict, last)
	}
}

func TestWorkerStopsAtItsTimeLimit(t *testing.T) {
	h, l := roceHost()
	r, _ := runWorker(t, h, l, Request{TimeLimit: 1e-9})
	last := r.Checks[len(r.Checks)-1]
	if r.Verdict != NotTestable || last.Code != CodeTimeLimit {
		t.Errorf("verdict %s, %+v", r.Verdict, last)
	}
}

func TestWorkerRefusesBadRequests(t *testing.T) {
	h, l := roceHost()
	for _, in := range []string{
		"", "nonsense", `{"device":"../../etc"}`, `{"port":256}`, `{"sizes":[0]}`, `{"sizes":[99999999]}`,
		`{"iterations":-1}`, `{"max_bytes":-1}`, `{"exec":"/bin/sh"}`,
	} {
		var out bytes.Buffer
		if code := work(h, strings.NewReader(in), &out, &bytes.Buffer{}, workerOptions{load: l.load, patience: time.Second}); code != 0 {
			t.Errorf("%q: exit code %d", in, code)
		}
		var r Report
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Verdict != Fail || len(r.Checks) != 1 || r.Checks[0].Code != CodeWorkerFailed {
			t.Errorf("%q: %+v", in, r)
		}
	}
}

// Everything that the JSON promises as an array or null is one.
func TestReportJSON(t *testing.T) {
	h, l := roceHost()
	l.portAttrs[1] = rocePort(ibv.PortDown)
	r, _ := runWorker(t, h, l, compareOnly)
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"schema":"rdmactl.verify/v1"`, `"tests":[]`, `"gid":null`, `"lid":null`} {
		if !bytes.Contains(b, []byte(part)) {
			t.Errorf("%s is not in %s", part, b)
		}
	}
	if b, err = json.Marshal(newReport()); err != nil || !bytes.Contains(b, []byte(`"checks":[],"devices":[]`)) {
		t.Errorf("%s, %v", b, err)
	}
}

func TestOwner(t *testing.T) {
	if got := owner(host.FileInfo{Mode: fs.ModeDevice, UID: 0, GID: 104}); got != "0:104" {
		t.Error(got)
	}
	if got := owner(host.FileInfo{Owner: "root", Group: "rdma"}); got != "root:rdma" {
		t.Error(got)
	}
}
