"""Where the memory of an object with a buffer is, asked of CPython itself: neither of lend nor of any library."""

import ctypes

_STRIDED_READONLY = 0x0118  # PyBUF_FULL_RO: any strides, read-only is welcome


class _Buffer(ctypes.Structure):
    """CPython's Py_buffer."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


def of_buffer(obj):
    """Address of the first element of bytes, bytearray, mmap, memoryview, pyarrow.Tensor and the like."""
    lease = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(obj), ctypes.byref(lease), _STRIDED_READONLY)
    try:
        return lease.buf
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(lease))


def of_image(image):
    """Address of a Pillow image's own memory, which Pillow shows by its Arrow export only; None without pyarrow."""
    try:
        import pyarrow as pa
    except ImportError:
        return None
    return pa.array(image).buffers()[-1].address
