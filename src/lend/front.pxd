"""The front door, for the compiled files of its floor."""
from lend._core.owners cimport Protocol
from lend.views.view cimport View

cdef Protocol protocol_known(object obj)
cdef View quiet_view(object obj, list refused)
cdef View view_wanted(object obj, int want)
