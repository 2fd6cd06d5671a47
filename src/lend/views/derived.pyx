"""What a View does beyond holding memory: index, transpose, reshape, lend on. Loaded when first asked for."""
from cpython.number cimport PyNumber_Index
from libc.stdint cimport uint8_t

from lend._core.owners cimport ObjectOwner, Owner, own_object
from lend._core.record cimport (
    ADDRESS_TOLD, DERIVED, DEVICE_CPU, EXCLUSIVE, GATHERED, HANDLE, INLINE, LAYOUT_OK, MAX_DIMS, READONLY, RELEASED,
    UNBOUNDED, UNTOLD, Record, byte_count, check_layout, clear_dims, copy_record, element_count, is_packed, on_host,
    row_major, set_ndim, shape_of, span_of, strides_of,
)
from lend.dtypes.code cimport (
    Code, code_has_objects, code_hides_objects, code_itemsize, code_shared_bits, code_word,
)
from lend.dtypes.dtype cimport DType, code_of, dtype_from_code, native_code
from lend.protocols cimport array_interface, array_struct, cuda_array_interface, dlpack, sycl_usm
from lend.views.buffers cimport Buffer, hold_bytes
from lend.views.checks cimport alive
from lend.views.indexing cimport plan_index
from lend.views.lent cimport Lent, call_hook
from lend.views.pointers cimport fill_from_pointer
from lend.views.values cimport for_host, fresh_copy, hold_to_read, no_objects, raise_objects
from lend.views.view cimport View, blank, hold, track, view_of

from lend.device import Device
from lend.errors import NotHostAccessible
from lend.protocols.classes import representation_of
from lend.views import packed, reshaping

CPU = Device("cpu")


def from_pointer(ptr, shape, dtype, owner, strides, device, bint readonly):
    """Memory that a caller describes in words; see `View.from_pointer`."""
    cdef View view = blank()
    fill_from_pointer(&view.record, ptr, (shape,) if hasattr(shape, "__index__") else tuple(shape), dtype, owner,
                      strides, device, readonly)
    view.record.flags |= DERIVED
    view.holder = told_by_address(owner, &view.record)
    track(view)
    return view


cdef Owner told_by_address(object keeper, const Record* record):
    """An owner that keeps what keeps the memory alive: the memory may be its own or not."""
    cdef ObjectOwner owner = own_object(keeper, record)
    owner.beside = call_hook("pinned")(owner, on_host(record))
    owner.apart = owner.beside is True
    return owner


def bytes_from_pointer(ptr, nbytes, owner, device, bint readonly):
    """Bytes that a caller describes in words; see `Buffer.from_pointer`."""
    cdef Buffer made = Buffer.__new__(Buffer)
    if not hasattr(nbytes, "__index__"):
        raise TypeError(f"nbytes is a number of bytes (int), not {type(nbytes).__name__}")
    nbytes = PyNumber_Index(nbytes)
    if nbytes < 0:
        from lend.protocols import refusals
        raise refusals.bad_pointer(owner, "nbytes", nbytes, "a number of bytes")
    fill_from_pointer(&made.record, ptr, (nbytes,), "uint8", owner, None, device, readonly)
    made.holder = told_by_address(owner, &made.record)
    return made


