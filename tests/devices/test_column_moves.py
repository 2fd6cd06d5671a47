"""Columns and tables that go to a device and come from one because that was asked for by name."""

import json

import pytest

from support import fakecuda

pytest.importorskip("numpy")
pytest.importorskip("pyarrow")

START = """
import datetime, decimal, gc, json
import numpy as np, pyarrow as pa
from support.fakecuda import fake
from support.fakecuda.described import CudaArray, Memory
fake.init()
fake.retain(1)
import lend

def show(*facts):
    print(json.dumps(facts))

COLUMNS = {
    "integers": pa.array([*range(40)], "int32"),
    "nulls": pa.array([None if i % 3 == 0 else i for i in range(40)], "int64"),
    "bools": pa.array([None if i % 7 == 0 else i % 2 == 0 for i in range(40)]),
    "text": pa.array([None if i % 5 == 0 else "x" * i for i in range(40)]),
    "large text": pa.array(["y" * i for i in range(40)], pa.large_utf8()),
    "views": pa.array(["z" * i for i in range(40)], pa.string_view()),
    "lists": pa.array([None if i % 4 == 0 else [*range(i)] for i in range(40)]),
    "lists of text": pa.array([["a" * i, None] * (i % 3) for i in range(40)]),
    "list views": pa.array([[*range(i % 6)] for i in range(40)], pa.list_view(pa.int16())),
    "fixed lists": pa.array([[i, None] for i in range(40)], pa.list_(pa.int32(), 2)),
    "structs": pa.array([{"a": i, "b": "t" * i} for i in range(40)]),
    "categories": pa.array(["u", None, "vv", "www"] * 10).dictionary_encode(),
    "times": pa.array([datetime.datetime(2020, 1, 1 + i % 28) for i in range(40)]),
    "decimals": pa.array([decimal.Decimal(i) / 4 for i in range(40)], pa.decimal128(10, 2)),
    "nothing": pa.nulls(40),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([5, 30, 40], "int32"), pa.array(["p", None, "q"])),
    "unions": pa.UnionArray.from_dense(
        pa.array([0, 1] * 20, "int8"), pa.array([i // 2 for i in range(40)], "int32"),
        [pa.array([*range(20)]), pa.array([str(i) for i in range(20)])]),
    "masked": np.ma.array(np.arange(40.0), mask=[i % 3 == 1 for i in range(40)]),
    "strided": np.arange(120, dtype="i2")[::3],
}
PARTS = [slice(0, 40), slice(3, 40), slice(8, 17), slice(13, 14), slice(20, 20)]
"""

NAMES = [
    "integers", "nulls", "bools", "text", "large text", "views", "lists", "lists of text", "list views", "fixed lists",
    "structs", "categories", "times", "decimals", "nothing", "runs", "unions", "masked", "strided",
]  # fmt: skip


def found(snippet, **keywords):
    return json.loads(fakecuda.run_clean(START + snippet, **keywords))


@pytest.mark.parametrize("name", NAMES)
def test_a_column_comes_back_from_a_device_as_it_went(name):
    assert found(f"""
wrong, places, leases = [], set(), fake.live()
for part in PARTS:
    here = lend.column(COLUMNS[{name!r}])[part]
    there = lend.to(here, device="cuda:0")
    places.add(str(there.device))
    other = lend.to(there, device="cuda:1")
    for way, cut in ((there, 0), (there[1:], 1), (there.compact(), 0), (there[5:].compact(), 5), (other, 0)):
        back = lend.to(way, device="cpu")
        back.verify(full=True)
        if back.tolist() != here[min(cut, len(here)):].tolist() or back.dtype != here.dtype:
            wrong.append((str(part), cut))
    del here, there, other, way, back
gc.collect()
show(wrong, sorted(places), fake.live() - leases)
""") == [[], ["cpu"] if name == "nothing" else ["cuda:0"], 0]


