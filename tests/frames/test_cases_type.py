"""Reported faults of types (TYPE rows): what a producer says wrongly of a type, what a target makes of one."""

import struct
import warnings

import pytest

import lend
from lend.errors import CopyRequired, LendError, MalformedDescriptor, UnsupportedType
from support.told_frames import BYTES, CATEGORICAL, FLOAT, INT, NAN, SENTINEL, Shown, ToldColumn, ToldFrame, texts

# -- elements as arrays --


@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint16", "uint32", "uint64"])
def test_torch_shares_bools_and_whole_numbers_of_every_width(dtype):  # TYPE-7
    torch = pytest.importorskip("torch")
    np = pytest.importorskip("numpy")
    source = np.array([0, 1], dtype)
    made = lend.to(source, "torch")
    assert (made.dtype, made.data_ptr(), made.tolist()) == (getattr(torch, dtype), source.ctypes.data, [0, 1])


def test_torch_shares_bfloat16_by_its_own_code():  # TYPE-7
    torch = pytest.importorskip("torch")
    np = pytest.importorskip("numpy")
    source = np.array([1.5], pytest.importorskip("ml_dtypes").bfloat16)
    made = lend.to(source, "torch")
    assert (made.dtype, made.data_ptr(), made.tolist()) == (torch.bfloat16, source.ctypes.data, [1.5])


def test_bits_of_bools_become_bytes_for_torch_in_a_copy():  # TYPE-7
    torch = pytest.importorskip("torch")
    pa = pytest.importorskip("pyarrow")
    with lend.copies() as copied:
        made = lend.to(pa.array([True, False, True]), "torch")
    assert (made.dtype, made.tolist(), copied.bytes) == (torch.bool, [True, False, True], 3)


@pytest.mark.parametrize(("type", "unit"), [("date32", "D"), ("timestamp[us]", "us"), ("duration[s]", "s")])
def test_times_are_refused_by_torch_with_a_way_that_tells_the_unit(type, unit):  # TYPE-7
    pytest.importorskip("torch")
    pa = pytest.importorskip("pyarrow")
    source = pa.array([7], pa.type_for_alias(type))
    with pytest.raises(UnsupportedType, match="torch has no") as refused:
        lend.to(source, "torch")
    assert f"whole numbers, whose unit is {unit}" in str(refused.value)
    assert lend.to(source, "torch", storage=True).tolist() == [7]


def test_times_of_numpy_are_refused_by_torch_with_a_way_that_tells_the_unit():  # TYPE-7
    pytest.importorskip("torch")
    source = pytest.importorskip("numpy").array(["2024"], "M8[ns]")
    with pytest.raises(UnsupportedType, match="whole numbers, whose unit is ns"):
        lend.to(source, "torch")
    assert lend.to(lend.view(source).reinterpret("int64"), "torch").tolist() == [1704067200000000000]


# -- the schema that is asked for --


@pytest.mark.parametrize(("asked", "given"), [("int64", "int64"), ("int8", "int32"), ("float64", "int32")])
@pytest.mark.parametrize("source", ["pyarrow", "sliced", "chunks", "numpy"])
def test_a_schema_that_is_asked_for_is_met_or_answered_with_the_own_one(asked, given, source):  # TYPE-8
    # what is wider is met where a kernel of lend's makes it, of int32 alone; nothing is made narrower or another kind:
    # a consumer that reads the schema that came knows what it has
    pa = pytest.importorskip("pyarrow")
    values = [1, 2**30, -(2**31)] if source == "numpy" else [1, None, -(2**31)]
    data = {
        "pyarrow": lambda: pa.array(values, pa.int32()),
        "sliced": lambda: pa.array([7, *values], pa.int32())[1:],
        "chunks": lambda: pa.chunked_array([values[:1], values[1:]], pa.int32()),
        "numpy": lambda: pytest.importorskip("numpy").repeat(values, 2).astype("i4")[::2],
    }[source]()
    want = pa.schema([("a", pa.type_for_alias(asked))]).__arrow_c_schema__()
    reader = pa.RecordBatchReader._import_from_c_capsule(lend.table({"a": data}).__arrow_c_stream__(want))
    made = reader.read_all()
    made.validate(full=True)
    assert (made.schema.types, made.to_pydict()) == ([pa.type_for_alias(given)], {"a": values})


