"""The driver of the double through ctypes, for the process that has it loaded. Nothing is initialised before `init()`.

Sizes are bytes, addresses and handles are ints; a stream may be None (the legacy one), 1, 2 or a handle. A call that
fails raises `Refused` with the number of the driver; `rc` gives the number instead.
"""

import contextlib
import ctypes
import os

CHOSEN = "LEND_FAKECUDA"
U64, SIZE, PTR, BYTE = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_ubyte
UNSUPPORTED, INVALIDATED, ISOLATION, IMPLICIT, CAPTURED = (
    900,
    901,
    905,
    906,
    907,
)  # what an offence in a capture answers
NON_BLOCKING, WRITE_COMBINED, INTERPROCESS = 1, 4, 4
GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2

lib = ctypes.CDLL(os.environ[CHOSEN], mode=ctypes.RTLD_GLOBAL)
lib.fakecuda_calls.restype = lib.fakecuda_copies.restype = lib.fakecuda_all_calls.restype = ctypes.c_ulong
_kinds = {}  # address: how it is given back


class Refused(RuntimeError):
    def __init__(self, name, number):
        super().__init__(f"{name}: error {number}")
        self.number = number


def rc(name, *args):
    """What the driver answers."""
    return getattr(lib, name)(*args)


def ok(name, *args):
    number = rc(name, *args)
    if number:
        raise Refused(name, number)


def out(name, *args, kind=U64):
    """The first value that a call fills in."""
    value = kind()
    ok(name, ctypes.byref(value), *args)
    return value.value


# contexts


def init(device=0):
    """Initialise the driver and make `device` current on this thread; its primary context stays retained."""
    ok("cuInit", 0)
    use(device)


def retain(device=0):
    """The primary context of a device, made if it is not active yet."""
    return out("cuDevicePrimaryCtxRetain", device, kind=PTR)


def release(device=0):
    ok("cuDevicePrimaryCtxRelease_v2", device)


def use(device):
    ok("cuCtxSetCurrent", PTR(retain(device)))


@contextlib.contextmanager
def on(device):
    """`device` is current inside; its context stays retained once, as a producer that lives there keeps it."""
    context = retain(device)
    try:
        push(context)
    except Refused:
        release(device)
        raise
    try:
        yield
    finally:
        pop()
        if refs(device) > 1:
            release(device)


def push(context):
    ok("cuCtxPushCurrent_v2", PTR(context))


def pop():
    return out("cuCtxPopCurrent_v2", kind=PTR)


def current():
    """The current context; None: there is none."""
    return out("cuCtxGetCurrent", kind=PTR)


def current_device():
    return out("cuCtxGetDevice", kind=ctypes.c_int)


def is_active(device):
    active, flags = ctypes.c_int(), ctypes.c_uint()
    ok("cuDevicePrimaryCtxGetState", device, ctypes.byref(flags), ctypes.byref(active))
    return bool(active.value)


def attribute(number, device=0):
    return out("cuDeviceGetAttribute", number, device, kind=ctypes.c_int)


# memory


def _made(address, freed_by, data=None):
    _kinds[address] = freed_by
    if data is not None:
        poke(address, data)
    return address


def _size(size_or_data):
    return (size_or_data, None) if isinstance(size_or_data, int) else (len(size_or_data), bytes(size_or_data))


def malloc_device(what):
    """Memory of the current device: so many fresh bytes (0xCD), or a copy of these."""
    size, data = _size(what)
    return _made(out("cuMemAlloc_v2", SIZE(size)), "cuMemFree_v2", data)


def malloc_managed(what):
    size, data = _size(what)
    return _made(out("cuMemAllocManaged", SIZE(size), 1), "cuMemFree_v2", data)


def malloc_pinned(what, flags=0):
    """`flags=fake.WRITE_COMBINED` for that."""
    size, data = _size(what)
    return _made(out("cuMemHostAlloc", SIZE(size), flags), "cuMemFreeHost", data)


