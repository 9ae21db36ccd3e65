package verbs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/rdmactl/rdmactl/kmod"
	"github.com/rdmactl/rdmactl/verbs/internal/ibv"
)

// loadFailed explains why the library could not be loaded.
func loadFailed(err error) Check {
	switch {
	case errors.Is(err, ibv.ErrNotBuilt):
		return failed(checkLibrary, CodeNotBuilt, err.Error())
	case errors.Is(err, ibv.ErrNoLibrary):
		return failed(checkLibrary, CodeNoLibrary, err.Error())
	case errors.Is(err, ibv.ErrABI):
		return failed(checkLibrary, CodeABI, err.Error())
	default:
		return failed(checkLibrary, CodeWorkerFailed, err.Error())
	}
}

// listFailed explains why the library could not list devices.
func (w *worker) listFailed(err error) Check {
	switch {
	case errors.Is(err, syscall.ENOSYS):
		return w.noUverbs(": " + err.Error())
	case errors.Is(err, ibv.ErrABI):
		return failed(checkDevices, CodeABI, err.Error())
	default:
		return failed(checkDevices, CodeVerbFailed, "cannot list devices: "+err.Error())
	}
}

// noDevices explains an empty list. Listing may have loaded ib_core, so that the library sees a kernel
// with RDMA and no device; without ib_uverbs no program would get at one.
func (w *worker) noDevices() Check {
	_, err := w.host.ReadDir("/sys/class/infiniband_verbs")
	if _, sysErr := w.host.ReadDir("/sys/class"); sysErr == nil && errors.Is(err, fs.ErrNotExist) {
		return w.noUverbs("")
	}
	return failed(checkDevices, CodeNoDevice, "neither the kernel nor libibverbs has an RDMA device")
}

// noUverbs says that ib_uverbs is not loaded, and which file of the host keeps it out, if one does.
func (w *worker) noUverbs(cause string) Check {
	c := failed(checkDevices, CodeNoKernelModule, "the kernel's verbs interface is missing, ib_uverbs is not loaded"+cause)
	config, err := kmod.Config(w.host)
	if err != nil {
		return c // modprobe's configuration only adds to what is certain
	}
	if kept, where := config.Blacklisted("ib_uverbs"); kept {
		c.Detail += "; it is kept out by " + where
		c.Remedy = "take ib_uverbs out of " + where + ", then modprobe ib_uverbs"
	}
	return c
}

// deviceMissing explains why the library does not offer a device that the kernel has.
func (w *worker) deviceMissing(d hostDevice, info ibv.Info) Check {
	if d.uverbs == "" {
		return failed(checkProvider, CodeNoKernelModule, d.name+" has no verbs interface: ib_uverbs is not loaded, or the driver offers none").on(d.name, 0)
	}
	if _, err := w.host.Stat(d.node()); errors.Is(err, fs.ErrNotExist) {
		return failed(checkProvider, CodeNoDeviceNode, fmt.Sprintf("%s has no device node: %s does not exist", d.name, d.node())).on(d.name, 0)
	}
	detail := fmt.Sprintf("the kernel has %s, but libibverbs does not offer it; ", d.name) + w.providers(info)
	return failed(checkProvider, CodeProviderMissing, detail).on(d.name, 0)
}

// providerFile is the name of a provider: librxe-rdmav34.so.
var providerFile = regexp.MustCompile(`^lib(.+)-rdmav(\d+)\.so$`)

// providers says which private ABI the library wants and which its providers have.
func (w *worker) providers(info ibv.Info) string {
	wants := "the private ABI of the library is not known"
	if info.PrivateABI != 0 {
		wants = fmt.Sprintf("%s wants providers of private ABI %d", info.Path, info.PrivateABI)
	}
	if info.Path == "" {
		return wants
	}
	dir := path.Join(path.Dir(info.Path), "libibverbs")
	names, err := w.host.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return wants + "; there are no providers, " + dir + " does not exist"
	}
	if err != nil {
		return fmt.Sprintf("%s; cannot list %s: %v", wants, dir, err)
	}
	byABI := map[int][]string{}
	for _, n := range names {
		if m := providerFile.FindStringSubmatch(n); m != nil {
			if nn, err := strconv.Atoi(m[2]); err == nil {
				byABI[nn] = append(byABI[nn], m[1])
			}
		}
	}
	if len(byABI) == 0 {
		return wants + "; there are no providers in " + dir
	}
	var has []string
	for _, nn := range slices.Sorted(maps.Keys(byABI)) {
		has = append(has, fmt.Sprintf("private ABI %d (%s)", nn, strings.Join(byABI[nn], ", ")))
	}
	return wants + "; " + dir + " holds providers of " + strings.Join(has, " and ")
}