def test_another_type_than_the_one_that_is_required_is_refused():  # TYPE-8
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(UnsupportedType, match="is of int32, and int64 was required"):
        lend.column(pa.array([1], pa.int32()), dtype="int64")


# -- what producers of the dataframe protocol say --


def as_modin(column):
    """A column of one chunk that cannot be asked for its chunks, as those of modin."""

    def fails(n_chunks=None):
        raise AttributeError("'PandasDataframe' object has no attribute '_allow_copy'")

    column.get_chunks = fails
    return column


def test_columns_of_modin_have_their_values():  # TYPE-11
    times = ToldColumn((22, 64, "tsn:", "="), 2, null=(NAN, None), data=struct.pack("2q", 5000, -(2**63)))
    numbers = ToldColumn((INT, 64, "l", "="), 2, data=struct.pack("2q", 1, 2), null_count=0)
    floats = ToldColumn((FLOAT, 64, "g", "="), 2, null=(NAN, None), data=struct.pack("2d", 1.5, float("nan")))
    words = texts("x", "", null=(BYTES, 0), validity=(b"\1\0", (1, 8, "C", "=")), null_count=1)
    frame = ToldFrame(
        {name: as_modin(told) for name, told in zip("anfs", (times, numbers, floats, words), strict=True)}
    )
    table = lend.table(frame)
    assert [column.null_count for column in table] == [1, 0, 1, 1]
    assert table["a"].buffers["data"].view("int64").tolist() == [5000, -(2**63)]
    assert [table[name].tolist() for name in "nfs"] == [[1, 2], [1.5, None], ["x", None]]


def test_lists_that_modin_tells_as_text_of_nulls_are_refused_by_name():  # TYPE-11
    # it writes what is no str as nothing, marks it as null, and counts no null among the lists
    lists = texts("", "", null=(BYTES, 0), validity=(b"\0\0", (1, 8, "C", "=")), null_count=0)
    with pytest.warns(UserWarning, match="'lists'"):
        table = lend.table(ToldFrame({"lists": as_modin(lists), "n": ToldColumn((INT, 8, "c", "="), 2, data=b"\1\2")}))
    with pytest.raises(LendError, match="column 'lists' cannot be read: it says that none of its elements is null"):
        table["lists"].tolist()
    assert table["n"].tolist() == [1, 2]


def coded(categories, codes=(1, -1, 0)):
    data = struct.pack(f"{len(codes)}b", *codes)
    return ToldFrame(
        {"c": ToldColumn((CATEGORICAL, 8, "c", "="), 3, null=(SENTINEL, -1), data=data, categories=categories)}
    )


@pytest.mark.parametrize(
    "told",
    [
        {"is_ordered": True, "is_dictionary": True, "categories": texts("x", "y")}, (True, True, texts("x", "y")),
        (True, True, {0: "x", 1: "y"}), (True, True, {1: "y", 0: "x"}), (True, True, ["x", "y"]),
    ],
    ids=["dict", "tuple", "tuple with a dict", "tuple with a dict in disorder", "tuple with a list"],
)  # fmt: skip
def test_categories_are_read_from_a_dict_and_from_the_tuple_of_old(told):  # TYPE-18
    column = lend.column(coded(told))
    assert (column.tolist(), column.dtype.ordered) == (["y", None, "x"], True)


def test_categories_that_leave_a_code_out_are_refused():  # TYPE-18
    with pytest.raises(MalformedDescriptor, match="are told for the codes 0, 2, not from 0 on"):
        lend.column(coded((True, True, {0: "x", 2: "y"})))


def test_categories_in_a_dict_of_python_are_a_copy():  # TYPE-18
    with pytest.raises(CopyRequired, match="list of Python objects"):
        lend.column(coded((True, True, {0: "x", 1: "y"})), copy=False)


