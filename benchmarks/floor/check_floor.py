"""Values, flags, reference counts and refusals of every floor function. No timings: those are in the tables."""

import gc
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np
import peersfloor as F


def expect(error, call, *args, **kw):
    try:
        call(*args, **kw)
    except error:
        return
    raise AssertionError(f"{call.__name__}{args} was not refused")


def holds_and_gives_back(call, source):
    before = sys.getrefcount(source)
    held = [call(source) for _ in range(1000)]
    del held
    gc.collect()
    assert sys.getrefcount(source) <= before, (call.__name__, type(source))


def check_arrays():
    a = np.arange(24, dtype="f4").reshape(2, 3, 4)
    imports = (F.buf_own, F.dl_own, F.dlv_own, F.np_own, F.as_own, F.ai_own)
    for call in (F.own, F.owngc, *imports, F.dlpack_only):
        holds_and_gives_back(call, a)
    layouts = (a, np.asfortranarray(a), a[:, ::2], a[::-1], a[..., :0], a[0, 0, 0], np.zeros((1,) * 8))
    dtypes = [np.arange(5).astype(d) for d in "?bBhHiIqQefdFD"]
    for x in map(np.asarray, (*layouts, *dtypes)):
        for call in imports:
            o = call(x)
            seen = [np.asarray(memoryview(o)), np.from_dlpack(o), np.from_dlpack(F.dlpack_only(o))]
            for y in seen:
                assert y.dtype == x.dtype, (call.__name__, x.dtype, y.dtype)
                assert y.shape == x.shape, (call.__name__, x.shape)
                assert (y == x).all(), (call.__name__, x.shape)
                assert y.size < 2 or y.__array_interface__["data"][0] == x.__array_interface__["data"][0]
                assert x.size < 2 or y.strides == x.strides, (call.__name__, x.strides, y.strides)
            assert o.__dlpack_device__() == (1, 0)
    two = F.buf_own(a), F.buf_own(np.zeros((5, 7)))
    views = [memoryview(o) for o in two]
    assert [v.strides for v in views] == [(48, 16, 4), (56, 8)]  # each has strides of its own

    ro = a.copy()
    ro.flags.writeable = False
    for call in (F.buf_own, F.dlv_own, F.np_own, F.as_own, F.ai_own):
        o = call(ro)
        assert memoryview(o).readonly, call.__name__
        assert not np.from_dlpack(o).flags.writeable, call.__name__
        expect(BufferError, o.__dlpack__)  # a legacy capsule cannot say read-only
    swapped, objects, dates = np.zeros(3, ">f4"), np.zeros(3, object), np.zeros(3, "M8[ns]")
    for bad in (
        swapped,
        objects,
        dates,
        np.zeros((1,) * 9),
        np.zeros(3, "S3"),
        np.zeros(3, "f4,f4"),
        np.zeros(3, "V0"),
    ):
        for call in (*imports, F.imp):
            expect((TypeError, ValueError, BufferError, RuntimeError), call, bad)
    o = F.buf_own(a[:, ::2])
    expect(BufferError, o.__dlpack__, stream=1)
    expect(BufferError, o.__dlpack__, copy=True)
    expect(TypeError, o.__dlpack__, max_version=1)
    odd = np.zeros(4, "f4,u1")["f0"]  # steps of 5 bytes: fine for a buffer, not for DLPack
    assert memoryview(F.buf_own(odd)).strides == (5,)
    expect(BufferError, F.buf_own(odd).__dlpack__)

    class Interface:
        def __init__(self, **keys):
            self.__array_interface__ = {**a.__array_interface__, **keys}

    for keys in ({"mask": a}, {"data": 3}, {"shape": 3}, {"typestr": ">f4"}, {"typestr": ""}, {"strides": (4,)}):
        expect(TypeError, F.ai_own, Interface(**keys))
    expect(TypeError, F.imp, 3)
    expect(TypeError, F.imp)
    expect(TypeError, F.imp, a, other=1)
    expect(BufferError, F.imp, ro, writable=True)
    for x in (a, a[:, ::2], a[::-1], np.zeros(0), bytes(10), bytearray(4), memoryview(a), F.dlpack_only(a)):
        holds_and_gives_back(F.imp, x)
    capsule = a.__dlpack__()
    del capsule  # nobody took it
    F.mkcap()
    holds_and_gives_back(F.mkcap_malloc, a)


