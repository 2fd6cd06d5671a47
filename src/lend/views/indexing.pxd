"""Basic indexing: integers, slices, Ellipsis and None, worked out on a record."""
from cpython.number cimport PyNumber_Index

from lend._core.record cimport Record, shape_of, strides_of

cdef inline int raise_no_index(entry) except -1:
    from lend.views import describe
    raise describe.no_index(entry) from None


cdef inline Py_ssize_t plan_index(const Record* record, tuple index, list extents, list steps) except? -1:
    """Fill extents and steps of the indexed memory; return the byte offset of its element 0."""
    cdef Py_ssize_t* shape = shape_of(record)
    cdef Py_ssize_t* strides = strides_of(record)
    cdef Py_ssize_t offset = 0
    cdef Py_ssize_t count, i
    cdef int used = 0
    cdef int dots = 0
    cdef int dim = 0
    for entry in index:
        if entry is Ellipsis:
            dots += 1
        elif entry is not None:
            used += 1
    if used > record.ndim:
        raise IndexError(f"{used} indices for {record.ndim} dimensions")
    if dots > 1:
        raise IndexError("an index has one Ellipsis at most")
    if dots == 0:
        index = (*index, Ellipsis)
    for entry in index:
        if entry is None:
            extents.append(1)
            steps.append(record.itemsize)
        elif entry is Ellipsis:
            for _ in range(record.ndim - used):
                extents.append(shape[dim])
                steps.append(strides[dim])
                dim += 1
        elif isinstance(entry, slice):
            first, last, by = entry.indices(shape[dim])
            count = len(range(first, last, by))
            if count:
                offset += <Py_ssize_t> first * strides[dim]
            extents.append(count)
            # with one element or none the step decides nothing, and a wild one might not fit
            steps.append(strides[dim] * <Py_ssize_t> by if count > 1 else strides[dim])
            dim += 1
        else:
            if isinstance(entry, bool) or not hasattr(entry, "__index__"):
                raise_no_index(entry)
            # exactly an int, whatever a subclass of it says of itself
            try:
                position = PyNumber_Index(entry)
            except TypeError:
                if not hasattr(entry, "shape"):
                    raise
                raise_no_index(entry)  # an array
            if position < -shape[dim] or position >= shape[dim]:
                raise IndexError(f"index {position} is out of bounds for dimension {dim} of extent {shape[dim]}")
            i = position
            offset += (i + shape[dim] if i < 0 else i) * strides[dim]
            dim += 1
    return offset
