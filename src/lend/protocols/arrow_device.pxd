"""Arrow data of any device in and out, for the compiled files above."""
from libc.stdint cimport int32_t, int64_t

from lend._core.arrow cimport ArrowArray
from lend._core.arrow_owners cimport StreamOwner

# taking
cdef bint is_device_array(object capsule) noexcept
cdef bint is_device_stream(object capsule) noexcept
cdef StreamOwner take_device_stream(object obj)
cdef StreamOwner take_device_stream_capsule(object capsule, object lender)

# giving
cdef object device_capsule(ArrowArray* filled, int32_t device_type, int64_t device_id, object event)
cdef object device_stream_capsule(object host, int32_t device_type, int64_t device_id, list events)