// openFailed explains why a device could not be opened.
func (w *worker) openFailed(d hostDevice, err error) Check {
	detail := fmt.Sprintf("cannot open %s: %v", d.name, err)
	code := callCode(err)
	if d.uverbs != "" {
		info, statErr := w.host.Stat(d.node())
		switch {
		case errors.Is(statErr, fs.ErrNotExist):
			code, detail = CodeNoDeviceNode, fmt.Sprintf("%s: %s does not exist", detail, d.node())
		case statErr == nil && code == CodeNoPermission:
			detail = fmt.Sprintf("%s; %s has mode %04o and belongs to %s", detail, d.node(), info.Mode.Perm(), owner(info))
		}
	}
	return failed(checkOpen, code, detail).on(d.name, 0)
}

// callCode is the code of a verb that failed, by its errno.
func callCode(err error) Code {
	switch {
	case errors.Is(err, ibv.ErrABI):
		return CodeABI
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return CodeNoPermission
	case errors.Is(err, syscall.EBUSY):
		return CodeDeviceBusy
	case errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.EIO):
		return CodeDeviceGone
	default:
		return CodeVerbFailed
	}
}

// memoryFailed explains why need bytes (or the queues) could not be pinned. The kernel answers a limit
// that is too low with ENOMEM; with no limit the memory is really short.
func (w *worker) memoryFailed(err error, need int) Check {
	if errors.Is(err, syscall.ENOMEM) && (!w.memlock.known || w.memlock.soft != math.MaxUint64) {
		return failed(checkMemory, CodeMemlock, fmt.Sprintf("cannot register %d KiB: %v; %s", need>>10, err, w.memlock))
	}
	return failed(checkMemory, callCode(err), fmt.Sprintf("cannot register %d KiB: %v; %s", need>>10, err, w.memlock))
}

// qpFailed explains why a queue pair could not be created.
func (w *worker) qpFailed(err error, need int) Check {
	switch {
	case errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
		return failed(checkConnect, CodeNoRC, "cannot create a reliable connected queue pair: "+err.Error())
	case errors.Is(err, syscall.ENOMEM) && w.memlock.known && w.memlock.soft != math.MaxUint64:
		return failed(checkMemory, CodeMemlock, fmt.Sprintf("cannot create a queue pair beside %d KiB of registered memory: %v; %s", need>>10, err, w.memlock))
	default:
		return failed(checkConnect, callCode(err), "cannot create a queue pair: "+err.Error())
	}
}

// connectFailed explains why a queue pair did not reach its state. ENODATA is the kernel's word for a
// GID that is no longer in the table, EINVAL that of older kernels. rdma_rxe keeps the link-local GID
// of an interface that has no IPv6 address; there is then no route to it (ENETUNREACH).
func connectFailed(err error, gid *GID) Check {
	if gid != nil && errors.Is(err, syscall.ENODATA) {
		return failed(checkConnect, CodeNoGID, fmt.Sprintf("cannot connect from GID %d (%s): the address is gone: %v", gid.Index, gid.Address, err))
	}
	if gid != nil && (errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.EADDRNOTAVAIL)) {
		return failed(checkConnect, CodeNoGID, fmt.Sprintf("cannot connect from GID %d (%s): the interface has no such address: %v", gid.Index, gid.Address, err))
	}
	if gid != nil && errors.Is(err, syscall.ETIMEDOUT) {
		return failed(checkConnect, CodeTimeout, fmt.Sprintf("cannot connect to GID %d (%s): the address did not resolve: %v", gid.Index, gid.Address, err))
	}
	return failed(checkConnect, callCode(err), "cannot connect: "+err.Error())
}

// trafficFailed explains why a transfer did not end well.
func trafficFailed(name string, err error) Check {
	var data *dataError
	var completion *completionError
	var timeout *timeoutError
	switch {
	case errors.As(err, &data):
		return failed(name, CodeWrongData, err.Error())
	case errors.As(err, &completion):
		return failed(name, CodeCompletionError, err.Error())
	case errors.As(err, &timeout):
		return failed(name, CodeTimeout, err.Error())
	default:
		c := failed(name, callCode(err), err.Error())
		if c.Status == NotTestable {
			c.Status = Fail // traffic ran before: the fault came with it
		}
		return c
	}
}
