"""What a request asks of a dtype is judged alike by lend.h and lend_take.h, and as the comment of lend_request says."""

import ctypes
import itertools
import struct

import pytest

from lend.errors import LendError
from support.counting import CountingBuffer, CountingDLPack
from support.producers import ArrayInterface

WIDE = 8 * ctypes.sizeof(ctypes.c_longdouble)
INT, UINT, FLOAT, HANDLE, BFLOAT, COMPLEX, BOOL = range(7)
OPAQUE, DATETIME, TIMEDELTA, BYTES, UCS4, RECORD, OBJECT = range(128, 135)
WIDTHS = {
    INT: (2, 4, 8, 16, 32, 64, 128), UINT: (2, 4, 8, 16, 32, 64, 128), FLOAT: (16, 32, 64, WIDE), HANDLE: (64,),
    BFLOAT: (16,), COMPLEX: (32, 64, 128, 2 * WIDE), BOOL: (8,), **dict.fromkeys(range(7, 15), (8,)), 15: (6,),
    16: (6,), 17: (4,), OPAQUE: (0,), DATETIME: (64,), TIMEDELTA: (64,), BYTES: (0,), UCS4: (0,), RECORD: (0,),
    OBJECT: (8 * struct.calcsize("P"),),
}  # fmt: skip
PADDED = 4
NONE, MET, REFUSED = "no dtype", "met", "refused"


# -- the comment of lend_request.dtype, a second time -----------------------------------------------------------------


def is_one(said):
    """Whether there is a dtype of these fields."""
    code, order, unit, bits, lanes, itemsize, multiplier = said
    timed = code in (DATETIME, TIMEDELTA)
    ordered = code != OBJECT and (bits > 8 or code == UCS4)
    sizes = {0, bits * lanes / 8} | ({lanes} if bits < 8 else set())
    return (
        bits in WIDTHS.get(code, ())
        and order in ("<>" if ordered else "<>|")
        and (lanes == 1 if code >= OPAQUE else lanes >= 1)
        and unit in (range(14) if timed else (0,))
        and (multiplier >= 1 if timed else multiplier == 1)
        and (itemsize in sizes if bits else itemsize % (4 if code == UCS4 else 1) == 0)
    )


def judged(said, held):
    """The verdict on a request for `said` over memory of `held`."""
    code, order, unit, bits, lanes, itemsize, multiplier = said
    if code == 255:
        return MET
    if not is_one(said):
        return NONE
    if (code, unit, bits, lanes, multiplier) != (held[0], *held[2:5], held[6]) or held[1] not in (order, "|"):
        return REFUSED
    if bits == 0:
        return MET if itemsize in (0, held[5]) else REFUSED
    if bits < 8:
        return MET if (itemsize == lanes) == (held[5] == lanes) else REFUSED
    return MET


# -- producers of every dtype -----------------------------------------------------------------------------------------


def tensors():
    for code, widths in WIDTHS.items():
        if code > 17:
            continue
        for bits, lanes in itertools.product(widths, (1, 2, 4)):
            if bits <= 128 and (code, bits) != (FLOAT, WIDE):
                for flags in (0, PADDED) if bits < 8 else (0,):
                    yield (
                        f"{code}:{bits}x{lanes}{' padded' if flags else ''}",
                        lambda c=code, b=bits, n=lanes, f=flags: CountingDLPack(
                            bytes(256), (2,), dtype=(c, b, n), flags=f
                        ),
                    )


FORMATS = {
    "<h": 2, ">h": 2, "B": 1, "?": 1, ">q": 8, "<d": 8, ">f": 4, "g": WIDE // 8, ">Zf": 8, "Zg": WIDE // 4, "5s": 5,
    "s": 1, "0s": 0, "<2w": 8, ">2w": 8, "w": 4, "7x": 7, "8x": 8, "T{i:a:i:b:}": 8, "T{b:a:b:b:}": 2,
}  # fmt: skip
TYPESTRS = ["<M8[25s]", ">M8[25s]", "<M8[s]", "<M8", "<m8[25s]", "<m8[ns]", "|V8", "|V1", "<i16", "|S5", ">U2"]


def producers():
    yield from tensors()
    for text, itemsize in FORMATS.items():
        yield text, lambda t=text, n=itemsize: CountingBuffer(bytes(256), format=t, itemsize=n, shape=(2,))
    for text in TYPESTRS:
        yield text, lambda t=text: ArrayInterface(bytes(256), (2,), t)
    yield "bytes alone", lambda: CountingBuffer(bytes(12), format=None, itemsize=3, shape=(2,))


PRODUCERS = dict(producers())

# -- requests ---------------------------------------------------------------------------------------------------------

OTHER = {
    0: [0, 1, 2, 6, 12, 15, 17, 18, 127, OPAQUE, DATETIME, BYTES, UCS4, RECORD, OBJECT, 135, 254, 255],
    1: ["<", ">", "|", "=", "\0"],
    2: [0, 1, 7, 13, 14, 255],
    3: [0, 1, 2, 4, 6, 8, 16, 17, 32, 64, 65535],
    4: [0, 1, 2, 3, 4, 65535],
    5: [0, 1, 2, 3, 4, 5, 8, 16, 2**32 - 1],
    6: [0, 1, 2, 25, 2**32 - 1],
}


