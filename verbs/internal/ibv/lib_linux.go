//go:build linux && (amd64 || arm64) && !noverbs

package ibv

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

const (
	libraryName = "libibverbs.so.1"
	// controlBytes is the room for everything in the arena that is not registered memory.
	controlBytes = 256 << 10
	// maxDevices bounds a list whose length comes from the library.
	maxDevices = 1024
)

// lib is libibverbs, loaded with the dynamic loader.
type lib struct {
	arena  *arena
	info   Info
	sym    symbols
	list   uintptr            // struct ibv_device **
	device map[string]uintptr // struct ibv_device *, by name
}

// symbols are the addresses of the functions. Those that are static inline in the header (post, poll)
// have no symbol; they are called through the context.
type symbols struct {
	getDeviceList, freeDeviceList, getDeviceName uintptr
	openDevice, closeDevice                      uintptr
	queryDevice, queryPort                       uintptr
	allocPD, deallocPD                           uintptr
	regMR, deregMR                               uintptr
	createCQ, destroyCQ                          uintptr
	createQP, modifyQP, destroyQP                uintptr
	errnoLocation                                uintptr
}

// Load loads libibverbs.so.1 from where the dynamic loader finds it. registered is the number of
// bytes that will be registered at a time.
func Load(registered int) (Lib, error) {
	handle, err := purego.Dlopen(libraryName, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLibrary, err)
	}
	libc, err := purego.Dlopen("libc.so.6", purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("cannot load libc.so.6: %w", err)
	}
	l := &lib{device: map[string]uintptr{}}
	// dlsym takes the default version of a symbol (IBVERBS_1.1), which is the right one: the
	// hidden IBVERBS_1.0 variants have other structures.
	for _, s := range []struct {
		handle uintptr
		name   string
		addr   *uintptr
	}{
		{handle, "ibv_get_device_list", &l.sym.getDeviceList},
		{handle, "ibv_free_device_list", &l.sym.freeDeviceList},
		{handle, "ibv_get_device_name", &l.sym.getDeviceName},
		{handle, "ibv_open_device", &l.sym.openDevice},
		{handle, "ibv_close_device", &l.sym.closeDevice},
		{handle, "ibv_query_device", &l.sym.queryDevice},
		{handle, "ibv_query_port", &l.sym.queryPort},
		{handle, "ibv_alloc_pd", &l.sym.allocPD},
		{handle, "ibv_dealloc_pd", &l.sym.deallocPD},
		{handle, "ibv_reg_mr", &l.sym.regMR},
		{handle, "ibv_dereg_mr", &l.sym.deregMR},
		{handle, "ibv_create_cq", &l.sym.createCQ},
		{handle, "ibv_destroy_cq", &l.sym.destroyCQ},
		{handle, "ibv_create_qp", &l.sym.createQP},
		{handle, "ibv_modify_qp", &l.sym.modifyQP},
		{handle, "ibv_destroy_qp", &l.sym.destroyQP},
		{libc, "__errno_location", &l.sym.errnoLocation},
	} {
		addr, err := purego.Dlsym(s.handle, s.name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrABI, err)
		}
		*s.addr = addr
	}
	if l.info, err = libraryInfo(l.sym.getDeviceList); err != nil {
		return nil, err
	}
	l.arena, err = newArena(registered + controlBytes)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// libraryInfo tells which file the function at addr was mapped from. A leftover libibverbs of
// another stack on the loader's path is a common fault, so the path is worth showing.
func libraryInfo(addr uintptr) (Info, error) {
	maps, err := ownMaps()
	if err != nil {
		return Info{}, err
	}
	m, ok := find(maps, addr)
	if !ok || !m.exec {
		return Info{}, fmt.Errorf("%w: ibv_get_device_list is not in an executable mapping", ErrABI)
	}
	info := Info{Path: m.path}
	file, err := os.Open(m.path)
	if errors.Is(err, os.ErrNotExist) {
		return info, nil // replaced since it was mapped: the number is not told
	}
	if err != nil {
		return Info{}, fmt.Errorf("cannot read the loaded library: %w", err)
	}
	defer file.Close()
	if nn, err := PrivateABI(file); err == nil {
		info.PrivateABI = nn // a library without the version (before rdma-core 15) stays at 0
	}
	return info, nil
}

