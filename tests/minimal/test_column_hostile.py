"""Arrow structs with one thing wrong in each, in a process of its own: an exception, and never a crash."""

import json

import pytest

from support import children

GOOD = """
import ctypes, json, resource, struct, sys
from lend import minimal
from support.arrow_structs import Made, Node, Streamed, Stream, capsule, metadata

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # what takes a lying length for true, runs out of memory
q = lambda *values: struct.pack(f"{len(values)}q", *values)
i = lambda *values: struct.pack(f"{len(values)}i", *values)
numbers = lambda **said: Node("l", 3, buffers=[b"\\xff", q(1, 2, 3)], **said)
text = lambda *ends: Node("u", len(ends) - 1, buffers=[None, i(*ends), b"abcdef"])
lists = lambda *ends: Node("+l", len(ends) - 1, buffers=[None, i(*ends)], children=[numbers()])
spans = lambda *pairs: Node("+vl", len(pairs), buffers=[None, i(*[a for a, _ in pairs]), i(*[n for _, n in pairs])],
                            children=[numbers()])
view = lambda size, which, start: Node("vu", 1, buffers=[None, struct.pack("=i4sii", size, b"abcd", which, start),
                                                         b"abcdefghijklmnop", q(16)])
words = lambda *codes: Node("c", len(codes), buffers=[None, bytes(c % 256 for c in codes)], dictionary=text(0, 1, 3))
row = lambda: Node("+s", 3, buffers=[None], children=[numbers(name="a"), numbers(name="b")])
pairs = lambda: Node("+m", 1, buffers=[None, i(0, 3)], children=[row()])

def spoilt(node, **fields):
    made = Made(node)
    for name, value in fields.items():
        where, _, field = name.rpartition("__")
        kind, _, path = where.partition("_")
        struct_ = getattr(made, kind)[path.replace("_", ".")]
        setattr(struct_, field, value)
    return made

def cyclic(depth):
    made = Made(Node("+s", 1, buffers=[None], children=[Node("+s", 1, buffers=[None], children=[numbers()])]))
    inner = made.schemas["0"]
    ctypes.c_void_p.from_address(inner.children).value = ctypes.addressof(made.schemas["0" if depth else ""])
    return made

def branching():
    "Sixty levels of which each has the next one twice: 2**60 schemas, and a hundred and twenty structs."
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

def stream(**fields):
    made = Streamed(Node("l"), [numbers()])
    for name, value in fields.items():
        setattr(made.stream, name, value)
    return made

def judged(make):
    try:
        made = make()
        column = minimal.column(made)
        said = f"read: {column.null_count} {column.tolist()!r:.80}"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    return said
"""