def test_a_part_of_a_column_brings_no_more_than_it_needs():
    whole, part, told = found("""
there = lend.to(lend.column(pa.array(["x" * 100] * 1000)), device="cuda:0")
sizes = []
for column in (there, there[500:510]):
    with lend.copies() as log:
        lend.to(column, device="cpu")
    sizes.append(log.bytes)
show(*sizes, lend.explain(there, device="cpu").bytes_copied)
""")
    assert whole > 100_000
    assert part < 2000
    assert told is None  # how far the text goes its last offset says, which is not read for a plan


def test_a_plan_tells_the_bytes_of_a_column_that_is_copied():
    told, counted, steps = found("""
there = lend.to(lend.column(COLUMNS["nulls"]), device="cuda:0")
plan = lend.explain(there, device="cpu")
with lend.copies() as log:
    lend.to(there, device="cpu")
show(plan.bytes_copied, log.bytes, [step.why for step in plan.copies])
""")
    assert told == counted == 8 * 40 + 5
    assert steps == ["memory on cpu was asked for, and this is on cuda:0"]


@pytest.mark.parametrize("target", ["numpy", "pyarrow", "pandas", "list"])
def test_a_column_on_a_device_goes_to_a_library_of_the_host_by_a_word(target):
    pytest.importorskip(target) if target != "list" else None
    refused, made = found(f"""
there = lend.to(lend.column(COLUMNS["integers"]), device="cuda:0")
target = list if {target!r} == "list" else {target!r}
try:
    lend.to(there, target)
    refused = ""
except lend.errors.NotHostAccessible as refusal:
    refused = str(refusal)
lend.explain(there, target, device="cpu")
show(refused, [int(each) for each in lend.column(lend.to(there, target, device="cpu")).tolist()]
     if target is not list else lend.to(there, target, device="cpu"))
""")
    assert 'device="cpu"' in refused
    assert made == [*range(40)]


def test_a_table_comes_from_a_device_with_its_names_and_metadata():
    assert found("""
table = lend.table(pa.table({"a": [1, 2], "t": ["x", None]}).replace_schema_metadata({"k": "v"}))
there = table.to(device="cuda:0")
back = there.to(device="cpu")
show(sorted({str(c.device) for c in there.columns}), {c.name: c.tolist() for c in back.columns},
     [v.decode() for v in back.metadata.values()],
     [len(there.compact()), len(back)])
""") == [["cuda:0"], {"a": [1, 2], "t": ["x", None]}, ["v"], [2, 2]]


def test_what_the_host_may_read_is_shared_and_waited_for():
    assert found("""
stream = fake.stream()
m = Memory(bytes(64), "managed", stream=stream)
m.fill(b"\\x05" * 64)
column = lend.column(CudaArray(m, (64,), "|u1", stream=stream))
plan = lend.explain(column, device="cpu")
with lend.copies() as log:
    made = lend.to(column, device="cpu")
show(made.tolist() == [5] * 64, str(made.device), log.bytes, plan.bytes_copied, [step.kind for step in plan.steps])
""") == [True, "cpu", 0, 0, ["take", "wait", "give"]]


def test_a_copy_may_be_forbidden_and_nothing_is_done_then():
    said, copies = found("""
there = lend.to(lend.column(COLUMNS["text"]), device="cuda:0")
fake.reset()
said = []
for ask in (lend.to, lend.explain):
    for device in ("cpu", "cuda:1"):
        try:
            ask(there, device=device, copy=False)
        except lend.errors.CopyRequired as refusal:
            said.append("is on cuda:0" in str(refusal))
show(said, fake.copies())
""")
    assert said == [True] * 4
    assert copies == 0


def test_a_library_of_the_host_gets_no_column_on_a_device():
    assert (
        "of host memory alone"
        in found("""
try:
    lend.to(lend.column(COLUMNS["text"]), "pandas", device="cuda:0")
except lend.errors.NotHostAccessible as refusal:
    show(str(refusal))
""")[0]
    )


def test_a_column_of_the_host_is_on_the_cpu_already():
    assert found("""
a = COLUMNS["integers"]
column = lend.column(a)
same = lend.to(column, device="cpu")
show(same.tolist() == column.tolist(), lend.to(a, "numpy", device="cpu").tolist() == [*range(40)],
     lend.explain(a, "numpy", device="cpu").bytes_copied)
""") == [True, True, 0]