def check_torch():
    try:
        import torch
    except ImportError:
        print("torch: not here")
        return
    t = torch.arange(24.0).reshape(2, 3, 4)
    for call in (F.dl_own, F.dlv_own, F.dlx_own, F.dlx_peek, F.dlx_peek_nocache, F.imp):
        holds_and_gives_back(call, t)
    expect(AttributeError, F.dlx_own, 3)
    for _ in range(2):  # a failed look-up leaves the cached one as it was
        assert (np.from_dlpack(F.dlx_own(t)) == t.numpy()).all()
    assert torch.from_dlpack(F.dlx_own(t)).data_ptr() == t.data_ptr()
    from torch.utils.dlpack import to_dlpack

    u = torch._C._from_dlpack(F.buf_own(np.arange(3.0)).__dlpack__(max_version=(1, 1)))
    assert u.tolist() == [0, 1, 2]
    assert to_dlpack(u) is not None


def check_arrow():
    try:
        import pyarrow as pa
    except ImportError:
        print("pyarrow: not here")
        return
    for p in (pa.array([1, 2, None]), pa.array(["a"]), pa.array([1.5]), pa.array([], pa.int8())):
        holds_and_gives_back(F.arrow_own, p)
        holds_and_gives_back(F.imp_arrow, p)
    table = pa.table({"a": [1, 2, None]})
    for call in (F.stream_own, F.stream_lazy):
        holds_and_gives_back(call, table)
    expect(TypeError, F.imp_arrow)
    a = np.arange(5, dtype="i2")
    back = pa.array(F.buf_own(a))
    assert back.type == pa.int16()
    assert back.to_pylist() == list(range(5))
    assert back.buffers()[1].address == a.ctypes.data
    expect(BufferError, F.buf_own(a[::2]).__arrow_c_array__)


def check_kernels():
    try:
        import kernelfloor as K
    except ImportError:
        print("kernels: not built here")
        return
    r = np.random.default_rng(0)
    for n in (0, 1, 7, 31, 33, 4096, 100_003):
        size = (n + 7) // 8
        mask = r.random(n) > 0.3
        packed = np.packbits(mask, bitorder="little")
        for pack in (K.k_pack, K.k_pack_sse2):
            bits = np.full(size, 255, "u1")
            assert pack(mask, bits) == mask.sum(), (pack.__name__, n)
            assert (bits == packed).all(), (pack.__name__, n)
        room = np.zeros(n + 32, bool)
        start = -room.ctypes.data % 32
        for unpack in (K.k_unpack, K.k_unpack_nt):
            out = room[start : start + n]
            out[:] = False
            unpack(packed, out)
            assert (out == mask).all(), (unpack.__name__, n)
        x = np.where(mask, r.random(n), np.nan)
        y = np.where(mask, np.arange(n), np.iinfo("i8").min)
        for kernel, values in ((K.k_nan, x), (K.k_sent, y)):
            bits = np.full(size, 255, "u1")
            assert kernel(values, bits) == n - mask.sum(), (kernel.__name__, n)
            assert (bits == packed).all(), (kernel.__name__, n)
        o32, o64 = np.arange(n, dtype="i4"), np.zeros(n, "i8")
        K.k_off32to64(o32, o64)
        assert (o64 == o32).all()
        assert K.k_off64to32(o64, np.zeros(n, "i4"))
    assert not K.k_off64to32(np.array([0, 2**31]), np.zeros(2, "i4"))
    expect(ValueError, K.k_pack, np.zeros(64, bool), np.zeros(7, "u1"))
    expect(ValueError, K.k_off32to64, np.zeros(4, "i4"), np.zeros(3, "i8"))
    g = np.zeros(500)
    x = r.random(1000)
    K.k_gather(x[::2], g)
    assert (g == x[::2]).all()
    A, B = r.random((100, 333)), np.zeros((333, 100))
    K.k_transpose(A, B)
    assert (B == A.T).all()


check_arrays()
check_torch()
check_arrow()
check_kernels()
print("the floor holds")
