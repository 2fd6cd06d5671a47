"""Values of a View: read singly, in lists or in bytes, and copied into memory of lend's own. Loaded when asked for."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

from lend._core.gather cimport gather, swap_bytes
from lend._core.owners cimport MemoryOwner, Owner, allocate
from lend._core.record cimport (
    DEVICE_CPU, EXCLUSIVE, Record, byte_count, check_layout, copy_record, element_count, is_packed, row_major, shape_of,
    strides_of,
)
from lend.dtypes.code cimport (
    KIND_MINI, KIND_RECORD, KIND_UINT, Code, code_has_objects, code_is_swapped, code_itemsize, code_shared_bits,
    code_swap_size, code_word, make_code,
)
from lend.dtypes.dtype cimport DType, code_of, dtype_from_code, native_code, record_plan
from lend.views.checks cimport alive, sizes
from lend.views.elements cimport read_element
from lend.views.lent cimport call_hook
from lend.views.view cimport View, blank, hold, track

from lend._core import copies
from lend.views import describe, packed, reshaping

LARGEST_PAGE = 1 << 30


cdef int no_objects(View view, str verb) except -1:
    """Refuse memory of pointers to Python objects, whose references nobody would count."""
    if code_has_objects(view.record.dtype):
        raise_objects(view, verb)
    return 0


cdef int raise_objects(View view, str verb) except -1:
    from lend.protocols import refusals
    raise refusals.holds_objects(view, verb)


cdef View for_host(View view):
    """The View itself, or of the memory of a device one that the host may read now; else refused."""
    alive(&view.record, view)
    return view if view.record.device_type == DEVICE_CPU else <View> call_hook("host")(view)


cdef Owner hold_to_read(View view, Record* record):
    """Hold memory of the host, and ask a producer that may have moved it: what is no longer there is not read."""
    alive(&view.record, view)
    call_hook("verify")(view)
    return hold(view, record)


def item(View view, tuple index):
    """The value of the only element, or of the one at an index."""
    cdef Record record
    cdef Py_ssize_t number, i
    cdef const char* at
    view = for_host(view)
    index, number = reshaping.place(view, index) if index else ((), 0)
    _held = hold_to_read(view, &record)
    if not index and element_count(&record) != 1:
        raise ValueError(f"item() of a View with {element_count(&record)} elements, not 1")
    if is_packed(&record):
        return packed_values(&record, number, 1, ())
    at = record.data
    for i in range(len(index)):
        at += <Py_ssize_t> index[i] * strides_of(&record)[i]
    return read_element(at, record.dtype)


cdef object packed_values(const Record* record, Py_ssize_t first, Py_ssize_t count, tuple shape):
    """The values of so many elements that share bytes, nested by dimension."""
    from lend.dtypes.small import read_packed
    cdef Py_ssize_t bits = code_shared_bits(record.dtype)
    cdef Py_ssize_t start = first * bits >> 3
    cdef Py_ssize_t stop = ((first + count) * bits + 7) >> 3
    return read_packed(PyBytes_FromStringAndSize(record.data + start, stop - start), first * bits & 7,
                       record.dtype.kind - KIND_MINI, record.dtype.order_unit, record.dtype.bits, record.dtype.param,
                       shape)


def tolist(View view):
    """The values, nested by dimension."""
    cdef Record record
    view = for_host(view)
    _held = hold_to_read(view, &record)
    if is_packed(&record):
        return packed_values(&record, 0, element_count(&record), sizes(shape_of(&record), record.ndim))
    return nested(&record, record.data, 0)


def tobytes(View view, order):
    """The bytes of the elements in one run."""
    cdef Record record
    cdef bytes made
    cdef char* to
    cdef bint fortran = checked_order(order)
    view = for_host(view)
    _held = hold_to_read(view, &record)
    no_objects(view, "shown as bytes")
    if fortran and is_packed(&record):
        packed.same_order(view, 'given in order "F"')
    made = PyBytes_FromStringAndSize(NULL, byte_count(&record))
    to = PyBytes_AS_STRING(made)
    with nogil:
        gather(to, &record, fortran, False)
    return made


def copied(View view, order, bint swap, str why, alignment=64, dtype=None):
    """A contiguous copy in memory of lend's own, counted; `swap` brings it to native byte order or that of dtype."""
    cdef Code code = view.record.dtype
    if alignment > LARGEST_PAGE:
        raise ValueError(f"memory is made at multiples of {LARGEST_PAGE} bytes at most, and align is {alignment}")
    if swap and dtype is not None:
        code_of(dtype, &code)
    elif swap:
        code = native_code(code)
    return fresh_copy(view, checked_order(order), code, why, alignment)


