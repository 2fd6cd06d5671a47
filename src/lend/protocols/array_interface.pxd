from lend._core.owners cimport Owner
from lend._core.record cimport Record

cdef object take_interface(object obj, Record* record, Py_buffer* lease, int want, void* data)
cdef object take_struct(object obj, Record* record, Py_buffer* lease, int want, void* data)
cdef dict give_interface(Record* record, object shown)
cdef object give_struct(Owner owner, Record* record, object shown)
