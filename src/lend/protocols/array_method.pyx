"""`__array__`, the last door: an object that can only turn itself into a NumPy array.

It is asked for `copy=False`, and refused when it does not know the word: a copy is never made in silence. Where lend
copies anyway (copy=True) the array may be a new one; the word stays, as without it many convert. Never asked
are device objects, which would move memory, and tables. What it gives is taken by the buffer protocol, or by the array
interface where the buffer protocol has no word (datetimes); that array is what the owner keeps. Ours is View's own.
https://numpy.org/doc/stable/user/basics.interoperability.html#the-array-method
"""
from cpython.buffer cimport PyObject_CheckBuffer
from cpython.ref cimport PyObject

from lend._core.owners cimport Protocol, taken_by
from lend._core.record cimport WANT_COPY, Record, clear_dims
from lend.protocols cimport array_interface, buffer

from lend.protocols.dlpack import announced_device
from lend.protocols.masks import is_masked

ARRAY_METHOD = taken_by(Protocol(
    name="array method", dunder="__array__", devices=(1, 3, 11, 13), readonly=True,
    spec="https://numpy.org/doc/stable/user/basics.interoperability.html#the-array-method",
), take)

cdef extern from "Python.h":
    Py_ssize_t reference_count "Py_REFCNT"(PyObject*)


cdef object take(object obj, Record* record, Py_buffer* lease, int want, void* data):
    """Ask obj for an array that shares its memory, and take that."""
    cdef object array = None
    cdef object refused = None
    cdef object owner = None
    try:
        why = unasked(obj)
        if not why and not want & WANT_COPY and hasattr(type(obj), "dictionary_decode"):
            # of pyarrow: its array lies in memory that looks like somebody's, and was written for it
            why = "it is a dictionary, whose values are decoded into a new array, also when asked for copy=False"
        if not why:
            array = obj.__array__(copy=False)
            if type(array).__module__ != "numpy" and is_masked(array):
                why = "it gives a masked array, whose nulls a View cannot carry"
            elif not want & WANT_COPY and is_fresh(array):
                why = "asked for copy=False it made a new array all the same"
    except AttributeError as error:
        # of obj itself: it has no such door; from inside it: its own trouble
        if no_frame_below(error) and not hasattr(type(obj), "__array__"):
            refuse("no_door", obj)
        refuse_producer(obj, error)
    except Exception as error:  # noqa: BLE001 - what a producer raises becomes ours, with it as the cause
        if isinstance(error, TypeError) and no_frame_below(error):
            refuse_signature(obj, error)
        refuse_producer(obj, error)
    if why:
        refuse("not_by_array", obj, (why,))
    if not PyObject_CheckBuffer(array) and not hasattr(type(array), "__array_interface__"):
        refuse("bad_answer", obj, ("__array__(copy=False)", "an array", array))
    try:
        owner = buffer.take(array, record, lease, want, NULL)
    except BufferError as error:
        if not hasattr(type(array), "__array_interface__"):
            raise
        refused = error
    if refused is not None:
        clear_dims(record)
        owner = array_interface.take_interface(array, record, lease, want, NULL)
    return owner


cdef str unasked(object obj):
    """Why `__array__` of obj is not even called; None when it is."""
    cdef object cls = type(obj)
    if hasattr(cls, "__dlpack_device__"):
        if announced_device(obj) not in ARRAY_METHOD.devices:
            return "its memory is on a device, and would be copied to the host"
    elif hasattr(obj, "__cuda_array_interface__") or hasattr(obj, "__sycl_usm_array_interface__"):
        return "its memory is on a device, and would be copied to the host"
    # a column has both, and is an array where it can be
    if (hasattr(cls, "__dataframe__") and not hasattr(cls, "__dlpack__")
            or hasattr(cls, "__arrow_c_stream__") and hasattr(cls, "columns")):
        return "it is a table, whose columns lie apart"
    for place, word in (("type", "tz"), ("dtype", "tz"), ("dtype", "time_zone")):
        # pyarrow, pandas, polars: their arrays of NumPy's are the same numbers without the zone
        zone = getattr(getattr(obj, place, None), word, None)
        if isinstance(zone, str) or hasattr(type(zone), "utcoffset"):
            return "its values have a time zone, which an array of NumPy's would lose"
    return None


cdef bint is_fresh(object array) except -1:
    """True when array, or the one it is a view of, owns its memory and nobody else refers to it: a copy made for us."""
    cdef object current = array
    cdef object base
    # two references: the one we look through and the one we hold
    while reference_count(<PyObject*> current) <= 2:
        flags = getattr(current, "flags", None)
        if getattr(flags, "owndata", False):
            return True
        base = getattr(current, "base", None)
        if flags is None or base is None:
            return False
        current = base
        base = None
    return False


cdef bint no_frame_below(object error):
    """True when an exception comes from our call itself: no frame of a Python function lies below it."""
    trace = error.__traceback__
    return trace is None or trace.tb_next is None


cdef int refuse(str how, object obj, tuple facts=()) except -1:
    from lend.protocols import interface_refusals as refusals
    raise getattr(refusals, how)(obj, ARRAY_METHOD, *facts)


cdef int refuse_signature(object obj, object error) except -1:
    from lend.protocols import interface_refusals as refusals
    raise refusals.no_copy_word(obj, ARRAY_METHOD, error) from error


cdef int refuse_producer(object obj, object error) except -1:
    from lend.protocols import interface_refusals as refusals
    if isinstance(error, (MemoryError, RecursionError)):
        raise error
    raise refusals.producer_failed(obj, ARRAY_METHOD, error) from error
