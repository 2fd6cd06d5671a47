"""The Python buffer protocol (PEP 3118, PEP 688), both ways.

Taken, the open `Py_buffer` is the lease: it is held for as long as the memory is lent, so that bytearray, mmap and
array.array refuse to move or close. Given, every PyBUF flag is honoured exactly, shape and strides point into the
record of the exporting object (which is immutable while an export is open), and memory that the host may not read is
refused. The export slots themselves live with the types, in views/.
"""
from cpython.buffer cimport (
    PyBUF_ANY_CONTIGUOUS, PyBUF_C_CONTIGUOUS, PyBUF_F_CONTIGUOUS, PyBUF_FORMAT, PyBUF_FULL, PyBUF_FULL_RO, PyBUF_ND,
    PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyBuffer_ToContiguous, PyObject_CheckBuffer,
)
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.ref cimport PyObject
from libc.stdint cimport UINT32_MAX
from libc.string cimport memcpy

from lend._core.c_view cimport lend_view
from lend._core.checked cimport atomic_add, buffer_obj, raise_pending
from lend._core.owners cimport (
    PEEKED_NOTHING, PEEKED_RECORD, PEEKED_VIEW, BufferOwner, MemoryOwner, Protocol, allocate, exporter_of,
    hold_beside, move_lease, new_buffer_owner, release_lease, remember_span, settle_lease, taken_by,
)
from lend._core.record cimport (
    C_CONTIGUOUS, DEVICE_CPU, EXCLUSIVE, F_CONTIGUOUS, INLINE_LEASE, LAYOUT_OK, MAX_DIMS, READONLY, WANT_ANY,
    WANT_BYTES, WANT_WRITABLE, Record, byte_count, check_layout, clear_dims, is_packed, on_host, row_major,
    set_ndim, shape_of, strides_of,
)
from lend._core.seldom cimport seldom
from lend.dtypes.c_dtype cimport lend_dtype
from lend.dtypes.code cimport (
    KIND_DATETIME, KIND_OPAQUE, KIND_RECORD, KIND_TIMEDELTA, Code, code_from_word, code_hides_objects,
    code_itemsize, code_word, make_code,
)
from lend.dtypes.struct_format cimport code_from_format, format_from_code, format_holds_objects, write_format
from lend.dtypes.typestr cimport code_from_typestr
from lend.protocols.py_buffer cimport LETTERS, WRONG_FORMAT, examine, fill_plain_letters, put_letter, read_letter

cdef extern from *:
    """
    /* The getter of a buffer that has nothing to release, or whose release only counts: memory stays without it. */
    static inline getbufferproc lend_lasting_buffer(PyObject *exporter) {
        const PyBufferProcs *slots = Py_TYPE(exporter)->tp_as_buffer;
        if (slots == NULL || (slots->bf_releasebuffer != NULL && !PyByteArray_CheckExact(exporter))) return NULL;
        return slots->bf_getbuffer;
    }
    /* PyBuffer_Release, which for most of them is but this */
    static inline void lend_end_lasting_buffer(Py_buffer *lease, PyObject *exporter) {
        if (lease->obj == exporter && Py_TYPE(exporter)->tp_as_buffer->bf_releasebuffer == NULL) Py_DECREF(exporter);
        else PyBuffer_Release(lease);
    }
    /* whose buffer it is: of another object's nothing is known, and what is not said by NULL is not to be lent */
    static inline int lend_is_exporter(const Py_buffer *lease, const PyObject *exporter) {
        return lease->obj == exporter;
    }
    """
    ctypedef int (*GetBuffer "getbufferproc")(PyObject* exporter, Py_buffer* lease, int flags) noexcept
    GetBuffer lasting_buffer "lend_lasting_buffer"(PyObject* exporter)
    void end_lasting_buffer "lend_end_lasting_buffer"(Py_buffer* lease, PyObject* exporter)
    bint is_exporter "lend_is_exporter"(const Py_buffer* lease, PyObject* exporter)

cdef extern from "Python.h":
    # without Cython's exception check: a refusal is put into words by one function, off the fast path
    int get_buffer "PyObject_GetBuffer"(object, Py_buffer*, int)
    void PyErr_SetObject(object kind, object value)
    object PyMemoryView_FromObject(object)
    Py_buffer* PyMemoryView_GET_BUFFER(object)


