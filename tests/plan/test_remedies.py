"""What a refusal says to try, tried: it works as it is typed."""

import ctypes
from multiprocessing import shared_memory

import pytest

import lend
from lend.device import Device
from lend.errors import CopyRequired, LendError, MalformedDescriptor, NotHostAccessible, UnsupportedLayout
from support.producers import ABSENT, ArrayInterface


def refused(function, *arguments, **keywords):
    """The error of a call that lend refuses."""
    with pytest.raises(LendError) as raised:
        function(*arguments, **keywords)
    return raised.value


# -- what pandas and polars hold ------------------------------------------------------------------------------------

PANDAS = {
    "text": (lambda pd: pd.Series(["a", "bc"]), "x.factorize()[0]"),
    "text with a null": (lambda pd: pd.Series(["a", None]), "x.factorize()[0]"),
    "the characters of text": (lambda pd: pd.Series(["a", "bc"]), 'x.to_numpy("U")'),
    "categories": (lambda pd: pd.Series(["a", "b"], dtype="category"), "x.cat.codes.to_numpy()"),
    "a time zone": (lambda pd: pd.Series(pd.to_datetime(["2020"]).tz_localize("UTC")), 'x.to_numpy("datetime64[ns]")'),
    "nulls": (lambda pd: pd.Series([1, None], dtype="Int64"), 'x.to_numpy("float64", na_value=float("nan"))'),
    "bools with a null": (
        lambda pd: pd.Series([True, None], dtype="boolean"),
        'x.to_numpy("float64", na_value=float("nan"))',
    ),
    "periods": (lambda pd: pd.Series(pd.period_range("2020", periods=2)), 'x.astype("int64")'),
    "intervals": (lambda pd: pd.Series(pd.interval_range(0, 2)), "x.array.left"),
    "sparse": (lambda pd: pd.Series([0, 1], dtype="Sparse[int]"), "x.to_numpy()"),
    "an index of text": (lambda pd: pd.Index(["a", "b"]), "x.factorize()[0]"),
    "an index with a time zone": (
        lambda pd: pd.to_datetime(["2020"]).tz_localize("UTC"),
        'x.to_numpy("datetime64[ns]")',
    ),
    "an index of categories": (lambda pd: pd.CategoricalIndex(["a"]), "x.codes"),
    "an index of several levels": (lambda pd: pd.MultiIndex.from_tuples([(1, 2)]), "x.codes"),
    "an index of intervals": (lambda pd: pd.interval_range(0, 2), "x.array.left"),
    "a bare categorical": (lambda pd: pd.Categorical(["a"]), "x.codes"),
    "a bare array with nulls": (lambda pd: pd.array([1, None]), 'x.to_numpy("float64", na_value=float("nan"))'),
}


@pytest.mark.parametrize("name", PANDAS)
def test_what_pandas_holds_beside_numbers_is_refused_with_a_remedy_that_works(name):
    pd = pytest.importorskip("pandas")
    make, remedy = PANDAS[name]
    x = make(pd)
    assert remedy in refused(lend.view, x).remedy
    made = eval(remedy, {"x": x})
    assert lend.buffer(made[0] if isinstance(made, (list, tuple)) or name.endswith("levels") else made).nbytes


POLARS = {
    "text": (lambda pl: pl.Series(["a", "b"]), 'x.rank("dense")'),
    "the characters of text": (lambda pl: pl.Series(["a"]), 'x.to_numpy().astype("U")'),
    "nulls": (lambda pl: pl.Series([1, None]), "x.to_numpy()"),
    "bools": (lambda pl: pl.Series([True]), "x.to_numpy()"),
    "bools with a null": (lambda pl: pl.Series([True, None]), "x.fill_null(False).to_numpy()"),
    "chunks": (lambda pl: pl.concat([pl.Series([1]), pl.Series([2])], rechunk=False), "x.to_numpy()"),
    "categories": (lambda pl: pl.Series(["a"], dtype=pl.Categorical), "x.to_physical()"),
    "an enum": (lambda pl: pl.Series(["a"], dtype=pl.Enum(["a"])), "x.to_physical()"),
    "a time zone": (lambda pl: pl.Series([0]).cast(pl.Datetime("us", "UTC")), "x.to_numpy()"),
    "days": (lambda pl: pl.Series([0]).cast(pl.Date), "x.to_numpy()"),
    "times": (lambda pl: pl.Series([0]).cast(pl.Time), "x.to_physical()"),
    "lists": (lambda pl: pl.Series([[1, 2]]), "x.explode()"),
    "records": (lambda pl: pl.Series([{"a": 1}]), "x.struct.field(x.struct.fields[0])"),
    "decimals": (lambda pl: pl.Series(["1.5"]).cast(pl.Decimal(10, 2)), "x.cast(polars.Float64)"),
    "bytes": (lambda pl: pl.Series([b"a"]), "[lend.view(item) for item in x]"),
    "a lazy frame": (lambda pl: pl.LazyFrame({"name": [1]}), 'x.collect()["name"].to_numpy()'),
}