def test_categories_are_told_as_a_dict():  # TYPE-18
    pa = pytest.importorskip("pyarrow")
    told = lend.column(pa.array(["x"]).dictionary_encode()).__dataframe__().get_column(0).describe_categorical
    assert (type(told), set(told)) == (dict, {"is_ordered", "is_dictionary", "categories"})


NAMED = {
    *("size", "offset", "dtype", "describe_null", "null_count", "metadata", "num_chunks", "get_chunks"),
    *("get_buffers", "describe_categorical"),
}


class OnlyNamed:
    """A Column of the protocol, which has what the protocol names and nothing else."""

    def __init__(self, column):
        self.__dict__["inner"] = column

    def __getattr__(self, name):
        if name not in NAMED:
            raise AssertionError(f"{name} is nobody's to ask for")
        found = getattr(self.inner, name)
        return dict(found, categories=OnlyNamed(found["categories"])) if name == "describe_categorical" else found


def test_categories_are_read_by_what_the_protocol_names_alone():  # TYPE-15
    pa = pytest.importorskip("pyarrow")
    inner = Shown(pa.table({"c": pa.array(["b", None, "a"]).dictionary_encode()})).__dataframe__()

    class Frame(ToldFrame):
        def get_column(self, i):
            return OnlyNamed(inner.get_column(i))

    assert lend.column(Frame({"c": None}, rows=3)).tolist() == ["b", None, "a"]


def test_pandas_reads_our_categories_by_its_private_road():  # TYPE-15
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    table = lend.table(pa.table({"c": pa.array(["b", None, "a"]).dictionary_encode()}))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(interchange|dataframe)")
        made = pd.api.interchange.from_dataframe(Shown(table))["c"]
    assert (str(made.dtype), made.isna().tolist(), made.iloc[0], made.iloc[2]) == (
        "category", [False, True, False], "b", "a",
    )  # fmt: skip


# -- what targets make of categories --


def test_daft_is_no_target_by_name():  # TYPE-16
    # it would keep a dictionary as pickles: nothing is handed to it by that name
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="'daft' names no target"):
        lend.to(pa.table({"c": pa.array(["x"]).dictionary_encode()}), "daft")


@pytest.mark.parametrize(
    ("wire", "backend", "kind"),
    [
        ("pandas itself", "auto", "dictionary"), ("its stream", "pyarrow", "dictionary"),
        ("pandas itself", "numpy", "category"),
        ("its stream", "auto", "category"),  # which does not tell of pandas what it was there: any dictionary is one
    ],
)  # fmt: skip
def test_dictionaries_of_pandas_in_arrow_go_round(wire, backend, kind):  # TYPE-17
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    words = pd.arrays.ArrowExtensionArray(pa.array(["a", None, "b"]).dictionary_encode())
    frame = pd.DataFrame({"c": pd.Series(words)})
    table = lend.table(frame) if wire == "pandas itself" else lend.table(frame.__arrow_c_stream__())
    made = lend.to(table, "pandas", dtype_backend=backend)["c"]
    assert str(made.dtype).startswith(kind)
    assert [None if gone else value for value, gone in zip(made.tolist(), made.isna(), strict=True)] == ["a", None, "b"]


@pytest.mark.parametrize("target", ["pandas", "polars", "pyarrow"])
def test_categories_of_bools_stay_bools_in_every_library(target):  # TYPE-14
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    pytest.importorskip(target)
    source = pd.Series(pd.Categorical.from_codes([0, -1, 1], categories=[True, False], ordered=True))
    made = lend.to(source, target)
    values = lend.column(made).tolist()
    assert (values, [type(value) for value in values]) == ([True, None, False], [bool, type(None), bool])
    if target == "pandas":
        assert (made.cat.categories.tolist(), made.cat.ordered) == ([True, False], True)


