//go:build linux && (amd64 || arm64) && !noverbs

package ibv

import (
	"bytes"
	"errors"
	"fmt"
)

// device is a struct ibv_context with a protection domain.
type device struct {
	lib      *lib
	ctx, pd  uintptr
	mark     int     // of the arena, before the device was opened
	pollCQ   uintptr // the operations that have no symbol
	postSend uintptr
	postRecv uintptr
}

// assert proves at run time that the structure is what the constants say, before anything in it is
// called.
func (d *device) assert(dev uintptr) error {
	if got := peekPtr(d.ctx, offContextDevice); got != dev {
		return fmt.Errorf("%w: the context does not point to its device", ErrABI)
	}
	maps, err := ownMaps()
	if err != nil {
		return err
	}
	for _, op := range []struct {
		name string
		at   offset
		fn   *uintptr
	}{
		{"poll_cq", offContextPollCQ, &d.pollCQ},
		{"post_send", offContextPostSend, &d.postSend},
		{"post_recv", offContextPostRecv, &d.postRecv},
	} {
		fn := peekPtr(d.ctx, op.at)
		if fn == 0 {
			return fmt.Errorf("%w: operation %s is NULL", ErrABI, op.name)
		}
		if m, ok := find(maps, fn); !ok || !m.exec {
			return fmt.Errorf("%w: operation %s is not in an executable mapping", ErrABI, op.name)
		}
		*op.fn = fn
	}
	return nil
}

func (d *device) Attr() (DeviceAttr, error) {
	b, err := d.lib.arena.alloc(roomDeviceAttr, arenaAlign)
	if err != nil {
		return DeviceAttr{}, err
	}
	if err := result("ibv_query_device", call(d.lib.sym.queryDevice, d.ctx, b.addr)); err != nil {
		return DeviceAttr{}, err
	}
	fw, _, _ := bytes.Cut(b.mem[offDeviceAttrFirmware:][:sizeDeviceAttrFirmware], []byte{0})
	return DeviceAttr{
		Firmware:      string(fw),
		VendorID:      b.u32(offDeviceAttrVendorID),
		VendorPartID:  b.u32(offDeviceAttrVendorPartID),
		MaxQPWR:       int(int32(b.u32(offDeviceAttrMaxQPWR))),
		MaxCQE:        int(int32(b.u32(offDeviceAttrMaxCQE))),
		MaxQPRdAtom:   int(int32(b.u32(offDeviceAttrMaxQPRdAtom))),
		MaxInitRdAtom: int(int32(b.u32(offDeviceAttrMaxInitRdAtom))),
		AtomicCap:     AtomicCap(b.u32(offDeviceAttrAtomicCap)),
		Ports:         int(b.u8(offDeviceAttrPhysPortCount)),
	}, nil
}

func (d *device) Port(port int) (PortAttr, error) {
	b, err := d.lib.arena.alloc(roomPortAttr, arenaAlign)
	if err != nil {
		return PortAttr{}, err
	}
	if err := result("ibv_query_port", call(d.lib.sym.queryPort, d.ctx, uintptr(port), b.addr)); err != nil {
		return PortAttr{}, err
	}
	return PortAttr{
		State:     PortState(b.u32(offPortAttrState)),
		ActiveMTU: MTU(b.u32(offPortAttrActiveMTU)),
		MaxMsgSz:  b.u32(offPortAttrMaxMsgSz),
		LID:       b.u16(offPortAttrLID),
		LinkLayer: LinkLayer(b.u8(offPortAttrLinkLayer)),
	}, nil
}

func (d *device) Register(size int, atomics bool) (Region, error) {
	b, err := d.lib.arena.alloc(size, 4096)
	if err != nil {
		return nil, err
	}
	mr, errno := d.lib.callPtr(d.lib.sym.regMR, d.pd, b.addr, uintptr(size), uintptr(access(atomics)))
	if mr == 0 {
		return nil, &CallError{Call: "ibv_reg_mr", Errno: errno}
	}
	if peekPtr(mr, offMRContext) != d.ctx || peekPtr(mr, offMRAddr) != b.addr || peekPtr(mr, offMRLength) != uintptr(size) {
		return nil, fmt.Errorf("%w: the memory region does not describe what was registered", ErrABI)
	}
	return &region{dev: d, mr: mr, block: b}, nil
}

func access(atomics bool) int {
	flags := accessLocalWrite | accessRemoteWrite | accessRemoteRead
	if atomics {
		flags |= accessRemoteAtomic
	}
	return flags
}

func (d *device) Close() error {
	var err error
	if d.pd != 0 {
		err = result("ibv_dealloc_pd", call(d.lib.sym.deallocPD, d.pd))
		d.pd = 0
	}
	err = errors.Join(err, result("ibv_close_device", call(d.lib.sym.closeDevice, d.ctx)))
	if err == nil {
		d.lib.arena.release(d.mark)
	}
	return err // after a failure the device may still know the memory: it is not used again
}

// region is a struct ibv_mr over a block of the arena.
type region struct {
	dev   *device
	mr    uintptr
	block block
}

func (r *region) Bytes() []byte { return r.block.mem }
func (r *region) Addr() uint64  { return uint64(r.block.addr) }
func (r *region) LKey() uint32  { return peek32(r.mr, offMRLKey) }
func (r *region) RKey() uint32  { return peek32(r.mr, offMRRKey) }

func (r *region) Close() error {
	return result("ibv_dereg_mr", call(r.dev.lib.sym.deregMR, r.mr))
}