@pytest.mark.parametrize("name", POLARS)
def test_what_polars_holds_beside_numbers_is_refused_with_a_remedy_that_works(name):
    pl = pytest.importorskip("polars")
    make, remedy = POLARS[name]
    x = make(pl)
    assert remedy in refused(lend.view, x).remedy
    made = eval(remedy, {"x": x, "polars": pl, "lend": lend})
    assert lend.buffer(made[0] if isinstance(made, list) else made).nbytes


def test_a_lazy_frame_and_a_series_are_told_apart_by_their_own_classes_only():
    assert "collect" not in refused(lend.view, type("LazyFrame", (), {"collect": None})()).remedy


# -- dtypes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int1", "uint1"])
def test_a_dtype_that_another_library_adds_to_numpy_is_named(dtype):
    np, ml_dtypes = pytest.importorskip("numpy"), pytest.importorskip("ml_dtypes")
    x = np.ones(3, getattr(ml_dtypes, dtype))
    error = refused(lend.view, x)
    assert error.fact.startswith(f"lend has no dtype for {dtype}, which")
    assert "\n" not in error.tried  # the other doors would only say less
    assert 'x.view("uint8")' in error.remedy
    assert lend.view(x.view("uint8")).nbytes == 3
    assert lend.buffer(x).nbytes == 3


def test_an_array_of_an_added_dtype_is_not_what_its_class_is_taken_by():
    np, ml_dtypes = pytest.importorskip("numpy"), pytest.importorskip("ml_dtypes")
    from lend import front

    front.forget()
    lend.view(np.ones(3, ml_dtypes.bfloat16))
    assert lend.explain(np.ones(3)).protocol == "buffer protocol"
    assert lend.view(np.ones(3)).owner.kind == "buffer"


def test_an_array_interface_that_was_refused_too_is_not_offered():
    np = pytest.importorskip("numpy")

    class Both:
        """An array struct with bytes that mean nothing, and an array interface that says what they are."""

        array = np.zeros(2, "V5")
        __array_struct__ = property(lambda self: self.array.__array_struct__)

        @property
        def __array_interface__(self):
            raise RuntimeError("not now")

    error = refused(lend.view, Both())
    assert "array interface" in error.tried
    assert "__array_interface__" not in (error.remedy or "")


@pytest.mark.parametrize("target", ["pyarrow.Tensor", "memoryview"])
def test_bools_in_two_dimensions_go_as_bytes(target):
    np = pytest.importorskip("numpy")
    pytest.importorskip(target.partition(".")[0] if "." in target else "numpy")
    x = np.array([[True, False]])
    if target == "memoryview":
        assert lend.to(x, target).tolist() == [[True, False]]
        return
    remedy = refused(lend.to, x, target).remedy.partition(":")[0]
    assert lend.to(eval(remedy, {"lend": lend, "x": x}), target).to_numpy().tolist() == [[1, 0]]


def test_foreign_byte_order_that_dlpack_has_no_word_for_is_swapped_as_told():
    np, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    v = lend.view(np.arange(3, dtype=">i4"))
    remedy = refused(v.__dlpack__).remedy
    for way in ('lend.to(v, "torch")', 'lend.view(v, dtype=v.dtype.newbyteorder("native"), copy=True)'):
        assert way in remedy
        assert torch.from_dlpack(eval(way, {"lend": lend, "v": v})).tolist() == [0, 1, 2]


