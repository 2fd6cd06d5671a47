"""Consumers in compiled code take a View as they take any exporter: Cython, ctypes, cffi, and the standard library."""

import array
import binascii
import ctypes
import hashlib
import importlib.machinery
import importlib.util
import io
import mmap
import struct
import subprocess
import sys
import sysconfig
import zlib

import pytest

import lend
from lend.errors import LeaseLost, LendError, ReadOnlyMemory
from support.counting import CountingBuffer

TEXT = b"the same sixteen"
DOUBLES = struct.pack("12d", *range(12))


def doubles(shape=(12,), *, readonly=False):
    view = lend.view(memoryview(bytearray(DOUBLES)).cast("d")).reshape(shape)
    return lend.view(view, writable=False) if readonly else view


def in_the_middle():
    """A View that begins neither where its producer begins nor ends where it ends."""
    return lend.view(bytearray(b"<<<" + TEXT + b">>>"))[3:-3]


VIEWS = {
    "a view": lambda: lend.view(bytearray(TEXT)),
    "a view of bytes": lambda: lend.view(TEXT),
    "a slice": in_the_middle,
    "a view of two dimensions": lambda: lend.view(bytearray(TEXT)).reshape((4, 4)),
    "a buffer": lambda: lend.buffer(bytearray(TEXT)),
    "a slice of a buffer": lambda: in_the_middle().buffer,
}
EVERY_VIEW = pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)


# -- the standard library: each takes sixteen bytes ----------------------------------------------------------------


def written_to_a_file(view, folder):
    path = folder / "file"
    with path.open("wb", buffering=0) as file:
        assert file.write(view) == len(TEXT)
    return path.read_bytes()


def written_to_a_buffered_file(view, folder):
    path = folder / "file"
    with path.open("wb") as file:
        file.write(view)
    return path.read_bytes()


def written_to_a_map(view, folder):
    with mmap.mmap(-1, 32) as block:
        block[8:24] = view
        return block[8:24]


def added_to_an_array(view, folder):
    made = array.array("H")
    made.frombytes(view)
    return made.tobytes()


def written_in_memory(view, folder):
    made = io.BytesIO()
    made.write(view)
    return made.getvalue()


def assigned_to_a_bytearray(view, folder):
    made = bytearray(b"...................")
    made[2:-1] = memoryview(view)
    return bytes(made[2:-1])


def copied_to_ctypes(view, folder):
    return bytes((ctypes.c_char * len(TEXT)).from_buffer_copy(view))


READS = {
    "bytes": lambda view, folder: bytes(view),
    "bytearray": lambda view, folder: bytes(bytearray(view)),
    "bytes.join": lambda view, folder: b"".join([view, b""]),
    "bytes +": lambda view, folder: b"" + view,
    "memoryview.cast": lambda view, folder: bytes(memoryview(view).cast("B").cast("i")),
    "int.from_bytes": lambda view, folder: int.from_bytes(view, "big").to_bytes(16, "big"),
    "struct.unpack_from": lambda view, folder: struct.unpack_from("16s", view)[0],
    "struct.iter_unpack": lambda view, folder: b"".join(item for (item,) in struct.iter_unpack("4s", view)),
    "a file": written_to_a_file,
    "a buffered file": written_to_a_buffered_file,
    "a map": written_to_a_map,
    "array.array": added_to_an_array,
    "io.BytesIO": written_in_memory,
    "io.BytesIO of it": lambda view, folder: io.BytesIO(view).getvalue(),
    "a bytearray's slice": assigned_to_a_bytearray,
    "zlib": lambda view, folder: zlib.decompress(zlib.compress(view)),
    "hex": lambda view, folder: binascii.unhexlify(binascii.hexlify(view)),
    "ctypes from_buffer_copy": copied_to_ctypes,
}  # fmt: skip


@EVERY_VIEW
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_the_standard_library_reads(make, read, tmp_path):
    assert read(make(), tmp_path) == TEXT


def test_a_bytearray_takes_no_view_into_a_slice_as_it_takes_no_number():
    # what has __float__ is a number to it, an ndarray too
    made = bytearray(16)
    with pytest.raises(TypeError):
        made[:] = lend.view(TEXT)
    made[:] = lend.buffer(TEXT)
    assert made == TEXT


SUMS = {"hashlib": lambda data: hashlib.sha256(data).hexdigest(), "crc32": zlib.crc32, "adler32": zlib.adler32}


