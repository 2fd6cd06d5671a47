"""Arrow C schemas, arrays and streams made by hand, of ctypes alone, from a plain description: they count releases.

    made = Made(Node("l", 3, buffers=[None, struct.pack("3q", 1, 2, 3)]))
    made.array.length = -1            # any field of any struct can be spoilt before it is handed out
    minimal.column(made.capsules())   # or of made: it has __arrow_c_array__
    made.released                     # {"": 1}; children are "0", "0.1", a dictionary is "dictionary"

What is released is overwritten, so that a reader which let go too early reads wrong values.
"""

import ctypes
import itertools
import struct
from dataclasses import dataclass, field, replace

POISON = 0xDB
_pointer, _callback = ctypes.c_void_p, ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_pull = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_tell = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class Schema(ctypes.Structure):
    _fields_ = [
        ("format", _pointer), ("name", _pointer), ("metadata", _pointer), ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64), ("children", _pointer), ("dictionary", _pointer),
        ("release", _pointer), ("private_data", _pointer),
    ]  # fmt: skip


class Array(ctypes.Structure):
    _fields_ = [
        ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", _pointer), ("children", _pointer),
        ("dictionary", _pointer), ("release", _pointer), ("private_data", _pointer),
    ]  # fmt: skip


class Stream(ctypes.Structure):
    _fields_ = [(name, _pointer) for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")]


@dataclass
class Node:
    """One level of an array: buffers are bytes, or None for NULL, or an address."""

    format: str | bytes
    length: int = 0
    null_count: int = 0
    offset: int = 0
    buffers: list = field(default_factory=list)
    children: list = field(default_factory=list)
    dictionary: "Node | None" = None
    name: str | bytes | None = ""
    metadata: bytes | dict | None = None
    flags: int = 2


_living = {}  # private_data -> what a callback belongs to; gone with its release
_numbers = itertools.count(1)


def _kept(thing):
    number = next(_numbers)
    _living[number] = thing
    return number


def living():
    """How many structs were made and not yet released."""
    return len(_living)


@_callback
def _release_schema(address):
    said = Schema.from_address(address)
    made, path = _living.pop(said.private_data)
    made.schemas_released[path] = made.schemas_released.get(path, 0) + 1
    _release_all(Schema, said, _release_schema, made.counts[path])


@_callback
def _release_array(address):
    held = Array.from_address(address)
    made, path, memories = _living.pop(held.private_data)
    made.released[path] = made.released.get(path, 0) + 1
    for memory in memories:
        ctypes.memset(memory, POISON, len(memory))
    _release_all(Array, held, _release_array, made.counts[path])


def _release_all(kind, struct_, release, count):
    """As every producer does: whoever of the children and the dictionary was not moved away goes along.

    How many there are is what was made: what the struct says may have been spoilt since.
    """
    struct_.release = None
    below = list((_pointer * count).from_address(struct_.children)) if struct_.children else []
    for address in [*below, struct_.dictionary]:
        if address and kind.from_address(address).release:
            release(address)


def _text(text):
    return None if text is None else ctypes.create_string_buffer(text.encode() if isinstance(text, str) else text)


def metadata(pairs):
    """The blob of Arrow's metadata."""
    flat = [item for pair in pairs.items() for item in pair]
    return struct.pack("i", len(pairs)) + b"".join(struct.pack("i", len(item)) + item for item in flat)


class Made:
    """The structs of a Node, schema and array, with every struct by its path; offered as a producer offers them."""

    def __init__(self, node):
        self.released, self.schemas_released, self.schemas, self.arrays, self._keep = {}, {}, {}, {}, []
        self.addresses, self.counts = {}, {}
        self.schema, self.array = self._schema(node, ""), self._array(node, "")

    def _address(self, thing):
        if thing is None:
            return None
        self._keep.append(thing)
        return ctypes.addressof(thing)

    def _below(self, node, path, build):
        prefix, self.counts[path] = path + "." if path else "", len(node.children)
        parts = [self._address(build(child, f"{prefix}{i}")) for i, child in enumerate(node.children)]
        dictionary = None if node.dictionary is None else build(node.dictionary, prefix + "dictionary")
        return self._address((_pointer * len(parts))(*parts)) if parts else None, self._address(dictionary)

    def _schema(self, node, path):
        children, dictionary = self._below(node, path, self._schema)
        extra = metadata(node.metadata) if isinstance(node.metadata, dict) else node.metadata
        self.schemas[path] = Schema(
            self._address(_text(node.format)), self._address(_text(node.name)), self._address(_text(extra)),
            node.flags, len(node.children), children, dictionary,
            ctypes.cast(_release_schema, _pointer).value, _kept((self, path)),
        )  # fmt: skip
        return self.schemas[path]

    def _array(self, node, path):
        children, dictionary = self._below(node, path, self._array)
        memories = [
            part if part is None or isinstance(part, int) else (ctypes.c_char * len(part)).from_buffer_copy(part)
            for part in node.buffers
        ]
        places = [part if isinstance(part, int) else self._address(part) for part in memories]
        self.addresses[path] = places
        pointers = self._address((_pointer * len(places))(*places)) if places else None
        own = [part for part in memories if not isinstance(part, int | None)]
        self.arrays[path] = Array(
            node.length, node.null_count, node.offset, len(places), len(node.children), pointers, children, dictionary,
            ctypes.cast(_release_array, _pointer).value, _kept((self, path, own)),
        )  # fmt: skip
        return self.arrays[path]

    def capsules(self):
        return capsule(self.schema, b"arrow_schema"), capsule(self.array, b"arrow_array")

    def __arrow_c_array__(self, requested_schema=None):
        return self.capsules()


class Streamed:
    """A stream of arrays, made by hand: `parts` are Nodes, or errors as (errno, text), which end it."""

    def __init__(self, schema, parts, *, schema_error=None):
        self.schema, self.parts, self.schema_error = schema, list(parts), schema_error
        self.released, self.made, self.said, self.describing = 0, [], None, None
        self.stream = Stream(
            *(ctypes.cast(function, _pointer).value for function in (_get_schema, _get_next, _get_last_error)),
            ctypes.cast(_release_stream, _pointer).value, _kept(self),
        )  # fmt: skip

    def failed(self, error):
        number, text = error
        self.said = _text(text)
        return number

    def __arrow_c_stream__(self, requested_schema=None):
        return capsule(self.stream, b"arrow_array_stream")


def _of(stream):
    return _living[Stream.from_address(stream).private_data]


def _moved(source, out):
    """Hand a struct over: `made` stays its memory, the caller's copy has its release."""
    ctypes.memmove(out, ctypes.addressof(source), ctypes.sizeof(source))
    source.release = None


@_pull
def _get_schema(stream, out):
    self = _of(stream)
    if self.schema_error:
        return self.failed(self.schema_error)
    self.describing = Made(self.schema)
    _release_array(ctypes.addressof(self.describing.array))
    _moved(self.describing.schema, out)
    return 0


@_pull
def _get_next(stream, out):
    self = _of(stream)
    if not self.parts:
        ctypes.memset(out, 0, ctypes.sizeof(Array))
        return 0
    part = self.parts.pop(0)
    if isinstance(part, tuple):
        return self.failed(part)
    made = Made(part) if isinstance(part, Node) else part
    self.made.append(made)
    _release_schema(ctypes.addressof(made.schema))
    _moved(made.array, out)
    return 0


@_tell
def _get_last_error(stream):
    said = _of(stream).said
    return None if said is None else ctypes.addressof(said)


@_callback
def _release_stream(address):
    stream = Stream.from_address(address)
    _living.pop(stream.private_data).released += 1
    stream.release = None


_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, _pointer, ctypes.c_char_p, _pointer)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_capsule_pointer = ctypes.PYFUNCTYPE(_pointer, _pointer, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, _pointer)(("PyCapsule_GetName", ctypes.pythonapi))
_NAMES = [b"arrow_schema", b"arrow_array", b"arrow_array_stream"]  # a capsule keeps a pointer to its name
_KINDS = {b"arrow_schema": Schema, b"arrow_array": Array, b"arrow_array_stream": Stream}
_RELEASES = {Schema: _release_schema, Array: _release_array, Stream: _release_stream}
_of_capsules = {}  # address of a struct -> the struct, which the capsule keeps


@_callback
def _capsule_gone(dying):
    """What a capsule does that nobody emptied: it releases the struct, once."""
    name = _capsule_name(dying)
    address = _capsule_pointer(dying, name)
    kept = _of_capsules.pop(address)
    if kept.release:
        _RELEASES[_KINDS[name]](address)


def capsule(struct_, name):
    """A capsule of a struct, as the PyCapsule interface has them."""
    _of_capsules[ctypes.addressof(struct_)] = struct_
    name = next(known for known in _NAMES if known == name)
    return _new_capsule(ctypes.addressof(struct_), name, ctypes.cast(_capsule_gone, _pointer).value)


def again(node, made):
    """Other structs of a node, over the memory of those that were made of it, which are to be kept."""

    def over(node, path):
        prefix = path + "." if path else ""
        below = [over(child, f"{prefix}{i}") for i, child in enumerate(node.children)]
        words = node.dictionary and over(node.dictionary, prefix + "dictionary")
        return replace(node, buffers=list(made.addresses[path]), children=below, dictionary=words)

    return Made(over(node, ""))
