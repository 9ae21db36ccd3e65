package verbs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/verbs/internal/ibv"
)

// defaultPatience is how long a completion may stay away. A queue pair gives up by itself after a few
// seconds; a device that does not even do that is hung.
const defaultPatience = 15 * time.Second

// Worker is the main of the child process: it reads one Request from stdin, tests what r's host has
// with libibverbs, writes its progress as it goes and one Report to stdout at its end. It returns the
// exit code: 0 when a report was written, whatever its verdict.
func Worker(r host.Reader, stdin io.Reader, stdout, progress io.Writer) int {
	return work(r, stdin, stdout, progress, workerOptions{load: ibv.Load, patience: defaultPatience})
}

// workerOptions are what a test replaces.
type workerOptions struct {
	load     func(registered int) (ibv.Lib, error)
	patience time.Duration
}

func work(r host.Reader, stdin io.Reader, stdout, progress io.Writer, opts workerOptions) int {
	w := &worker{host: r, say: announcer{progress}, opts: opts, report: newReport(), start: time.Now()}
	w.stage(StageStart, "", 0)
	q, err := readRequest(stdin)
	if err != nil {
		w.check(failed(checkWorker, CodeWorkerFailed, err.Error()))
	} else {
		w.request = q
		w.run()
	}
	w.report.Verdict = verdict(w.report.Checks)
	w.stage(StageDone, "", 0)
	if err := json.NewEncoder(stdout).Encode(w.report); err != nil {
		return 1
	}
	return 0
}

// worker tests one host.
type worker struct {
	host    host.Reader
	say     announcer
	opts    workerOptions
	request Request
	report  Report
	memlock memlock
	start   time.Time
}

func (w *worker) stage(s Stage, device string, port int) {
	w.say.say(progressRecord{Stage: s, Device: device, Port: port})
}

func (w *worker) check(c Check) {
	w.report.Checks = append(w.report.Checks, c)
	w.say.say(progressRecord{Check: &c})
}

func (w *worker) tested(d DevicePort) {
	w.report.Devices = append(w.report.Devices, d)
	w.say.say(progressRecord{Tested: &d})
}

// timeLeft is the time until no further test should begin.
func (w *worker) timeLeft() time.Duration {
	if w.request.TimeLimit <= 0 {
		return math.MaxInt64
	}
	return time.Duration(w.request.TimeLimit*float64(time.Second)) - time.Since(w.start)
}

func (w *worker) run() {
	w.stage(StageLoadLibrary, "", 0)
	lib, err := w.opts.load(w.request.registered())
	if err != nil {
		w.check(w.wanted(loadFailed(err)))
		return
	}
	info := lib.Info()
	w.report.Library = &Library{Path: info.Path, PrivateABI: info.PrivateABI}
	w.say.say(progressRecord{Library: w.report.Library})
	w.check(passed(checkLibrary, LayerLibrary, describeLibrary(info)))

	w.stage(StageListDevices, "", 0)
	names, err := lib.Devices()
	if err != nil {
		w.check(w.wanted(w.listFailed(err)))
		return
	}
	// Read only now: listing makes the kernel load ib_core, and devices may have appeared.
	devices, err := readInventory(w.host)
	if err != nil {
		w.check(w.wanted(failed(checkDevices, CodeSysfsUnreadable, err.Error())))
		return
	}
	if w.memlock, err = readMemlock(w.host); err != nil {
		// The limit only explains a failure; without it the failure stands for itself.
		w.memlock = memlock{}
	}
	w.devices(lib, names, devices)
	if err := lib.Close(); err != nil {
		w.check(failed(checkLibrary, CodeVerbFailed, "cannot release the library: "+err.Error()))
	}
}

// wanted says which device could not be tested, when one was asked for, because of what is wrong with
// the host.
func (w *worker) wanted(c Check) Check {
	if w.request.Device == "" {
		return c
	}
	c.Detail = fmt.Sprintf("cannot test %s: %s", w.request.Device, c.Detail)
	return c.on(w.request.Device, w.request.Port)
}

func describeLibrary(info ibv.Info) string {
	abi := "private ABI not known"
	if info.PrivateABI != 0 {
		abi = fmt.Sprintf("private ABI %d", info.PrivateABI)
	}
	return fmt.Sprintf("%s, %s", cmp.Or(info.Path, "libibverbs.so.1"), abi)
}

