"""`__array_interface__` (version 3), both ways: NumPy's dict of address, shape, strides and typestr.

There is no release: the owner keeps the object that the dict was read from, and with `data` given as a buffer the open
Py_buffer as well. Every number in it is checked before it is used; only the extent behind a bare pointer cannot be
(UNBOUNDED). Names of steps (AI-I2): the protocol's design page; specification:
https://numpy.org/doc/stable/reference/arrays.interface.html
"""
cimport cython
from cpython.bool cimport PyBool_Check
from cpython.buffer cimport PyBUF_ANY_CONTIGUOUS, PyBuffer_IsContiguous, PyObject_CheckBuffer
from cpython.dict cimport PyDict_Next
from cpython.long cimport PyLong_CheckExact
from cpython.ref cimport PyObject
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_FromObject
from libc.stdint cimport UINT32_MAX, uint8_t, uintptr_t

from lend._core.checked cimport buffer_obj, raise_pending
from lend._core.owners cimport (
    BufferOwner, Protocol, exporter_of, new_buffer_owner, own_object, settle_lease, taken_by,
)
from lend._core.record cimport (
    DEVICE_CPU, LAYOUT_NEGATIVE, LAYOUT_OK, LAYOUT_TOO_LARGE, MAX_DIMS, READONLY, UNBOUNDED, WANT_BYTES,
    WANT_WRITABLE, Record, check_layout, clear_dims, on_host, row_major, set_ndim, shape_of, span_of, strides_of,
)
from lend.dtypes.code cimport (
    KIND_INT, KIND_OBJECT, KIND_OPAQUE, KIND_RECORD, KIND_UINT, NATIVE_ORDER, ORDER_BIG, UNIT_MASK, Code,
    code_has_objects, code_itemsize, make_code,
)
from lend.dtypes.dtype cimport DType, code_of, dtype_from_code
from lend.dtypes.typestr cimport code_from_typestr, write_typestr
from lend.protocols.integers cimport int_as_address, int_as_size, read_address, read_size, tuple_of

ARRAY_INTERFACE = taken_by(Protocol(
    name="array interface", dunder="__array_interface__", devices=(1, 3, 11, 13), readonly=True,
    spec="https://numpy.org/doc/stable/reference/arrays.interface.html",
), take_interface)

cdef str PLACE = "a pair (address, readonly)"

cdef extern from "Python.h":
    # one that fails may set no exception
    int get_buffer "PyObject_GetBuffer"(object, Py_buffer*, int)
    bint is_ascii "PyUnicode_IS_ASCII"(object)


# -- import ------------------------------------------------------------------------------------------------------------

cdef object take_interface(object obj, Record* record, Py_buffer* lease, int want, void* data):
    """Take the dict of obj (AI-I1 to AI-I6)."""
    cdef object facts = None, owner = None
    cdef object shape = None, typestr = None, strides = None, place = None, offset = None, mask = None
    cdef Py_ssize_t at = 0
    cdef PyObject* key
    cdef PyObject* value
    cdef bint plain = True, absent = False
    try:
        facts = obj.__array_interface__
        if isinstance(facts, dict):
            # the keys are the interned words of everybody's source: most dicts are read without a lookup
            with cython.critical_section(facts):
                while plain and PyDict_Next(facts, &at, &key, &value):
                    if key is <PyObject*> "data":
                        place = <object> value
                    elif key is <PyObject*> "strides":
                        strides = <object> value
                    elif key is <PyObject*> "typestr":
                        typestr = <object> value
                    elif key is <PyObject*> "shape":
                        shape = <object> value
                    elif key is not <PyObject*> "version" and key is not <PyObject*> "descr":
                        plain = False
            if not plain:
                shape = (<dict> facts).get("shape")
                typestr = (<dict> facts).get("typestr")
                strides = (<dict> facts).get("strides")
                place = (<dict> facts).get("data")
                offset = (<dict> facts).get("offset")
                mask = (<dict> facts).get("mask")
    except AttributeError:
        absent = True
    except Exception as error:  # noqa: BLE001 - what a producer raises becomes ours, with it as the cause
        refuse_producer(obj, ARRAY_INTERFACE, error)
    if absent:
        refuse("no_door", obj, ARRAY_INTERFACE)
    if not isinstance(facts, dict):
        refuse("bad_answer", obj, ARRAY_INTERFACE, ("__array_interface__", "a dict", facts))
    if shape is None or typestr is None:
        refuse("missing_key", obj, ARRAY_INTERFACE, ("shape" if shape is None else "typestr",))
    read_typestr(obj, ARRAY_INTERFACE, <dict> facts, typestr, record, want)
    if mask is not None:
        refuse("masked", obj, ARRAY_INTERFACE)
    record.device_type = DEVICE_CPU
    record.device_id = 0
    record.flags = 0
    try:
        read_layout(obj, ARRAY_INTERFACE, shape, strides, record)
        if isinstance(place, tuple):
            owner = take_address(obj, <tuple> place, offset, record, want)
        else:
            owner = take_bytes(obj, place, offset, record, want)
    finally:
        if owner is None:
            clear_dims(record)
    return owner