@pytest.mark.parametrize("make", [lambda v: v[::-1], lambda v: lend.buffer(v).view("int16", (2,), (3,))])
def test_strides_that_dlpack_is_not_given_go_by_the_copy_that_is_told(make):
    v = make(lend.view(bytearray(6)))
    assert "v.copy()" in refused(v.__dlpack__, max_version=(1, 0)).remedy
    assert v.copy().__dlpack__(max_version=(1, 0)) is not None


def test_read_only_memory_goes_into_an_old_capsule_by_the_copy_that_is_told():
    v = lend.view(b"ab")
    assert "v.copy()" in refused(v.__dlpack__).remedy
    assert v.copy().__dlpack__() is not None


# -- reinterpret ------------------------------------------------------------------------------------------------------


def test_a_part_that_fills_items_is_told_when_there_is_one():
    v = lend.view(bytearray(7))
    assert refused(v.reinterpret, "int32").remedy == "a part of it that divides, such as v[..., :4]"
    assert v[..., :4].reinterpret("int32").shape == (1,)


def test_no_part_is_told_when_none_fills_an_item():
    error = refused(lend.view(bytearray(3)).reinterpret, "int32")
    assert isinstance(error, UnsupportedLayout)
    assert "v[" not in error.remedy
    assert "no part of it fills an item of 4 bytes" in error.remedy


def test_too_few_bytes_for_one_item_are_told_as_such():
    assert refused(lend.buffer(bytearray(3)).view, "int32").remedy == "a dtype of at most 3 bytes"


# -- devices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "way"),
    [("cuda:1", '.to("cuda:1")'), ("rocm", '.to("cuda:0")'), ("metal", '.to("mps:0")'), ("oneapi", '.to("xpu:0")')],
)
def test_host_memory_is_moved_by_a_library_that_has_such_a_device(device, way):
    pytest.importorskip("torch")
    for call in (lambda: lend.to(b"ab", "torch", device=device), lambda: lend.view(b"ab", device=device)):
        with pytest.raises(NotHostAccessible) as error:
            call()
        assert f'lend.to(x, "torch"){way}' in error.value.remedy


def test_a_device_that_torch_has_not_is_not_promised():
    assert "torch" not in refused(lend.to, b"ab", "memoryview", device="hexagon").remedy


def test_jax_moves_with_its_own_words():
    pytest.importorskip("jax")
    remedy = refused(lend.to, b"ab", "jax", device="cuda:1").remedy
    assert remedy == 'jax.device_put(lend.to(x, "jax"), jax.devices("cuda")[1])'


def test_the_words_of_torch_are_those_that_torch_reads():
    torch = pytest.importorskip("torch")
    from lend.adapters import advice

    for name in ("cuda:1", "rocm:1", "metal", "oneapi"):
        told = advice.to_device(Device(name), "torch")
        assert torch.device(told.partition('.to("')[2].partition('"')[0])


# -- addresses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [lend.view, lend.buffer])
def test_an_address_is_told_to_go_by_from_pointer(function):
    block = ctypes.create_string_buffer(8)
    remedy = refused(function, ctypes.addressof(block)).remedy
    assert "lend.Buffer.from_pointer(x, nbytes, owner=...)" in remedy
    assert "lend.View.from_pointer(x, shape, dtype, owner=...)" in remedy


def test_a_float_is_no_address():
    assert "from_pointer" not in refused(lend.view, 1.5).remedy


@pytest.mark.parametrize(
    ("ptr", "keywords", "remedy"),
    [
        (-1, {}, "where element 0 lies"),
        (4096, {"strides": (1, 1)}, "one stride in bytes for each dimension"),
        (4096, {"device": (300, 0)}, "device="),
    ],
)
def test_memory_that_is_described_wrongly_is_told_what_is_wanted(ptr, keywords, remedy):
    error = refused(lend.View.from_pointer, ptr, (4,), "uint8", owner=object(), **keywords)
    assert isinstance(error, MalformedDescriptor)
    assert remedy in error.remedy
    assert error.came == "from_pointer, owner: object"


def test_a_number_of_bytes_that_cannot_be_is_told_what_is_wanted():
    assert refused(lend.Buffer.from_pointer, 4096, -1, owner=object()).remedy.startswith("how many bytes")


