"""DType for the compiled floors above: make one from a code, read the code of anything that names a dtype."""
cimport cython

from lend.dtypes.code cimport Code


@cython.final
cdef class DType:
    cdef Code code
    cdef object logical  # what a type of columns is, a Logical (logical.py), with KIND_LOGICAL in its code; else None


# The DType of a code; those of NumPy's plain types are made once
cdef object dtype_from_code(Code code)

# The code of a DType, a name, a typestr or a foreign dtype; raises as DType(x) does, and for a type of columns
cdef int code_of(object dtype, Code* out) except -1

# The name of a code, as str(DType) gives it, without making the DType
cdef str name_of_code(Code code)

# The same type with its values in this machine's byte order
cdef Code native_code(Code code) except *

# The fields of a record as (DType, offset, shape of a subarray)
cdef tuple record_plan(Code code)

# What DType.from_arrow reads: a format of Arrow's, and what hangs on it in a schema. `fields` are the children as
# tuples (name, DType, nullable, metadata bytes or None); `extension` is None or (name, metadata), each bytes or str.
# A plain DType where the format says no more; one without parts is made once
cdef object logical_dtype(str format, tuple fields, object dictionary, bint ordered, bint keys_sorted,
                          object extension)
