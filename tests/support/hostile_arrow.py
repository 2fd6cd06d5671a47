"""Arrow structs with one thing wrong in each, whose pointers can all be read; and good ones, spoilt at random.

`CASES` has for each an expression of the makers below, and what a refusal says of it. `judged(make)` takes it as a
column and uses it in every way: what comes back is a sentence, or the process ends.
"""

import ctypes
import random
import struct

import lend
from lend.columns import converting
from lend.errors import LendError

from .arrow_structs import Made, Node, Streamed, metadata


def q(*values):
    return struct.pack(f"{len(values)}q", *values)


def i(*values):
    return struct.pack(f"{len(values)}i", *values)


def numbers(**said):
    return Node("l", 3, buffers=[b"\xff", q(1, 2, 3)], **said)


def text(*ends):
    return Node("u", len(ends) - 1, buffers=[None, i(*ends), b"abcdef"])


def lists(*ends):
    return Node("+l", len(ends) - 1, buffers=[None, i(*ends)], children=[numbers()])


def spans(*pairs):
    starts, sizes = i(*[start for start, _ in pairs]), i(*[size for _, size in pairs])
    return Node("+vl", len(pairs), buffers=[None, starts, sizes], children=[numbers()])


def view(size, which, start):
    views = struct.pack("=i4sii", size, b"abcd", which, start)
    return Node("vu", 1, buffers=[None, views, b"abcdefghijklmnop", q(16)])


def words(*codes):
    return Node("c", len(codes), buffers=[None, bytes(code % 256 for code in codes)], dictionary=text(0, 1, 3))


def row():
    return Node("+s", 3, buffers=[None], children=[numbers(name="a"), numbers(name="b")])


def pairs():
    return Node("+m", 1, buffers=[None, i(0, 3)], children=[row()])


def dense(ids, offsets):
    return Node("+ud:0,1", len(ids), buffers=[bytes(ids), i(*offsets)], children=[numbers(), text(0, 1)])


def sparse(ids):
    return Node("+us:0,1", len(ids), buffers=[bytes(ids)], children=[numbers(), text(0, 1, 2, 3)])


def runs(*ends, length=3, **said):
    values = Node("l", len(ends), buffers=[None, q(*range(len(ends)))])
    return Node("+r", length, children=[Node("i", len(ends), buffers=[None, i(*ends)], **said), values])


def spoilt(node, **fields):
    """The structs of a node with some fields set: arrays__length, schemas_0__format, arrays_0_dictionary__release."""
    made = Made(node)
    for name, value in fields.items():
        where, _, field = name.rpartition("__")
        kind, _, path = where.partition("_")
        setattr(getattr(made, kind)[path.strip("_").replace("_", ".")], field, value)
    return made


def cyclic(depth):
    """A schema that is its own child, or whose child is."""
    made = Made(Node("+s", 1, buffers=[None], children=[Node("+s", 1, buffers=[None], children=[numbers()])]))
    inner = made.schemas["0"]
    ctypes.c_void_p.from_address(inner.children).value = ctypes.addressof(made.schemas["0" if depth else ""])
    return made


def branching():
    """Sixty levels of which each has the next one twice: 2**60 schemas, and a hundred and twenty structs."""
    node = Node("+s", 1, buffers=[None], children=[Node("n", 1), Node("n", 1)])
    for _ in range(60):
        node = Node("+s", 1, buffers=[None], children=[node, Node("n", 1)])
    made = Made(node)
    for schema in made.schemas.values():
        if schema.children:
            places = (ctypes.c_void_p * 2).from_address(schema.children)
            places[1] = places[0]
    return made


def deep(levels):
    node = numbers()
    for _ in range(levels):
        node = Node("+s", 3, buffers=[None], children=[node])
    return Made(node)


def child_null(of):
    made = Made(row())
    (ctypes.c_void_p * 2).from_address(getattr(made, of)[""].children)[1] = None
    return made


def stream(**fields):
    made = Streamed(Node("l"), [numbers()])
    for name, value in fields.items():
        setattr(made.stream, name, value)
    return made