def buffer_offered(obj):
    """The record when obj has the buffer slot."""
    seldom()
    return BUFFER if PyObject_CheckBuffer(obj) else None


cdef const char* INTERRUPTED = "interrupted"     # an exception is set that is nobody's refusal

# the letters that say a plain number
cdef lend_dtype[LETTERS] plain_letters
fill_plain_letters(plain_letters)

# where the bytes of an empty record are said to lie
cdef long double[4] NOWHERE

BUFFER = taken_by(Protocol(
    name="buffer protocol", dunder="__buffer__", devices=(1, 3, 11, 13), readonly=True,
    spec="https://docs.python.org/3/c-api/buffer.html", offered=buffer_offered,
), take, peek, take_told)

SCALAR = taken_by(Protocol(
    name="buffer protocol", dunder="__buffer__", readonly=True,
    spec="https://docs.python.org/3/c-api/buffer.html", offered=buffer_offered,
), take_scalar)


cdef object take(object obj, Record* record, Py_buffer* lease, int want, void* data):
    """Open a buffer on obj. With a lease given it is filled in place if it can be, and obj returned; else an owner."""
    return take_told(obj, record, lease, want, data, NULL)


cdef object take_told(object obj, Record* record, Py_buffer* lease, int want, void* data, lend_view* view):
    """The same for a lease of lend.h."""
    cdef BufferOwner owner
    cdef object exporter
    if type(obj) is memoryview:
        return take_beside(obj, record, want)
    if lease is not NULL:
        acquire(obj, record, lease, want, view)
        exporter = exporter_of(lease)
        if exporter is obj:
            record.flags |= INLINE_LEASE
            return exporter
        try:
            owner = new_buffer_owner()
        except MemoryError:
            release_lease(lease, exporter)
            raise
        move_lease(&owner.lease, lease)
    else:
        owner = new_buffer_owner()
        acquire(obj, record, &owner.lease, want, view)
        exporter = exporter_of(&owner.lease)
    settle_lease(owner, obj, exporter, record)
    return owner


cdef object take_beside(object obj, Record* record, int want):
    """Hold a memoryview beside a memoryview, as memoryview(m) does, instead of an export of it.

    CPython (3.11 to 3.13) crashes when the collector clears a memoryview that has an export open. Ours has none, and
    keeps the memory for itself: obj may be released while it is lent.
    """
    cdef object beside
    cdef BufferOwner owner = new_buffer_owner()
    try:
        beside = PyMemoryView_FromObject(obj)
    except ValueError as error:
        from lend.protocols import refusals
        raise refusals.producer_failed(obj, BUFFER, error) from error
    read(obj, record, PyMemoryView_GET_BUFFER(beside), want, False)
    hold_beside(owner, obj, beside)
    remember_span(owner, record)
    return owner


cdef object take_scalar(object obj, Record* record, Py_buffer* lease, int want, void* data):
    """A NumPy datetime64 or timedelta64 scalar: its buffer says eight plain bytes, its dtype says what they are.

    Its array interface cannot be used, it points into an array that is gone.
    """
    seldom()
    cdef bytes typestr = obj.dtype.str.encode()
    cdef BufferOwner owner = new_buffer_owner()
    cdef Code code
    acquire(obj, record, &owner.lease, want, NULL)
    exporter = exporter_of(&owner.lease)
    settle_lease(owner, obj, exporter, record)
    if (not code_from_typestr(typestr, len(typestr), &code) or code_itemsize(code) != owner.lease.len
            or (code.kind != KIND_DATETIME and code.kind != KIND_TIMEDELTA)):
        clear_dims(record)
        refuse("no_door", obj)
    record.dtype = code
    record.itemsize = <unsigned int> code_itemsize(code)
    clear_dims(record)
    record.flags |= READONLY | C_CONTIGUOUS | F_CONTIGUOUS
    return owner


