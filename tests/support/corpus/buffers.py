"""Py_buffers of an exporter in C, every field of which may be a lie; and struct formats in them."""

import lend
from lend.errors import MalformedDescriptor, UnsupportedLayout, UnsupportedType
from support.counting import CountingBuffer

from . import Odd, Table, Wrong

LEAST, MOST = -(2**63), 2**63 - 1
FAR = "reach further than an address can (bounds)"


def make(fields, by_buffer):
    exporter = CountingBuffer(48, format="d", itemsize=8, shape=(2, 3), lie=fields)
    return lambda: (lend.buffer if by_buffer else lend.view)(exporter), exporter.audit


def malformed(name, *says, **changes):
    return Wrong(name, changes, MalformedDescriptor, ("contradicts itself", *says))


def strides(*steps):
    return malformed(f"strides {steps}", "the strides of shape (2, 3)", FAR, strides=steps)


def shape(*extents):
    says = f"shape {extents} has a negative extent, or its size does not fit the address space"
    return malformed(f"shape {extents}", says, shape=extents, strides=(0,) * len(extents))


WRONG = [
    *(malformed(f"ndim {n}", f"ndim is {n}: lend takes 0 to 64 dimensions", ndim=n)
      for n in (-1, -(2**31), 65, 2**30, 2**31 - 1)),
    malformed("no shape", "there are dimensions and no shape", shape=None),
    shape(-2, 3), shape(-2, -3), shape(2, LEAST), shape(0, -3), shape(2**40, 2**40), shape(MOST, 1), shape(MOST, MOST),
    shape(2**32, 2**32), shape(2**60, 1),
    *(malformed(f"len {n}", f"len is {n}, and the shape", len=n) for n in (0, 6, 47, 49, -48, MOST, LEAST)),
    *(malformed(f"itemsize {n}", f"itemsize is {n}", itemsize=n) for n in (-1, -8, LEAST, 2**32, 2**62, MOST)),
    *(Wrong(f"itemsize {n}", {"itemsize": n}, UnsupportedType, ("the buffer format 'd'", f"one dtype of {n} bytes"),
      False)
      for n in (0, 1, 4, 9, 2**32 - 1)),
    malformed("no address", "the address is 0, or too high for a len of", buf=0),
    malformed("the last address", "the address is 0, or too high for a len of 48", buf=-8),
    strides(2**62, 8), strides(LEAST, 8), strides(8, LEAST), strides(MOST, 8), strides(-(2**62), 2**61),
    strides(2**61, 2**61), strides(-(2**60), 8), strides(8, -(2**60)),
    Wrong("suboffsets", {"suboffsets": (0, -1)}, UnsupportedLayout, ("has suboffsets",)),
    Wrong("suboffsets last", {"suboffsets": (-1, 8)}, UnsupportedLayout, ("has suboffsets",)),
]  # fmt: skip
ODD = [
    Odd("no strides", {"strides": None}, {"c_contiguous": True}),
    Odd("no format", {"format": None}, {"itemsize": 8}),
    Odd("read-only", {"readonly": 1}, {"readonly": True}),
    Odd("read-only by another number", {"readonly": -5}, {"readonly": True}),
    Odd("suboffsets that are none", {"suboffsets": (-1, LEAST)}, {}),
    Odd("the same element everywhere", {"strides": (0, 0)}, {"readonly": True, "shape": (2, 3)}),
    Odd("nothing, with wild strides", {"shape": (0, 3), "strides": (LEAST, MOST), "len": 0}, {"nbytes": 0}, True),
    Odd("nothing, at no address", {"shape": (0, 3), "buf": 0, "len": 0}, {"nbytes": 0}, True),
    Odd("items of no bytes", {"format": "0s", "itemsize": 0, "len": 0, "strides": (2**40, 8)}, {"nbytes": 0}, True),
    Odd("one element, a wild stride", {"shape": (1, 6), "strides": (LEAST, 8)}, {"size": 6}, True),
]
TOGETHER = (("shape", "strides", "len", "itemsize", "ndim"), ("format", "itemsize"), ("suboffsets", "strides"))

