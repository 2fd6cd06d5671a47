from lend._core.record cimport Record

cdef dict give(Record* record, object shown)
cdef int tell_stream(dict said, object stream) except -1