cdef int acquire(object obj, Record* record, Py_buffer* lease, int want, lend_view* view) except -1:
    """Open the buffer and read it into the record; what is refused after the opening is given back at once."""
    # never weaker than FULL_RO: without ND or FORMAT producers answer with bare bytes
    if get_buffer(obj, lease, PyBUF_FULL if want & WANT_WRITABLE else PyBUF_FULL_RO) < 0:
        refuse_producer(obj, want)
    if buffer_obj(lease) is NULL:
        return release_and_refuse(obj, record, lease, True, "obj")
    if view is not NULL and read_letter(lease, record, want, view, plain_letters):
        return 0
    # success is the take: every refusal from here on releases
    return read(obj, record, lease, want, True)


cdef inline int read(object obj, Record* record, Py_buffer* lease, int want, bint opened) except -1:
    """Read a Py_buffer into the record; what is refused is released, if it was opened here."""
    cdef const char* wrong = examine(lease, record, want, NULL, NULL, 0)
    if wrong is WRONG_FORMAT:
        wrong = examine_record(obj, lease, record, want)
    if wrong is not NULL:
        return release_and_refuse(obj, record, lease, opened, wrong.decode("ascii"))
    return 0


cdef const char* examine_record(object obj, const Py_buffer* lease, Record* record, int want) noexcept:
    """Read a Py_buffer whose format is more than one letter; NULL, or the name of the field that is wrong."""
    seldom()
    cdef Py_ssize_t[MAX_DIMS] inner
    cdef Code code
    cdef int dims = 0
    try:
        from lend.dtypes.dtype import code_word_of
        from lend.dtypes.foreign import of_exporter
        made = of_exporter(obj, None if lease.format is NULL else <bytes> lease.format, lease.itemsize)
        if made is None or len(made[1]) > MAX_DIMS:
            return examine_unread(lease, record, want)
        for extent in made[1]:
            inner[dims] = extent
            dims += 1
        code = code_from_word(code_word_of(made[0]))
    except (MemoryError, RecursionError) as error:
        PyErr_SetObject(type(error), error)
        return INTERRUPTED
    except Exception:  # noqa: BLE001 - of the producer's dtype; the refusal of the format says it in words
        return examine_unread(lease, record, want)
    except BaseException as error:  # noqa: BLE001 - set again for the caller
        PyErr_SetObject(type(error), error)
        return INTERRUPTED
    clear_dims(record)
    return examine_again(lease, record, want, &code, inner, dims)


cdef const char* examine_unread(const Py_buffer* lease, Record* record, int want) noexcept:
    """The same where nobody understands the format: if bytes are all that is asked for, those, to be read."""
    cdef const char* wrong
    cdef Code code
    if not want & WANT_BYTES or format_holds_objects(lease.format):
        return WRONG_FORMAT
    if want & WANT_WRITABLE:
        return "left out"
    clear_dims(record)
    code = make_code(KIND_OPAQUE, 0, <unsigned int> lease.itemsize)
    wrong = examine_again(lease, record, want, &code, NULL, 0)
    record.flags |= READONLY
    return wrong


cdef const char* examine_again(const Py_buffer* lease, Record* record, int want, const Code* known,
                               const Py_ssize_t* inner, int inner_dims) noexcept nogil:
    """The same for all but the fast path, where alone it is worth its size inline."""
    return examine(lease, record, want, known, inner, inner_dims)


cdef int peek(PyObject* obj, lend_view* view, Record* record, void* data) noexcept:
    """The facts of a buffer that is closed again at once: for exporters whose memory does not come and go with it."""
    cdef Py_buffer lease
    cdef int found
    cdef GetBuffer get = lasting_buffer(obj)
    if get is NULL or get(obj, &lease, PyBUF_FULL_RO) < 0:
        return PEEKED_NOTHING
    if not is_exporter(&lease, obj):
        found = PEEKED_NOTHING     # what exports it goes with the lease, maybe
    elif put_letter(&lease, view, plain_letters):
        found = PEEKED_VIEW
    else:
        found = peek_closer(<object> obj, &lease, record)
    end_lasting_buffer(&lease, obj)
    return found


cdef int peek_closer(object obj, const Py_buffer* lease, Record* record) noexcept:
    """The facts of any Py_buffer, in the record."""
    cdef const char* wrong
    record.ndim = 0
    wrong = examine_again(lease, record, WANT_ANY, NULL, NULL, 0)
    if wrong is WRONG_FORMAT:
        wrong = examine_record(obj, lease, record, WANT_ANY)
    if wrong is NULL:
        return PEEKED_RECORD
    clear_dims(record)
    return PEEKED_NOTHING