HUGE = 2**40
CASES = {
    # the struct itself
    "negative length": ("spoilt(numbers(), arrays__length=-1)", "its length is -1"),
    "negative offset": ("spoilt(numbers(), arrays__offset=-1)", "its offset is -1"),
    "null_count below -1": ("spoilt(numbers(), arrays__null_count=-2)", "its null_count is -2"),
    "null_count above the length": ("spoilt(numbers(), arrays__null_count=4)", "its null_count is 4, and its length 3"),
    "length and offset overflow": ("spoilt(numbers(), arrays__length=2**62, arrays__offset=2**62)", "its offset is"),
    "the largest length": ("spoilt(numbers(), arrays__length=2**63 - 1)", "its length is"),
    "the largest offset": ("spoilt(numbers(), arrays__offset=2**63 - 1)", "its offset is"),
    "more bytes than there are": ("spoilt(numbers(), arrays__length=2**61)", "take more bytes than there are"),
    "no buffers array": ("spoilt(numbers(), arrays__buffers=None)", "its list of buffers is NULL"),
    "negative n_buffers": ("spoilt(numbers(), arrays__n_buffers=-1)", "it has -1 buffers"),
    "too many buffers": ("spoilt(numbers(), arrays__n_buffers=3)", "it has 3 buffers, and its format 'l' means 2"),
    "huge n_buffers of views": ("spoilt(view(1, 0, 0), arrays__n_buffers=2**40)", "buffers"),
    "too few buffers of views": ("spoilt(view(1, 0, 0), arrays__n_buffers=2)", "it has 2 buffers"),
    "huge n_children": ("spoilt(row(), arrays__n_children=2**40)", "children, and its type 2"),
    "huge n_children of the type": ("spoilt(row(), schemas__n_children=2**40)", "more than 1048576 types"),
    "huge n_children of both": ("spoilt(row(), schemas__n_children=2**40, arrays__n_children=2**40)", "more than 10"),
    "negative n_children of the type": ("spoilt(row(), schemas__n_children=-1)", "it has -1 children"),
    "negative n_children": ("spoilt(row(), arrays__n_children=-1)", "it has -1 children"),
    "children NULL": ("spoilt(row(), arrays__children=None)", "a child of it is NULL"),
    "children of the type NULL": ("spoilt(row(), schemas__children=None)", "a child of it is NULL"),
    "a child NULL": ("child_null('arrays')", "a child of it is NULL"),
    "a child of the type NULL": ("child_null('schemas')", "a child of it is NULL"),
    "fewer children than the type": ("spoilt(row(), arrays__n_children=1)", "it has 1 children, and its type 2"),
    "a list of two children": ("spoilt(lists(0, 1), schemas__n_children=2)", "means 1"),
    "numbers with children": ("Made(Node('l', 1, buffers=[None, q(1)], children=[numbers()]))", "means 0"),
    "a map of numbers": ("Made(Node('+m', 1, buffers=[None, i(0, 1)], children=[numbers()]))", "entries of a map"),
    "released array": ("spoilt(numbers(), arrays__release=None)", "already consumed"),
    "released type": ("spoilt(numbers(), schemas__release=None)", "already consumed"),
    "released child": ("spoilt(row(), arrays_0__release=None)", "it was released already"),
    "released child of the type": ("spoilt(row(), schemas_0__release=None)", "its type was released already"),
    "released child of the type with wild pointers": (
        "spoilt(row(), schemas_0__release=None, schemas_0__format=8, schemas_0__name=8)", "its type was released"),
    "released dictionary": ("spoilt(words(0), arrays_dictionary__release=None)", "it was released already"),
    "no data": ("Made(Node('l', 3, buffers=[None, None]))", "its buffer 1 is NULL"),
    "no offsets": ("Made(Node('u', 3, buffers=[None, None, b'']))", "its buffer 1 is NULL"),
    "no text": ("Made(Node('u', 1, buffers=[None, i(0, 4), None]))", "its buffer 2 is NULL"),
    "no sizes": ("Made(Node('+vl', 1, buffers=[None, i(0), None], children=[numbers()]))", "its buffer 2 is NULL"),
    "no type ids": ("Made(Node('+us:0', 1, buffers=[None], children=[numbers()]))", "its buffer 0 is NULL"),
    "no rows of a union": ("Made(Node('+ud:0', 1, buffers=[b'x', None], children=[numbers()]))", "its buffer 1 is"),
    "nulls without validity": ("Made(Node('l', 1, 1, buffers=[None, q(1)]))", "null_count is 1, and its bitmap NULL"),
    "dictionary missing": ("spoilt(words(0), arrays__dictionary=None)", "its type has a dictionary, and it has none"),
    "dictionary of the type missing": ("spoilt(words(0), schemas__dictionary=None)", "it has a dictionary, and its"),
    "codes that are text": ("Made(Node('u', 0, buffers=[None] * 3, dictionary=text(0)))", "dictionary indices"),
    # lies about lengths
    "huge length without data": (f"Made(Node('l', {HUGE}, buffers=[None, None]))", "its buffer 1 is NULL"),
    "huge length of bits": (f"Made(Node('b', {HUGE}, buffers=[None, None]))", "its buffer 1 is NULL"),
    "huge length of text": (f"Made(Node('u', {HUGE}, buffers=[None] * 3))", "its buffer 1 is NULL"),
    "huge length of list views": (
        f"Made(Node('+vl', {HUGE}, buffers=[None] * 3, children=[numbers()]))", "its buffer 1 is NULL"),
    "huge length of views": (f"Made(Node('vu', {HUGE}, buffers=[None] * 3))", "its buffer 1 is NULL"),
    "huge length of a struct": (f"spoilt(row(), arrays__length={HUGE})", "and what it belongs to needs 1099511627776"),
    "huge length of fixed lists": (f"Made(Node('+w:3', {HUGE}, buffers=[None], children=[numbers()]))", "needs 3298"),
    "huge width of fixed lists": ("Made(Node('+w:999999999', 3, buffers=[None], children=[numbers()]))", "needs 2999"),
    "huge null column": (f"Made(Node('n', {HUGE}))", "MemoryError"),
    "huge struct without fields": (f"Made(Node('+s', {HUGE}, buffers=[None]))", "MemoryError"),
    "huge width of nothing": (f"Made(Node('w:0', {HUGE}, buffers=[None, b'']))", "MemoryError"),
    "chunks of more than can be counted": (
        "Streamed(Node('n'), [Node('n', 2**62), Node('n', 2**62)])", "more elements in all than can be counted"),
    # contents that lead out
    "offsets that decrease": ("Made(text(0, 5, 3))", "from byte 0 to 5"),
    "last offset before the first": ("Made(text(4, 5, 3))", "its offsets go from 4 to 3"),
    "a negative first offset": ("Made(text(-1, 5, 6))", "its offsets go from -1"),
    "a middle offset that leaves": ("Made(text(0, 900, 6))", "from byte 0 to 900 of 6"),
    "a negative middle offset": ("Made(text(0, -900, 6))", "from byte 0 to -900"),
    "list offsets that decrease": ("Made(lists(0, 3, 1, 3))", "begins at 3 and has -1"),
    "list offsets that leave": ("Made(lists(0, 4))", "it has 3 elements, and what it belongs to needs 4"),
    "a middle list offset that leaves": ("Made(lists(0, 900, 3))", "begins at 0 and has 900"),
    "list views that leave": ("Made(spans((0, 3), (2, 2)))", "begins at 2 and has 2 of 3"),
    "list views of negative size": ("Made(spans((0, 3), (2, -1)))", "begins at 2 and has -1"),
    "list views that begin before": ("Made(spans((-1, 2)))", "begins at -1"),
    "list views far away": ("Made(spans((2**31 - 1, 2**31 - 1), (0, 1)))", "begins at 2147483647"),
    "large list views that overflow": (
        "Made(Node('+vL', 1, buffers=[None, q(2**63 - 1), q(2**63 - 1)], children=[numbers()]))", "begins at 9223"),
    "large offsets that overflow": (
        "Made(Node('+L', 2, buffers=[None, q(0, -2**63, 3)], children=[numbers()]))", "begins at 0 and has -1"),
    "a view into no buffer": ("Made(view(16, 1, 0))", "data buffer 1, and there are 1"),
    "a view into a negative buffer": ("Made(view(16, -1, 0))", "data buffer -1"),
    "a view that leaves": ("Made(view(16, 0, 1))", "leads to byte 1"),
    "a view that begins before": ("Made(view(16, 0, -1))", "leads to byte -1"),
    "a view of negative size": ("Made(view(-5, 0, 0))", "of -5 bytes"),
    "a view of another beginning": ("Made(view(13, 0, 1))", "begins otherwise than its view says"),
    "a negative length of a data buffer": (
        "Made(Node('vu', 0, buffers=[None, b'', b'abc', q(-3)]))", "lengths of its data buffers are missing, or wrong"),
    "no lengths of data buffers": ("Made(Node('vu', 0, buffers=[None, b'', b'abc', None]))", "are missing, or wrong"),
    "a NULL data buffer of some length": ("Made(Node('vu', 0, buffers=[None, b'', None, q(3)]))", "missing, or wrong"),
    "a code too large": ("Made(words(0, 2))", "index 2 at element 1 is none of its 2 dictionary values"),
    "a negative code": ("Made(words(0, -1))", "index -1 at element 1"),
    "a code of an empty dictionary": ("Made(Node('c', 1, buffers=[None, b'\\0'], dictionary=text(0)))", "its 0 dict"),
    "a type id that is none": ("Made(dense([0, 2], [0, 0]))", "element 1 is of type id 2, which it does not name"),
    "a negative type id": ("Made(sparse([0, 255]))", "element 1 is of type id -1"),
    "a row of a union that leaves": ("Made(dense([0, 1], [0, 1]))", "elements 1 to 2 are referred to, of 1"),
    "a row of a union that begins before": ("Made(dense([0, 1], [-1, 0]))", "elements -1 to 0 are referred to"),
    "a child of a sparse union that is too short": ("Made(sparse([0, 0, 0, 0]))", "it has 3 elements, and what it"),
    "runs that end too early": ("Made(runs(1, 2))", "its 2 runs end before element 2"),
    "runs that go back": ("Made(runs(2, 1, 3))", "run 1 ends at 1, before it begins"),
    "runs that begin before": ("Made(runs(-1, 3))", "read: 0 [1, 1, 1]"),
    "no runs": ("Made(runs())", "its 0 runs end before element 0"),
    "more ends than values": ("spoilt(runs(1, 2, 3), arrays_1__length=2)", "its 2 runs end before element 2"),
    "a run end that is null": (
        "Made(Node('+r', 1, children=[Node('i', 1, 1, buffers=[b'\\0', i(1)]), text(0, 1)]))", "run ends are null"),
    "a run end that is null and not counted": (
        "Made(Node('+r', 1, children=[Node('i', 1, -1, buffers=[b'\\0', i(1)]), text(0, 1)]))", "a run end is null"),
    "run ends of a dictionary": (
        "Made(Node('+r', 1, children=[Node('i', 1, 0, buffers=[None, i(0)], dictionary=text(0, 1)), text(0, 1)]))",
        "run ends are int16, int32 or int64"),
    "run ends of bytes": ("Made(Node('+r', 0, children=[Node('c', 0, buffers=[None] * 2), text(0)]))", "run ends are"),
    "type ids that are too few": ("spoilt(dense([0], [0]), schemas__n_children=1)", "does not name a type id"),
    "a type id twice": ("Made(Node('+us:3,3', 0, buffers=[None], children=[numbers(), numbers()]))", "name a type id"),
    "a type id of 128": ("Made(Node('+us:128', 0, buffers=[None], children=[numbers()]))", "does not name a type id"),
    "two fields of one name": (
        "Made(Node('+s', 3, buffers=[None], children=[numbers(), numbers()]))", "no two fields of one name"),
    "bad UTF-8": ("Made(Node('u', 1, buffers=[None, i(0, 2), b'\\xff\\xfe']))", "element 0 is not UTF-8"),
    "a cut UTF-8": ("Made(Node('u', 2, buffers=[None, i(0, 1, 2), 'ä'.encode()]))", "element 0 is not UTF-8"),
    "a date that Python lacks": ("Made(Node('tdD', 1, buffers=[None, i(2**31 - 1)]))", "out of the years 1 to 9999"),
    "a time of the day after": ("Made(Node('tts', 1, buffers=[None, i(86400)]))", "it is no time of one day"),
    "a time before the day": ("Made(Node('tts', 1, buffers=[None, i(-1)]))", "it is no time of one day"),
    "milliseconds of a date": ("Made(Node('tdm', 1, buffers=[None, q(1)]))", "it is no whole day"),
    "nanoseconds": ("Made(Node('tsn:', 1, buffers=[None, q(1)]))", ""),
    "nanoseconds of a zone": ("Made(Node('tsn:UTC', 1, buffers=[None, q(1)]))", "nanoseconds beyond microseconds"),
    "a moment that Python lacks": ("Made(Node('tss:Z', 1, buffers=[None, q(2**62)]))", "out of the years 1 to 9999"),
    "a zone that is none": ("Made(Node('tss:Nowhere/At all', 1, buffers=[None, q(0)]))", "'Nowhere/At all' is none"),
    "a zone that is a path": ("Made(Node('tss:../../etc/passwd', 1, buffers=[None, q(0)]))", "etc/passwd"),
    "a zone of bad digits": ("Made(Node('tss:+aa:bb', 1, buffers=[None, q(0)]))", "aa:bb"),
    "a zone of bad UTF-8": ("Made(Node(b'tss:\\xff', 1, buffers=[None, q(0)]))", "is none that this Python knows"),
    # formats and what goes with them
    "no format": ("spoilt(numbers(), schemas__format=None)", "its format is NULL"),
    "no format of a child": ("spoilt(row(), schemas_1__format=None)", "field 'b' in the array"),
    "an empty format": ("Made(Node('', 0))", "the format '' is none that lend knows"),
    "a format of bad UTF-8": ("Made(Node(b'\\xff', 0))", "is none that lend knows"),
    "an unknown format": ("Made(Node('_pli256', 1, buffers=[None, bytes(32)]))", "'_pli256' is none that lend knows"),
    "a width that is no number": ("Made(Node('w:x', 0, buffers=[None, None]))", "'w:x' is none"),
    "a negative width": ("Made(Node('w:-3', 0, buffers=[None, None]))", "'w:-3' is none"),
    "a width of thousands of digits": ("Made(Node('w:' + '9' * 9999, 0, buffers=[None, None]))", "is none that lend"),
    "a decimal of 7 bits": ("Made(Node('d:1,1,7', 0, buffers=[None, None]))", "'d:1,1,7' is none"),
    "a decimal without a scale": ("Made(Node('d:1', 0, buffers=[None, None]))", "'d:1' is none"),
    "a decimal of too many digits": ("Made(Node('d:39,1', 1, buffers=[None, bytes(16)]))", "'d:39,1' is none"),
    "a decimal of no digit": ("Made(Node('d:0,0', 1, buffers=[None, bytes(16)]))", "'d:0,0' is none"),
    "a decimal of a wild scale": ("Made(Node('d:1,-9999999999', 1, buffers=[None, bytes(16)]))", "is none that lend"),
    "metadata of a negative count": ("Made(numbers(metadata=i(-1)))", "its metadata counts -1"),
    "metadata of a huge count": ("Made(numbers(metadata=i(2**31 - 1)))", "its metadata counts 2147483647"),
    "metadata of a negative length": ("Made(numbers(metadata=i(1, -5)))", "its metadata counts -5"),
    "an extension whose name has a NUL": (
        "Made(numbers(metadata={b'ARROW:extension:name': b'a\\0b'}))", "of an extension type is not UTF-8"),
    "names of bad UTF-8": ("Made(Node('+s', 1, buffers=[None], children=[Node('n', 1, name=b'\\xff')]))", "read: 0"),
    # depth
    "65 levels": ("deep(65)", "nested deeper than 64 levels"),
    "200 levels": ("deep(200)", "nested deeper than 64 levels"),
    "a type that is its own child": ("cyclic(0)", "nested deeper than 64 levels"),
    "a child that is its own child": ("cyclic(1)", "nested deeper than 64 levels"),
    "2**60 types": ("branching()", "more than 1048576 types hang within it"),
    # streams and capsules
    "a stream without get_schema": ("stream(get_schema=None)", "it is NULL"),
    "a stream without get_next": ("stream(get_next=None)", "it is NULL"),
    "a stream without get_last_error": ("stream(get_last_error=None)", "read: 0 [1, 2, 3]"),
    "a released stream": ("stream(release=None)", "already consumed"),
    "capsules the wrong way round": ("Made(numbers()).capsules()[::-1]", "is not in a capsule named 'arrow_schema'"),
    "a tuple of one": ("Made(numbers()).capsules()[:1]", "cannot lend a tuple"),
    "no capsules": ("(None, None)", "cannot lend a tuple"),
    "an array capsule alone": ("Made(numbers()).capsules()[1]", ""),
}  # fmt: skip


