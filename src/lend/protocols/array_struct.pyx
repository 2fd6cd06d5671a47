"""`__array_struct__`, both ways: a capsule over NumPy's struct of address, shape, strides and type.

There is no release: the owner keeps the object that the capsule came from, and beside it the capsule. Checked as the
dict is, by the functions of array_interface.pyx. Names of steps (AS-I1, AI-E6): the protocol's design page;
specification: https://numpy.org/doc/stable/reference/arrays.interface.html#c-struct-access
"""
from cpython.exc cimport PyErr_Fetch, PyErr_Restore
from cpython.pycapsule cimport PyCapsule_CheckExact, PyCapsule_GetPointer, PyCapsule_SetContext
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport uint8_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from lend._core.checked cimport atomic_add
from lend._core.owners cimport Owner, Protocol, own_object, taken_by
from lend._core.record cimport (
    C_CONTIGUOUS, DEVICE_CPU, F_CONTIGUOUS, LAYOUT_OK, MAX_DIMS, READONLY, Record, check_layout, clear_dims, is_aligned,
    on_host, row_major, set_ndim, shape_of, strides_of,
)
from lend._core.seldom cimport seldom
from lend.dtypes.code cimport (
    KIND_BOOL, KIND_COMPLEX, KIND_OPAQUE, NATIVE_ORDER, ORDER_BIG, code_is_swapped, make_code,
)
from lend.dtypes.typestr cimport TYPESTR_KINDS, typestr_size_fits
from lend.protocols.array_interface cimport (
    is_wide_integer, refuse, refuse_layout, refuse_producer, set_access, set_address, write_strides,
)

ARRAY_STRUCT = taken_by(Protocol(
    name="array struct", dunder="__array_struct__", devices=(1, 3, 11, 13), readonly=True,
    spec="https://numpy.org/doc/stable/reference/arrays.interface.html#c-struct-access",
), take)

cdef extern from "Python.h":
    const char* capsule_name "PyCapsule_GetName"(object)
    # by pointer: a dying object must not be counted
    PyObject* new_capsule "PyCapsule_New"(void*, const char*, void (*)(PyObject*) noexcept)
    void* dying_pointer "PyCapsule_GetPointer"(PyObject*, const char*)
    void* dying_context "PyCapsule_GetContext"(PyObject*)


# -- import ------------------------------------------------------------------------------------------------------------

cdef object take(object obj, Record* record, Py_buffer* lease, int want, void* data):
    """Take the capsule of obj (AS-I1): it lives as long as the memory is lent, and so does obj."""
    seldom()
    cdef object capsule = None, owner = None
    cdef bint absent = False
    try:
        capsule = obj.__array_struct__
    except AttributeError:
        absent = True
    except Exception as error:  # noqa: BLE001 - what a producer raises becomes ours, with it as the cause
        refuse_producer(obj, ARRAY_STRUCT, error)
    if absent:
        refuse("no_door", obj, ARRAY_STRUCT)
    if not PyCapsule_CheckExact(capsule):
        refuse("bad_answer", obj, ARRAY_STRUCT, ("__array_struct__", "a capsule", capsule))
    if capsule_name(capsule) is not NULL:
        refuse("bad_interface", obj, ARRAY_STRUCT,
               ("the capsule's name", capsule_name(capsule).decode("utf-8", "replace"), "none (NULL)"))
    try:
        read_struct(obj, <ArrayStruct*> PyCapsule_GetPointer(capsule, NULL), record, want)
        owner = own_object(obj, record, capsule)
    finally:
        if owner is None:
            clear_dims(record)
    return owner