def asked_of(held):
    """What is asked of memory of this dtype: the dtype, with one and with two fields changed."""
    yield held
    for field, values in OTHER.items():
        for value in values:
            yield (*held[:field], value, *held[field + 1 :])
    for (one, ones), (two, twos) in itertools.combinations(OTHER.items(), 2):
        for value, other in itertools.product(ones[:6], twos[:6]):
            changed = list(held)
            changed[one], changed[two] = value, other
            yield tuple(changed)


def verdict(ask):
    try:
        ask()
    except ValueError as error:
        if isinstance(error, LendError):
            return REFUSED
        assert "lend_request.dtype is no dtype" in str(error)
        return NONE
    except BufferError:
        return REFUSED
    return MET


def verdicts(both, producer, said):
    request = {"dtype": (said[0], ord(said[1]), *said[2:])}
    return {
        "lend_take": verdict(lambda: both.module.take(producer, request)),
        "lend_acquire": verdict(lambda: both.module.acquire(producer, request)),
        "lend_borrow": verdict(lambda: both.module.acquire(producer, request, True)),
    }


def compared(both, name, requests):
    """The requests that were judged otherwise than the comment says, and by whom."""
    producer = PRODUCERS[name]()
    held = both.module.facts(both.module.acquire(producer))["dtype"]
    wrong = []
    for said in requests(held):
        expected = judged(said, held)
        for who, what in verdicts(both, producer, said).items():
            # lend_take takes nothing whose elements share bytes
            right = REFUSED if name in SHARING and who == "lend_take" and expected == MET else expected
            if what != right:
                wrong.append(f"{said} of {held}: {who} says {what}, the comment {right}")
    return wrong


@pytest.mark.parametrize("name", PRODUCERS)
def test_a_request_is_judged_as_its_comment_says(both, name):
    assert compared(both, name, asked_of) == []


@pytest.fixture(scope="module")
def every_dtype(both):
    return [both.module.facts(both.module.acquire(make()))["dtype"] for make in PRODUCERS.values()]


@pytest.mark.parametrize("name", PRODUCERS)
def test_a_dtype_meets_its_own_kind_and_no_other(both, every_dtype, name):
    assert compared(both, name, lambda held: every_dtype) == []


SHARING = ("0:2x1", "0:2x2", "0:4x1", "1:2x1", "1:2x2", "1:4x1", "15:6x1", "15:6x2", "16:6x1", "16:6x2", "17:4x1")


@pytest.mark.parametrize("name", [name for name in PRODUCERS if name not in SHARING])
def test_both_headers_say_the_same_dtype(both, name):
    producer = PRODUCERS[name]()
    theirs = both.module.facts(both.module.acquire(producer))["dtype"]
    assert both.module.facts(both.module.take(producer))["dtype"] == theirs


DOUBTS = {
    "code": (18, "<", 0, 32, 1, 4, 1),
    "bits": (FLOAT, "<", 0, 17, 1, 4, 1),
    "order": (FLOAT, "|", 0, 32, 1, 4, 1),
    "lanes": (FLOAT, "<", 0, 32, 0, 0, 1),
    "unit": (FLOAT, "<", 7, 32, 1, 4, 1),
    "multiplier": (FLOAT, "<", 0, 32, 1, 4, 0),
    "itemsize": (FLOAT, "<", 0, 32, 1, 8, 1),
}


@pytest.mark.parametrize("field", DOUBTS)
@pytest.mark.parametrize("way", ["take", "acquire"])
def test_a_dtype_that_is_none_is_refused_before_the_object_is_asked(both, way, field):
    code, order, unit, bits, lanes, itemsize, multiplier = DOUBTS[field]
    exporter = CountingBuffer(bytes(8))
    told = (
        f"lend_request.dtype is no dtype, by its {field}: code {code}, bits {bits}, lanes {lanes}, itemsize {itemsize}"
    )
    with pytest.raises(ValueError) as caught:
        getattr(both.module, way)(exporter, {"dtype": (code, ord(order), unit, bits, lanes, itemsize, multiplier)})
    assert (str(caught.value), exporter.gets) == (told, 0)


@pytest.mark.parametrize("flags", [0, 2048, 4096], ids=["as it lies", "copy if needed", "copy"])
def test_packed_lanes_of_which_no_itemsize_is_said_are_packed(both, flags):
    said = (INT, ord("|"), 0, 4, 2, 0, 1)
    packed, padded = (CountingDLPack(bytes(8), (2,), dtype=(0, 4, 2), flags=flag) for flag in (0, PADDED))
    for way in (both.module.take, both.module.acquire):
        taken = both.module.facts(way(packed, {"dtype": said, "flags": flags}))
        assert taken["dtype"] == (INT, "|", 0, 4, 2, 1, 1)
        with pytest.raises(BufferError):
            way(padded, {"dtype": said, "flags": flags})


NONSENSE = [("ndim", -2), ("ndim", 65), ("device_type", -1), ("align", 3), ("align", 2**31), ("flags", 64)]


@pytest.mark.parametrize(("field", "value"), NONSENSE)
@pytest.mark.parametrize("flags", [0, 4096], ids=["as it lies", "copy"])
@pytest.mark.parametrize("way", ["take", "acquire"])
def test_numbers_that_nothing_is_are_refused_by_both(both, way, flags, field, value):
    with pytest.raises(ValueError, match="lend_request"):
        getattr(both.module, way)(b"abcd", {"flags": flags} | {field: value})