func ownMaps() ([]mapping, error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, fmt.Errorf("cannot read own memory map: %w", err)
	}
	defer f.Close()
	return readMaps(f)
}

// call calls a C function that returns an int. The upper half of the register is undefined.
func call(fn uintptr, args ...uintptr) int32 {
	r, _, _ := purego.SyscallN(fn, args...)
	return int32(uint32(r))
}

// callPtr calls a C function that returns a pointer and sets errno when it is NULL. purego does not
// capture errno on Linux, so it is fetched from the same thread.
func (l *lib) callPtr(fn uintptr, args ...uintptr) (uintptr, syscall.Errno) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	where, _, _ := purego.SyscallN(l.sym.errnoLocation)
	*(*int32)(foreign(where)) = 0
	p, _, _ := purego.SyscallN(fn, args...)
	if p != 0 {
		return p, 0
	}
	return 0, syscall.Errno(peek32(where, 0))
}

// result turns the int of a verb into an error. Most verbs return the errno itself; some old
// providers return -1 and leave it in errno, which is lost here and reported as none.
func result(name string, r int32) error {
	if r == 0 {
		return nil
	}
	if r < 0 {
		if r == -1 {
			return &CallError{Call: name}
		}
		r = -r
	}
	return &CallError{Call: name, Errno: syscall.Errno(r)}
}

func (l *lib) Info() Info { return l.info }

func (l *lib) Devices() ([]string, error) {
	if l.list != 0 {
		return nil, errors.New("cannot list devices twice")
	}
	num, err := l.arena.alloc(4, arenaAlign)
	if err != nil {
		return nil, err
	}
	list, errno := l.callPtr(l.sym.getDeviceList, num.addr)
	if list == 0 {
		return nil, &CallError{Call: "ibv_get_device_list", Errno: errno}
	}
	l.list = list
	n := int(int32(num.u32(0)))
	if n < 0 || n > maxDevices {
		return nil, fmt.Errorf("%w: the device list has %d entries", ErrABI, n)
	}
	names := make([]string, 0, n)
	for i := range n {
		dev := peekPtr(list, offset(i*sizePointer))
		if dev == 0 {
			return nil, fmt.Errorf("%w: entry %d of %d of the device list is NULL", ErrABI, i, n)
		}
		text, _, _ := purego.SyscallN(l.sym.getDeviceName, dev)
		name := peekString(text, 64)
		names = append(names, name)
		l.device[name] = dev
	}
	return names, nil
}

func (l *lib) Open(name string) (Device, error) {
	dev, ok := l.device[name]
	if !ok {
		return nil, fmt.Errorf("cannot open %s: not among the listed devices", name)
	}
	mark := l.arena.used
	ctx, errno := l.callPtr(l.sym.openDevice, dev)
	if ctx == 0 {
		// When it cannot open the node, the library looks for it elsewhere and the errno of that
		// search may hide that access was denied.
		node := "/dev/infiniband/" + peekString(dev+uintptr(offDeviceDevName), 64)
		if err := unix.Access(node, unix.R_OK|unix.W_OK); errors.Is(err, unix.EACCES) {
			errno = syscall.EACCES
		}
		return nil, &CallError{Call: "ibv_open_device", Errno: errno}
	}
	d := &device{lib: l, ctx: ctx, mark: mark}
	if err := d.assert(dev); err != nil {
		return nil, err // the context is left open: calling on could do harm
	}
	pd, errno := l.callPtr(l.sym.allocPD, ctx)
	if pd == 0 {
		return nil, errors.Join(&CallError{Call: "ibv_alloc_pd", Errno: errno}, d.Close())
	}
	d.pd = pd
	if got := peekPtr(pd, offPDContext); got != ctx {
		return nil, fmt.Errorf("%w: the protection domain is not of the opened device", ErrABI)
	}
	return d, nil
}

func (l *lib) Close() error {
	if l.list != 0 {
		_, _, _ = purego.SyscallN(l.sym.freeDeviceList, l.list) // returns nothing
		l.list = 0
	}
	clear(l.device)
	return l.arena.close()
}
