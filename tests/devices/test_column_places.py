"""Columns on devices: what is waited for, buffers on several devices, copies by copy.deepcopy, plans of targets."""

import json

import pytest

from support import fakecuda

pytest.importorskip("numpy")
pytest.importorskip("pyarrow")

START = """
import copy, gc, json, pickle
import numpy as np, pyarrow as pa
from support.fakecuda import fake
from support.fakecuda.described import CudaArray, Memory
fake.init()
fake.retain(1)
import lend
from lend.errors import CopyRequired, LendError, NotHostAccessible, StreamError, UnsupportedLayout

def show(*facts):
    print(json.dumps(facts))

def there(memory, typestr="|u1", **keywords):
    "The bytes of a Memory by the interface of CUDA."
    return CudaArray(memory, (memory.size // int(typestr[2:]),), typestr, **keywords)

def on(device, data, kind="device"):
    return there(Memory(bytes(data), kind, device=device))

OFFSETS = np.array([0, 1, 1, 4], "i4").tobytes()
NUMBERS = np.arange(4, dtype="i4").tobytes()
BITS = bytes([0b1101])
from lend import Column, DType
STRUCT = DType.from_arrow("+s", fields=[("a", DType("int32")), ("b", DType("int32"))])
MIXED = {
    "validity of the host": lambda: Column.from_buffers("int32", 4, {"data": on(0, NUMBERS), "validity": BITS}),
    "data of the host": lambda: Column.from_buffers("int32", 4, {"data": NUMBERS, "validity": on(0, BITS)}),
    "two devices": lambda: Column.from_buffers(
        "int32", 4, {"data": lend.to(lend.column(np.arange(4, dtype="i4")), device="cuda:1").view(),
                     "validity": lend.to(lend.column(np.frombuffer(BITS, "u1")), device="cuda:0").view()}),
    "offsets of the host": lambda: Column.from_buffers("utf8", 3, {"offsets": OFFSETS, "data": on(1, b"abcd")}),
    "text of the host": lambda: Column.from_buffers("utf8", 3, {"offsets": on(1, OFFSETS), "data": b"abcd"}),
    "a child of the host": lambda: Column.from_buffers(STRUCT, 4, {}, children=[
        Column.from_buffers("int32", 4, {"data": NUMBERS}), Column.from_buffers("int32", 4, {"data": on(0, NUMBERS)})]),
    "words of the host": lambda: Column.from_buffers(
        DType.from_arrow("c", dictionary=DType("utf8")), 3, {"data": on(0, bytes([2, 0, 2]))},
        dictionary=lend.column(pa.array(["x", "y", "z"]))),
    "pinned": lambda: Column.from_buffers("int32", 4, {"data": NUMBERS, "validity": on(0, BITS, "pinned")}),
}
"""

VALUES = {
    "validity of the host": [0, None, 2, 3],
    "data of the host": [0, None, 2, 3],
    "two devices": [0, None, 2, 3],
    "offsets of the host": ["a", "", "bcd"],
    "text of the host": ["a", "", "bcd"],
    "a child of the host": [{"a": i, "b": i} for i in range(4)],
    "words of the host": ["z", "x", "z"],
    "pinned": [0, None, 2, 3],
}


def found(snippet, **keywords):
    return json.loads(fakecuda.run_clean(START + snippet, **keywords))


# -- on several devices ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VALUES)
def test_a_column_on_several_devices_is_brought_to_one(name):
    assert found(f"""
made = []
for device in ("cpu", "cuda:0", "cuda:1"):
    column = MIXED[{name!r}]()
    plan = lend.explain(column, device=device)
    with lend.copies() as log:
        moved = lend.to(column, device=device)
    made.append([str(moved.device), lend.to(moved, device="cpu").tolist(),
                 plan.bytes_copied is None or plan.bytes_copied == log.bytes])
show(*made)
""") == [[device, VALUES[name], True] for device in ("cpu", "cuda:0", "cuda:1")]


