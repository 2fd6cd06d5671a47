"""DType for the compiled floors above: make one from a code, read the code of anything that names a dtype."""
cimport cython

from lend.dtypes.code cimport Code


@cython.final
cdef class DType:
    cdef Code code


# The DType of a code; those of NumPy's plain types are made once
cdef object dtype_from_code(Code code)

# The code of a DType, a name, a typestr or a foreign dtype; raises as DType(x) does
cdef int code_of(object dtype, Code* out) except -1

# The name of a code, as str(DType) gives it, without making the DType
cdef str name_of_code(Code code)

# The same type with its values in this machine's byte order
cdef Code native_code(Code code) except *

# The fields of a record as (DType, offset, shape of a subarray)
cdef tuple record_plan(Code code)