cdef int read_typestr(object obj, Protocol protocol, dict facts, object typestr, Record* record, int want) except -1:
    """Read the typestr; bytes without a kind may still have a name elsewhere (AI-I3)."""
    cdef Py_ssize_t length
    cdef const char* text
    if not isinstance(typestr, str):
        refuse("bad_interface", obj, protocol, ("typestr", typestr, "a text such as '<f4'"))
    if type(typestr) is not str:
        typestr = PyUnicode_FromObject(typestr)  # a subclass loses its own methods
    if is_ascii(typestr):
        text = PyUnicode_AsUTF8AndSize(typestr, &length)
        if code_from_typestr(text, length, &record.dtype):
            record.itemsize = <unsigned int> code_itemsize(record.dtype)
            if record.dtype.kind == KIND_OPAQUE:
                name_opaque(obj, protocol, facts, typestr, record, want)
            elif record.dtype.kind == KIND_OBJECT and (want & WANT_BYTES or not counts_objects(obj, protocol)):
                # whoever wants bytes wants no pointers
                refuse("unread_typestr", obj, protocol, (typestr, "O"))
            elif record.itemsize == 0:
                refuse("unread_typestr", obj, protocol, (typestr, "V"))
            return 0
    if is_ndarray(obj) and not want & WANT_BYTES and getattr(obj.dtype, "isbuiltin", 1) == 2:
        # a dtype that another library adds, and spells as one of NumPy's kinds: <f1
        code_of(obj.dtype, &record.dtype)
        record.itemsize = <unsigned int> code_itemsize(record.dtype)
        return 0
    # what lend has no dtype for is bytes to somebody who asked for bytes; object pointers and bits never are
    from lend.protocols.descr import typestr_parts
    kind, size = typestr_parts(typestr)
    if not want & WANT_BYTES or kind in "Ot" or not 0 < size <= UINT32_MAX:
        refuse("unread_typestr", obj, protocol, (typestr, kind))
    record.itemsize = size
    record.dtype = make_code(KIND_OPAQUE, 0, record.itemsize)
    return 0


cdef int name_opaque(object obj, Protocol protocol, dict facts, str typestr, Record* record, int want) except -1:
    """What a `V` typestr really is: the dtype that the object names, a record (refused), or opaque bytes."""
    cdef object descr, dtype, name = None
    cdef Code code
    cdef uint8_t order
    from lend.dtypes.foreign import registered
    from lend.protocols.descr import read_descr
    if is_ndarray(obj) and getattr(obj.dtype, "names", None) is not None:
        # titles, alignment and fields out of order stand in its dtype alone
        code_of(obj.dtype, &code)
        if code_has_objects(code) and (want & WANT_BYTES or not counts_objects(obj, protocol)):
            refuse("record_type", obj, protocol, (True,))
        if code_itemsize(code) == record.itemsize:
            record.dtype = code
            return 0
    if record.itemsize == 0:
        refuse("unread_typestr", obj, protocol, (typestr, "V"))
    try:
        descr = facts.get("descr")
        dtype = getattr(obj, "dtype", None)
        name = getattr(dtype, "name", None)
    except Exception as error:  # noqa: BLE001
        refuse_producer(obj, protocol, error)
    if descr is not None:
        size, fields, objects = read_descr(descr)
        if size != record.itemsize:
            refuse("bad_interface", obj, protocol,
                   ("descr", descr, f"a list of fields of {record.itemsize} bytes, as the typestr {typestr!r} has it"))
        if objects:
            refuse("record_type", obj, protocol, (objects,))
        if fields:
            if not want & WANT_BYTES:
                read_fields(obj, protocol, typestr, descr, record)
            return 0
    if type(name) is str:
        try:
            made = registered(dtype)
            if made is None:
                code_of(name, &code)
            else:
                code_of(made, &code)
        except (ValueError, TypeError, BufferError):
            # a name of the library's own: NumPy's void and record types are bytes, others (float8, int4) are numbers
            if not want & WANT_BYTES and not name.startswith(("void", "record")):
                refuse("unread_name", obj, protocol, (name, typestr))
            return 0
        if code_itemsize(code) == record.itemsize and (made is not None or code.kind == KIND_RECORD):
            record.dtype = code     # in the order that was registered
        elif code_itemsize(code) == record.itemsize:
            order = ORDER_BIG if typestr[0] == ">" else 0 if typestr[0] == "<" else NATIVE_ORDER
            record.dtype = make_code(code.kind, code.bits, code.param, (code.order_unit & UNIT_MASK) | order)
    return 0


