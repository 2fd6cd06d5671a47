from lend._core.owners cimport MemoryOwner
from lend._core.record cimport Record

cdef object take(object obj, Record* record, Py_buffer* lease, int want, void* data)
cdef int give(object exporter, Record* record, Py_buffer* out, int flags) except -1
cdef void given_back(Record* record, Py_buffer* out) noexcept
cdef MemoryOwner take_gathered(object obj, Record* record)
