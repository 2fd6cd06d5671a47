from lend._core.owners cimport Owner, Protocol
from lend._core.record cimport Record
from lend.dtypes.code cimport Code

cdef object take_interface(object obj, Record* record, Py_buffer* lease, int want, void* data)
cdef object take_struct(object obj, Record* record, Py_buffer* lease, int want, void* data)
cdef dict give_interface(Record* record, object shown)
cdef object give_struct(Owner owner, Record* record, object shown)

# what the interfaces of devices have in common with this one
cdef object facts_of(object obj, Protocol protocol)
cdef int read_typestr(object obj, Protocol protocol, dict facts, object typestr, Record* record, int want) except -1
cdef int read_number(object obj, Protocol protocol, str field, object item, Py_ssize_t* out) except -1
cdef int read_layout(object obj, Protocol protocol, object shape, object strides, Record* record) except -1
cdef int read_place(object obj, Protocol protocol, tuple place, Py_ssize_t start, Record* record, int want) except -1
cdef str said_typestr(Code code)
cdef tuple said_strides(const Record* record)
cdef int refuse_layout(object obj, Protocol protocol, const Record* record, int layout) except -1
cdef int refuse(str how, object obj, Protocol protocol, tuple facts=*) except -1
cdef int refuse_producer(object obj, Protocol protocol, object error) except -1
