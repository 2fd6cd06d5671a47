"""Every kind of array, asked of both implementations: they say the same of it, or the difference is known and told.

`KNOWN_DIFFERENCES` are lines of the comparison of the two. A row that no longer differs fails as one that newly does.
"""

import pytest

from support.array_kinds import KINDS
from support.both import BOTH, REFUSED

RECORDS = "minimal reads numbers, text, bytes and times: records are lend's"
OBJECTS = "pointers to Python objects are lend's"
UNITLESS = "minimal takes times with a unit only"
SMALL = (
    "what minimal has no name for is not lent, not as bytes either: lend.buffer lends the bytes, lend.view what it can"
)
DOORS = "__array_struct__, __array__, the C exchange table and the SYCL interface are lend's"
ARRAY_METHOD = "what is shown by __array__ alone may be a copy: lend finds out"
HANDLES = "memory of a device without addresses is a handle, which lend keeps"
SCALARS = "a NumPy scalar whose buffer does not tell its dtype is lend's"
PILLOW = "Pillow copies its pixels when its interface is read: lend knows that and refuses, minimal takes the copy"
ON_CLASS = "minimal looks for DLPack on the class, where protocols are"
PACKED = [f"{name}{gaps}" for name in ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "int1", "int2", "int4",
                                       "uint1", "uint2", "uint4") for gaps in ("", " with gaps")]  # fmt: skip

# kind of array -> the name of each that the two say different things of, and why
KNOWN_DIFFERENCES = {
    "sources": {"an image": PILLOW},
    "numpy": {
        "dtype M8": UNITLESS,
        "dtype m8": UNITLESS,
        "dtype O": OBJECTS,
        "records": RECORDS,
        "records of one field": RECORDS,
        "scalar longdouble g": SCALARS,
        "scalar datetime64 M": SCALARS,
        "scalar timedelta64 m": SCALARS,
        "scalar void V": RECORDS,
    },
    "ml_dtypes": dict.fromkeys(PACKED, SMALL) | {"bfloat16, swapped": SMALL},
    "torch": dict.fromkeys(("dtype chalf", "dtype complex32", "dtype float4_e2m1fn_x2"), SMALL),
    "jax": {},
    "pyarrow": {"times": ARRAY_METHOD},
    "plain": {
        "a structure": RECORDS,
        "a union": SMALL,
        "ctypes wchar": SMALL,
        "ctypes pointer": SMALL,
        "ctypes long double": SMALL,
        "ctypes objects": OBJECTS,
    },
    "one protocol": {
        "the struct of NumPy": DOORS,
        "a struct": DOORS,
        "a method": DOORS,
        "CountingExchange": DOORS,
        "SYCL": DOORS,
        "DLPack on the object": ON_CLASS,
        "two lanes": SMALL,
        "device 7": HANDLES,
        "device 8": HANDLES,
        "device 15": HANDLES,
    },
    "masks": {  # what has one is refused by both
        "mask, exchange table, of nothing": DOORS,
        "mask, exchange table, False": DOORS,
        "mask, array struct, of nothing": DOORS,
        "mask, array struct, False": DOORS,
        "interface, exchange table, of nothing": DOORS,
        "interface, array struct, of nothing": DOORS,
        "interface behind __getattr__, of nothing": ON_CLASS,
        "mask behind __getattr__, of nothing": ON_CLASS,
        "mask behind __getattr__, False": ON_CLASS,
    },
    "libraries": dict.fromkeys(("polars", "pandas", "pandas index", "pandas times"), ARRAY_METHOD),
}


def answers(obj):
    return [(side.asked(obj), side.asked_for_bytes(obj)) for side in BOTH]


@pytest.mark.parametrize("kind", KINDS)
def test_both_say_the_same_of_every_array_but_for_known_differences(kind):
    asked = {name: answers(obj) for name, obj in KINDS[kind]()}
    differ = {name: pair for name, pair in asked.items() if pair[0] != pair[1]}
    assert set(differ) == set(KNOWN_DIFFERENCES[kind]) & set(asked), differ


# whose values the standard library does not read, by dtype: lend's tolist() has them
UNREAD = ("bfloat16", "float8", "<f16", "<c32")
MANAGED_MEMORY = 13  # which lend reads from the host, and minimal leaves alone


def values(side, obj):
    try:
        return repr(side.take(obj).tolist())
    except side.refusal:
        return REFUSED


@pytest.mark.parametrize("kind", KINDS)
def test_both_read_the_same_values_but_for_types_that_the_standard_library_lacks(kind):
    wrong = {}
    for name, obj in KINDS[kind]():
        (facts, _), (others, _) = answers(obj)
        if REFUSED in (facts, others) or facts != others:
            continue
        small, large = (values(side, obj) for side in BOTH)
        unread = facts.dtype.startswith(UNREAD) or facts.device[0] == MANAGED_MEMORY
        if small != (REFUSED if unread else large):
            wrong[name] = (small, large)
    assert wrong == {}