def used(column):
    """Everything that follows a column's memory, each refusal passed over."""
    for use in (repr, lambda column: column.verify(full=True), lambda column: lend.column(column.__arrow_c_stream__())):
        try:
            use(column)
        except LendError:
            pass
    for part in (column, *column.chunks, column[1:]):
        for use in (
            lambda column: column.null_count, lambda column: column[:1].tolist(), lambda column: column[-1:].tolist(),
            lambda column: [bytes(each) for each in column.buffers.values() if not isinstance(each, tuple)],
            lambda column: column.view().tolist(), lambda column: column.__arrow_c_array__(),
            converting.compact, converting.widened, converting.narrowed, converting.codes_with_sentinel,
        ):  # fmt: skip
            try:
                use(part)
            except (LendError, MemoryError):
                pass
    try:
        children = column.children
    except LendError:
        return
    for child in children:
        used(child)


def judged(make):
    """What is said of a case."""
    taken = make()  # kept by a name: what capsules do when they go knows nothing of an exception on its way
    try:
        column = lend.column(taken)
        if len(column) < 1000:
            used(column)
        return f"read: {column.null_count} {column.tolist()!r:.80}"
    except (LendError, MemoryError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def good():
    """Structs that can be read, of every layout."""
    return [
        numbers(), text(0, 1, 3), lists(0, 1, 3), spans((1, 2), (0, 1)), view(16, 0, 0), words(1, 0), row(), pairs(),
        dense([0, 1], [2, 0]), sparse([0, 1, 1]), runs(1, 3), numbers(metadata=metadata({b"a": b"b"}), name="n"),
        Node("+w:1", 3, buffers=[None], children=[numbers()]), Node("n", 3), Node("b", 3, buffers=[b"\5", b"\2"]),
    ]  # fmt: skip


NUMBERS = [
    -(2**63),
    -(2**31),
    -9,
    -2,
    -1,
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    2**20,
    2**20 + 1,
    2**31 - 1,
    2**40,
    2**61,
    2**62,
    2**63 - 1,
]
COUNTS = ["length", "null_count", "offset", "n_buffers", "n_children"]
FORMATS = [
    b"l",
    b"u",
    b"U",
    b"vu",
    b"+l",
    b"+vl",
    b"+s",
    b"+m",
    b"+r",
    b"+ud:0,1",
    b"+us:0,1",
    b"+w:2",
    b"w:3",
    b"d:9,2",
    b"tss:",
    b"n",
    b"b",
    b"c",
    b"",
]


def spoil(made, random):
    """Set some number, pointer or format of some struct: one that can be read, or NULL."""
    for _ in range(random.choice([1, 1, 2, 3])):
        kind = random.choice(["arrays", "arrays", "schemas"])
        path, target = random.choice(list(getattr(made, kind).items()))
        choice = random.randrange(5)
        if choice == 0 and kind == "schemas":
            kept = ctypes.create_string_buffer(random.choice(FORMATS))
            made._keep.append(kept)
            target.format = ctypes.addressof(kept)
        elif choice == 1:
            setattr(target, random.choice(["children", "dictionary", "release"]), None)
        elif choice == 2 and kind == "arrays":
            if made.addresses[path]:
                places = (ctypes.c_void_p * len(made.addresses[path])).from_address(target.buffers)
                places[random.randrange(len(places))] = None
        elif kind == "arrays":
            # never so many that what is told lies outside of what can be read: that nobody can see
            field = random.choice(COUNTS)
            if field in ("length", "offset"):
                setattr(target, field, random.choice([-1, 0, 1, 2, -(2**63), 2**63 - 1]))
            elif field == "null_count":
                setattr(target, field, random.choice(NUMBERS))
            else:
                setattr(target, field, random.choice([-(2**63), -1, 0, 1, 2, 2**20 + 1, 2**40, 2**63 - 1]))
        else:
            target.n_children = random.choice([-1, 0, 1, 2**21, 2**40])
    return made


def shaken(node, random):
    """The same in more room than any of its formats needs, with small numbers drawn anew in some buffers.

    Small: a size that nobody told cannot be checked, and what lies about it beyond what is there is no fair question.
    """
    node.buffers = [
        part if not isinstance(part, bytes) else (
            part if random.random() < 0.6 else q(*[random.randrange(-2, 7) for _ in range(len(part) // 8 + 1)])
        ) + bytes(4096)
        for part in node.buffers
    ]  # fmt: skip
    for child in [*node.children, *([node.dictionary] if node.dictionary else [])]:
        shaken(child, random)
    return node


def rounds(seed, count):
    """So many structs spoilt at random, each judged; what was said, counted."""
    rng, said = random.Random(seed), {}
    for _ in range(count):
        made = Made(shaken(rng.choice(good()), rng))
        if rng.random() < 0.7:
            made = spoil(made, rng)
        found = judged(lambda made=made: made).partition(":")[0]
        said[found] = said.get(found, 0) + 1
    return said
