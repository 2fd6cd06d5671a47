"""Arrow structs with one thing wrong in each, in a process of its own: an exception, and never a crash.

The structs are those that lend is tried with, so that both are seen to read, or to refuse, the same.
"""

import json

import pytest

from support import children, hostile_arrow

JUDGED = """
import json, resource
from lend import minimal
from support import hostile_arrow

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # what takes a lying length for true, runs out of memory

def judged(make):
    taken = make()
    try:
        column = minimal.column(taken)
        return f"read: {column.null_count} {column.tolist()!r:.80}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""
# case -> what minimal says of it, where more than that it is not read
SAID = {
    "negative length": "length -1",
    "negative offset": "offset -1",
    "null_count below -1": "null_count -2",
    "length and offset overflow": "length",
    "no buffers array": "2 pointers are told to lie at 0x0",
    "negative n_buffers": "-1 buffers",
    "too many buffers": "3 buffers",
    "huge n_buffers of views": "pointers are told",
    "too few buffers of views": "2 buffers",
    "huge n_children": "children",
    "huge n_children of the type": "pointers are told",
    "negative n_children of the type": "pointers are told",
    "negative n_children": "-1 children",
    "children NULL": "2 pointers are told to lie at 0x0",
    "children of the type NULL": "2 pointers are told",
    "fewer children than the type": "1 children",
    "numbers with children": "contradicts itself",
    "a map of numbers": "contradicts itself",
    "released array": "consumed before",
    "released type": "was released",
    "released child": "released before",
    "released child of the type": "was released",
    "released dictionary": "released before",
    "no data": "no data",
    "no offsets": "no offsets",
    "no text": "no data",
    "nulls without validity": "no validity",
    "dictionary missing": "dictionary at 0x0",
    "dictionary of the type missing": "dictionary at",
    "codes that are text": "contradicts itself",
    "huge length without data": "no data",
    "huge length of bits": "no data",
    "huge length of text": "no offsets",
    "huge length of views": "no views",
    "huge length of list views": "no offsets",
    "huge length of a struct": "elements of each child are needed",
    "huge length of fixed lists": "elements of each child are needed",
    "huge width of fixed lists": "elements of each child are needed",
    "huge null column": "MemoryError",
    "huge struct without fields": "MemoryError",
    "huge width of nothing": "MemoryError",
    "offsets that decrease": "bytes 0 to 5",
    "last offset before the first": "offsets from 4 to 3",
    "a negative first offset": "offsets from -1",
    "a middle offset that leaves": "bytes 0 to 900",
    "a negative middle offset": "bytes 0 to -900",
    "list offsets that decrease": "negative length",
    "list offsets that leave": "4 elements of each child are needed",
    "list views that leave": "elements 0 to 4",
    "list views of negative size": "negative length",
    "list views that begin before": "elements -1",
    "list views far away": "elements 0 to",
    "a view into no buffer": "data buffer 1",
    "a view into a negative buffer": "data buffer -1",
    "a view that leaves": "bytes 1 to 17",
    "a view that begins before": "bytes -1 to 15",
    "a view of negative size": "a view of -5 bytes",
    "a negative length of a data buffer": "data buffers of lengths",
    "no lengths of data buffers": "data buffers of lengths",
    "a NULL data buffer of some length": "data buffers",
    "a code too large": "its dictionary of 2 values does not have",
    "a negative code": "its dictionary of 2 values does not have",
    "a code of an empty dictionary": "of 0 values",
    "bad UTF-8": "no object for: UnicodeDecode",
    "a cut UTF-8": "no object for: UnicodeDecode",
    "two fields of one name": "one name",
    "a date that Python lacks": "Error",
    "a time of the day after": "more than one",
    "a time before the day": "more than one",
    "milliseconds of a date": "part of a day",
    "nanoseconds": "nanoseconds",
    "a moment that Python lacks": "Error",
    "a zone that is none": "Nowhere",
    "a zone that is a path": "etc/passwd",
    "a zone of bad digits": "aa:bb",
    "no format": "has no format",
    "an empty format": "'' is not read",
    "a format of bad UTF-8": "is not read",
    "an unknown format": "is not read",
    "a width that is no number": "'w:x' is not read",
    "a negative width": "'w:-3' is not read",
    "a width of thousands of digits": "is not read",
    "a decimal of 7 bits": "is not read",
    "a decimal without a scale": "is not read",
    "metadata of a negative count": "metadata contradict",
    "metadata of a huge count": "metadata contradict",
    "null_count above the length": "null_count 4",
    "metadata of a negative length": "metadata contradict",
    "65 levels": "below 64 others",
    "200 levels": "below 64 others",
    "a type that is its own child": "is its own",
    "a child that is its own child": "is its own",
    "2**60 types": "is its own",
    "a stream without get_schema": "no callback",
    "a stream without get_next": "no callback",
    "a stream without get_last_error": "read: 0 [1, 2, 3]",
    "a released stream": "consumed before",
    "capsules the wrong way round": "no capsule named arrow_schema",
    "a tuple of one": "not enough values",
    "no capsules": "no capsule named arrow_schema",
    "an array capsule alone": "no capsule named arrow_array_stream",
}  # fmt: skip

UNREAD = "minimal reads no unions and no runs: none is refused for what is wrong with it"
# case -> why one of the two reads it, and the other refuses it
KNOWN_DIFFERENCES = {
    "a view of another beginning": "minimal reads the bytes that a view points to, and not those that it repeats",
    "a decimal of too many digits": "minimal asks of decimals how wide they are",
    "a decimal of no digit": "minimal asks of decimals how wide they are",
    "an extension whose name has a NUL": "minimal hands metadata on as bytes",
    "runs that begin before": UNREAD,
}


@pytest.fixture(scope="module")
def answers():
    """What was said of each case, all in one process; if that ends, the case that ended it is the last one told."""
    snippet = """