HUGE = 2**40
CASES = {
    # the struct itself
    "negative length": ("spoilt(numbers(), arrays___length=-1)", "length -1"),
    "negative offset": ("spoilt(numbers(), arrays___offset=-1)", "offset -1"),
    "null_count below -1": ("spoilt(numbers(), arrays___null_count=-2)", "null_count -2"),
    "length and offset overflow": ("spoilt(numbers(), arrays___length=2**62, arrays___offset=2**62)", "length"),
    "no buffers array": ("spoilt(numbers(), arrays___buffers=None)", "2 pointers are told to lie at 0x0"),
    "negative n_buffers": ("spoilt(numbers(), arrays___n_buffers=-1)", "-1 buffers"),
    "too many buffers": ("spoilt(numbers(), arrays___n_buffers=3)", "3 buffers"),
    "huge n_buffers of views": ("spoilt(view(1, 0, 0), arrays___n_buffers=2**40)", "pointers are told"),
    "too few buffers of views": ("spoilt(view(1, 0, 0), arrays___n_buffers=2)", "2 buffers"),
    "huge n_children": ("spoilt(row(), arrays___n_children=2**40)", "children"),
    "huge n_children of the schema": ("spoilt(row(), schemas___n_children=2**40)", "pointers are told"),
    "negative n_children of the schema": ("spoilt(row(), schemas___n_children=-1)", "pointers are told"),
    "negative n_children": ("spoilt(row(), arrays___n_children=-1)", "-1 children"),
    "children NULL": ("spoilt(row(), arrays___children=None)", "2 pointers are told to lie at 0x0"),
    "children of the schema NULL": ("spoilt(row(), schemas___children=None)", "2 pointers are told"),
    "fewer children than the schema": ("spoilt(row(), arrays___n_children=1)", "1 children"),
    "a list of two children": ("spoilt(lists(0, 1), schemas___n_children=2)", ""),
    "numbers with children": ("Made(Node('l', 1, buffers=[None, q(1)], children=[numbers()]))", "contradicts itself"),
    "a map of numbers": ("Made(Node('+m', 1, buffers=[None, i(0, 1)], children=[numbers()]))", "contradicts itself"),
    "released array": ("spoilt(numbers(), arrays___release=None)", "consumed before"),
    "released schema": ("spoilt(numbers(), schemas___release=None)", "was released"),
    "released child": ("spoilt(row(), arrays_0__release=None)", "released before"),
    "released child of the schema": ("spoilt(row(), schemas_0__release=None)", "was released"),
    "released dictionary": ("spoilt(words(0), arrays_dictionary__release=None)", "released before"),
    "no data": ("spoilt(Node('l', 3, buffers=[None, None]))", "no data"),
    "no offsets": ("Made(Node('u', 3, buffers=[None, None, b'']))", "no offsets"),
    "no text": ("Made(Node('u', 1, buffers=[None, i(0, 4), None]))", "no data"),
    "nulls without validity": ("Made(Node('l', 1, 1, buffers=[None, q(1)]))", "no validity"),
    "dictionary missing": ("spoilt(words(0), arrays___dictionary=None)", "dictionary at 0x0"),
    "dictionary of the schema missing": ("spoilt(words(0), schemas___dictionary=None)", "dictionary at"),
    "codes that are text": ("Made(Node('u', 0, buffers=[None] * 3, dictionary=text(0)))", "contradicts itself"),
    # lies about lengths
    "huge length without data": (f"Made(Node('l', {HUGE}, buffers=[None, None]))", "no data"),
    "huge length of bits": (f"Made(Node('b', {HUGE}, buffers=[None, None]))", "no data"),
    "huge length of text": (f"Made(Node('u', {HUGE}, buffers=[None] * 3))", "no offsets"),
    "huge length of views": (f"Made(Node('vu', {HUGE}, buffers=[None] * 3))", "no views"),
    "huge length of list views": (f"Made(Node('+vl', {HUGE}, buffers=[None] * 3, children=[numbers()]))", "no offsets"),
    "huge length of a struct": (f"spoilt(row(), arrays___length={HUGE})", "elements of each child are needed"),
    "huge length of fixed lists": (
        f"Made(Node('+w:3', {HUGE}, buffers=[None], children=[numbers()]))",
        "elements of each child are needed",
    ),
    "huge width of fixed lists": (
        "Made(Node('+w:999999999', 3, buffers=[None], children=[numbers()]))",
        "elements of each child are needed",
    ),
    "huge null column": (f"Made(Node('n', {HUGE}))", "MemoryError"),
    "huge struct without fields": (f"Made(Node('+s', {HUGE}, buffers=[None]))", "MemoryError"),
    "huge width of nothing": (f"Made(Node('w:0', {HUGE}, buffers=[None, b'']))", "MemoryError"),
    # contents that lead out
    "offsets that decrease": ("Made(text(0, 5, 3))", "bytes 0 to 5"),
    "last offset before the first": ("Made(text(4, 5, 3))", "offsets from 4 to 3"),
    "a negative first offset": ("Made(text(-1, 5, 6))", "offsets from -1"),
    "a middle offset that leaves": ("Made(text(0, 900, 6))", "bytes 0 to 900"),
    "a negative middle offset": ("Made(text(0, -900, 6))", "bytes 0 to -900"),
    "list offsets that decrease": ("Made(lists(0, 3, 1, 3))", "negative length"),
    "list offsets that leave": ("Made(lists(0, 4))", "4 elements of each child are needed"),
    "a middle list offset that leaves": ("Made(lists(0, 900, 3))", ""),
    "list views that leave": ("Made(spans((0, 3), (2, 2)))", "elements 0 to 4"),
    "list views of negative size": ("Made(spans((0, 3), (2, -1)))", "negative length"),
    "list views that begin before": ("Made(spans((-1, 2)))", "elements -1"),
    "list views far away": ("Made(spans((2**31 - 1, 2**31 - 1), (0, 1)))", "elements 0 to"),
    "a view into no buffer": ("Made(view(16, 1, 0))", "data buffer 1"),
    "a view into a negative buffer": ("Made(view(16, -1, 0))", "data buffer -1"),
    "a view that leaves": ("Made(view(16, 0, 1))", "bytes 1 to 17"),
    "a view that begins before": ("Made(view(16, 0, -1))", "bytes -1 to 15"),
    "a view of negative size": ("Made(view(-5, 0, 0))", "a view of -5 bytes"),
    "a negative length of a data buffer": (
        "Made(Node('vu', 0, buffers=[None, b'', b'abc', q(-3)]))",
        "data buffers of lengths",
    ),
    "no lengths of data buffers": ("Made(Node('vu', 0, buffers=[None, b'', b'abc', None]))", "data buffers of lengths"),
    "a NULL data buffer of some length": ("Made(Node('vu', 0, buffers=[None, b'', None, q(3)]))", "data buffers"),
    "a code too large": ("Made(words(0, 2))", "its dictionary of 2 values does not have"),
    "a negative code": ("Made(words(0, -1))", "its dictionary of 2 values does not have"),
    "a code of an empty dictionary": ("Made(Node('c', 1, buffers=[None, b'\\0'], dictionary=text(0)))", "of 0 values"),
    "bad UTF-8": ("Made(Node('u', 1, buffers=[None, i(0, 2), b'\\xff\\xfe']))", "no object for: UnicodeDecode"),
    "a cut UTF-8": ("Made(Node('u', 2, buffers=[None, i(0, 1, 2), 'ä'.encode()]))", "no object for: UnicodeDecode"),
    "two fields of one name": ("Made(Node('+s', 3, buffers=[None], children=[numbers(), numbers()]))", "one name"),
    "a date that Python lacks": ("Made(Node('tdD', 1, buffers=[None, i(2**31 - 1)]))", "Error"),
    "a time of the day after": ("Made(Node('tts', 1, buffers=[None, i(86400)]))", "more than one"),
    "a time before the day": ("Made(Node('tts', 1, buffers=[None, i(-1)]))", "more than one"),
    "milliseconds of a date": ("Made(Node('tdm', 1, buffers=[None, q(1)]))", "part of a day"),
    "nanoseconds": ("Made(Node('tsn:', 1, buffers=[None, q(1)]))", "nanoseconds"),
    "a moment that Python lacks": ("Made(Node('tss:', 1, buffers=[None, q(2**62)]))", "Error"),
    "a zone that is none": ("Made(Node('tss:Nowhere/At all', 1, buffers=[None, q(0)]))", "Nowhere"),
    "a zone that is a path": ("Made(Node('tss:../../etc/passwd', 1, buffers=[None, q(0)]))", "etc/passwd"),
    "a zone of bad digits": ("Made(Node('tss:+aa:bb', 1, buffers=[None, q(0)]))", "aa:bb"),
    "more nulls than elements": ("spoilt(numbers(), arrays___null_count=4)", "null_count 4"),
    # formats and what goes with them
    "no format": ("spoilt(numbers(), schemas___format=None)", "has no format"),
    "an empty format": ("Made(Node('', 0))", "'' is not read"),
    "a format of bad UTF-8": ("Made(Node(b'\\xff', 0))", "is not read"),
    "an unknown format": ("Made(Node('_pli128', 1, buffers=[None, bytes(16)]))", "'_pli128' is not read"),
    "a width that is no number": ("Made(Node('w:x', 0, buffers=[None, None]))", "'w:x' is not read"),
    "a negative width": ("Made(Node('w:-3', 0, buffers=[None, None]))", "'w:-3' is not read"),
    "a width of thousands of digits": ("Made(Node('w:' + '9' * 9999, 0, buffers=[None, None]))", "is not read"),
    "a decimal of 7 bits": ("Made(Node('d:1,1,7', 0, buffers=[None, None]))", "is not read"),
    "a decimal without a scale": ("Made(Node('d:1', 0, buffers=[None, None]))", "is not read"),
    "metadata of a negative count": ("Made(numbers(metadata=i(-1)))", "metadata contradict"),
    "metadata of a huge count": ("Made(numbers(metadata=i(2**31 - 1)))", "metadata contradict"),
    "metadata of more than a million pairs": ("Made(numbers(metadata=i(2**20 + 1) + bytes(9 << 20)))", "contradict"),
    "metadata of a negative length": ("Made(numbers(metadata=i(1, -5)))", "metadata contradict"),
    # depth
    "65 levels": ("deep(65)", "below 64 others"),
    "200 levels": ("deep(200)", "below 64 others"),
    "a schema that is its own child": ("cyclic(0)", "is its own"),
    "a child that is its own child": ("cyclic(1)", "is its own"),
    "2**60 schemas": ("branching()", "is its own"),
    # streams and capsules
    "a stream without get_schema": ("stream(get_schema=None)", "no callback"),
    "a stream without get_next": ("stream(get_next=None)", "no callback"),
    "a stream without get_last_error": ("stream(get_last_error=None)", "read: 0 [1, 2, 3]"),
    "a released stream": ("stream(release=None)", "consumed before"),
    "capsules the wrong way round": ("Made(numbers()).capsules()[::-1]", "no capsule named arrow_schema"),
    "a tuple of one": ("Made(numbers()).capsules()[:1]", "not enough values"),
    "no capsules": ("(None, None)", "no capsule named arrow_schema"),
    "an array capsule alone": ("Made(numbers()).capsules()[1]", "no capsule named arrow_array_stream"),
}


