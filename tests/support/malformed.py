"""Descriptors that contradict themselves, as tables: name -> (what to make it with, what the refusal must name).

No pointer in them is wild where it is not empty: a consumer that checks before it reads never crashes on them.
"""

from .producers import ABSENT, Memory

BIG = 2**62

# Keywords of CountingDLPack and CountingExchange over 64 bytes; `shape` among them.
TENSORS = {
    "ndim -1": ({"shape": (), "ndim": -1}, "ndim"),
    "ndim below all": ({"shape": (), "ndim": -(2**31)}, "ndim"),
    "ndim 65": ({"shape": (1,) * 65}, "64"),
    "ndim 200": ({"shape": (1,) * 200}, "64"),
    "ndim 2**30": ({"shape": (1,), "ndim": 2**30}, "ndim"),
    "no shape": ({"shape": (4,), "null_shape": True}, "shape"),
    "no data": ({"shape": (4,), "data": 0}, "data"),
    "no data, an offset": ({"shape": (4,), "data": 0, "byte_offset": 8}, "data"),
    "a negative extent": ({"shape": (-3,)}, "-3"),
    "a negative extent beside an empty one": ({"shape": (0, -3)}, "-3"),
    "two negative extents": ({"shape": (-2, -2)}, "-2"),
    "the least extent": ({"shape": (-(2**63),), "strides": (1,)}, "shape"),
    "a size that overflows": ({"shape": (2**32, 2**32, 16), "strides": (1, 1, 1)}, "size"),
    "a size that overflows with zero strides": ({"shape": (2**32, 2**32, 16), "strides": (0, 0, 0)}, "size"),
    "a size in bytes that overflows": ({"shape": (2**62,), "strides": (0,)}, "size"),
    "a size that wraps to zero": ({"shape": (2**32, 2**32), "strides": (0, 0)}, "size"),
    "a stride that overflows": ({"shape": (2, 2), "strides": (BIG, 1)}, "stride"),
    "a stride that reaches too far": ({"shape": (2**40, 1), "strides": (2**30, 1)}, "stride"),
    "the least stride": ({"shape": (2,), "strides": (-(2**63),)}, "stride"),
    "strides that overflow together": ({"shape": (2, 2, 2), "strides": (2**60, 2**60, 2**60)}, "stride"),
    "a span below address zero": ({"shape": (2,), "strides": (-(2**59),)}, "stride|offset|bounds"),
    "a byte_offset that overflows": ({"shape": (4,), "byte_offset": 2**64 - 4}, "byte_offset"),
    "a byte_offset of half the space": ({"shape": (4,), "byte_offset": 2**63}, "byte_offset"),
    "dtype code 99": ({"shape": (4,), "dtype": (99, 32, 1)}, "99"),
    "dtype code 255": ({"shape": (4,), "dtype": (255, 32, 1)}, "255"),
    "int of 7 bits": ({"shape": (4,), "dtype": (0, 7, 1)}, "7"),
    "int of 0 bits": ({"shape": (4,), "dtype": (0, 0, 1)}, "0"),
    "int of 24 bits": ({"shape": (4,), "dtype": (0, 24, 1)}, "24"),
    "bool of 1 bit": ({"shape": (4,), "dtype": (6, 1, 1)}, r"\b1\b"),
    "uint of 1 bit": ({"shape": (4,), "dtype": (1, 1, 1)}, r"\b1\b"),
    "bool of 16 bits": ({"shape": (4,), "dtype": (6, 16, 1)}, "16"),
    "float of 8 bits": ({"shape": (4,), "dtype": (2, 8, 1)}, "8"),
    "float of 128 bits": ({"shape": (4,), "dtype": (2, 128, 1)}, "128"),
    "bfloat of 32 bits": ({"shape": (4,), "dtype": (4, 32, 1)}, "32"),
    "complex of 16 bits": ({"shape": (4,), "dtype": (5, 16, 1)}, "16"),
    "fp8 of 4 bits": ({"shape": (4,), "dtype": (10, 4, 1)}, "4"),
    "no lanes": ({"shape": (4,), "dtype": (2, 32, 0)}, "lanes|dtype"),
    "device 0": ({"shape": (4,), "device": (0, 0)}, "device"),
    "device -1": ({"shape": (4,), "device": (-1, 0)}, "device"),
    "device 2**31-1": ({"shape": (4,), "device": (2**31 - 1, 0)}, "device"),
}

# Only a struct with a version can have a wrong one.
VERSIONED = {
    "major 0": ({"shape": (4,), "version": (0, 5)}, "version"),
    "major 2": ({"shape": (4,), "version": (2, 0)}, "version"),
    "major 2 and nonsense behind it": ({"shape": (), "ndim": -1, "version": (2, 0)}, "version"),
}