for case, (made, _) in hostile_arrow.CASES.items():
    print(json.dumps([case, judged(lambda: eval(made, vars(hostile_arrow)))]), flush=True)
"""
    result = children.run(JUDGED + snippet, timeout=240)
    found = dict(map(json.loads, result.out.splitlines()))
    return (
        found,
        f"exit status {result.rc} after {len(found)} of {len(hostile_arrow.CASES)} cases\n{result.err[-2000:]}",
    )


def test_no_case_ends_the_process(answers):
    found, said = answers
    assert list(found) == list(hostile_arrow.CASES), said


@pytest.mark.parametrize("case", SAID)
def test_what_is_wrong_is_told(case, answers):
    found, said = answers
    assert SAID[case] in found.get(case, said)


def test_both_read_and_refuse_the_same_but_for_known_differences(answers):
    found, said = answers
    read = {case for case in found if found[case].startswith("read: ")}
    both = {case for case, (_, told) in hostile_arrow.CASES.items() if told.startswith("read: ") and case in found}
    assert read ^ both == set(KNOWN_DIFFERENCES) & set(found), said


def test_the_good_structs_that_were_spoilt_are_read():
    snippet = """
made = [hostile_arrow.Made(node) for node in hostile_arrow.good()[:8]] + [hostile_arrow.deep(63)]
print(json.dumps([judged(lambda: one) for one in made]))
"""
    *found, deep = json.loads(children.run_clean(JUDGED + snippet))
    assert found == [
        "read: 0 [1, 2, 3]",
        "read: 0 ['a', 'bc']",
        "read: 0 [[1], [2, 3]]",
        "read: 0 [[2, 3], [1]]",
        "read: 0 ['abcdefghijklmnop']",
        "read: 0 ['bc', 'a']",
        "read: 0 [{'a': 1, 'b': 1}, {'a': 2, 'b': 2}, {'a': 3, 'b': 3}]",
        "read: 0 [[(1, 1), (2, 2), (3, 3)]]",
    ]
    assert deep.startswith("read: 0 [{'': {'': ")
