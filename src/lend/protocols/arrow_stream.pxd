"""Arrow streams in and out, for the compiled files above."""
from lend._core.arrow cimport ArrowArray, ArrowArrayStream, ArrowSchema
from lend._core.arrow_owners cimport ArrowOwner, SchemaOwner, StreamOwner

ctypedef int (*DescribePart)(object kind, ArrowSchema* out) except -1
ctypedef int (*FillPart)(object part, ArrowArray* out) except -1

# taking
ctypedef StreamOwner (*TakeStream)(object capsule, object lender)
cdef StreamOwner ask_stream(object obj, str method, TakeStream take)
cdef StreamOwner take_stream(object obj)
cdef ArrowArrayStream* stream_in(object capsule, object lender) except NULL
cdef int refuse_callbacks(object lender) except -1
cdef StreamOwner take_stream_capsule(object capsule, object lender)
cdef SchemaOwner stream_schema(StreamOwner stream)
cdef int refuse_stream(StreamOwner stream, int failed, str what) except -1
cdef ArrowOwner next_array(StreamOwner stream, SchemaOwner types)

# giving
cdef object stream_capsule(object parts, object kind, DescribePart describe, FillPart fill)