// devices tests every device that was asked for.
func (w *worker) devices(lib ibv.Lib, offered []string, devices []hostDevice) {
	for _, name := range offered { // what a container's /sys hides can still be tested
		if !slices.ContainsFunc(devices, func(d hostDevice) bool { return d.name == name }) {
			devices = append(devices, hostDevice{name: name})
		}
	}
	if len(devices) == 0 {
		w.check(w.wanted(w.noDevices()))
		return
	}
	all := make([]string, 0, len(devices))
	for _, d := range devices {
		all = append(all, d.name)
	}
	if w.request.Device != "" {
		devices = slices.DeleteFunc(devices, func(d hostDevice) bool { return d.name != w.request.Device })
		if len(devices) == 0 {
			w.check(failed(checkDevices, CodeNoSuchDevice, fmt.Sprintf("there is no device %s; there are: %s", w.request.Device, strings.Join(all, ", "))).on(w.request.Device, w.request.Port))
			return
		}
	}
	w.check(passed(checkDevices, LayerDevice, strings.Join(all, ", ")))
	for _, d := range devices {
		if !slices.Contains(offered, d.name) {
			w.check(w.deviceMissing(d, lib.Info()))
			continue
		}
		w.device(lib, d)
	}
}

// device tests the ports of one device.
func (w *worker) device(lib ibv.Lib, d hostDevice) {
	w.stage(StageOpen, d.name, 0)
	dev, err := lib.Open(d.name)
	if err != nil {
		w.check(w.openFailed(d, err))
		return
	}
	attr, err := dev.Attr()
	if err != nil {
		w.check(failed(checkOpen, callCode(err), "cannot query device: "+err.Error()).on(d.name, 0))
		w.closeDevice(dev, d.name)
		return
	}
	w.check(passed(checkOpen, LayerDevice, fmt.Sprintf("opened, firmware %s", cmp.Or(attr.Firmware, "not told"))).on(d.name, 0))
	ports := d.ports
	if len(ports) == 0 { // sysfs does not tell: the library knows how many there are
		for n := range attr.Ports {
			ports = append(ports, hostPort{num: n + 1})
		}
	}
	if w.request.Port != 0 {
		ports = slices.DeleteFunc(slices.Clone(ports), func(p hostPort) bool { return p.num != w.request.Port })
		if len(ports) == 0 {
			w.check(failed(checkPort, CodeNoSuchPort, fmt.Sprintf("%s has %d ports and none with number %d", d.name, attr.Ports, w.request.Port)).on(d.name, w.request.Port))
		}
	}
	for i, p := range ports {
		// Each port starts with a freshly opened device, so that none inherits what another left.
		if i > 0 {
			w.stage(StageOpen, d.name, p.num)
			if dev, err = lib.Open(d.name); err != nil {
				w.check(w.openFailed(d, err))
				return
			}
		}
		t := &portTest{worker: w, dev: dev, attr: attr, device: d, port: p}
		t.run()
		if !w.closeDevice(dev, d.name) {
			return
		}
	}
	if len(ports) == 0 {
		w.closeDevice(dev, d.name)
	}
}

func (w *worker) closeDevice(dev ibv.Device, name string) bool {
	w.stage(StageClose, name, 0)
	if err := dev.Close(); err != nil {
		w.check(failed(checkOpen, CodeVerbFailed, "cannot close device: "+err.Error()).on(name, 0))
		return false
	}
	return true
}

// registered is the number of bytes that a port's test registers: for each of two sides a source and
// a destination. It is at least 4 MiB, so that a limit on locked memory that is too low for any real
// program shows.
func (q Request) registered() int { return 4 * q.half() }

func (q Request) half() int {
	const (
		atLeast = 1 << 20
		page    = 64 << 10 // the largest page size of arm64
	)
	size := 0
	for _, s := range q.Sizes {
		size = max(size, s)
	}
	return max(atLeast, (size+2*guard+maxShift+page-1)/page*page)
}

// owner is "root:rdma", or the numbers where names are not told.
func owner(info host.FileInfo) string {
	return cmp.Or(info.Owner, fmt.Sprint(info.UID)) + ":" + cmp.Or(info.Group, fmt.Sprint(info.GID))
}