cdef MemoryOwner take_gathered(object obj, Record* record):
    """Copy a buffer with suboffsets into memory of lend's own: rows behind pointers become one block."""
    seldom()
    cdef Py_buffer rows
    cdef MemoryOwner owner
    cdef int i
    if get_buffer(obj, &rows, PyBUF_FULL_RO) < 0:
        refuse_producer(obj, 0)
    try:
        if (not 0 <= rows.ndim <= MAX_DIMS or rows.shape is NULL or rows.strides is NULL or rows.itemsize < 0
                or rows.itemsize > <Py_ssize_t> UINT32_MAX
                or not code_from_format(rows.format, rows.itemsize, &record.dtype)):
            refuse("rows_not_gathered", obj)
        record.itemsize = <unsigned int> rows.itemsize
        record.device_type = DEVICE_CPU
        record.device_id = 0
        record.flags = EXCLUSIVE
        if not set_ndim(record, rows.ndim):
            raise MemoryError
        for i in range(rows.ndim):
            shape_of(record)[i] = rows.shape[i]
        row_major(record)
        if check_layout(record) != LAYOUT_OK or byte_count(record) != rows.len:
            refuse("rows_not_gathered", obj)
        owner = allocate(rows.len)
        PyBuffer_ToContiguous(owner.address, &rows, rows.len, b"C")
        record.data = owner.address
        return owner
    finally:
        PyBuffer_Release(&rows)


cdef int give(object exporter, Record* record, Py_buffer* out, int flags) except -1:
    """Fill a Py_buffer over the record of exporter, as memoryview itself would answer these flags."""
    cdef char text[32]
    cdef const char* said
    cdef char* format = NULL
    cdef bytes written
    cdef int length
    if not on_host(record):
        refuse("not_host", exporter)
    if flags & PyBUF_WRITABLE and record.flags & READONLY:
        refuse("request_refused", exporter, ("writable",))
    if flags & (PyBUF_WRITABLE | PyBUF_FORMAT) == PyBUF_WRITABLE and code_hides_objects(record.dtype):
        # readinto() writes over them, and the process ends (with NumPy 2.4's own arrays it does)
        refuse("request_refused", exporter,
               ("writable bytes without a format: there may be pointers to objects in them",))
    if flags & PyBUF_C_CONTIGUOUS == PyBUF_C_CONTIGUOUS and not record.flags & C_CONTIGUOUS:
        refuse("request_refused", exporter, ("C-contiguous",))
    if flags & PyBUF_F_CONTIGUOUS == PyBUF_F_CONTIGUOUS and not record.flags & F_CONTIGUOUS:
        refuse("request_refused", exporter, ("F-contiguous",))
    if (flags & PyBUF_ANY_CONTIGUOUS == PyBUF_ANY_CONTIGUOUS
            and not record.flags & (C_CONTIGUOUS | F_CONTIGUOUS)):
        refuse("request_refused", exporter, ("contiguous",))
    if flags & PyBUF_STRIDES != PyBUF_STRIDES and not record.flags & C_CONTIGUOUS:
        refuse("request_refused", exporter, ("C-contiguous (no strides were asked for)",))
    out.internal = NULL
    out.format = NULL
    if flags & PyBUF_FORMAT:
        if flags & PyBUF_ND == 0:
            refuse("request_refused", exporter, ("unsigned bytes (no shape was asked for) with a format",))
        format = <char*> format_from_code(record.dtype)
        if format is NULL:
            said = text
            length = write_format(record.dtype, text)
            if record.dtype.kind == KIND_RECORD:
                written = format_of_record(exporter, record)
                said = written
                length = <int> len(written)
            elif length < 0:
                refuse("dtype_not_sayable", exporter)
            format = <char*> PyMem_Malloc(length + 1)
            if format is NULL:
                raise MemoryError
            memcpy(format, said, length)
            format[length] = 0
            out.internal = format
        out.format = format
    # an empty tensor has no address, and a consumer may look at it all the same (pyarrow ends the process)
    out.buf = record.data if record.data is not NULL else <char*> &NOWHERE
    out.len = byte_count(record)
    out.itemsize = record.itemsize
    out.readonly = record.flags & READONLY
    out.suboffsets = NULL
    out.ndim = record.ndim
    out.shape = NULL
    out.strides = NULL
    if flags & PyBUF_ND == 0:
        out.ndim = 1
    elif record.ndim:
        out.shape = shape_of(record)
        if flags & PyBUF_STRIDES == PyBUF_STRIDES:
            out.strides = strides_of(record)
    if is_packed(record):
        give_packed(out, flags)
    atomic_add(&record.exports, 1)
    return 0