# -- formats: (format, itemsize) ---------------------------------------------------------------------------------------

UNREAD = [
    ("", 8), ("<", 8), ("@", 1), (" ", 1), ("\n", 1), ("d d", 16), ("dd", 8), ("y", 1), ("j", 4), ("Z", 8), ("Zq", 16),
    ("ZZd", 16), ("D d", 16), ("&d", 8), ("X{}", 8), ("&<l", 8), ("t", 1), ("3t", 1), ("u", 2), ("d:", 8), (":a:d", 8),
    ("é", 2), ("d\u2028", 8), ("0", 1), ("12", 12), ("-1d", 8), ("+1d", 8), ("1.5d", 8), ("99999999999d", 8),
    ("9" * 40 + "d", 8), ("2d", 8), ("3d", 16), ("0d", 8), ("(d", 8), ("()", 8), ("(2", 16), ("(2,", 16), ("(2)", 16),
    ("(2,)d", 24), ("(-2)d", 16), ("(2.0)d", 16), ("(99999999999)d", 8), ("(4294967295,4294967295)d", 8), ("2)d", 16),
    ("(2)3d", 16), ("w", 1), ("3w", 4), ("5s", 4), ("4294967296s", 4), ("O", 4), ("2O", 8), ("<O", 4), ("bfloat16", 4),
    ("bfloat", 2), ("Bfloat16", 2), ("float16", 2), ("d<", 8), (">>", 8), ("=@", 8), ("?", 2), ("c", 2),
    ("x", 2), ("3x", 2), ("p", 1), ("P", 4), ("n", 4),
]  # fmt: skip
UNREAD_RECORDS = [
    ("T{", 8), ("T", 8), ("T{d", 8), ("T{d:a", 8), ("T{d:a:", 8), ("T{d:a:}}", 8),
    ("T{d:a:d:a:}", 16), ("T{d:a:}", 4), ("T{:a:}", 8), ("T{T{d:a:}", 8), ("T{2(3)d:a:}", 48), ("T{(2d:a:}", 16),
    ("T{y:a:}", 1), ("T{d::}" + "}", 8), ("T{" * 40 + "d:a:" + "}" * 40, 8), ("T{" * 5000, 8), ("T{O:a:}", 4),
    ("T{99999999999d:a:}", 8), ("T{(65536,65536,65536)d:a:}", 8), ("T{" + "b:a:" * 5000 + "}", 5000),
    ("T{d:a:}" * 2, 8), ("(2)T{d:a:}", 8), ("T{4294967295x}", 8), ("T{d:a:4294967295x}", 8), ("T{&d:a:}", 8),
    ("T{X{}:a:}", 8), ("T{<O:a:}", 4), ("T {d:a:}", 8),
]  # fmt: skip


def make_format(fields, by_buffer):
    itemsize = fields["itemsize"]
    exporter = CountingBuffer(2 * itemsize, format=fields["format"], itemsize=itemsize, shape=(2,))
    return lambda: (lend.buffer if by_buffer else lend.view)(exporter), exporter.audit


def unread(format, itemsize):
    changes = {"format": format, "itemsize": itemsize}
    said = repr(format) if len(format) <= 60 else format[:60].encode("unicode_escape").decode()
    return Wrong(f"{format!r:.50} of {itemsize}", changes, UnsupportedType, (said,), False)


READ = {
    ("d", 8): "float64", ("=d", 8): "float64", ("^d", 8): "float64", ("8s", 8): "bytes[8]", ("1d", 8): "float64",
        ("<<d", 8): "float64",
    ("0s", 0): "bytes[0]",
}  # fmt: skip
FORMATS = Table(
    "struct formats", {"format": "d", "itemsize": 8}, make_format,
    [unread(*pair) for pair in UNREAD + UNREAD_RECORDS],
    [Odd(f"{format!r} of {size}", {"format": format, "itemsize": size}, {"dtype": lend.DType(name)})
     for (format, size), name in READ.items()],
    "CountingBuffer",
)  # fmt: skip
TABLES = [Table("buffers of C", {}, make, WRONG, ODD, "CountingBuffer", TOGETHER), FORMATS]
