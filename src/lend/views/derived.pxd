"""The check of streams, for the compiled files above."""
from lend._core.record cimport Record

cdef int check_stream(const Record* record, object shown, stream) except -1