@pytest.mark.parametrize("name", VALUES)
def test_a_part_of_a_column_on_several_devices_is_brought_to_one(name):
    assert found(f"""
show(lend.to(MIXED[{name!r}]()[1:3], device="cpu").tolist(), lend.to(
    lend.to(MIXED[{name!r}]()[1:], device="cuda:1"), device="cpu").tolist())
""") == [VALUES[name][1:3], VALUES[name][1:]]


def test_a_plan_names_each_buffer_of_a_column_on_several_devices():
    said, why = found("""
plan = lend.explain(MIXED["two devices"](), device="cpu")
show(str(plan).splitlines()[1], plan.copies[0].why)
""")
    assert "on several devices (validity on cuda:0, data on cuda:1)" in said
    assert "this is on several devices (validity on cuda:0, data on cuda:1)" in why


def test_a_buffer_on_the_host_does_not_make_the_others_readable():
    assert (
        found("""
said = []
for name in ("data of the host", "offsets of the host", "a child of the host"):
    for target in ("numpy", "pyarrow", "polars", list):
        try: lend.to(MIXED[name](), target)
        except NotHostAccessible as refusal: said.append('device="cpu"' in str(refusal))
show(*said)
""")
        == [True] * 12
    )


def test_where_the_host_may_read_each_buffer_it_reads_the_column():
    assert found("""
with lend.copies() as log:
    values = MIXED["pinned"]().tolist(), lend.to(MIXED["pinned"](), device="cpu").tolist()
show(*values, log.bytes)
""") == [VALUES["pinned"], VALUES["pinned"], 0]


def test_who_keeps_a_buffer_of_a_column_on_several_devices_keeps_no_other():
    assert found("""
import weakref
theirs, ours = on(0, NUMBERS), np.frombuffer(bytearray(BITS), "u1")
column = Column.from_buffers("int32", 4, {"data": theirs, "validity": ours})
gone, kept = weakref.ref(theirs), weakref.ref(ours)
mask = column.buffers["validity"]
del theirs, ours, column
gc.collect()
show(gone() is None, kept() is not None, bytes(mask) == BITS)
""") == [True, True, True]


def test_the_loans_of_a_column_on_several_devices_are_told_where_each_is():
    assert found("""
there = lend.to(lend.column(np.arange(4, dtype="i4")), device="cuda:1").view()
column = Column.from_buffers("int32", 4, {"data": there, "validity": bytearray(BITS)})
del there
table = lend.table({"a": column})
gc.collect()
show(sorted([str(loan.device), loan.nbytes] for loan in lend.loans()), len(table))
""") == [[["cpu", 1], ["cuda:1", 16]], 4]


def test_columns_of_a_table_may_each_be_somewhere_else():
    assert found("""
table = lend.table({"a": MIXED["two devices"](), "b": np.arange(4), "c": on(1, bytes(range(4)))})
plan = lend.explain(table, "pyarrow", device="cpu")
made = [lend.to(each, "pyarrow", device="cpu").to_pydict() for each in (table, table.to(device="cuda:0"))]
show(made[0], made[0] == made[1], [step.column for step in plan.copies])
""") == [{"a": [0, None, 2, 3], "b": [0, 1, 2, 3], "c": [0, 1, 2, 3]}, True, ["a", "c"]]


# -- copies ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["copy.deepcopy(column)", "column.compact()"])
def test_a_copy_of_a_column_stays_where_each_of_its_buffers_is(way):
    assert found(f"""
places, values, counted = [], [], []
for column in (MIXED["two devices"](), lend.to(MIXED["two devices"](), device="cuda:1")):
    with lend.copies() as log:
        made = {way}
    places.append({{role: str(part.device) for role, part in made.buffers.items()}})
    counted.append(log.bytes)
    values.append(lend.to(made, device="cpu").tolist())
show(places, values, counted)
""") == [
        [{"data": "cuda:1", "validity": "cuda:0"}, {"data": "cuda:1", "validity": "cuda:1"}],
        [VALUES["two devices"]] * 2,
        [17, 17],
    ]


