"""DLPack capsules, unversioned and versioned, both ways; the C exchange table stands in dlpack_exchange.pyx.

Taken: inspect, allocate, and only then rename the capsule; between the last check and the rename nothing can fail, so
a refused capsule is untouched and a taken one has an owner. Given: one allocation for struct, shape and strides,
strides always filled, the owner (not the View) as manager_ctx. Names of steps (DL-I4, DL-E5): the protocol's page in
the design; specification: https://dmlc.github.io/dlpack/latest/ and
https://data-apis.org/array-api/latest/API_specification/generated/array_api.array.__dlpack__.html
"""
cimport cython
from cpython.exc cimport PyErr_Fetch, PyErr_Restore
from cpython.pycapsule cimport (
    PyCapsule_CheckExact, PyCapsule_GetName, PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_SetName,
)
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport strcmp

from lend._core.checked cimport atomic_add, interpreter_gone, raise_pending
from lend._core.dlpack cimport (
    DLPACK_FLAG_IS_COPIED, DLPACK_FLAG_PADDED, DLPACK_FLAG_READ_ONLY, DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION,
    DLDataType, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
)
from lend._core.owners cimport (
    DLPackOwner, Owner, Protocol, delete_managed, remember_span, settle_tensor, taken_by,
)
from lend._core.record cimport (
    C_CONTIGUOUS, EXCLUSIVE, HANDLE, INLINE_TENSOR, MAX_DIMS, READONLY, UNTOLD, WANT_WRITABLE, Record,
    clear_dims, element_count, shape_of, strides_of,
)
from lend._core.seldom cimport seldom
from lend.dtypes.code cimport KIND_MINI
from lend.dtypes.dlpack_type cimport code_is_padded, code_to_dlpack
from lend.protocols.dlpack_tensor cimport (
    FIELD_MEMORY, FIELD_READ_ONLY, FIELD_VERSION, read_tensor,
)

cdef:
    const char* UNVERSIONED = "dltensor"
    const char* VERSIONED = "dltensor_versioned"
    const char* USED_UNVERSIONED = "used_dltensor"
    const char* USED_VERSIONED = "used_dltensor_versioned"
    tuple OUR_VERSION = (DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION)
    tuple MAX_VERSION = ("max_version",)
    tuple MAX_VERSION_AND_STREAM = ("max_version", "stream")
    object NO_ORDER = -1
    str DUNDER = "__dlpack__"
    str DUNDER_DEVICE = "__dlpack_device__"

cdef extern from "Python.h":
    const size_t VECTORCALL_OFFSET "PY_VECTORCALL_ARGUMENTS_OFFSET"
    PyObject* call_method "PyObject_VectorcallMethod"(object name, PyObject** args, size_t count, PyObject* names)


def capsule_offered(obj):
    """The record for a bare capsule, whatever its name."""
    seldom()
    return CAPSULE if PyCapsule_CheckExact(obj) else None


DLPACK = taken_by(Protocol(
    name="DLPack", dunder="__dlpack__", devices=range(1, 19), readonly=True,
    spec="https://dmlc.github.io/dlpack/latest/python_spec.html",
), take)
CAPSULE = taken_by(Protocol(
    name="DLPack capsule", dunder="dltensor", devices=range(1, 19), readonly=True,
    spec="https://dmlc.github.io/dlpack/latest/python_spec.html", offered=capsule_offered,
), take_capsule)

# device types of which a producer orders its work by `__dlpack__(stream=)`
cdef tuple WITH_STREAMS = (2, 10, 13)

cdef tuple FIELDS = (None, "ndim", "shape", "extent", "size", "dtype", "device", "data", "strides", "byte_offset",
                     "memory", "version", "read_only", "gaps")


# -- import --------------------------------------------------------------------------------------------------------

cdef object take(object obj, Record* record, Py_buffer* lease, int want, void* data):
    """Ask obj for a capsule (DL-I1 to DL-I4) and take it."""
    cdef object capsule
    cdef object announced = ask_device(obj)
    cdef PyObject** asked = [NULL, <PyObject*> obj, <PyObject*> OUR_VERSION, <PyObject*> NO_ORDER]
    # on a device with streams nothing is ordered now: it is when somebody uses the memory, who is then known
    cdef PyObject* names = <PyObject*> MAX_VERSION
    cdef PyObject* answer
    if announced is not None and announced in WITH_STREAMS:
        names = <PyObject*> MAX_VERSION_AND_STREAM
    answer = call_method(DUNDER, &asked[1], 1 | VECTORCALL_OFFSET, names)
    if answer is NULL:
        capsule = ask_again(obj)
    else:
        capsule = <object> answer
        Py_DECREF(capsule)
    if not PyCapsule_CheckExact(capsule):
        refuse("bad_answer", obj, ("__dlpack__()", "a DLPack capsule", capsule))
    if PyCapsule_IsValid(capsule, UNVERSIONED) and hasattr(type(obj), "__array_interface__"):
        # the array interface can say "read-only"; an unversioned capsule cannot (the capsule frees its tensor itself)
        refuse("unversioned_dropped", obj)
    return take_named(capsule, obj, record, want, announced)


