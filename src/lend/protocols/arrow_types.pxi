"""Part of arrow.pyx, cut off for its length: schemas read, made and copied."""
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, strlen

from lend._core.arrow cimport (
    ARROW_FLAG_DICTIONARY_ORDERED, ARROW_FLAG_MAP_KEYS_SORTED, ARROW_FLAG_NULLABLE, ArrowSchema,
)
from lend.dtypes.dtype cimport logical_dtype
from lend.protocols.arrow_check cimport metadata_size

from sys import byteorder as _byteorder

cdef const char* EMPTY = ""


# -- import --------------------------------------------------------------------------------------------------------

cdef object name_of_schema(const ArrowSchema* schema):
    """The name, "" where none was told; bytes that are no text come as they are written in file names."""
    return "" if schema.name is NULL else schema.name.decode("utf-8", "surrogateescape")


cdef object metadata_of_schema(const ArrowSchema* schema):
    """The metadata as a dict of bytes, in the order in which it was told; of two of one key the last."""
    cdef const char* at = schema.metadata
    cdef int32_t count, size
    cdef int32_t _i
    cdef dict found = {}
    cdef bytes key, value
    if at is NULL:
        return found
    memcpy(&count, at, 4)
    at += 4
    for _i in range(count):
        memcpy(&size, at, 4)
        key = PyBytes_FromStringAndSize(at + 4, size)
        at += 4 + size
        memcpy(&size, at, 4)
        value = PyBytes_FromStringAndSize(at + 4, size)
        at += 4 + size
        found[key] = value
    return found


cdef bytes encoded_metadata(dict pairs):
    """A blob of metadata; b"" of nothing."""
    cdef list found = [len(pairs).to_bytes(4, _byteorder)]
    if not pairs:
        return b""
    for key, value in pairs.items():
        found += (len(key).to_bytes(4, _byteorder), key, len(value).to_bytes(4, _byteorder), value)
    return b"".join(found)


cdef object dtype_of_schema(const ArrowSchema* schema):
    """The DType of a type that was checked."""
    cdef list fields = []
    cdef int64_t i
    cdef ArrowSchema* child
    cdef object extension = None
    cdef object said
    if schema.metadata is not NULL:
        said = metadata_of_schema(schema)
        if b"ARROW:extension:name" in said:
            extension = (said[b"ARROW:extension:name"], said.get(b"ARROW:extension:metadata", b""))
    for i in range(schema.n_children):
        child = schema.children[i]
        fields.append((name_of_schema(child), dtype_of_schema(child), bool(child.flags & ARROW_FLAG_NULLABLE),
                       None if child.metadata is NULL else blob_of(child)))
    return logical_dtype(
        schema.format.decode("utf-8", "surrogateescape"), tuple(fields),
        None if schema.dictionary is NULL else dtype_of_schema(schema.dictionary),
        schema.flags & ARROW_FLAG_DICTIONARY_ORDERED, schema.flags & ARROW_FLAG_MAP_KEYS_SORTED, extension)


cdef bytes blob_of(const ArrowSchema* schema):
    return PyBytes_FromStringAndSize(schema.metadata, metadata_size(schema.metadata))


# -- export ------------------------------------------------------------------------------------------------------

cdef int describe_type(ArrowSchema* out, const char* format, const char* name, int64_t flags, Py_ssize_t children,
                       bint dictionary, const char* metadata, Py_ssize_t size) except -1:
    """Begin a type: strings are copied, children and dictionary are room to be filled."""
    cdef Py_ssize_t texts = strlen(format) + strlen(name) + 2 + size
    cdef char* block = <char*> calloc(1, children * (sizeof(ArrowSchema*) + sizeof(ArrowSchema)) + sizeof(ArrowSchema)
                                      + texts)
    cdef ArrowSchema* room
    cdef char* text
    cdef Py_ssize_t i
    if block is NULL:
        raise MemoryError
    out.children = <ArrowSchema**> block
    room = <ArrowSchema*> (block + children * sizeof(ArrowSchema*))
    for i in range(children):
        out.children[i] = room + i
    out.dictionary = room + children if dictionary else NULL
    text = <char*> (room + children + 1)
    memcpy(text, format, strlen(format) + 1)
    out.format = text
    text += strlen(format) + 1
    memcpy(text, name, strlen(name) + 1)
    out.name = text
    out.metadata = NULL
    if size:
        text += strlen(name) + 1
        memcpy(text, metadata, size)
        out.metadata = text
    out.flags = flags
    out.n_children = children
    if not children:
        out.children = NULL
    out.private_data = block
    out.release = release_schema
    return 0


cdef void release_schema(ArrowSchema* schema) noexcept nogil:
    cdef int64_t i
    for i in range(schema.n_children):
        if schema.children[i].release is not NULL:
            (<SchemaRelease> schema.children[i].release)(schema.children[i])
    if schema.dictionary is not NULL and schema.dictionary.release is not NULL:
        (<SchemaRelease> schema.dictionary.release)(schema.dictionary)
    schema.release = NULL
    free(schema.private_data)


cdef inline const char* or_empty(const char* text) noexcept nogil:
    return EMPTY if text is NULL else text


cdef int copy_schema(const ArrowSchema* schema, ArrowSchema* out, const char* name) except -1:
    """A type like another, under a name; released in part if it fails, wholly by its own release."""
    cdef int64_t i
    describe_type(out, schema.format, name, schema.flags, schema.n_children, schema.dictionary is not NULL,
                  schema.metadata, 0 if schema.metadata is NULL else metadata_size(schema.metadata))
    try:
        for i in range(schema.n_children):
            copy_schema(schema.children[i], out.children[i], or_empty(schema.children[i].name))
        if schema.dictionary is not NULL:
            copy_schema(schema.dictionary, out.dictionary, or_empty(schema.dictionary.name))
    except MemoryError:
        release_schema(out)
        raise
    return 0