def test_a_copy_of_a_column_keeps_nothing_of_what_it_is_of_and_a_shallow_one_all():
    assert found("""
import weakref
theirs = [on(0, NUMBERS), on(0, NUMBERS)]
gone = [weakref.ref(each) for each in theirs]
deep = copy.deepcopy(lend.column(theirs[0]))
flat = copy.copy(lend.column(theirs[1]))
del theirs
gc.collect()
show([each() is None for each in gone], lend.to(deep, device="cpu").tolist() == lend.to(flat, device="cpu").tolist())
""") == [[True, False], True]


def test_a_copy_of_a_table_is_on_its_device_and_counted():
    assert found("""
table = lend.table(pa.table({"a": pa.array([1, 2], "int32"), "t": ["x", None]})).to(device="cuda:1")
with lend.copies() as log:
    made = copy.deepcopy(table)
with lend.copies() as none:
    same = copy.copy(table)
show([str(column.device) for column in (*made.columns, *same.columns)], log.bytes > 8, none.bytes,
     {column.name: column.tolist() for column in made.to(device="cpu").columns})
""") == [["cuda:1"] * 4, True, 0, {"a": [1, 2], "t": ["x", None]}]


def test_what_is_on_a_device_is_not_pickled_and_the_remedy_brings_it_to_the_host():
    assert found("""
column = lend.to(lend.column(pa.array([1, None])), device="cuda:0")
said = []
for lent in (column, lend.table({"a": column}), MIXED["two devices"](), lend.column(pa.array([1]))):
    try: pickle.dumps(lent)
    except LendError as refusal: said.append('lend.to(x, "pyarrow", device="cpu")' in str(refusal))
show(said, pickle.loads(pickle.dumps(lend.to(column, "pyarrow", device="cpu"))).to_pylist())
""") == [[True, True, True, False], [1, None]]


# -- what is waited for ------------------------------------------------------------------------------------------------

WAITING = """
def begun(kind):
    "Four numbers on their way into memory that had others."
    memory = Memory(bytes(16), kind)
    memory.fill(NUMBERS)
    return memory

WAYS = {
    "shared": ("managed", {}),
    "shared by name": ("managed", {"device": "cpu"}),
    "copied": ("device", {"device": "cpu"}),
    "sent": ("device", {"device": "cuda:1"}),
}
"""


@pytest.mark.parametrize("kind", ["column", "table"])
@pytest.mark.parametrize("way", ["shared", "shared by name", "copied", "sent"])
def test_the_caller_says_what_is_waited_for_of_columns_and_tables(way, kind):
    target = "None" if way == "sent" else '"numpy.ma"'
    rows = found(f"""{WAITING}
kind, keywords = WAYS[{way!r}]
rows, kept = [], []
for sync in ("stream", "device", "none"):
    memory, other = begun(kind), begun("device")
    lent = lend.column(there(memory, "<i4", stream=memory.stream))
    lent = lent if {kind!r} == "column" else lend.table({{"a": lent}})
    made = lend.to(lent, {target}, sync=sync, **keywords)
    ready = other.is_ready
    kept.append(made)  # the driver waits for all where memory is freed
    here = lend.to(made, "numpy.ma", device="cpu") if {way!r} == "sent" else made
    here = here if {kind!r} == "column" else here["a"]
    rows.append([here.tolist() == [0, 1, 2, 3], ready])
show(*rows)
""")
    assert rows == [[True, False], [True, True], [False, False]]


