"""dpctl in outline: arrays, memory and queues with exactly the members of dpctl 0.21.1 that tell of memory.

What lies behind is memory of the host, which work of a queue reaches when somebody waits for it.
"""

import ctypes

from . import counting

ONEAPI = 14
TRUE_AND_WRITABLE = True  # what dpctl's memory objects have where arrays say "read-only"


class SyclQueue:
    """Work that is submitted is done when it is waited for, or before what another queue does after a barrier."""

    def __init__(self):
        self.work, self.waits, self.barriers = [], 0, []

    def submit(self, work):
        self.work.append(work)

    def wait(self):
        self.waits += 1
        self.done()

    def done(self):
        while self.work:
            self.work.pop(0)()


class _Usm:
    def __init__(self, data, usm_type, queue):
        self.sycl_queue = queue
        self._memory = ctypes.create_string_buffer(bytes(data), len(data))
        self.address, self._type = ctypes.addressof(self._memory), usm_type
        self.size = self.nbytes = len(data)

    def fill(self, data):
        """Queue the writing of these bytes."""
        self.sycl_queue.submit(lambda: ctypes.memmove(self._memory, bytes(data), self.nbytes))

    def get_usm_type(self):
        return self._type

    def copy_to_host(self):
        self.sycl_queue.wait()
        return bytearray(self._memory.raw)

    @property
    def __sycl_usm_array_interface__(self):
        """As dpctl writes it: no offset, and True for "writable"."""
        return {
            "data": (self.address, TRUE_AND_WRITABLE), "shape": (self.nbytes,), "strides": None, "typestr": "|u1",
            "version": 1, "syclobj": self.sycl_queue,
        }  # fmt: skip


class MemoryUSMDevice(_Usm):
    __module__ = "dpctl.memory._memory"


class MemoryUSMShared(_Usm):
    __module__ = "dpctl.memory._memory"


class MemoryUSMHost(_Usm):
    __module__ = "dpctl.memory._memory"


MEMORY = {"device": MemoryUSMDevice, "shared": MemoryUSMShared, "host": MemoryUSMHost}


class usm_ndarray:
    """Numbers of four bytes; strides and offset count elements."""

    __module__ = "dpctl.tensor._usmarray"

    def __init__(self, data, usm_type="device", queue=None, *, shape=None, strides=None, offset=0, readonly=False):
        self.sycl_queue = SyclQueue() if queue is None else queue
        self.usm_data = MEMORY[usm_type](data, usm_type, self.sycl_queue)
        self.usm_type, self.shape = usm_type, shape or (len(data) // 4,)
        self._strides, self._offset, self._readonly = strides, offset, readonly
        self.lent, self.asked = [], []

    @property
    def __sycl_usm_array_interface__(self):
        return {
            "data": (self.usm_data.address, self._readonly), "shape": self.shape, "strides": self._strides,
            "typestr": "|u4", "version": 1, "syclobj": self.sycl_queue, "offset": self._offset,
        }  # fmt: skip

    def __array__(self, dtype=None, copy=None):
        raise TypeError("an implicit copy to the host is not allowed")


class dlpack_ndarray(usm_ndarray):
    """The same with DLPack, as all arrays of dpctl have it; without, as older consumers' see them."""

    __module__ = "dpctl.tensor._usmarray"

    def __dlpack_device__(self):
        return ONEAPI, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.asked.append({"stream": stream, "dl_device": dl_device})
        if dl_device == (1, 0):
            host = bytes(self.usm_data.copy_to_host())
            made = counting.CountingDLPack(host, self.shape, dtype=(1, 32, 1), flags=counting.IS_COPIED)
            self.lent.append(made)
            return made.__dlpack__(max_version=max_version)
        if stream is not None and stream is not self.sycl_queue:
            if not hasattr(stream, "barriers"):
                raise TypeError("`stream` must be a SyclQueue")
            stream.barriers.append(self.sycl_queue)
        flags = counting.READ_ONLY if self._readonly else 0
        made = counting.CountingDLPack(
            0, self.shape, dtype=(1, 32, 1), device=(ONEAPI, 0), data=self.usm_data.address, flags=flags,
            byte_offset=4 * self._offset, strides=self._strides or counting.natural_strides(self.shape),
        )  # fmt: skip
        self.lent.append(made)
        return made.__dlpack__(max_version=max_version)
