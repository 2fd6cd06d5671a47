"""The front door, for the compiled files of its floor."""
from lend._core.owners cimport Owner, Protocol
from lend._core.record cimport Record
from lend.views.view cimport View

cdef Protocol protocol_known(object obj)
cdef View quiet_view(object obj)
cdef Owner owned(object obj, Record* record, int want)