cdef int read_struct(object obj, const ArrayStruct* said, Record* record, int want) except -1:
    seldom()
    cdef Py_ssize_t* shape
    cdef uint8_t kind = KIND_OPAQUE
    cdef bint empty = False
    cdef int i
    if said.two != 2:
        refuse("bad_interface", obj, ARRAY_STRUCT, ("two", said.two, "2"))
    if said.nd < 0 or said.nd > MAX_DIMS:
        refuse("bad_interface", obj, ARRAY_STRUCT, ("nd", said.nd, f"a number of dimensions from 0 to {MAX_DIMS}"))
    if said.nd and said.shape is NULL:
        refuse("bad_interface", obj, ARRAY_STRUCT, ("shape", None, f"{said.nd} extents"))
    for i in range(KIND_BOOL, KIND_COMPLEX + 1):
        if said.typekind and TYPESTR_KINDS[i] == said.typekind:
            kind = i
    if kind == KIND_OPAQUE or said.itemsize <= 0 or not typestr_size_fits(kind, <uint64_t> said.itemsize):
        # datetimes lose their unit in the struct, records their fields: the dict tells
        refuse("struct_type", obj, ARRAY_STRUCT, (said.typekind & 0xFF, said.itemsize))
    record.itemsize = <unsigned int> said.itemsize
    record.dtype = make_code(kind, <unsigned short> (8 * said.itemsize), 1,
                             NATIVE_ORDER if said.flags & STRUCT_NOTSWAPPED else NATIVE_ORDER ^ ORDER_BIG)
    record.device_type = DEVICE_CPU
    record.device_id = 0
    record.flags = 0
    if not set_ndim(record, said.nd):
        raise MemoryError
    shape = shape_of(record)
    for i in range(said.nd):
        shape[i] = said.shape[i]
        if shape[i] == 0:
            empty = True
    if said.strides is NULL or empty:
        row_major(record)
    else:
        memcpy(strides_of(record), said.strides, said.nd * sizeof(Py_ssize_t))
    layout = check_layout(record)
    if layout != LAYOUT_OK:
        refuse_layout(obj, ARRAY_STRUCT, record, layout)
    set_access(obj, ARRAY_STRUCT, record, not said.flags & STRUCT_WRITEABLE, want)
    return set_address(obj, ARRAY_STRUCT, "data", record, <uintptr_t> said.data)


# -- export ----------------------------------------------------------------------------------------------------------

cdef object give(Owner owner, Record* record, object shown):
    """A capsule over the record that pins the owner (AI-E6); AttributeError where a struct cannot say it."""
    cdef ArrayStruct* said
    cdef PyObject* made
    cdef object capsule
    if (not on_host(record) or not KIND_BOOL <= record.dtype.kind <= KIND_COMPLEX or record.dtype.param != 1
            or not TYPESTR_KINDS[record.dtype.kind] or not typestr_size_fits(record.dtype.kind, record.itemsize)
            or is_wide_integer(record.dtype)):
        refuse("hidden", shown, ARRAY_STRUCT, (on_host(record),))
    said = <ArrayStruct*> malloc(sizeof(ArrayStruct) + 2 * record.ndim * sizeof(Py_ssize_t))
    if said is NULL:
        raise MemoryError
    said.two = 2
    said.nd = record.ndim
    said.typekind = TYPESTR_KINDS[record.dtype.kind]
    said.itemsize = <int> record.itemsize
    said.flags = ((STRUCT_C if record.flags & C_CONTIGUOUS else 0) | (STRUCT_F if record.flags & F_CONTIGUOUS else 0)
                  | (STRUCT_ALIGNED if is_aligned(record) else 0)
                  | (0 if code_is_swapped(record.dtype) else STRUCT_NOTSWAPPED)
                  | (0 if record.flags & READONLY else STRUCT_WRITEABLE))
    said.shape = <Py_ssize_t*> (said + 1)
    said.strides = said.shape + record.ndim
    memcpy(said.shape, shape_of(record), record.ndim * sizeof(Py_ssize_t))
    write_strides(record, said.strides)
    said.data = record.data
    said.descr = NULL
    made = new_capsule(said, NULL, drop_struct)
    if made is NULL:
        free(said)
        raise MemoryError
    capsule = <object> made
    Py_DECREF(capsule)
    PyCapsule_SetContext(capsule, <void*> owner)
    Py_INCREF(owner)
    atomic_add(&owner.open_exports, 1)
    return capsule


cdef void drop_struct(PyObject* capsule) noexcept:
    """Capsule destructor: give back one export, whatever exception is on its way (a producer's release may run)."""
    cdef PyObject* owner = <PyObject*> dying_context(capsule)
    cdef PyObject* kind
    cdef PyObject* value
    cdef PyObject* trace
    free(dying_pointer(capsule, NULL))
    atomic_add(&(<Owner> owner).open_exports, -1)
    PyErr_Fetch(&kind, &value, &trace)
    Py_DECREF(<object> owner)
    PyErr_Restore(kind, value, trace)