cdef object take_capsule(object capsule, Record* record, Py_buffer* lease, int want, void* data):
    """Take a bare capsule: its producer is unknown."""
    return take_named(capsule, None, record, want, None)


cdef object take_named(object capsule, object producer, Record* record, int want, object announced):
    """Inspect a capsule, allocate its owner, rename it: from the rename on the owner releases."""
    cdef DLPackOwner owner
    cdef const char* name
    cdef bint versioned
    cdef void* managed
    cdef DLTensor* tensor
    cdef uint64_t flags
    cdef int wrong
    # two threads must not take one capsule: its check and its renaming are one step
    with cython.critical_section(capsule):
        name = PyCapsule_GetName(capsule)
        versioned = name is not NULL and strcmp(name, VERSIONED) == 0
        if not versioned and (name is NULL or strcmp(name, UNVERSIONED) != 0):
            refuse("capsule_name", producer, (None if name is NULL else name.decode("utf-8", "replace"),))
        managed = PyCapsule_GetPointer(capsule, name)
        if versioned:
            if (<DLManagedTensorVersioned*> managed).version.major != DLPACK_MAJOR_VERSION:
                refuse_version(producer, &(<DLManagedTensorVersioned*> managed).version)
            tensor = &(<DLManagedTensorVersioned*> managed).dl_tensor
        else:
            tensor = &(<DLManagedTensor*> managed).dl_tensor
        record.flags = 0
        flags = (<DLManagedTensorVersioned*> managed).flags if versioned else 0
        wrong = read_tensor(tensor, record, flags)
        if wrong:
            refuse_tensor(producer, tensor, wrong)
        if announced is not None and announced != record.device_type:
            clear_dims(record)
            refuse("device_mismatch", producer, (announced, record.device_type))
        if versioned:
            read_flags(flags, record)
        elif not want & WANT_WRITABLE:
            record.flags |= READONLY | UNTOLD
        if want & WANT_WRITABLE and record.flags & READONLY:
            clear_dims(record)
            refuse("read_only", producer)
        owner = DLPackOwner.__new__(DLPackOwner)
        PyCapsule_SetName(capsule, USED_VERSIONED if versioned else USED_UNVERSIONED)
        owner.managed = managed
        owner.versioned = versioned
    owner.held = producer
    remember_span(owner, record)
    return owner


cdef int read_managed(DLManagedTensorVersioned* managed, object producer, Record* record, int want) except -1:
    """Read a tensor that is ours already (no capsule stands in between): a refusal runs its deleter."""
    cdef int wrong
    if managed.version.major != DLPACK_MAJOR_VERSION:
        return drop_and_refuse(managed, producer, FIELD_VERSION)
    record.flags = 0
    wrong = read_tensor(&managed.dl_tensor, record, managed.flags)
    if wrong:
        return drop_and_refuse(managed, producer, wrong)
    read_flags(managed.flags, record)
    if want & WANT_WRITABLE and record.flags & READONLY:
        clear_dims(record)
        return drop_and_refuse(managed, producer, FIELD_READ_ONLY)
    return 0


cdef int drop_and_refuse(DLManagedTensorVersioned* managed, object producer, int wrong) except -1:
    """Say what was wrong, and run the deleter, without an exception set."""
    seldom()
    try:
        if wrong == FIELD_VERSION:
            return refuse_version(producer, &managed.version)
        if wrong == FIELD_READ_ONLY:
            return refuse("read_only", producer)
        return refuse_tensor(producer, &managed.dl_tensor, wrong)
    finally:
        delete_managed(managed, True)


cdef object keep_managed(DLManagedTensorVersioned* managed, object producer, Record* record, Py_buffer* lease):
    """Put a tensor that was read where it is released from: the View whose lease is given, else an owner."""
    cdef DLPackOwner owner
    if lease is not NULL:
        lease.internal = managed
        record.flags |= INLINE_TENSOR
        return producer
    try:
        owner = DLPackOwner.__new__(DLPackOwner)
    except MemoryError:
        delete_managed(managed, True)
        raise
    settle_tensor(owner, managed, producer, record)
    return owner


