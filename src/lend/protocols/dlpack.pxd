from libc.stdint cimport uint64_t

from lend._core.dlpack cimport DLManagedTensorVersioned
from lend._core.owners cimport Owner
from lend._core.record cimport Record

cdef object take(object obj, Record* record, Py_buffer* lease, int want, void* data)
cdef object take_capsule(object capsule, Record* record, Py_buffer* lease, int want, void* data)
cdef int read_managed(DLManagedTensorVersioned* managed, object producer, Record* record, int want) except -1
cdef object keep_managed(DLManagedTensorVersioned* managed, object producer, Record* record, Py_buffer* lease)
cdef object give(Owner owner, Record* record, object shown, int minor, bint copied)
cdef int minor_of(object max_version) except -2
cdef DLManagedTensorVersioned* give_managed(Owner owner, Record* record, object shown, bint copied) except NULL