def interfaces():
    """Dicts of `__array_interface__`, each with what the refusal must name. Made anew: they hold memory."""
    eight, sixty_four = bytearray(8), bytearray(64)
    memory = Memory(bytes(64))
    good = {"version": 3, "shape": (4,), "typestr": "<f4", "data": (memory.address, False)}
    table = {
        "an empty dict": (dict.fromkeys(good, ABSENT), "shape|typestr"),
        "no shape": ({"shape": ABSENT}, "shape"),
        "no typestr": ({"typestr": ABSENT}, "typestr"),
        "no data and no buffer": ({"data": ABSENT}, "data"),
        "data None and no buffer": ({"data": None}, "data"),
        "data a number": ({"data": 5}, "data"),
        "data a string": ({"data": "here"}, "data"),
        "data one long": ({"data": (memory.address,)}, "data"),
        "data with a string pointer": ({"data": ("0", False)}, "data"),
        "data with a float pointer": ({"data": (1.5, False)}, "data"),
        "a negative pointer": ({"data": (-8, False)}, "data"),
        "a pointer past all": ({"data": (2**64, False)}, "data"),
        "a pointer at the end of all": ({"data": (2**64 - 4, False)}, "data|bounds|size|address"),
        "pointer 0": ({"data": (0, False)}, "data"),
        "136 dimensions": ({"shape": (1,) * 136}, "64"),
        "a size that overflows": ({"shape": (2**32, 2**32, 16)}, "size|large|overflow"),
        "an extent past an int": ({"shape": (2**70,)}, "shape"),
        "a negative extent": ({"shape": (-3,)}, "-3"),
        "a float extent": ({"shape": (2.5,)}, "shape"),
        "a shape that is a number": ({"shape": 4}, "shape"),
        "a shape that is a string": ({"shape": "4"}, "shape"),
        "a shape of None": ({"shape": None}, "shape"),
        "strides of another length": ({"strides": (4, 4)}, "strides"),
        "strides that are no integers": ({"strides": ("4",)}, "strides"),
        "strides that overflow": ({"strides": (2**62,)}, "strides"),
        "strides past an int": ({"strides": (2**70,)}, "strides"),
        "a buffer that is too small": ({"data": eight, "shape": (100,)}, "400.*8|8.*400"),
        "a buffer one byte too small": ({"data": bytearray(15)}, "16.*15|15.*16"),
        "a negative offset": ({"data": sixty_four, "offset": -8}, "offset"),
        "an offset that leaves the buffer": ({"data": sixty_four, "offset": 52}, "offset|bounds"),
        "an offset past an int": ({"data": sixty_four, "offset": 2**70}, "offset"),
        "an offset that is no integer": ({"data": sixty_four, "offset": "8"}, "offset"),
        "strides that leave the buffer": ({"data": sixty_four, "strides": (4096,)}, "bounds"),
        "strides that leave the buffer below": ({"data": sixty_four, "strides": (-4,)}, "bounds"),
        "a mask": ({"mask": bytearray(4)}, r"mask.*column|column.*mask"),
        "objects on raw memory": ({"typestr": "|O", "shape": (1,)}, r"\|O|object"),
        "a typestr without a size": ({"typestr": "<f"}, "typestr"),
        "a typestr of nothing": ({"typestr": ""}, "typestr"),
        "a typestr that is a name": ({"typestr": "StringDType()"}, "typestr"),
        "a typestr that is bytes and wrong": ({"typestr": b"<q"}, "typestr"),
        "a typestr that is a number": ({"typestr": 4}, "typestr"),
        "a typestr with a huge size": ({"typestr": "|V99999999999999999999"}, "typestr|size"),
    }
    return memory, good, table


# What is wrong in a dict of either device interface, over shape (2, 3) and "<f4".
DEVICE_INTERFACES = {
    "no shape": ({"shape": ABSENT}, "shape"),
    "a shape of None": ({"shape": None}, "shape"),
    "a shape that is a number": ({"shape": 4}, "shape"),
    "a shape that is a string": ({"shape": "4"}, "shape"),
    "136 dimensions": ({"shape": (1,) * 136}, "64"),
    "a negative extent": ({"shape": (-3,)}, "-3"),
    "a float extent": ({"shape": (2.5,)}, "shape"),
    "an extent past an int": ({"shape": (2**70,)}, "shape"),
    "a size that overflows": ({"shape": (2**32, 2**32, 16)}, "size|shape"),
    "no typestr": ({"typestr": ABSENT}, "typestr"),
    "a typestr that is a number": ({"typestr": 4}, "typestr"),
    "a typestr that is bytes": ({"typestr": b"<f4"}, "typestr"),
    "a typestr without a size": ({"typestr": "<f"}, "typestr"),
    "a typestr of nothing": ({"typestr": ""}, "typestr"),
    "a typestr with a huge size": ({"typestr": "|V99999999999999999999"}, "typestr|size"),
    "a typestr of another byte order": ({"typestr": ">f4"}, "typestr"),
    "objects": ({"typestr": "|O"}, "typestr"),
    "no data": ({"data": ABSENT}, "data"),
    "data None": ({"data": None}, "data"),
    "data a number": ({"data": 4096}, "data"),
    "data a list": ({"data": [4096, False]}, "data"),
    "data a buffer": ({"data": bytearray(64)}, "data"),
    "data one long": ({"data": (4096,)}, "data"),
    "data three long": ({"data": (4096, False, 0)}, "data"),
    "data with a string pointer": ({"data": ("4096", False)}, "data"),
    "data with a float pointer": ({"data": (4096.0, False)}, "data"),
    "data with no pointer": ({"data": (None, False)}, "data"),
    "a negative pointer": ({"data": (-8, False)}, "data"),
    "a pointer past all": ({"data": (2**64, False)}, "data"),
    "a pointer at the end of all": ({"data": (2**64 - 4, False)}, "data"),
    "pointer 0": ({"data": (0, False)}, "data"),
    "strides that are a number": ({"strides": 4}, "strides"),
    "strides of another length": ({"strides": (4,)}, "strides"),
    "strides that are no integers": ({"strides": ("4", 4)}, "strides"),
    "strides that overflow": ({"strides": (2**62, 4)}, "strides"),
    "strides past an int": ({"strides": (2**70, 4)}, "strides"),
    "strides that leave the space below": ({"strides": (-(2**60), 4)}, "strides|data"),
    "a version that is a string": ({"version": "3"}, "version"),
    "a version that is a float": ({"version": 1.0}, "version"),
    "a version below all": ({"version": -1}, "version"),
    "a version to come": ({"version": 4}, "version"),
}