class Registered:
    """Host memory known to the driver: `.address` for the host, `.device` the one for the device."""

    def __init__(self, what, flags=0):
        size, data = _size(what)
        self.memory = ctypes.create_string_buffer(data or size, size)
        self.address = ctypes.addressof(self.memory)
        ok("cuMemHostRegister_v2", PTR(self.address), SIZE(size), flags)
        self.device = out("cuMemHostGetDevicePointer_v2", PTR(self.address), 0)

    def unregister(self):
        ok("cuMemHostUnregister", PTR(self.address))


malloc_registered = Registered


def malloc_pool(what, stream=None):
    """Memory of the device's default pool, in stream order."""
    size, data = _size(what)
    return _made(out("cuMemAllocAsync", SIZE(size), PTR(stream)), "cuMemFree_v2", data)


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _PoolProps(ctypes.Structure):
    _fields_ = [
        ("alloc_type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location", _Location), ("security", PTR),
        ("max_size", SIZE), ("usage", ctypes.c_ushort), ("reserved", BYTE * 54),
    ]  # fmt: skip


def malloc_pool_managed(what, stream=None):
    """Managed memory from a pool, which some drivers call host memory."""
    size, data = _size(what)
    props = _PoolProps(alloc_type=2, location=_Location(1, 0))
    pool = out("cuMemPoolCreate", ctypes.byref(props), kind=PTR)
    return _made(out("cuMemAllocFromPoolAsync", SIZE(size), PTR(pool), PTR(stream)), "cuMemFree_v2", data)


def free(address):
    """Give back what one of these functions made; waits for all work."""
    ok(_kinds.pop(address), U64(address))


def free_async(address, stream=None):
    del _kinds[address]
    ok("cuMemFreeAsync", U64(address), PTR(stream))


class Mapped:
    """A block created and mapped by steps: `.address`; on device `device`, or on a node of the host with None."""

    def __init__(self, size=2 << 20, device=0, access=("device",)):
        here = _Location(1, device) if device is not None else _Location(3, 0)
        props = (ctypes.c_int * 8)(1, 0, here.type, here.id)
        self.size = size
        self.address = out("cuMemAddressReserve", SIZE(size), SIZE(0), U64(0), U64(0))
        self.handle = out("cuMemCreate", SIZE(size), props, U64(0))
        ok("cuMemMap", U64(self.address), SIZE(size), SIZE(0), U64(self.handle), U64(0))
        for who in access:
            wanted = (ctypes.c_int * 3)(1 if who == "device" else 2, device or 0, 3)
            ok("cuMemSetAccess", U64(self.address), SIZE(size), wanted, SIZE(1))

    def unmap(self):
        ok("cuMemUnmap", U64(self.address), SIZE(self.size))


# work


def h2d(address, data, stream=None):
    """Copy bytes to the device in stream order; they are staged at the call."""
    ok("cuMemcpyHtoDAsync_v2", U64(address), bytes(data), SIZE(len(data)), PTR(stream))


def h2d_sync(address, data):
    ok("cuMemcpyHtoD_v2", U64(address), bytes(data), SIZE(len(data)))


def d2h(address, size, stream=None):
    """Bytes of the device, read in the order of `stream` and of nothing else: the call waits for that."""
    room = (BYTE * size)()
    ok("cuMemcpyDtoHAsync_v2", room, U64(address), SIZE(size), PTR(stream))
    return bytes(room)


def d2h_async(host, address, size, stream=None):
    """Into pinned memory at `host`: truly deferred."""
    ok("cuMemcpyDtoHAsync_v2", PTR(host), U64(address), SIZE(size), PTR(stream))


def copy_async(to, address, size, stream=None):
    ok("cuMemcpyAsync", U64(to), U64(address), SIZE(size), PTR(stream))


def memset_async(address, byte, size, stream=None):
    ok("cuMemsetD8Async", U64(address), BYTE(byte), SIZE(size), PTR(stream))


def stream(*, blocking=False):
    """A new stream of the current device."""
    return out("cuStreamCreate", 0 if blocking else NON_BLOCKING)


