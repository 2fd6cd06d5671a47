"""DLPack's C exchange API, taken: a static table of C functions that a type offers, so that no capsule is made.

The table skips what `__dlpack__` checks (torch's does), so a library that needs guards has them in its adapter. What we
offer on View stands with the type, in views/view.pyx. Specification: https://dmlc.github.io/dlpack/latest/c_api.html
"""
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid

from lend._core.checked cimport raise_pending
from lend._core.dlpack cimport DLPACK_MAJOR_VERSION, DLManagedTensorVersioned, DLPackExchangeAPI
from lend._core.owners cimport Protocol, taken_by
from lend._core.record cimport Record
from lend._core.seldom cimport seldom
from lend.protocols.dlpack cimport keep_managed, read_managed


def table_offered(obj):
    """The record bound to the exchange table that exactly this type offers; None if it has none we can read."""
    seldom()
    cdef DLPackExchangeAPI* table = exchange_table(type(obj))
    return None if table is NULL else (<Protocol> EXCHANGE).bound(table)


EXCHANGE = taken_by(Protocol(
    name="DLPack C exchange API", dunder="__dlpack_c_exchange_api__", devices=range(1, 19), readonly=True,
    spec="https://dmlc.github.io/dlpack/latest/c_api.html", offered=table_offered,
), take)


cdef object take(object obj, Record* record, Py_buffer* lease, int want, void* data):
    """Take by the exchange table that the type offers: no capsule, no Python call."""
    cdef DLPackExchangeAPI* table = <DLPackExchangeAPI*> data
    cdef DLManagedTensorVersioned* managed = NULL
    if table.managed_tensor_from_py_object_no_sync(<void*> obj, &managed) != 0 or managed is NULL:
        refuse_by_table(obj)
    read_managed(managed, obj, record, want)
    return keep_managed(managed, obj, record, lease)


cdef DLPackExchangeAPI* exchange_table(object cls) except? NULL:
    """The exchange table that a type itself offers (not one it inherits), of our major version; NULL: none.

    The py_object given to a table must have exactly the type that offers it.
    """
    cdef DLPackExchangeAPI* table
    cdef object capsule
    if "__dlpack_c_exchange_api__" not in cls.__dict__:
        return NULL
    capsule = cls.__dlpack_c_exchange_api__
    if not PyCapsule_IsValid(capsule, "dlpack_exchange_api"):
        return NULL
    table = <DLPackExchangeAPI*> PyCapsule_GetPointer(capsule, "dlpack_exchange_api")
    while table is not NULL and table.header.version.major != DLPACK_MAJOR_VERSION:
        table = <DLPackExchangeAPI*> table.header.prev_api
    if table is NULL or table.managed_tensor_from_py_object_no_sync is NULL:
        return NULL
    return table


cdef int refuse_by_table(object obj) except -1:
    try:
        raise_pending()
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # noqa: BLE001 - a producer may raise anything; it becomes ours with it as the cause
        from lend.protocols import refusals
        raise refusals.producer_failed(obj, EXCHANGE, error) from error
    return -1