cdef int read_fields(object obj, Protocol protocol, str typestr, object descr, Record* record) except -1:
    """The record that a descr describes."""
    cdef object wrong = None
    try:
        code_of(DType.from_typestr(typestr, descr), &record.dtype)
    except (ValueError, TypeError, BufferError) as error:
        wrong = error
    if wrong is not None:
        from lend.protocols import interface_refusals
        raise interface_refusals.record_type(obj, protocol, False) from wrong
    return 0


cdef bint is_ndarray(object obj) except -1:
    """True for an ndarray, whose dtype is one of NumPy's."""
    for base in type(obj).__mro__:
        if base.__name__ == "ndarray" and base.__module__ == "numpy":
            return True
    return False


cdef bint counts_objects(object obj, Protocol protocol) except -1:
    """True where the references behind pointers to objects are known to be counted: in an ndarray on the host."""
    return protocol is ARRAY_INTERFACE and is_ndarray(obj)


cdef int read_layout(object obj, Protocol protocol, object shape, object strides, Record* record) except -1:
    """Copy shape and strides into the record and check them (AI-I5)."""
    cdef Py_ssize_t* extents
    cdef bint empty = False
    cdef int i
    if type(shape) is list:
        shape = tuple(shape)
    if type(strides) is list:
        strides = tuple(strides)
    if not isinstance(shape, tuple) or len(<tuple> shape) > MAX_DIMS:
        refuse("bad_interface", obj, protocol, ("shape", shape, f"a tuple of at most {MAX_DIMS} extents"))
    if not set_ndim(record, <int> len(<tuple> shape)):
        raise MemoryError
    extents = shape_of(record)
    read_sizes(obj, protocol, "shape", <tuple> shape, extents)
    for i in range(record.ndim):
        if extents[i] == 0:
            empty = True
    if strides is not None:
        if not isinstance(strides, tuple) or len(<tuple> strides) != record.ndim:
            refuse("bad_interface", obj, protocol, ("strides", strides, f"a tuple of {record.ndim} steps"))
        read_sizes(obj, protocol, "strides", <tuple> strides, strides_of(record))
    if strides is None or empty:
        row_major(record)
    layout = check_layout(record)
    if layout != LAYOUT_OK:
        refuse_layout(obj, protocol, record, layout)
    return 0


cdef int read_sizes(object obj, Protocol protocol, str field, tuple items, Py_ssize_t* out) except -1:
    cdef Py_ssize_t i
    for i in range(len(items)):
        if not PyLong_CheckExact(items[i]) or not int_as_size(items[i], &out[i]):
            read_number(obj, protocol, field, items[i], &out[i])
    return 0


cdef int read_number(object obj, Protocol protocol, str field, object item, Py_ssize_t* out) except -1:
    cdef bint fits = False
    try:
        fits = read_size(item, out)
    except Exception as error:  # noqa: BLE001 - `__index__` may be anybody's
        refuse_producer(obj, protocol, error)
    if not fits:
        refuse("bad_interface", obj, protocol, (field, item, "an integer of 64 bits"))
    return 0


cdef object take_address(object obj, tuple place, object offset, Record* record, int want):
    """Memory given as (address, readonly): the object is the owner."""
    cdef Py_ssize_t start = 0
    if offset is not None:
        read_number(obj, ARRAY_INTERFACE, "offset", offset, &start)
        if start:
            refuse("bad_interface", obj, ARRAY_INTERFACE, ("offset", start, "0, as it must be beside an address"))
    read_place(obj, ARRAY_INTERFACE, place, 0, record, want)
    return own_object(obj, record)