cdef int give_packed(Py_buffer* out, int flags) except -1:
    """Elements that share bytes, to somebody who asked for no format: the bytes, in one dimension."""
    seldom()
    cdef Py_ssize_t* dims = <Py_ssize_t*> PyMem_Malloc(2 * sizeof(Py_ssize_t))
    if dims is NULL:
        raise MemoryError
    dims[0] = out.len
    dims[1] = 1
    out.internal = dims
    out.itemsize = 1
    out.ndim = 1
    if flags & PyBUF_ND:
        out.shape = dims
        if flags & PyBUF_STRIDES == PyBUF_STRIDES:
            out.strides = dims + 1
    return 0


cdef bytes format_of_record(object exporter, Record* record):
    """The struct format of a record; refused where there is none."""
    seldom()
    from lend.dtypes.dtype import dtype_of_word
    try:
        return dtype_of_word(code_word(record.dtype)).format.encode()
    except (BufferError, UnicodeError) as error:
        from lend.protocols import refusals
        raise refusals.dtype_not_sayable(exporter, BUFFER, error) from None


cdef void given_back(Record* record, Py_buffer* out) noexcept:
    """The consumer released a buffer that give() filled."""
    PyMem_Free(out.internal)
    out.internal = NULL
    atomic_add(&record.exports, -1)


# -- refusals, off the fast path: the wording lives in refused_buffers.py ---------------------------------------------

cdef int refuse(str how, object shown, tuple facts=()) except -1:
    seldom()
    from lend.protocols import refused_buffers
    raise getattr(refused_buffers, how)(shown, BUFFER, *facts)


cdef int refuse_producer(object obj, int want) except -1:
    seldom()
    try:
        raise_pending()
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # noqa: BLE001 - a producer may raise anything; it becomes ours with it as the cause
        from lend.protocols import refusals
        if want & WANT_WRITABLE and may_be_read(obj):
            raise refusals.read_only(obj, BUFFER) from error
        if not PyObject_CheckBuffer(obj):
            raise refusals.no_door(obj, BUFFER) from None
        raise refusals.producer_failed(obj, BUFFER, error) from error
    return -1


cdef bint may_be_read(object obj):
    """True when the exporter refused only to be written to."""
    seldom()
    cdef Py_buffer probe
    if get_buffer(obj, &probe, PyBUF_FULL_RO) < 0:
        try:
            raise_pending()
        except (MemoryError, RecursionError):
            raise
        except Exception:  # noqa: BLE001 - a producer may raise anything; what it raised first is told
            return False
    PyBuffer_Release(&probe)
    return True


cdef int release_and_refuse(object obj, Record* record, Py_buffer* lease, bint opened, str field) except -1:
    """Say what was wrong with a buffer that was given; it is released first, and the record left empty."""
    seldom()
    if field == "interrupted":
        clear_dims(record)
        try:
            raise_pending()
        finally:
            if opened:
                PyBuffer_Release(lease)
    cdef Py_ssize_t length = lease.len
    cdef Py_ssize_t itemsize = lease.itemsize
    cdef int ndim = lease.ndim
    cdef int i
    cdef object format = None
    cdef object shape = ()
    cdef bint said_readonly = lease.readonly
    if lease.format is not NULL:
        format = lease.format.decode("utf-8", "replace")
    if 0 <= ndim <= MAX_DIMS and lease.shape is not NULL:
        shape = tuple([lease.shape[i] for i in range(ndim)])
    clear_dims(record)
    if opened:
        PyBuffer_Release(lease)
    if field == "memory":
        raise MemoryError
    if field == "left out":
        return refuse("left_out", obj)
    if field == "readonly":
        return refuse("read_only" if said_readonly else "overlapping", obj)
    return refuse("bad_buffer", obj, (field, format, itemsize, ndim, shape, length))