@pytest.mark.parametrize("table", [False, True], ids=["column", "table"])
def test_categories_of_intervals_keep_which_end_is_closed(table):  # TYPE-14
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    source = pd.Series(pd.Categorical(pd.interval_range(0, 2, closed="left")), name="c")
    made = lend.to(source.to_frame() if table else source, "pyarrow")
    found = lend.table(made)["c"] if table else lend.column(made)
    assert found.dtype.dictionary.extension == lend.column(source).dtype.dictionary.extension
    assert '"closed": "left"' in found.dtype.dictionary.extension[1].decode()
    assert not [note for note in lend.explain(source, "pyarrow").notes if "extension" in note]
    assert isinstance(made, pa.Table if table else pa.DictionaryArray)


def test_what_a_library_loses_of_categories_of_intervals_is_told_with_the_column():  # TYPE-14
    # these two take the values: nothing wrong arrives, and what is lost is said before
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"c": pd.Categorical(pd.interval_range(0, 2))})
    for target in ("polars", "duckdb"):
        pytest.importorskip(target)
        assert [note for note in lend.explain(frame, target).notes if note.startswith("column 'c', ")]


# -- what becomes of the index --

INDEXES = {
    "named": (lambda pd: pd.Index([3, 4], name="k"), "the index becomes the column 'k'"),
    "unnamed": (lambda pd: pd.Index(["x", "y"]), "the index becomes the column '__index_level_0__'"),
    "levels": (
        lambda pd: pd.MultiIndex.from_arrays([[1, 2], [3, 4]], names=["a", None]),
        "the index becomes the columns 'a', '__index_level_1__'",
    ),
    "a range that is not the default": (lambda pd: pd.RangeIndex(1, 3), "the index becomes the column"),
}


@pytest.mark.parametrize("target", [None, "pyarrow", "polars", "numpy", "numpy.ma"])
@pytest.mark.parametrize("name", INDEXES)
def test_what_becomes_of_the_index_of_a_frame_is_told(name, target):  # TYPE-19
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    index, note = INDEXES[name]
    if target in ("numpy", "numpy.ma"):
        note = "the index is left out: "  # arrays have columns alone, as pandas itself makes them
    frame = pd.DataFrame({"v": [1, 2]}, index=index(pd))
    assert any(said.startswith(note) for said in lend.explain(frame, target).notes)


@pytest.mark.parametrize("target", [None, "pyarrow", "polars"])
def test_it_is_told_that_the_index_of_a_series_is_left_out(target):  # TYPE-19
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    plan = lend.explain(pd.Series([1, 2], index=["x", "y"]), target)
    assert "the index is no part of a column, and is not carried" in plan.notes


@pytest.mark.parametrize("make", ["DataFrame", "Series", "Index"])
def test_of_an_index_that_says_nothing_nothing_is_told(make):  # TYPE-19
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    source = pd.DataFrame({"v": [1]}) if make == "DataFrame" else getattr(pd, make)([1])
    assert not [note for note in lend.explain(source, "pyarrow").notes if "the index" in note]


# -- what a database makes of types --


def test_types_that_do_not_survive_in_duckdb_are_told():  # TYPE-6
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("duckdb")
    table = pa.table(
        {
            "span": pa.array([1], pa.duration("us")),
            "zone": pa.array([1], pa.timestamp("us", "Europe/Paris")),
            "words": pa.array(["x"]).dictionary_encode(),
            "plain": [1],
        }
    )
    notes = [note for note in lend.explain(table, "duckdb").notes if note.startswith("column")]
    assert notes == [
        "column 'span', timedelta64[us], becomes INTERVAL",
        "column 'zone', datetime64[us, Europe/Paris], becomes TIMESTAMP WITH TIME ZONE, in the zone of the connection",
        "column 'words', dictionary[int32, utf8], becomes the values, decoded",
    ]


@pytest.mark.parametrize("type", ["duration[ns]", "float16"])
def test_types_that_duckdb_refuses_are_refused_by_the_name_of_their_column(type):  # TYPE-6
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("duckdb")
    with pytest.raises(UnsupportedType, match="duckdb has no .*: column 'odd' is"):
        lend.to(pa.table({"plain": [1], "odd": pa.array([1], pa.type_for_alias(type))}), "duckdb")