def typed(Buffer lent, dtype, shape, strides, offset):
    """Bytes as a typed View; see `Buffer.view`."""
    from lend.protocols import refusals
    if not hasattr(offset, "__index__"):
        raise TypeError(f"offset is a number of bytes (int), not {type(offset).__name__}")
    offset = PyNumber_Index(offset)
    cdef View made = blank()
    cdef Code code
    cdef Py_ssize_t low, high, here
    cdef Py_ssize_t room, start
    cdef Record record
    cdef Owner owner
    # a copy of the facts and a hold of our own: reading dtype and shape may run anything, a release too
    owner = hold_bytes(lent, &record)
    room = byte_count(&record)
    code_of(dtype, &code)
    here = code_itemsize(code)
    if not 0 <= offset <= room:
        raise refusals.out_of_bounds(lent, offset, offset, room)
    start = offset
    if shape is None and code_shared_bits(code):
        shape = packed.filling(lent, room - start, dtype_from_code(code))
    elif shape is None:
        if here == 0 or (room - start) % here:
            raise refusals.not_divisible(lent, room - start, dtype_from_code(code))
        shape = ((room - start) // here,)
    fill_from_pointer(&made.record, <size_t> record.data + start if room and not record.flags & HANDLE else 64,
                      (shape,) if hasattr(shape, "__index__") else tuple(shape), dtype_from_code(code), owner,
                      strides, "cpu", True)
    span_of(&made.record, &low, &high)
    if high > low and (start + low < 0 or start + high > room):
        raise refusals.out_of_bounds(lent, start + low, start + high, room)
    made.record.device_type = record.device_type
    made.record.device_id = record.device_id
    made.record.data = record.data + start
    made.record.flags = DERIVED | record.flags & (READONLY | HANDLE | UNBOUNDED | UNTOLD | EXCLUSIVE)
    check_layout(&made.record)
    made.holder = owner
    track(made)
    return made


def native_object(View view):
    """What a View was taken from and still shows as that does; None of what was derived, copied, or told in words."""
    cdef Record record
    cdef Owner owner = hold(view, &record)
    if record.flags & (DERIVED | EXCLUSIVE | GATHERED) or owner.kind not in ("buffer", "dlpack", "object", "device"):
        return None
    return owner.producer


def native(View view):
    """Whose array that is."""
    found = native_object(view)
    return None if found is None else representation_of(type(found))


def dtype_of(View view):
    """What one element is."""
    alive(&view.record, view)
    return dtype_from_code(view.record.dtype)


def device_of(Lent lent):
    """Where the memory is; host memory has one Device for all."""
    if lent.record.device_type == DEVICE_CPU:
        return CPU
    return Device(lent.record.device_type, lent.record.device_id)


cdef View shown_to_host(View view):
    """The View, or one that the host may read now; where it may not, itself: the protocol refuses in its own way."""
    alive(&view.record, view)
    if view.record.device_type == DEVICE_CPU:
        return view
    try:
        return <View> call_hook("host")(view)
    except NotHostAccessible:
        return view


def array_interface_of(View view, shown):
    """`__array_interface__` of a View or Buffer, which is shown in refusals."""
    cdef Record record
    cdef View host = shown_to_host(view)
    _held = hold(host, &record)
    facts = array_interface.give_interface(&record, shown)
    (<Lent> shown).record.flags |= ADDRESS_TOLD
    return facts


def array_struct_of(View view, shown):
    """`__array_struct__` of a View or Buffer, which is shown in refusals."""
    cdef Record record
    cdef View host = shown_to_host(view)
    cdef Owner owner = hold(host, &record)
    capsule = array_struct.give(owner, &record, shown)
    (<Lent> shown).record.flags |= ADDRESS_TOLD
    return capsule


def cuda_array_interface_of(View view, shown):
    """`__cuda_array_interface__` of a View or Buffer, which is shown in refusals."""
    cdef Record record
    cdef Owner _held = hold(view, &record)
    cdef dict said = cuda_array_interface.give(&record, shown)
    cuda_array_interface.tell_stream(said, call_hook("interface_stream")(view))
    (<Lent> shown).record.flags |= ADDRESS_TOLD
    return said


def sycl_usm_of(View view, shown):
    """`__sycl_usm_array_interface__` of a View or Buffer, which is shown in refusals."""
    cdef Record record
    cdef Owner owner = hold(view, &record)
    cdef dict said = sycl_usm.give(owner, &record, shown)
    (<Lent> shown).record.flags |= ADDRESS_TOLD
    return said


def indexed(View view, index):
    """Basic indexing: integers, slices, Ellipsis, None and tuples of them; or the field of a record by its name."""
    cdef list extents = []
    cdef list steps = []
    cdef Py_ssize_t offset
    alive(&view.record, view)
    if isinstance(index, str):
        return field_of(view, index)
    if is_packed(&view.record):
        return packed_part(view, tuple(index) if isinstance(index, tuple) else (index,))
    offset = plan_index(&view.record, tuple(index) if isinstance(index, tuple) else (index,), extents, steps)
    return with_layout(view, offset, extents, steps, view.record.dtype)


cdef View packed_part(View view, tuple index):
    """Basic indexing where elements share bytes: what begins a byte and leaves nothing out."""
    cdef list extents = []
    cdef list steps = []
    cdef Record elements
    cdef View part
    # as if each were a byte: then strides and offsets count elements
    if not copy_record(&elements, &view.record):
        raise MemoryError
    try:
        elements.itemsize = 1
        row_major(&elements)
        first = plan_index(&elements, index, extents, steps)
    finally:
        clear_dims(&elements)
    offset, shared = packed.part(view, first, extents, steps)
    part = with_layout(view, offset, extents, None, view.record.dtype)
    if shared:
        part.record.flags |= READONLY
    return part


cdef View field_of(View view, str name):
    """One field of every record, with its subarray as last dimensions: zero-copy, with the strides of the records."""
    from lend.protocols import refusals
    cdef Py_ssize_t step
    fields = dtype_from_code(view.record.dtype).fields
    found = None if fields is None else fields.get(name)
    if found is None:
        # NumPy takes a title for a name, too
        for field in () if fields is None else fields.values():
            if field.title == name:
                found = field
    if found is None:
        raise refusals.no_field(view, name)
    steps = []
    step = found.dtype.itemsize
    for extent in reversed(found.shape):
        steps.append(step)
        step *= <Py_ssize_t> extent
    return with_layout(view, found.offset, (*view.shape, *found.shape), (*view.strides, *reversed(steps)),
                       (<DType> found.dtype).code)


def transposed(View view):
    """The dimensions in reverse order."""
    cdef Record record
    cdef View other
    cdef Py_ssize_t* shape
    cdef Py_ssize_t* strides
    cdef int i = 0
    cdef int j
    cdef Owner owner = hold(view, &record)
    if is_packed(&record):
        packed.same_order(view, "transposed")
    other = view_of(owner, &record)
    shape = shape_of(&other.record)
    strides = strides_of(&other.record)
    j = other.record.ndim - 1
    while i < j:
        shape[i], shape[j] = shape[j], shape[i]
        strides[i], strides[j] = strides[j], strides[i]
        i += 1
        j -= 1
    check_layout(&other.record)
    return other


def reshaped(View view, tuple shape):
    """Another shape over the same elements, without a copy."""
    alive(&view.record, view)
    if len(shape) == 1 and not hasattr(shape[0], "__index__"):
        shape = tuple(shape[0])
    extents, strides = reshaping.plan(view, shape)
    return with_layout(view, 0, extents, strides, view.record.dtype)


def reinterpreted(View view, dtype):
    """Another dtype over the same bytes."""
    cdef Code code
    cdef View made
    alive(&view.record, view)
    code_of(dtype, &code)
    no_pointers_made(view, code)
    if code_shared_bits(code) or is_packed(&view.record):
        return with_layout(view, 0, packed.reinterpreted(view, dtype_from_code(code)), None, code)
    extents, strides = reshaping.reinterpreted(view, code_itemsize(code))
    made = with_layout(view, 0, extents, strides, code)
    if code_hides_objects(view.record.dtype) and code_word(code) != code_word(view.record.dtype):
        made.record.flags |= READONLY      # bytes of no field were not lent
    return made


def low(View view, dtype, bint check):
    """The low part of every element, in place."""
    from lend.views import low as lows
    cdef Record record
    cdef Code code
    cdef View part
    alive(&view.record, view)
    code_of(dtype, &code)
    offset = lows.place(view, dtype_from_code(code))
    part = with_layout(view, offset, view.shape, view.strides, code)
    if check:
        view = for_host(view)
        _held = hold_to_read(view, &record)
        # an empty View's address is nobody's
        found = first_loss(&record, record.data, 0, offset, code_itemsize(code), lows.sign_place(view, part.dtype),
                           lows.rest_is_zero(view, part.dtype)) if element_count(&record) else -1
        if found >= 0:
            raise lows.lossy(view, part, found)
    return part


cdef Py_ssize_t first_loss(const Record* record, const char* at, int dim, Py_ssize_t low, Py_ssize_t size,
                           Py_ssize_t sign, bint zero) except -2:
    """Index of the first element, in row-major order, with more than its low part; -1: there is none.

    The rest is zero, or all ones where the byte at `sign` (of a signed low part; below 0: unsigned) has its highest bit
    set and the rest may say so.
    """
    cdef Py_ssize_t i, found
    cdef Py_ssize_t below = 1
    cdef uint8_t rest = 0
    if dim == record.ndim:
        if sign >= 0 and <uint8_t> at[sign] & 0x80:
            if zero:
                return 0
            rest = 0xFF
        for i in range(record.itemsize):
            if not low <= i < low + size and <uint8_t> at[i] != rest:
                return 0
        return -1
    for i in range(dim + 1, record.ndim):
        below *= shape_of(record)[i]
    for i in range(shape_of(record)[dim]):
        found = first_loss(record, at + i * strides_of(record)[dim], dim + 1, low, size, sign, zero)
        if found >= 0:
            return i * below + found
    return -1


cdef int no_pointers_made(View view, Code code) except -1:
    """Bytes never become pointers to objects, nor pointers bytes that somebody could write."""
    if code_word(code) != code_word(view.record.dtype):
        if code_has_objects(code):
            raise_objects(view, "reinterpreted")
        no_objects(view, "reinterpreted")
    return 0


def exported(View view, shown, stream, max_version, dl_device, copy):
    """`__dlpack__` of a View or Buffer, which is shown in refusals, with any keyword (DL-E1 to DL-E4)."""
    cdef int minor = dlpack.minor_of(max_version)
    cdef Record record
    cdef Owner owner = hold(view, &record)
    cdef View made
    if copy is not None and copy is not True and copy is not False:
        from lend.protocols import refusals
        raise ValueError(str(refusals.no_choice("copy", copy)))   # the class that NumPy's tests of DLPack ask for
    if stream is not None:
        check_stream(&record, shown, stream)
    if dl_device is not None:
        kind, number = device_pair(dl_device)
        if record.device_id < 0 and int(kind) == record.device_type:
            record.device_id = call_hook("device_number")(view)
        if record.device_id < 0 and int(kind) == record.device_type:
            from lend.protocols import device_refusals
            raise device_refusals.no_number(shown, f"dl_device={dl_device}")
        if int(kind) != record.device_type or (int(number) != record.device_id and record.device_type != DEVICE_CPU):
            if int(kind) != DEVICE_CPU:
                from lend.protocols import refusals
                raise refusals.other_device(shown, dl_device)
            # where the host may read it: the same memory, by the name that was asked for
            view = <View> call_hook("host")(view)
            owner = hold(view, &record)
    if copy:
        made = fresh_copy(view, False, native_code(record.dtype), "__dlpack__(copy=True)")
        return dlpack.give(<Owner> made.holder, &made.record, shown, minor, True)
    if record.device_type != DEVICE_CPU:
        call_hook("order")(view, stream)
        record.device_id = view.record.device_id     # the driver may have told it
    return dlpack.give(owner, &record, shown, minor, False)


cdef tuple device_pair(dl_device):
    try:
        kind, number = dl_device
        return PyNumber_Index(kind), PyNumber_Index(number)
    except (TypeError, ValueError):
        raise TypeError(
            f"dl_device is a pair of integers (device type, device id), not {dl_device!r:.60}") from None


cdef int check_stream(const Record* record, object shown, stream) except -1:
    """A stream means something on a device only; 0 is ambiguous on CUDA, 1 and 2 unknown on ROCm (DL-E3).

    On SYCL's it is a queue. Where lend orders no work at all, a stream is refused, and not passed over."""
    from lend.protocols import refusals
    if record.device_type == DEVICE_CPU:
        raise refusals.stream(shown, stream, "host memory has no stream: pass None")
    if record.device_type == 14 and hasattr(stream, "wait"):
        return 0
    if isinstance(stream, bool) or not hasattr(stream, "__index__"):
        raise refusals.stream(shown, stream, "a stream is an integer handle, or -1 for no ordering")
    number = PyNumber_Index(stream)
    if number < -1 or number >= 1 << 64:
        raise refusals.stream(shown, stream, "a stream is an integer handle, or -1 for no ordering")
    if number != -1 and record.device_type not in (2, 3, 10, 11, 13):
        raise refusals.stream(shown, stream, "a stream of SYCL is its queue; pass that, or None"
                              if record.device_type == 14
                              else "lend orders no work on such a device: order it yourself, and pass None or -1")
    if record.device_type in (2, 13) and number == 0:
        raise refusals.stream(
            shown, stream, "0 is ambiguous on CUDA: pass 1 (legacy default), 2 (per thread) or a handle")
    if record.device_type == 10 and number in (1, 2):
        raise refusals.stream(shown, stream, "1 and 2 mean nothing on ROCm: pass 0 or a handle")
    return 0


cdef View with_layout(View view, Py_ssize_t offset, extents, strides, Code code):
    """Another View of the same owner, with a layout that was worked out to lie inside this one."""
    cdef View other = blank()
    cdef Owner owner = hold(view, &other.record)
    cdef int i
    other.record.ndim = 0
    other.record.exports = 0
    other.record.flags = DERIVED | other.record.flags & ~(INLINE | RELEASED | ADDRESS_TOLD)
    if len(extents) > MAX_DIMS:
        from lend.protocols import refusals
        raise refusals.too_many_dimensions(view, len(extents), MAX_DIMS)
    if not set_ndim(&other.record, len(extents)):
        raise MemoryError
    for i in range(len(extents)):
        shape_of(&other.record)[i] = extents[i]
        strides_of(&other.record)[i] = 0 if strides is None else strides[i]
    other.record.data += offset
    other.record.dtype = code
    other.record.itemsize = <unsigned int> code_itemsize(code)
    if strides is None:
        row_major(&other.record)
    if check_layout(&other.record) != LAYOUT_OK:
        # of an empty View: the extents beside the 0 are as free as the strides, and are to fit all the same
        from lend.protocols import refusals
        raise refusals.too_large(view, tuple(extents), other.record.itemsize)
    other.holder = owner
    track(other)
    return other
