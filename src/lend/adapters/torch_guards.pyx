"""Take torch tensors by torch's C exchange table, behind the checks that the table leaves out.

The table hands out memory that does not hold the tensor's value: of conj() and neg() views, of tensors that need a
gradient, and (observed with torch 2.13) of FakeTensor and wrapper subclasses, whose pointer belongs to nobody. So:
exact Tensor and Parameter, and subclasses that do not override `__torch_dispatch__` (a wrapper must); and after the
tensor is taken, only what its dtype makes possible is asked. A refusal drops the owner, which calls the deleter.
"""
from cpython.ref cimport Py_DECREF, PyObject
from libc.stdint cimport uint32_t

from lend._core.c_view cimport lend_view, record_plain
from lend._core.checked cimport raise_pending
from lend._core.dlpack cimport DLPACK_MAJOR_VERSION, DLManagedTensorVersioned, DLPackExchangeAPI, DLTensor
from lend._core.owners cimport PEEKED_NOTHING, PEEKED_RECORD, PEEKED_VIEW, Protocol, delete_managed, taken_by
from lend._core.record cimport UNBOUNDED, Record, clear_dims
from lend._core.seldom cimport seldom
from lend.dtypes.c_dtype cimport lend_dtype
from lend.dtypes.code cimport KIND_BFLOAT, KIND_COMPLEX, KIND_FLOAT, KIND_INT, KIND_MINI, KIND_UINT
from lend.dtypes.dlpack_type cimport DLPACK_KINDS, code_from_dlpack
from lend.protocols cimport dlpack
from lend.protocols.dlpack_exchange cimport exchange_table
from lend.protocols.dlpack_tensor cimport PLAIN_TYPES, fill_plain_types, put_tensor, read_tensor

cdef extern from "Python.h":
    ctypedef PyObject* (*descrgetfunc)(object, object, void*)
    ctypedef struct PyTypeObject:
        descrgetfunc tp_descr_get
    PyTypeObject* Py_TYPE(object)
    PyObject* type_pointer "(PyObject*)Py_TYPE"(object)
    PyObject* Py_False
    PyObject* PyObject_CallOneArg(object function, object argument)

# of torch, once a tensor was met: a getset and two method descriptors, called without a lookup, and the plain dtypes
cdef object requires_grad = None
cdef object is_neg = None
cdef object is_conj = None
cdef object get_dtype = None
cdef object torch_int8 = None
cdef object torch_uint8 = None
# classes of which the answers are torch's own: a subclass may answer by a `__torch_function__` of its own
cdef PyObject* torch_tensor = NULL
cdef PyObject* torch_parameter = NULL


def protocol_for(cls):
    """The record that takes tensors of class cls; None when a subclass may not hold the memory it shows.

    Parameters
    ----------
    cls : type
        torch.Tensor, torch.nn.Parameter or a subclass.
    """
    seldom()
    cdef DLPackExchangeAPI* table
    torch = remember_torch()
    if cls is not torch.Tensor and cls.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        return None
    table = exchange_table(torch.Tensor)
    return GUARDED.bound(table)


cdef object remember_torch():
    global requires_grad, is_neg, is_conj, get_dtype, torch_int8, torch_uint8, torch_tensor, torch_parameter
    from sys import modules
    torch = modules["torch"]
    if requires_grad is None:
        base = torch._C.TensorBase
        is_neg, is_conj, get_dtype = base.is_neg, base.is_conj, base.dtype
        torch_int8, torch_uint8 = torch.int8, torch.uint8
        torch_tensor, torch_parameter = <PyObject*> torch.Tensor, <PyObject*> torch.nn.Parameter
        requires_grad = base.requires_grad
    return torch


cdef object take(object obj, Record* record, Py_buffer* lease, int want, void* data):
    """Take the tensor, then ask what its dtype makes possible."""
    return take_told(obj, record, lease, want, data, NULL)


cdef lend_dtype[PLAIN_TYPES] plain_types
fill_plain_types(plain_types)

cdef inline bint read_plain(DLManagedTensorVersioned* managed, Record* record, lend_view* view) noexcept nogil:
    """Read a plain tensor that may be written to into both the record and the view; False: into neither."""
    cdef const DLTensor* tensor = &managed.dl_tensor
    if managed.version.major != DLPACK_MAJOR_VERSION or managed.flags or not put_tensor(tensor, view, plain_types):
        view.data = NULL
        return False
    code_from_dlpack(tensor.dtype.code, tensor.dtype.bits, 1, &record.dtype)
    record_plain(record, view)
    record.flags |= UNBOUNDED
    return True