# -- interfaces -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [{"typestr": "<f3"}, {"data": (0, False)}, {"typestr": 4}, {"shape": ABSENT}],
    ids=["a dtype of 3 bytes", "no address", "no text", "no shape"],
)
def test_a_bad_interface_is_told_another_way(wrong):
    lender = ArrayInterface(bytes(12), **{"shape": (3,), "typestr": "<f4"} | wrong)
    assert "lend.View.from_pointer(ptr, shape, dtype, owner=x)" in refused(lend.view, lender).remedy


def test_a_typestr_that_is_not_read_is_told_in_a_sentence():
    error = refused(lend.view, ArrayInterface(bytes(9), (3,), "<f3"))
    assert error.fact.endswith("has the typestr '<f3', for which lend has no dtype")


def test_memory_of_cffi_is_lent_as_told():
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    x = ffi.new("int[3]", [1, 2, 3])
    assert "lend.view(ffi.buffer(x))" in refused(lend.view, x).remedy
    assert lend.view(ffi.buffer(x)).reinterpret("int32").tolist() == [1, 2, 3]


def test_shared_memory_is_lent_as_told():
    x = shared_memory.SharedMemory(create=True, size=16)
    try:
        assert refused(lend.view, x).remedy == "lend.view(x.buf)"
        with lend.view(x.buf) as view:
            assert view.nbytes >= 16
    finally:
        x.close()
        x.unlink()


# -- copies -----------------------------------------------------------------------------------------------------------


def test_jax_shares_what_was_aligned_once_as_told():
    jax = pytest.importorskip("jax")
    np = pytest.importorskip("numpy")
    block = np.arange(64, dtype="float32")
    x = next(part for start in range(1, 16) if (part := block[start:]).ctypes.data % 64)
    with pytest.raises(CopyRequired) as error:
        lend.to(x, "jax", copy=False)
    assert "lend.view(x, align=64, copy=True), once" in error.value.remedy
    once = lend.view(x, align=64, copy=True)
    made = lend.to(once, "jax", copy=False)
    assert isinstance(made, jax.Array)
    assert made.unsafe_buffer_pointer() == once.ptr


OPTIONS = {
    "torch": ({"dtype": "float32"}, ".to(torch.float32)"),
    "numpy": ({"dtype": "float32"}, '.astype("float32")'),
    "pyarrow": ({"dtype": "float32"}, '.cast("float32")'),
}


@pytest.mark.parametrize("target", OPTIONS)
def test_a_dtype_is_converted_as_told(target):
    library, np = pytest.importorskip(target), pytest.importorskip("numpy")
    x = np.arange(3.0)
    options, way = OPTIONS[target]
    with pytest.raises(TypeError) as error:
        lend.to(x, target, **options)
    assert f'lend.to(x, "{target}"){way}' in str(error.value)
    assert 'lend.to(x, "numpy").astype("float32")' in str(error.value)
    made = eval(f'lend.to(x, "{target}"){way}', {"lend": lend, "x": x, target: library})
    assert lend.view(made).dtype == lend.DType("float32")


def test_a_dtype_that_is_no_name_is_told_by_its_name():
    np = pytest.importorskip("numpy")
    with pytest.raises(TypeError, match=r'lend\.to\(x, "numpy"\)\.astype\("int16"\)'):
        lend.to(np.arange(3.0), "memoryview", dtype=np.dtype(">i2"))


def test_a_requirement_is_told_to_be_one_of_view():
    with pytest.raises(TypeError, match=r'lend\.to\(lend\.view\(x, align=\.\.\., order=\.\.\.\), "memoryview"\)'):
        lend.to(bytearray(8), "memoryview", order="C", align=64)


# -- what was wanted --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [lend.to, lend.explain], ids=["to", "explain"])
@pytest.mark.parametrize(
    ("target", "wanted"),
    [("memoryview",) * 2, ("numpy", "numpy.ndarray"), ("pyarrow.Tensor",) * 2, (len, "a call of len")],
)
def test_what_cannot_be_taken_at_all_says_what_was_wanted(function, target, wanted):
    if isinstance(target, str):
        pytest.importorskip(target.partition(".")[0] if target != "memoryview" else "builtins")
    error = refused(function, [1, 2], target)
    assert error.wanted == wanted
    assert f"\n  wanted : {wanted}\n  came   : list\n" in str(error)


def test_a_view_alone_wants_nothing_more():
    assert refused(lend.view, [1, 2]).wanted is None
    assert refused(lend.explain, [1, 2]).wanted is None