cdef inline void read_flags(uint64_t flags, Record* record) noexcept nogil:
    if flags & DLPACK_FLAG_READ_ONLY:
        record.flags |= READONLY
    if flags & DLPACK_FLAG_IS_COPIED:
        record.flags |= EXCLUSIVE


cdef object ask_device(object obj):
    """The device type that obj announces, as an int; None when it has no `__dlpack_device__`."""
    cdef PyObject** asked = [NULL, <PyObject*> obj]
    cdef PyObject* answer = call_method(DUNDER_DEVICE, &asked[1], 1 | VECTORCALL_OFFSET, NULL)
    cdef object pair
    if answer is NULL:
        return no_device(obj)
    pair = <object> answer
    Py_DECREF(pair)
    try:
        # unpacked, not indexed: bounds checks are off in compiled files
        kind, _ = pair
        number = operator_index(kind)
        if 0 < number < 1 << 31:
            return number
    except (TypeError, ValueError):
        pass
    except Exception as error:  # noqa: BLE001 - what a producer raises becomes ours, with it as the cause
        refuse_producer(obj, error)
    refuse("bad_answer", obj, ("__dlpack_device__()", "a pair (device type above 0, device id)", pair))


cdef object no_device(object obj):
    """The call raised: None when it was that there is no such method, else a refusal."""
    seldom()
    try:
        raise_pending()
    except Exception as error:  # noqa: BLE001 - what a producer raises becomes ours, with it as the cause
        if isinstance(error, AttributeError) and not has_method(obj, DUNDER_DEVICE):
            return None
        refuse_producer(obj, error)


cdef bint has_method(object obj, str name) except -1:
    """False when it was the attribute that was missing, and not something inside a method."""
    try:
        getattr(obj, name)
    except AttributeError:
        return False
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - it is there, and a trouble of its own
        return True
    return True


def announced_device(obj):
    """The device type that an object announces by `__dlpack_device__`, None without one; a LendError for nonsense."""
    seldom()
    return ask_device(obj)


cdef object ask_again(object obj):
    """The call raised: one retry without max_version, if it was the signature that refused (DL-I3)."""
    seldom()
    try:
        raise_pending()
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # noqa: BLE001 - what a producer raises becomes ours, with it as the cause
        if isinstance(error, AttributeError) and not has_method(obj, DUNDER):
            refuse("no_door", obj)
        # no frame below our call: no code of the method ran
        if isinstance(error, TypeError) and (error.__traceback__ is None or error.__traceback__.tb_next is None):
            try:
                return obj.__dlpack__()
            except (MemoryError, RecursionError):
                raise
            except Exception as second:  # noqa: BLE001 - the method ran: that is its reason
                if not isinstance(second, TypeError) or second.__traceback__.tb_next is not None:
                    refuse_producer(obj, second)
        refuse_producer(obj, error)


# -- export --------------------------------------------------------------------------------------------------------

cdef object give(Owner owner, Record* record, object shown, int minor, bint copied):
    """A capsule over the record, of version 1.minor or (below 0) unversioned; `shown` is named in a refusal."""
    cdef DLManagedTensorVersioned* managed
    cdef DLManagedTensor* legacy
    if minor < 1 and record.dtype.kind >= KIND_MINI and code_is_padded(record.dtype):
        refuse("padded_not_sayable", shown)
    if minor >= 0:
        managed = give_managed(owner, record, shown, copied)
        managed.version.minor = minor
        try:
            return new_capsule(managed, VERSIONED, drop_capsule)
        except MemoryError:
            drop_versioned(managed)
            raise
    if record.flags & READONLY:
        refuse("unversioned_read_only", shown)
    legacy = <DLManagedTensor*> new_struct(sizeof(DLManagedTensor), record, shown)
    fill_tensor(&legacy.dl_tensor, <int64_t*> (legacy + 1), owner, record)
    legacy.manager_ctx = <void*> owner
    legacy.deleter = delete_unversioned
    Py_INCREF(owner)
    atomic_add(&owner.open_exports, 1)
    try:
        return new_capsule(legacy, UNVERSIONED, drop_capsule)
    except MemoryError:
        drop_unversioned(legacy)
        raise