def test_the_kernels_refuse_memory_of_a_device_by_a_sentence():
    said = found("""
from lend.columns import converting
there = lend.to(lend.column(COLUMNS["nulls"]), device="cuda:0")
said = []
for form in ("arrow_form", "contiguous", "masked", "needs"):
    try:
        getattr(converting, form)(there)
        said.append(form)
    except lend.errors.NotHostAccessible as refusal:
        said.append("cuda:0" in str(refusal))
show(*said)
""")
    assert said == [True] * 4


def test_a_column_of_buffers_with_owners_of_their_own_comes_from_the_device_buffer_by_buffer():
    values, gone, kept = found("""
import weakref
from support.fakecuda.standins import PylibcudfColumn, RmmLike
theirs = PylibcudfColumn(4, np.arange(4, dtype="i4").tobytes(), bytes([0b1101]))
column = lend.Column.from_buffers("int32", 4, {"data": theirs.data(), "validity": theirs.null_mask()})
mask, data = weakref.ref(theirs._null_mask), weakref.ref(theirs._data)
back = lend.to(column, device="cpu").tolist()
data_alone = column.buffers["data"]
del theirs, column
gc.collect()
rmm = lend.Column.from_buffers("float32", 4, {"data": lend.buffer(RmmLike())})
show([back, lend.to(rmm, device="cpu").tolist()], mask() is None, data() is not None)
""")
    assert values == [[0, None, 2, 3], [0.0, 1.0, 2.0, 3.0]]
    assert (gone, kept) == (True, True)  # who keeps one buffer keeps no other


@pytest.mark.parametrize("name", NAMES)
def test_where_bytes_are_told_beforehand_they_are_those_that_are_counted(name):
    wrong, told = found(f"""
wrong, told = [], 0
for part in [*PARTS, slice(0, 5), slice(0, 0)]:
    column = lend.column(COLUMNS[{name!r}])[part]
    there = lend.to(column, device="cuda:0")
    for source, to in ((column, "cuda:0"), (there, "cpu"), (there[0:2], "cpu"), (there[1:3], "cuda:1")):
        plan = lend.explain(source, device=to)
        with lend.copies() as log:
            lend.to(source, device=to)
        if plan.bytes_copied is not None:
            told += 1
            if plan.bytes_copied != log.bytes:
                wrong.append([str(part), to, plan.bytes_copied, log.bytes])
show(wrong, told)
""")
    assert wrong == []
    assert told or name in ("text", "large text", "views", "lists", "lists of text", "structs", "categories", "runs",
                            "unions")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_no_elements_of_a_column_on_a_device_come_to_the_host(name):
    # of which nothing is needed, though its buffers are there
    assert found(f"""
wrong = []
here = lend.column(COLUMNS[{name!r}])
there = lend.to(here, device="cuda:0")
for at in (0, 1, 8, 16, 40):
    plan = lend.explain(there[at:at], device="cpu")
    with lend.copies() as log:
        back = lend.to(there[at:at], device="cpu")
    back.verify(full=True)
    if back.tolist() or back.dtype != here.dtype or plan.bytes_copied not in (None, log.bytes):
        wrong.append([at, plan.bytes_copied, log.bytes])
show(wrong)
""") == [[]]


def test_text_in_views_is_copied_from_memory_that_the_host_may_read_and_cannot_know_the_length_of():
    assert found("""
import struct
first = Memory(struct.pack("<i4s8x", 2, b"ab") + struct.pack("<i4sii", 14, b"abcd", 0, 0), "managed")
rest = Memory(b"abcdefghijklmn", "managed")
def there(m):
    return lend.view(CudaArray(m, (m.size,), "|u1"))
column = lend.Column.from_buffers("utf8_view", 2, {"views": there(first), "variadic": [there(rest)]})
plan = lend.explain(column, device="cpu")
show(lend.to(column, device="cpu").tolist(), [step.kind for step in plan.steps])
""") == [["ab", "abcdefghijklmn"], ["take", "work", "give"]]
