"""A .npy file as a View: as NumPy wrote it, without NumPy; a bad file is told in one sentence."""

import struct

import pytest

import lend
from lend.cli.npy import MAGIC, BadFile, map_npy
from lend.errors import LendError
from support import children


def header(descr="'<i2'", fortran="False", shape="(3,)"):
    return f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()


def npy(text, data=b"\1\0\2\0\3\0", version=1):
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return MAGIC + bytes([version, 0]) + length + text + data


@pytest.fixture
def written(tmp_path):
    """Write bytes into a file and give back its path."""

    def write(content):
        path = tmp_path / "x.npy"
        path.write_bytes(content)
        return str(path)

    return write


@pytest.mark.parametrize("version", [1, 2, 3])
def test_file_of_each_version_is_read(written, version):
    assert map_npy(written(npy(header(), version=version))).tolist() == [1, 2, 3]


def test_view_is_read_only(written):
    assert map_npy(written(npy(header()))).readonly


def test_view_lends_the_mapped_file_itself(written):
    assert map_npy(written(npy(header()))).owner.producer_type == "mmap.mmap"


def test_fortran_order_is_kept(written):
    view = map_npy(written(npy(header(fortran="True", shape="(2, 3)"), struct.pack("<6h", 0, 10, 1, 11, 2, 12))))
    assert view.tolist() == [[0, 1, 2], [10, 11, 12]]
    assert view.f_contiguous


def test_scalar_is_read(written):
    assert map_npy(written(npy(header(shape="()")))).item() == 1


def test_empty_array_is_read(written):
    assert map_npy(written(npy(header(shape="(0, 5)"), b""))).shape == (0, 5)


def test_foreign_byte_order_is_kept(written):
    assert map_npy(written(npy(header(descr="'>i2'"), b"\0\1\0\2\0\3"))).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"PK\3\4 a zip file", "is no .npy file: it begins as a .npz"),
        (b"some text", "is no .npy file: it does not begin with"),
        (MAGIC + b"\1", "cut short inside its header"),
        (MAGIC + b"\x09\0" + bytes(20), "version 9.0"),
        (npy(header())[:30], "cut short inside its header"),
        (npy(header(), b"\1"), "cannot be shown"),
        (npy(b"[1, 2"), "no dict"),
        (npy(b"[1, 2]"), "no dict"),
        (npy(b"{}"), "no dict"),
        (npy(b"__import__('os').abort()"), "no dict"),
        (npy(b"(" * 5000), "no dict"),
        (npy(header(shape="(-3,)")), "shape (-3,)"),
        (npy(header(shape="[3]")), "shape [3]"),
        (npy(header(shape="(True,)")), "shape (True,)"),
        (npy(header(fortran="1")), "fortran_order 1"),
        (npy(header(descr="'nonsense'")), "cannot be shown"),
        (npy(header(shape=f"({2**62}, 4)")), "cannot be shown"),
        (npy(header(shape=f"({2**70},)")), "cannot be shown"),
        (npy(header(shape=f"({'1, ' * 65})")), "cannot be shown"),
    ],
)  # fmt: skip
def test_bad_file_is_told(written, content, says):
    with pytest.raises(BadFile) as told:
        map_npy(written(content))
    assert says in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("dtype", ["O", "i4,O"])
def test_objects_lie_pickled_in_a_file_and_are_refused(tmp_path, dtype):
    numpy = pytest.importorskip("numpy")
    path = str(tmp_path / "x.npy")
    numpy.save(path, numpy.zeros(2, dtype))
    with pytest.raises(LendError, match="holds Python objects") as refused:
        map_npy(path)
    assert repr(path) in refused.value.remedy


@pytest.mark.parametrize("dtype", ["i2,f4", "U3", "S3", [("a", "i1"), ("b", ">f8", (2,))]], ids=str)
@pytest.mark.parametrize("align", [False, True])
def test_records_bytes_and_text_are_mapped_as_lend_view_reads_them(tmp_path, dtype, align):
    numpy = pytest.importorskip("numpy")
    path = str(tmp_path / "x.npy")
    array = numpy.zeros(3, numpy.dtype(dtype, align=align))
    numpy.save(path, array)
    view = map_npy(path)
    assert (view.dtype, view.tolist()) == (lend.view(array).dtype, lend.view(array).tolist())


def test_header_beyond_every_reason_is_refused(written):
    with pytest.raises(BadFile, match="header of"):
        map_npy(written(npy(b" " * (2 << 20), version=2)))


@pytest.mark.parametrize("dtype", ["f8", "<f2", ">c16", "?", "u1", "M8[ns]", "m8[D]"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_file_that_numpy_wrote_has_the_values_that_numpy_reads(tmp_path, dtype, order):
    numpy = pytest.importorskip("numpy")
    path = str(tmp_path / "x.npy")
    array = numpy.arange(24).reshape(2, 3, 4).astype("i8" if dtype[0] in "Mm" else dtype).astype(dtype, order=order)
    numpy.save(path, array)
    view = map_npy(path)
    assert view.shape == array.shape
    assert view.tobytes() == array.tobytes()


def test_mapping_a_file_loads_no_numpy(written):
    path = written(npy(header()))
    out = children.run_clean(
        "import sys; from lend.cli.npy import map_npy; map_npy(sys.argv[1]); print('numpy' in sys.modules)", args=[path]
    )
    assert out.split() == ["False"]