@EVERY_VIEW
@pytest.mark.parametrize("total", SUMS.values(), ids=SUMS)
def test_a_checksum_is_that_of_the_bytes(make, total):
    assert total(make()) == total(TEXT)


def file_reads_into(view, folder):
    path = folder / "file"
    path.write_bytes(TEXT[::-1])
    with path.open("rb", buffering=0) as file:
        assert file.readinto(view) == len(TEXT)


def array_from_ctypes(view, folder):
    ctypes.memmove((ctypes.c_char * len(TEXT)).from_buffer(view), TEXT[::-1], len(TEXT))


WRITES = {
    "readinto of a file": file_reads_into,
    "readinto of memory": lambda view, folder: io.BytesIO(TEXT[::-1]).readinto(view),
    "struct.pack_into": lambda view, folder: struct.pack_into("16s", view, 0, TEXT[::-1]),
    "ctypes from_buffer": array_from_ctypes,
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_the_standard_library_writes_through_a_view(write, tmp_path):
    memory = bytearray(b"<<<" + TEXT + b">>>")
    write(lend.view(memory)[3:-3], tmp_path)
    assert memory == b"<<<" + TEXT[::-1] + b">>>"


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_read_only_memory_is_not_written_to(write, tmp_path):
    memory = bytearray(TEXT)
    with pytest.raises((BufferError, TypeError)):
        write(lend.view(memory, writable=False), tmp_path)
    assert memory == TEXT


def test_a_view_with_gaps_is_refused_by_who_wants_none():
    with pytest.raises(LendError, match=r"contiguous"):
        hashlib.sha256(lend.view(TEXT)[::2])


@EVERY_VIEW
def test_the_exporter_that_memoryview_names_is_ours(make):
    view = make()
    assert memoryview(view).obj is view


# -- ctypes ----------------------------------------------------------------------------------------------------------


def test_a_ctypes_array_lies_where_the_view_lies():
    view = doubles()
    taken = (ctypes.c_double * 12).from_buffer(view)
    assert ctypes.addressof(taken) == view.ptr
    taken[3] = 99.0
    assert view[3].item() == 99.0


def test_a_ctypes_array_keeps_the_loan_open():
    exporter = CountingBuffer(TEXT)
    taken = (ctypes.c_char * 16).from_buffer(lend.view(exporter))
    assert exporter.live == 1
    assert taken.raw == TEXT
    del taken
    assert exporter.audit() == []


def test_a_view_under_a_ctypes_array_is_not_released():
    view = doubles()
    taken = (ctypes.c_double * 12).from_buffer(view)
    with pytest.raises(BufferError, match="1 buffer-protocol export"):
        view.release()
    assert taken[11] == 11.0


def test_ctypes_checks_the_size_of_a_view():
    with pytest.raises(ValueError, match="too small"):
        (ctypes.c_double * 13).from_buffer(doubles())


# -- Cython's typed memoryviews --------------------------------------------------------------------------------------

SOURCE = """
# cython: language_level=3
def total(const double[:] x):
    return sum([x[i] for i in range(x.shape[0])])

def fill(double[:] x, double value):
    for i in range(x.shape[0]):
        x[i] = value

def rows(const double[:, :] x):
    return [[x[i, j] for j in range(x.shape[1])] for i in range(x.shape[0])]

def add_to(double[:, ::1] x, double value):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] += value

def columns(const double[::1, :] x):
    return [[x[i, j] for i in range(x.shape[0])] for j in range(x.shape[1])]

def octets(const unsigned char[::1] x):
    return bytes([x[i] for i in range(x.shape[0])])

def address(const double[:] x):
    return <size_t> &x[0]

cdef class Keeper:
    cdef const double[:] x
    def __init__(self, x):
        self.x = x
    def last(self):
        return self.x[self.x.shape[0] - 1]
    @property
    def exporter(self):
        return self.x.base
"""


@pytest.fixture(scope="module")
def cython(tmp_path_factory):
    """Functions with typed memoryviews, compiled now."""
    pytest.importorskip("Cython", reason="typed memoryviews are made by Cython")
    name = "lend_typed_memoryviews"
    folder = tmp_path_factory.mktemp("cython")
    source, made = folder / f"{name}.pyx", folder / (name + sysconfig.get_config_var("EXT_SUFFIX"))
    source.write_text(SOURCE, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "cython", "-3", str(source)], check=True, cwd=folder)
    compiler = [*sysconfig.get_config_var("LDSHARED").split(), "-O0", "-w", "-fPIC"]
    include = f"-I{sysconfig.get_path('include')}"
    subprocess.run([*compiler, include, str(source.with_suffix(".c")), "-o", str(made)], check=True, cwd=folder)
    loader = importlib.machinery.ExtensionFileLoader(name, str(made))
    spec = importlib.util.spec_from_file_location(name, made, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("readonly", [False, True])
def test_a_const_memoryview_takes_any_view(cython, readonly):
    assert cython.total(doubles(readonly=readonly)) == 66.0


def test_a_memoryview_is_not_a_copy(cython):
    view = doubles()
    assert cython.address(view) == view.ptr
    cython.fill(view[::3], -1.0)
    assert view.tolist() == [-1.0, 1.0, 2.0, -1.0, 4.0, 5.0, -1.0, 7.0, 8.0, -1.0, 10.0, 11.0]


def test_a_strided_memoryview_follows_the_strides(cython):
    assert cython.total(doubles()[::-2]) == 36.0
    assert cython.rows(doubles((3, 4))[::2, 1:3]) == [[1.0, 2.0], [9.0, 10.0]]


def test_a_memoryview_of_two_dimensions_reads_and_writes(cython):
    view = doubles((3, 4))
    cython.add_to(view, 1.0)
    assert cython.rows(view) == view.tolist() == [[4.0 * i + j + 1.0 for j in range(4)] for i in range(3)]


def test_a_column_major_memoryview_takes_a_transpose(cython):
    assert cython.columns(doubles((3, 4)).T) == doubles((3, 4)).tolist()


def test_a_memoryview_of_bytes_takes_a_buffer(cython):
    assert cython.octets(lend.buffer(TEXT)) == TEXT


def test_read_only_memory_is_refused_in_our_words(cython):
    with pytest.raises(ReadOnlyMemory, match=r"(?s)writable.*came   : "):
        cython.fill(doubles(readonly=True), 1.0)


def test_a_layout_that_was_not_asked_for_is_refused_in_our_words(cython):
    with pytest.raises(LendError, match=r"(?s)contiguous.*came   : "):
        cython.octets(lend.view(TEXT)[::2])


def test_another_dtype_is_refused(cython):
    with pytest.raises(ValueError, match="dtype mismatch"):
        cython.total(lend.view(TEXT))


def test_a_released_view_is_refused(cython):
    view = doubles()
    view.release()
    with pytest.raises(LeaseLost):
        cython.total(view)


def test_a_kept_memoryview_keeps_the_loan_open(cython):
    exporter = CountingBuffer(DOUBLES, format="d", itemsize=8)
    view = lend.view(exporter)
    keeper = cython.Keeper(view)
    assert keeper.exporter is view
    del view
    assert (exporter.live, keeper.last()) == (1, 11.0)
    del keeper
    assert exporter.audit() == []


# -- cffi ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def ffi():
    return pytest.importorskip("cffi").FFI()


def test_cffi_takes_a_view_where_it_lies(ffi):
    view = doubles()
    taken = ffi.from_buffer("double[]", view)
    assert int(ffi.cast("uintptr_t", taken)) == view.ptr
    assert list(taken) == view.tolist()


def test_cffi_writes_through_a_view(ffi):
    view = doubles()
    ffi.from_buffer("double[]", view, require_writable=True)[2] = 7.0
    assert view[2].item() == 7.0


def test_cffi_may_read_what_is_read_only(ffi):
    assert bytes(ffi.buffer(ffi.from_buffer(lend.view(TEXT)))) == TEXT


def test_cffi_may_not_write_to_what_is_read_only(ffi):
    with pytest.raises(ReadOnlyMemory):
        ffi.from_buffer("double[]", doubles(readonly=True), require_writable=True)


def test_cffi_keeps_the_loan_open_until_it_releases(ffi):
    exporter = CountingBuffer(TEXT)
    taken = ffi.from_buffer(lend.view(exporter))
    assert exporter.live == 1
    ffi.release(taken)
    assert exporter.audit() == []


def test_cffi_moves_bytes_from_view_to_view(ffi):
    target = bytearray(16)
    ffi.memmove(lend.view(target), lend.view(TEXT), 16)
    assert target == TEXT