def destroy_stream(stream):
    ok("cuStreamDestroy_v2", PTR(stream))


def event(flags=2):
    return out("cuEventCreate", flags)


def destroy_event(event):
    ok("cuEventDestroy_v2", PTR(event))


def record(event, stream=None):
    ok("cuEventRecord", PTR(event), PTR(stream))


def wait(stream, event):
    """`stream` waits for `event`, the host does not."""
    ok("cuStreamWaitEvent", PTR(stream), PTR(event), 0)


def order(first, then, device=None):
    """What is on stream `first` now happens before what comes to `then` from now on; both of one device."""
    with on(current_device() if device is None else device):
        mark = event()
        try:
            record(mark, first)
            wait(then, mark)
        finally:
            destroy_event(mark)


def sync(stream=None):
    ok("cuStreamSynchronize", PTR(stream))


def sync_event(event):
    ok("cuEventSynchronize", PTR(event))


def sync_device():
    ok("cuCtxSynchronize")


def is_done(stream=None):
    """cuStreamQuery: each question lets one operation finish."""
    number = rc("cuStreamQuery", PTR(stream))
    if number not in (0, 600):
        raise Refused("cuStreamQuery", number)
    return number == 0


# capture


def begin_capture(stream, mode=GLOBAL):
    ok("cuStreamBeginCapture_v2", PTR(stream), mode)


def end_capture(stream):
    """The graph, which `launch` runs."""
    graph = PTR()
    ok("cuStreamEndCapture", PTR(stream), ctypes.byref(graph))
    return graph.value


def capture_end_code(stream):
    """What the end of a capture answers: 0, or 901 when it was invalidated."""
    return rc("cuStreamEndCapture", PTR(stream), ctypes.byref(PTR()))


def capture_status(stream):
    """0 none, 1 active, 2 invalidated."""
    status = ctypes.c_int()
    ok("cuStreamIsCapturing", PTR(stream), ctypes.byref(status))
    return status.value


def launch(graph, stream):
    ok("cuGraphLaunch", PTR(graph), PTR(stream))


# hooks


def calls(name):
    """Calls of an entry point since the last `reset()`, its versions included."""
    return lib.fakecuda_calls(name.encode())


def all_calls():
    return lib.fakecuda_all_calls()


def copies():
    """Calls of cuMemcpy*, of every kind."""
    return lib.fakecuda_copies()


def reset():
    """Count from nought."""
    lib.fakecuda_reset_calls()


def fail(name, number, times=-1):
    """Let one call fail with this number; so many times, or until `times=0` is said."""
    lib.fakecuda_fail(name.encode(), number, times)


def live():
    """Allocations and registrations that nobody has given back."""
    return lib.fakecuda_live()


def books():
    """What lives: allocations and registrations, streams, events; and how deep the stack of contexts is."""
    return [live(), lib.fakecuda_live_streams(), lib.fakecuda_live_events(), depth()]


def pending(stream=None):
    """Is work queued: anywhere, or on this stream?"""
    return bool(lib.fakecuda_pending() if stream is None else lib.fakecuda_pending_on(PTR(stream)))


def depth():
    """Contexts on the stack of this thread."""
    return lib.fakecuda_context_depth()


def refs(device=0):
    """How often the primary context of a device is retained."""
    return lib.fakecuda_context_refs(device)


def peek(address, size):
    """Bytes as they are now, ordered after nothing; counted as no call."""
    room = (BYTE * size)()
    if lib.fakecuda_peek(room, U64(address), SIZE(size)):
        raise Refused("fakecuda_peek", -1)
    return bytes(room)


def poke(address, data):
    """Bytes put there at once, without a call."""
    if lib.fakecuda_poke(U64(address), bytes(data), SIZE(len(data))):
        raise Refused("fakecuda_poke", -1)


def touch(address):
    """Read one byte as the host does, which kills the process where it must not."""
    return BYTE.from_address(address).value
