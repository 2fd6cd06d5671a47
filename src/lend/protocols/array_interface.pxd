from libc.stdint cimport uintptr_t

from lend._core.owners cimport Protocol
from lend._core.record cimport Record
from lend.dtypes.code cimport Code

cdef object take_interface(object obj, Record* record, Py_buffer* lease, int want, void* data)
cdef dict give_interface(Record* record, object shown)

# what the struct and the interfaces of devices have in common with this one
cdef object facts_of(object obj, Protocol protocol)
cdef int read_typestr(object obj, Protocol protocol, dict facts, object typestr, Record* record, int want) except -1
cdef int read_number(object obj, Protocol protocol, str field, object item, Py_ssize_t* out) except -1
cdef int read_layout(object obj, Protocol protocol, object shape, object strides, Record* record) except -1
cdef int read_place(object obj, Protocol protocol, tuple place, Py_ssize_t start, Record* record, int want) except -1
cdef str said_typestr(Code code)
cdef bint is_wide_integer(Code code) noexcept nogil
cdef bint say_fields(Code code, dict said) except -1
cdef tuple said_strides(const Record* record)
cdef void write_strides(const Record* record, Py_ssize_t* out) noexcept
cdef int set_access(object obj, Protocol protocol, Record* record, bint readonly, int want) except -1
cdef int set_address(object obj, Protocol protocol, str field, Record* record, uintptr_t address) except -1
cdef int refuse_layout(object obj, Protocol protocol, const Record* record, int layout) except -1
cdef int refuse(str how, object obj, Protocol protocol, tuple facts=*) except -1
cdef int refuse_producer(object obj, Protocol protocol, object error) except -1