cdef int read_place(object obj, Protocol protocol, tuple place, Py_ssize_t start, Record* record, int want) except -1:
    """Read (address, readonly); element 0 lies `start` bytes behind the address."""
    cdef uintptr_t address = 0
    cdef bint known = False, readonly = True
    if len(place) != 2:
        refuse("bad_interface", obj, protocol, ("data", place, PLACE))
    if PyLong_CheckExact(place[0]) and PyBool_Check(place[1]):
        known = int_as_address(place[0], &address)
        readonly = place[1] is True
    else:
        try:
            known = read_address(place[0], &address)
            readonly = place[1]
        except Exception as error:  # noqa: BLE001 - `__index__` and `__bool__` may be anybody's
            refuse_producer(obj, protocol, error)
    if not known:
        refuse("bad_interface", obj, protocol, ("data", place, PLACE))
    set_access(obj, protocol, record, readonly, want)
    if start and address:
        if (address < <uintptr_t> -start) if start < 0 else (address + <uintptr_t> start < address):
            refuse("bad_interface", obj, protocol, ("offset", start, f"bytes within reach of {address} (bounds)"))
        address += <uintptr_t> start
    return set_address(obj, protocol, "data", record, address)


cdef object facts_of(object obj, Protocol protocol):
    """The dict that obj answers by; all that is of interest is read of it at once."""
    cdef object facts = None
    cdef bint absent = False
    try:
        facts = getattr(obj, protocol.dunder)
        if isinstance(facts, dict):
            return facts
    except AttributeError:
        absent = True
    except Exception as error:  # noqa: BLE001 - what a producer raises becomes ours, with it as the cause
        refuse_producer(obj, protocol, error)
    if absent:
        refuse("no_door", obj, protocol)
    refuse("bad_answer", obj, protocol, (protocol.dunder, "a dict", facts))


cdef object take_bytes(object obj, object place, object offset, Record* record, int want):
    """Memory given as a buffer, or as the object's own: the Py_buffer is held, and its length is a bound (AI-I2)."""
    cdef object source = obj if place is None else place
    cdef BufferOwner owner
    cdef Py_ssize_t low, high, room, start = 0
    if not PyObject_CheckBuffer(source):
        refuse("bad_interface", obj, ARRAY_INTERFACE, (
            "data", place, f"{PLACE} or a buffer" if place is not None
            else "a pair (address, readonly) or a buffer, and the object itself has no buffer"))
    if offset is not None:
        read_number(obj, ARRAY_INTERFACE, "offset", offset, &start)
    owner = new_buffer_owner()
    try:
        if get_buffer(source, &owner.lease, PyBUF_ANY_CONTIGUOUS) < 0:
            raise_pending()
    except Exception as error:  # noqa: BLE001
        refuse_producer(obj, ARRAY_INTERFACE, error)
    if buffer_obj(&owner.lease) is NULL:
        refuse("bad_interface", obj, ARRAY_INTERFACE, ("data", source, "a buffer that says whose it is (obj)"))
    # from here on the owner gives it back, whatever happens
    owner.exporter = exporter_of(&owner.lease)
    room = owner.lease.len
    if (room < 0 or (room and owner.lease.buf is NULL) or not 0 <= owner.lease.ndim <= MAX_DIMS
            or (owner.lease.ndim and owner.lease.strides is not NULL and owner.lease.shape is NULL)
            or not PyBuffer_IsContiguous(&owner.lease, c"A")):
        refuse("bad_interface", obj, ARRAY_INTERFACE, ("data", source, "a contiguous buffer"))
    if <uintptr_t> owner.lease.buf + <uintptr_t> room < <uintptr_t> owner.lease.buf:
        refuse("bad_interface", obj, ARRAY_INTERFACE, ("data", source, "a buffer within the address space (bounds)"))
    span_of(record, &low, &high)
    if start < 0 or start > room or start < -low or high > room - start:
        refuse("out_of_buffer", obj, ARRAY_INTERFACE, (start, low, high, room))
    record.data = <char*> owner.lease.buf + start if high > low else NULL
    set_access(obj, ARRAY_INTERFACE, record, owner.lease.readonly, want)
    settle_lease(owner, obj, owner.exporter, record)
    return owner


cdef int set_access(object obj, Protocol protocol, Record* record, bint readonly, int want) except -1:
    """Note what the producer says about writing; the record has READONLY already if elements overlap."""
    if readonly:
        record.flags |= READONLY
    if want & WANT_WRITABLE and record.flags & READONLY:
        return refuse("read_only" if readonly else "overlapping", obj, protocol)
    return 0


