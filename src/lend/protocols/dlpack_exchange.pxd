from lend._core.dlpack cimport DLPackExchangeAPI
from lend._core.record cimport Record

cdef object take(object obj, Record* record, Py_buffer* lease, int want, void* data)
cdef DLPackExchangeAPI* exchange_table(object cls) except? NULL