cdef View fresh_copy(View view, bint fortran, Code code, str why, Py_ssize_t alignment=64):
    """A copy whose values are in the byte order of `code`, which else is the dtype of the View."""
    view = for_host(view)
    cdef View made = blank()
    cdef Record source
    cdef Owner _held = hold_to_read(view, &source)
    cdef MemoryOwner memory
    cdef Py_ssize_t step
    cdef bint swap = code.kind != KIND_RECORD and code_is_swapped(code) != code_is_swapped(view.record.dtype)
    cdef int i
    no_objects(view, "copied")
    if code.kind == KIND_RECORD and code_word(code) != code_word(source.dtype):
        from lend.dtypes.records import check_apart
        check_apart(dtype_from_code(code))
    if fortran and is_packed(&source):
        packed.same_order(view, 'copied in order "F"')
    if not copy_record(&made.record, &source):
        raise MemoryError
    memory = allocate(byte_count(&source), alignment)
    made.record.data = memory.address
    made.record.device_type = DEVICE_CPU
    made.record.device_id = 0
    made.record.flags = EXCLUSIVE
    if fortran:
        step = made.record.itemsize
        for i in range(made.record.ndim):
            strides_of(&made.record)[i] = step
            step *= max(shape_of(&made.record)[i], 1)
    else:
        row_major(&made.record)
    check_layout(&made.record)
    made.record.dtype = code
    with nogil:
        gather(memory.address, &source, fortran, swap)
    if code.kind == KIND_RECORD and code_word(code) != code_word(source.dtype):
        swap_fields(memory.address, source.dtype, code, element_count(&source))
    made.holder = memory
    track(made)
    copies.note(describe.facts(view), why, byte_count(&source))
    return made


def fresh(Py_ssize_t nbytes):
    """Memory of lend's own, as bytes of no certain value; who writes into it counts the copy."""
    cdef View made = blank()
    cdef MemoryOwner memory = allocate(nbytes)
    made.record.data = memory.address
    made.record.itemsize = 1
    made.record.ndim = 1
    made.record.device_type = DEVICE_CPU
    made.record.device_id = 0
    made.record.flags = EXCLUSIVE
    made.record.dtype = make_code(KIND_UINT, 8)
    made.record.dims[0] = nbytes
    made.record.dims[8] = 1
    check_layout(&made.record)
    made.holder = memory
    track(made)
    return made


cdef int swap_fields(char* at, Code come, Code wanted, Py_ssize_t count) except -1:
    """Swap the bytes of every field that stands in another order than is wanted, of so many records in place."""
    cdef Py_ssize_t size = code_itemsize(come)
    cdef Py_ssize_t many, i
    cdef Code inner, goal
    if come.kind != KIND_RECORD:
        if code_is_swapped(come) != code_is_swapped(wanted):
            swap_bytes(at, count * size, code_swap_size(come))
        return 0
    for (dtype, offset, shape), (other, _, _) in zip(record_plan(come), record_plan(wanted)):
        inner = (<DType> dtype).code
        goal = (<DType> other).code
        if code_word(inner) == code_word(goal):
            continue
        many = 1
        for extent in shape:
            many *= <Py_ssize_t> extent
        for i in range(count):
            swap_fields(at + i * size + <Py_ssize_t> offset, inner, goal, many)
    return 0


cdef bint checked_order(order) except -1:
    if order not in ("C", "F"):
        raise ValueError(f"order is 'C' or 'F', not {order!r}")
    return order == "F"


cdef object nested(const Record* record, const char* at, int dim):
    cdef Py_ssize_t i
    cdef Py_ssize_t step
    cdef list values = []
    if dim == record.ndim:
        return read_element(at, record.dtype)
    step = strides_of(record)[dim]
    for i in range(shape_of(record)[dim]):
        values.append(nested(record, at + i * step, dim + 1))
    return values