cdef int set_address(object obj, Protocol protocol, str field, Record* record, uintptr_t address) except -1:
    """Note a bare address: nothing tells how far it may be read, but it must be one (AI-I6)."""
    cdef Py_ssize_t low, high
    record.flags |= UNBOUNDED
    span_of(record, &low, &high)
    if high == low:
        # the pointer of nothing means nothing
        record.data = NULL
        return 0
    if address == 0:
        return refuse("bad_interface", obj, protocol, (field, 0, "an address, as the shape is not empty"))
    if (low < 0 and address <= <uintptr_t> -low) or address + <uintptr_t> high < address:
        return refuse("bad_interface", obj, protocol,
                      (field, address, f"an address with room for bytes {low} to {high} around it (bounds)"))
    record.data = <char*> address
    return 0


# -- export ----------------------------------------------------------------------------------------------------------

cdef dict give_interface(Record* record, object shown):
    """A fresh dict over the record (AI-E1 to AI-E5); AttributeError where the interface cannot say it."""
    cdef char text[40]
    cdef Py_ssize_t steps[64]  # MAX_DIMS
    if not on_host(record) or write_typestr(record.dtype, text) < 0 or is_wide_integer(record.dtype):
        refuse("hidden", shown, ARRAY_INTERFACE, (on_host(record),))
    write_strides(record, steps)
    cdef dict said = {
        "data": (<size_t> record.data, True if record.flags & READONLY else False),
        "shape": tuple_of(shape_of(record), record.ndim),
        "strides": tuple_of(steps, record.ndim),
        "typestr": (<const char*> text).decode("ascii"),
        "version": 3,
    }
    if not say_fields(record.dtype, said):
        refuse("hidden", shown, ARRAY_INTERFACE, (True,))
    return said


cdef bint say_fields(Code code, dict said) except -1:
    """Put the fields of a record beside its typestr; False where there is no word for them."""
    if code.kind != KIND_RECORD:
        return True
    try:
        said["descr"] = dtype_from_code(code).descr
    except BufferError:
        return False
    return True


cdef bint is_wide_integer(Code code) noexcept nogil:
    """An integer of 128 bits has a typestr that no consumer reads."""
    return code.kind in (KIND_INT, KIND_UINT) and code.bits > 64


cdef void write_strides(const Record* record, Py_ssize_t* out) noexcept:
    """The strides; that of a size-1 dimension, which decides nothing, as consumers expect it."""
    cdef Py_ssize_t* shape = shape_of(record)
    cdef Py_ssize_t* strides = strides_of(record)
    cdef Py_ssize_t natural = record.itemsize
    cdef int i
    for i in range(record.ndim - 1, -1, -1):
        if shape[i] > 1:
            out[i] = strides[i]
            natural = strides[i] * shape[i]
        else:
            out[i] = natural


cdef str said_typestr(Code code):
    """The typestr of what a device computes with, in its own byte order; None where there is none."""
    cdef char text[40]
    if write_typestr(code, text) < 0 or is_wide_integer(code) or code.order_unit & ORDER_BIG:
        return None
    return (<const char*> text).decode("ascii")


cdef tuple said_strides(const Record* record):
    """The strides in bytes, as a tuple."""
    cdef Py_ssize_t steps[64]  # MAX_DIMS
    write_strides(record, steps)
    return tuple_of(steps, record.ndim)


# -- refusals, off the fast path: the wording lives in interface_refusals.py -----------------------------------------

cdef int refuse(str how, object obj, Protocol protocol, tuple facts=()) except -1:
    from lend.protocols import interface_refusals as refusals
    raise getattr(refusals, how)(obj, protocol, *facts)


cdef int refuse_producer(object obj, Protocol protocol, object error) except -1:
    from lend.protocols import interface_refusals as refusals
    if isinstance(error, (MemoryError, RecursionError)):
        raise error
    raise refusals.producer_failed(obj, protocol, error) from error


cdef int refuse_layout(object obj, Protocol protocol, const Record* record, int layout) except -1:
    shape = tuple_of(shape_of(record), record.ndim)
    if layout == LAYOUT_NEGATIVE:
        return refuse("bad_interface", obj, protocol, ("shape", shape, "extents of 0 or more"))
    if layout == LAYOUT_TOO_LARGE:
        return refuse("bad_interface", obj, protocol, (
            "shape", shape, f"one whose size (of {record.itemsize}-byte items) fits the address space"))
    return refuse("bad_interface", obj, protocol, (
        "strides", tuple_of(strides_of(record), record.ndim), f"steps within reach, with shape {shape} (bounds)"))