cdef inline long clipped(object number) except? -2:
    """An integer; one that does not fit is as good as the largest, or the smallest."""
    cdef int over = 0
    cdef long fits
    if type(number) is int:
        fits = PyLong_AsLongAndOverflow(number, &over)
    else:
        fits = PyLong_AsLongAndOverflow(operator_index(number), &over)
    if over:
        return LONG_MAX if over > 0 else -1
    return fits


cdef int minor_of(object max_version) except -2:
    """The minor version to give for a consumer's max_version; -1 for an unversioned capsule (DL-E1)."""
    cdef object first, second
    cdef long major, minor
    if max_version is None:
        return -1
    if type(max_version) is tuple and len(<tuple> max_version) == 2:
        major = clipped((<tuple> max_version)[0])
        minor = clipped((<tuple> max_version)[1])
    else:
        try:
            first, second = max_version
        except (TypeError, ValueError):
            raise TypeError(f"max_version is a pair (major, minor), not {max_version!r:.60}") from None
        major, minor = clipped(first), clipped(second)
    if major < 0 or minor < 0:
        raise ValueError(f"max_version is a pair (major, minor), not {max_version!r}")
    if major < DLPACK_MAJOR_VERSION:
        return -1
    return DLPACK_MINOR_VERSION if major > DLPACK_MAJOR_VERSION else min(minor, DLPACK_MINOR_VERSION)


cdef DLManagedTensorVersioned* give_managed(Owner owner, Record* record, object shown, bint copied) except NULL:
    """A tensor that pins the owner; whoever gets it calls its deleter once."""
    cdef DLManagedTensorVersioned* managed
    managed = <DLManagedTensorVersioned*> new_struct(sizeof(DLManagedTensorVersioned), record, shown)
    managed.version.major = DLPACK_MAJOR_VERSION
    managed.version.minor = DLPACK_MINOR_VERSION
    managed.flags = (DLPACK_FLAG_READ_ONLY if record.flags & READONLY else 0) | (DLPACK_FLAG_IS_COPIED if copied else 0)
    if record.dtype.kind >= KIND_MINI and code_is_padded(record.dtype):
        managed.flags |= DLPACK_FLAG_PADDED
    fill_tensor(&managed.dl_tensor, <int64_t*> (managed + 1), owner, record)
    managed.manager_ctx = <void*> owner
    managed.deleter = delete_versioned
    Py_INCREF(owner)
    atomic_add(&owner.open_exports, 1)
    return managed


cdef void* new_struct(size_t head, Record* record, object shown) except NULL:
    """Check that DLPack can say the record (DL-E5), and make room for struct, shape and strides in one block."""
    cdef Py_ssize_t* strides = strides_of(record)
    cdef Py_ssize_t* shape = shape_of(record)
    cdef DLDataType said
    cdef void* block
    cdef int i
    if not code_to_dlpack(record.dtype, &said.code, &said.bits, &said.lanes):
        refuse("dtype_not_sayable", shown)
    if record.device_id < 0:
        from lend.protocols import device_refusals
        raise device_refusals.no_number(shown, "DLPack")
    if not record.flags & C_CONTIGUOUS:
        for i in range(record.ndim):
            if shape[i] > 1 and (strides[i] < 0 or strides[i] % record.itemsize):
                refuse("strides_not_sayable", shown, (strides[i],))
    block = malloc(head + 2 * record.ndim * sizeof(int64_t))
    if block is NULL:
        raise MemoryError
    return block


cdef void fill_tensor(DLTensor* tensor, int64_t* dims, Owner owner, Record* record) noexcept:
    """Write the DLTensor and, behind its struct, shape and strides in elements; a size-1 stride is the natural one."""
    cdef Py_ssize_t* shape = shape_of(record)
    cdef Py_ssize_t* strides = strides_of(record)
    cdef int64_t natural = 1
    cdef DLManagedTensorVersioned* origin
    cdef int i
    tensor.device.device_type = <DLDeviceType> record.device_type
    tensor.device.device_id = record.device_id
    tensor.ndim = record.ndim
    code_to_dlpack(record.dtype, &tensor.dtype.code, &tensor.dtype.bits, &tensor.dtype.lanes)
    tensor.shape = dims
    tensor.strides = dims + record.ndim
    for i in range(record.ndim - 1, -1, -1):
        tensor.shape[i] = shape[i]
        if shape[i] > 1:
            # values that share a byte have no strides of their own: they lie row-major
            tensor.strides[i] = strides[i] // <Py_ssize_t> record.itemsize if record.itemsize else natural
            natural = tensor.strides[i] * shape[i]
        else:
            tensor.strides[i] = natural
    tensor.byte_offset = 0
    tensor.data = record.data
    if record.flags & HANDLE:
        origin = <DLManagedTensorVersioned*> (<DLPackOwner> owner).managed
        tensor.byte_offset = <uint64_t> <uintptr_t> record.data
        tensor.data = (origin.dl_tensor.data if (<DLPackOwner> owner).versioned
                       else (<DLManagedTensor*> origin).dl_tensor.data)
    if element_count(record) == 0:
        tensor.data = NULL
        tensor.byte_offset = 0