def test_nothing_is_waited_for_while_a_graph_is_captured_where_the_caller_says_so():
    assert found(f"""{WAITING}
rows = []
for sync in (None, "none"):
    memory = begun("managed")
    lent = lend.column(there(memory, "<i4", stream=memory.stream))
    fake.begin_capture(memory.stream)
    try: came = lend.to(lent, "numpy.ma", device="cpu", **({{}} if sync is None else {{"sync": sync}})).tolist() != []
    except StreamError as refusal: came = 'sync="none"' in str(refusal)
    rows.append([came, fake.capture_end_code(memory.stream)])
show(*rows)
""") == [[True, 0], [True, 0]]


def test_a_plan_says_what_is_waited_for_of_a_column():
    assert found(f"""{WAITING}
memory = begun("managed")
column = lend.column(there(memory, "<i4", stream=memory.stream))
said = [[step.what for step in lend.explain(column, "numpy.ma", device="cpu", sync=sync).steps if step.kind == "wait"]
        for sync in ("stream", "device", "none")]
show(*said, fake.pending(memory.stream))
""") == [["for the work on a column of int32"], ["for all of the device"], ["for nothing"], True]


def test_what_is_waited_for_makes_no_memory_of_a_device_readable():
    assert found("""
try: lend.to(lend.column(on(0, NUMBERS)), "pyarrow", sync="none")
except NotHostAccessible as refusal: show('device="cpu"' in str(refusal))
""") == [True]


def test_what_is_waited_for_changes_nothing_of_a_column_of_the_host():
    assert found("""
made = [[*lend.to(lend.column(pa.array([1, 2])), target, sync="device")] for target in ("numpy", list)]
show(made[0] == [1, 2], made[1], lend.to(pa.table({"a": [1]}), "pyarrow", sync="none").to_pylist())
""") == [True, [1, 2], [{"a": 1}]]


# -- plans -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["pyarrow", "numpy", "numpy.ma", "pandas", "polars", "torch"])
def test_a_plan_tells_of_the_target_what_it_tells_of_a_column_of_the_host(target):
    pytest.importorskip(target.partition(".")[0])
    away, here, copied = found(f"""
table = lend.table(pa.table({{"a": pa.array([1, 2], "int32"), "b": pa.array([1.5, 2.5])}}))
plan = lend.explain(table.to(device="cuda:0"), {target!r}, device="cpu")
ours = lend.explain(table.to(device="cuda:0").to(device="cpu"), {target!r})
away = table.to(device="cuda:0")
with lend.copies() as log:
    lend.to(away, {target!r}, device="cpu")
show([step.to_dict() for step in plan.steps[1:]], [step.to_dict() for step in ours.steps[1:]],
     [plan.bytes_copied, log.bytes, plan.target == ours.target])
""")
    assert away[-len(here) :] == here
    assert copied == [24, 24, True]


def test_a_plan_tells_what_a_target_copies_of_what_was_brought_to_it():
    whys, bytes_copied = found("""
column = lend.to(lend.column(np.array([True, False, True])), device="cuda:0")
plan = lend.explain(column, "pyarrow", device="cpu")
show([step.why for step in plan.copies], plan.bytes_copied)
""")
    assert whys == ["memory on cpu was asked for, and this is on cuda:0", "bools of one byte each"]
    assert bytes_copied == 4


def test_what_a_target_does_not_take_is_refused_before_anything_is_moved():
    assert found("""
column = lend.to(lend.column(pa.array([{"a": 1}])), device="cuda:0")
fake.reset()
said = []
for ask in (lend.to, lend.explain):
    try: ask(column, "torch", device="cpu")
    except LendError as refusal: said.append("cuda:0" in str(refusal.came))
show(said, fake.copies())
""") == [[True, True], 0]


def test_a_plan_of_a_copy_speaks_of_no_later_writes():
    assert found("""
column = lend.to(lend.column(np.arange(3)), device="cuda:0")
show([note for note in lend.explain(column, "polars", device="cpu").notes if "later writes" in note])
""") == [[]]
