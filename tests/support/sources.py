"""Objects of several libraries that lend takes, each for another reason of a target to copy or to refuse."""

import array
import struct

import pytest


def of_numpy(make):
    return lambda: make(pytest.importorskip("numpy"))


def _torch(make):
    return lambda: make(pytest.importorskip("torch"))


def _image():
    return pytest.importorskip("PIL.Image").new("RGB", (3, 2))


def _rows_behind_pointers():
    from support.counting import CountingBuffer

    return CountingBuffer(struct.pack("4f", *range(4)), format="f", itemsize=4)


SOURCES = {
    "bytes": lambda: b"1234",
    "a bytearray": lambda: bytearray(8),
    "doubles": lambda: array.array("d", [1.0, 2.0]),
    "nothing": lambda: b"",
    "a buffer of C": _rows_behind_pointers,
    "floats": of_numpy(lambda np: np.arange(4, dtype="float32")),
    "unaligned floats": of_numpy(lambda np: np.arange(5, dtype="float32")[1:]),
    "bools": of_numpy(lambda np: np.array([True, False, True])),
    "a table of bools": of_numpy(lambda np: np.ones((2, 2), bool)),
    "foreign byte order": of_numpy(lambda np: np.arange(3, dtype=">i4")),
    "backwards": of_numpy(lambda np: np.arange(3.0)[::-1]),
    "with gaps": of_numpy(lambda np: np.arange(6.0)[::2]),
    "datetimes": of_numpy(lambda np: np.zeros(2, "datetime64[s]")),
    "a conjugate": _torch(lambda torch: torch.tensor([1j]).conj()),
    "bfloat16": _torch(lambda torch: torch.ones(2, dtype=torch.bfloat16)),
    "an image": _image,
}
