"""Arrow schemas and arrays in and out, for the compiled files above."""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from lend._core.arrow cimport ArrowArray, ArrowDeviceArray, ArrowSchema
from lend._core.arrow_owners cimport ArrowOwner
from lend._core.column cimport ColumnRecord
from lend.protocols.arrow_check cimport Fault

# taking
cdef object ask(object obj, str method)
cdef void* struct_in(object capsule, const char* name, object lender) except NULL
cdef ArrowOwner take_array(object obj, bint far, ColumnRecord* record)
cdef ArrowOwner take_pair(object schema, object array, object lender, bint far, ColumnRecord* record)
cdef int place(ArrowOwner owner, const ArrowDeviceArray* told) except -1
cdef int record_of(ArrowArray* array, ArrowSchema* schema, ArrowOwner owner, ColumnRecord* record) except -1
cdef tuple split(ArrowOwner owner, const ArrowSchema* types)
cdef bytes encoded_metadata(dict pairs)
cdef object dtype_of_schema(const ArrowSchema* schema)
cdef object name_of_schema(const ArrowSchema* schema)
cdef object metadata_of_schema(const ArrowSchema* schema)
cdef int refuse_consumed(object lender, const char* name) except -1
cdef int refuse_fault(object lender, const ArrowSchema* schema, Fault* fault) except -1

# giving
cdef int describe_type(ArrowSchema* out, const char* format, const char* name, int64_t flags, Py_ssize_t children,
                       bint dictionary, const char* metadata, Py_ssize_t size) except -1
cdef int copy_schema(const ArrowSchema* schema, ArrowSchema* out, const char* name) except -1
cdef int begin_array(ArrowArray* out, Py_ssize_t buffers, Py_ssize_t children, bint dictionary, object keeper) except -1
cdef int give_node(ArrowArray* out, const ArrowArray* node, const ArrowSchema* type, ArrowOwner owner) except -1
cdef void settle(ArrowArray* out, int layout) noexcept nogil
cdef object schema_capsule(ArrowSchema* filled)
cdef object array_capsule(ArrowArray* filled)
cdef object capsule_of(void* filled, size_t size, size_t head, const char* name)

cdef extern from "Python.h":
    # by pointer: a dying object must not be counted
    void* capsule_pointer "PyCapsule_GetPointer"(PyObject*, const char*)
    object new_capsule "PyCapsule_New"(void*, const char*, void (*)(PyObject*) noexcept)