cdef void drop_versioned(DLManagedTensorVersioned* managed) noexcept:
    cdef PyObject* owner = <PyObject*> managed.manager_ctx
    free(managed)
    let_go(owner)


cdef void drop_unversioned(DLManagedTensor* managed) noexcept:
    cdef PyObject* owner = <PyObject*> managed.manager_ctx
    free(managed)
    let_go(owner)


cdef void let_go(PyObject* owner) noexcept:
    """Give back one export, whatever exception is on its way (the last reference may run a producer's release)."""
    cdef PyObject* kind
    cdef PyObject* value
    cdef PyObject* trace
    atomic_add(&(<Owner> owner).open_exports, -1)
    PyErr_Fetch(&kind, &value, &trace)
    Py_DECREF(<object> owner)
    PyErr_Restore(kind, value, trace)


cdef void delete_versioned(DLManagedTensorVersioned* managed) noexcept nogil:
    """The deleter we hand out: on any thread, with or without the GIL; leaks when the interpreter is gone."""
    if not interpreter_gone():
        with gil:
            drop_versioned(managed)


cdef void delete_unversioned(DLManagedTensor* managed) noexcept nogil:
    if not interpreter_gone():
        with gil:
            drop_unversioned(managed)


cdef void drop_capsule(PyObject* capsule) noexcept:
    """Capsule destructor: a capsule that nobody consumed frees its tensor. It is dying: only its name is asked."""
    # the name is compared as a pointer: it is ours, or the capsule was renamed by who took it
    cdef const char* name = capsule_name(capsule)
    if name == VERSIONED:
        drop_versioned(<DLManagedTensorVersioned*> capsule_pointer(capsule, VERSIONED))
    elif name == UNVERSIONED:
        drop_unversioned(<DLManagedTensor*> capsule_pointer(capsule, UNVERSIONED))


cdef extern from "Python.h":
    # by pointer: a dying object must not be counted
    const char* capsule_name "PyCapsule_GetName"(PyObject*)
    void* capsule_pointer "PyCapsule_GetPointer"(PyObject*, const char*)
    object new_capsule "PyCapsule_New"(void*, const char*, void (*)(PyObject*) noexcept)
    const Py_ssize_t PY_SSIZE_T_MAX
    object operator_index "PyNumber_Index"(object)
    long PyLong_AsLongAndOverflow(object, int*) except? -1
    const long LONG_MAX


# -- refusals, off the fast path: the wording lives in refusals.py ---------------------------------------------------

cdef int refuse(str how, object shown, tuple facts=()) except -1:
    seldom()
    from lend.protocols import refusals
    raise getattr(refusals, how)(shown, DLPACK, *facts)


cdef int refuse_producer(object obj, object error) except -1:
    seldom()
    from lend.protocols import refusals
    if isinstance(error, (MemoryError, RecursionError)):
        raise error
    raise refusals.producer_failed(obj, DLPACK, error) from error


cdef int refuse_version(object producer, const DLPackVersion* version) except -1:
    seldom()
    return refuse("version", producer, ((version.major, version.minor), OUR_VERSION))


cdef int refuse_tensor(object producer, const DLTensor* tensor, int wrong) except -1:
    """Name the field that was wrong, with its value; the tensor is still the producer's."""
    seldom()
    cdef int i
    cdef object shape = None
    cdef object strides = None
    if wrong == FIELD_MEMORY:
        raise MemoryError
    if 0 <= tensor.ndim <= MAX_DIMS and tensor.shape is not NULL:
        shape = tuple([tensor.shape[i] for i in range(tensor.ndim)])
        if tensor.strides is not NULL:
            strides = tuple([tensor.strides[i] for i in range(tensor.ndim)])
    return refuse("bad_tensor", producer, (
        FIELDS[wrong], tensor.ndim, shape, strides, (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes),
        (<int> tensor.device.device_type, tensor.device.device_id), tensor.byte_offset))
