"""The struct of `__array_struct__`, and its flags.

https://numpy.org/doc/stable/reference/arrays.interface.html#c-struct-access
"""
from cpython.ref cimport PyObject

from lend._core.owners cimport Owner
from lend._core.record cimport Record

# the struct as NumPy lays it out, 56 bytes on 64-bit machines
ctypedef struct ArrayStruct:
    int two
    int nd
    char typekind
    int itemsize
    int flags
    Py_ssize_t* shape
    Py_ssize_t* strides
    void* data
    PyObject* descr

cdef enum:
    STRUCT_C = 0x1
    STRUCT_F = 0x2
    STRUCT_ALIGNED = 0x100
    STRUCT_NOTSWAPPED = 0x200
    STRUCT_WRITEABLE = 0x400

cdef object take(object obj, Record* record, Py_buffer* lease, int want, void* data)
cdef object give(Owner owner, Record* record, object shown)