@pytest.fixture(scope="module")
def answers():
    """What was said of each case, all in one process; if that ends, the case that ended it is the last one told."""
    lines = "".join(
        f"print(json.dumps([{name!r}, judged(lambda: {make})]), flush=True)\n" for name, (make, _) in CASES.items()
    )
    result = children.run(GOOD + lines, timeout=240)
    found = dict(map(json.loads, result.out.splitlines()))
    return found, f"exit status {result.rc} after {len(found)} of {len(CASES)} cases\n{result.err[-2000:]}"


def test_no_case_ends_the_process(answers):
    found, said = answers
    assert list(found) == list(CASES), said


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_told(case, answers):
    found, said = answers
    assert case in found, said
    assert CASES[case][1] in found[case], found[case]
    assert found[case].startswith("read: ") == CASES[case][1].startswith("read: "), found[case]


def test_the_good_structs_that_were_spoilt_are_read():
    snippet = """
    made = [numbers(), text(0, 1, 3), lists(0, 1, 3), spans((1, 2), (0, 1)), view(16, 0, 0), words(1, 0), row(),
            pairs(), deep(63)]
    print([judged(lambda: Made(node) if isinstance(node, Node) else node) for node in made])
    """
    import ast
    import textwrap

    found = ast.literal_eval(children.run_clean(GOOD + textwrap.dedent(snippet)))
    assert found[:8] == [
        "read: 0 [1, 2, 3]",
        "read: 0 ['a', 'bc']",
        "read: 0 [[1], [2, 3]]",
        "read: 0 [[2, 3], [1]]",
        "read: 0 ['abcdefghijklmnop']",
        "read: 0 ['bc', 'a']",
        "read: 0 [{'a': 1, 'b': 1}, {'a': 2, 'b': 2}, {'a': 3, 'b': 3}]",
        "read: 0 [[(1, 1), (2, 2), (3, 3)]]",
    ]
    assert found[8].startswith("read: 0 [{'': {'': ")