cdef object take_told(object obj, Record* record, Py_buffer* lease, int want, void* data, lend_view* view):
    """The same for a lease of lend.h."""
    cdef DLManagedTensorVersioned* managed = NULL
    cdef object owner
    cdef str wrong
    if data is NULL:
        # torch before 2.10 has no table
        owner = dlpack.take(obj, record, lease, want, NULL)
        wrong = unlike_its_memory(obj, record.dtype.kind)
        if wrong is not None:
            refuse(obj, record, wrong)
        return owner
    if (<DLPackExchangeAPI*> data).managed_tensor_from_py_object_no_sync(<void*> obj, &managed) != 0 or managed is NULL:
        refuse_by_torch(obj)
    if view is NULL or not read_plain(managed, record, view):
        dlpack.read_managed(managed, obj, record, want)
    if must_be_asked(record.dtype.kind, record.itemsize):
        wrong = unlike_its_memory(obj, record.dtype.kind)
        if wrong is not None:
            delete_managed(managed, True)
            refuse(obj, record, wrong)
    return dlpack.keep_managed(managed, obj, record, lease)


cdef int peek(PyObject* obj, lend_view* view, Record* record, void* data) noexcept:
    """The facts of a tensor as torch shows them for a moment; its memory may always be written to."""
    cdef DLPackExchangeAPI* table = <DLPackExchangeAPI*> data
    cdef DLTensor tensor
    if (table is NULL or table.dltensor_from_py_object_no_sync is NULL
            or not answers_plainly(<object> obj)
            or table.dltensor_from_py_object_no_sync(<void*> obj, &tensor) != 0):
        return PEEKED_NOTHING
    if put_tensor(&tensor, view, plain_types):
        if (must_be_asked(DLPACK_KINDS[tensor.dtype.code], view.dtype.itemsize)
                and unlike_its_memory(<object> obj, DLPACK_KINDS[tensor.dtype.code]) is not None):
            return PEEKED_NOTHING
        return PEEKED_VIEW
    record.ndim = 0
    record.flags = 0
    if read_tensor(&tensor, record):
        return PEEKED_NOTHING
    if (must_be_asked(record.dtype.kind, record.itemsize)
            and unlike_its_memory(<object> obj, record.dtype.kind) is not None):
        clear_dims(record)
        return PEEKED_NOTHING
    return PEEKED_RECORD


cdef inline bint must_be_asked(int kind, uint32_t itemsize) noexcept nogil:
    """Whether a tensor of such a dtype may be unlike its memory."""
    return kind in (KIND_FLOAT, KIND_BFLOAT, KIND_COMPLEX, KIND_MINI) or itemsize == 1


cdef inline bint answers_plainly(object obj) noexcept:
    return type_pointer(obj) == torch_tensor or type_pointer(obj) == torch_parameter


cdef str unlike_its_memory(object obj, int kind):
    """Why the memory is not the tensor's value, None if it is; "asking" with the exception set when torch raised."""
    seldom()
    cdef PyObject* answer
    cdef int said
    if not answers_plainly(obj):
        from lend.adapters import torch as adapter
        return adapter.unlike_its_memory(obj, kind in (KIND_INT, KIND_UINT))
    if kind in (KIND_FLOAT, KIND_BFLOAT, KIND_COMPLEX, KIND_MINI):
        said = is_true(Py_TYPE(requires_grad).tp_descr_get(requires_grad, obj, NULL))
        if said:
            return "requires_grad" if said > 0 else "asking"
        said = is_true(PyObject_CallOneArg(is_neg, obj))
        if said:
            return "neg" if said > 0 else "asking"
        if kind == KIND_COMPLEX:
            said = is_true(PyObject_CallOneArg(is_conj, obj))
            if said:
                return "conj" if said > 0 else "asking"
    elif kind in (KIND_INT, KIND_UINT):
        # shell dtypes (int4, uint1, ...) come as bytes: the tensor's own dtype tells
        answer = Py_TYPE(get_dtype).tp_descr_get(get_dtype, obj, NULL)
        if answer is NULL:
            return "asking"
        said = answer == <PyObject*> torch_int8 or answer == <PyObject*> torch_uint8
        Py_DECREF(<object> answer)
        if not said:
            return "dtype"
    return None


cdef inline int is_true(PyObject* answer) noexcept:
    """1 for anything but False, 0 for False, -1 when torch raised; gives the answer back."""
    cdef int said
    if answer is NULL:
        return -1
    said = answer != Py_False
    Py_DECREF(<object> answer)
    return said


GUARDED_RECORD = taken_by(Protocol(
    name="DLPack C exchange API", dunder="__dlpack_c_exchange_api__", devices=range(1, 19),
    spec="https://dmlc.github.io/dlpack/latest/c_api.html",
), take, peek, take_told)
cdef Protocol GUARDED = GUARDED_RECORD


cdef int refuse(object obj, Record* record, str why) except -1:
    seldom()
    clear_dims(record)
    if why == "asking":
        return refuse_by_torch(obj)
    from lend.adapters import torch as adapter
    raise adapter.refused(obj, why)


cdef int refuse_by_torch(object obj) except -1:
    seldom()
    try:
        raise_pending()
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # noqa: BLE001 - torch raises RuntimeError and more; it is the cause of ours
        from lend.protocols import refusals
        raise refusals.producer_failed(obj, GUARDED_RECORD, error) from error
    return -1
