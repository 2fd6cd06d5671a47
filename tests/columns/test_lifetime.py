"""Arrow data is given back once, when the last thing that shows it has gone; what is refused stays the producer's."""

import gc
import itertools
import struct
import threading
import weakref

import pytest

import lend
from lend.errors import LeaseLost, LendError, MalformedDescriptor
from support import arrow_structs
from support.arrow_structs import Made, Node, Streamed, capsule


def numbers(*values, **said):
    return Node("l", len(values), buffers=[b"\xff", struct.pack(f"{len(values)}q", *values)], **said)


def row(*, bitmap=None):
    words = Node("c", 3, buffers=[None, bytes([0, 1, 0])], dictionary=Node("u", 2, buffers=[None, bytes(12), b""]))
    return Node("+s", 3, buffers=[bitmap], children=[numbers(1, 2, 3, name="a"), words])


EVERYTHING = {"": 1, "0": 1, "1": 1, "1.dictionary": 1}

HOLDERS = {
    "the column": lambda column: column,
    "a copy": lambda column: column.__copy__(),
    "a slice": lambda column: column[1:],
    "a child": lambda column: column.children[0],
    "a dictionary": lambda column: column.children[1].dictionary,
    "a buffer": lambda column: column.children[0].buffers["data"],
    "a part of a buffer": lambda column: column.children[0].buffers["data"][8:16],
    "a view": lambda column: column.children[0].view(),
    "a memoryview": lambda column: memoryview(column.children[0]),
    "a memoryview of a buffer": lambda column: memoryview(column.children[0].buffers["data"]),
    "the owner": lambda column: column.owner,
    "array capsules": lambda column: column.__arrow_c_array__(),
    "a stream capsule": lambda column: column.__arrow_c_stream__(),
    "a column of its capsules": lambda column: lend.column(column.__arrow_c_array__()),
    "a column of its stream": lambda column: lend.column(column.__arrow_c_stream__()),
    "a child's capsules": lambda column: column.children[0].__arrow_c_array__(),
    "a dlpack capsule": lambda column: column.children[0].__dlpack__(max_version=(1, 0)),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_with_a_bitmap_the_last_holder_gives_all_of_it_back_once(holder):
    made = Made(row(bitmap=b"\7"))
    held = HOLDERS[holder](lend.column(made))
    gc.collect()
    assert made.released == {}
    del held
    assert made.released == EVERYTHING


@pytest.mark.parametrize("holder", HOLDERS)
def test_without_a_bitmap_the_last_holder_gives_the_rest_back_once(holder):
    made = Made(row())
    held = HOLDERS[holder](lend.column(made))
    gc.collect()
    assert made.released != EVERYTHING
    del held
    assert made.released == EVERYTHING


# a child of a struct without a bitmap lives on its own
def test_a_child_outlives_its_parent_and_its_brothers():
    made = Made(row())
    child = lend.column(made).children[0]
    gc.collect()
    assert (child.tolist(), made.released) == ([1, 2, 3], {"": 1, "1": 1, "1.dictionary": 1})


def test_children_stay_with_a_parent_that_has_a_bitmap():
    made = Made(row(bitmap=b"\7"))
    child = lend.column(made).children[0]
    gc.collect()
    assert (child.tolist(), made.released) == ([1, 2, 3], {})


def test_a_parent_reads_on_after_its_children_were_moved():
    made = Made(row())
    column = lend.column(made)
    owner = column.children[0].owner
    assert (column.tolist()[1], owner is column.owner) == ({"a": 2, "": ""}, False)


def test_a_slice_from_before_reads_on_after_the_children_were_moved():
    column = lend.column(Made(row()))
    part = column[1:]
    assert column.children[0].tolist() == [1, 2, 3]
    assert [found["a"] for found in part.tolist()] == [2, 3]


def test_what_was_given_before_the_children_were_moved_reads_on():
    made = Made(row())
    column = lend.column(made)
    given = column.__arrow_c_array__()
    children = column.children
    del column, children
    gc.collect()
    assert [found["a"] for found in lend.column(given).tolist()] == [1, 2, 3]


def test_the_parts_go_in_any_order():
    names = ["column", "slice", "buffer", "child", "dictionary", "given"]
    for order in itertools.permutations(names):
        made = Made(row())
        column = lend.column(made)
        first, second = column.children
        held = {
            "column": column, "slice": column[1:], "child": first, "dictionary": second.dictionary,
            "buffer": first.buffers["data"], "given": column.__arrow_c_array__(),
        }  # fmt: skip
        del column, first, second
        for name in order:
            assert made.released != EVERYTHING
            del held[name]
        assert made.released == EVERYTHING


def test_an_array_that_is_refused_stays_the_producers():
    made = Made(row())
    made.arrays["1"].length = 1
    capsules = made.capsules()
    with pytest.raises(MalformedDescriptor):
        lend.column(capsules)
    assert (made.released, made.schemas_released) == ({}, {})


def test_a_type_that_is_refused_stays_the_producers():
    made = Made(Node("?", 0))
    capsules = made.capsules()
    with pytest.raises(LendError):
        lend.column(capsules)
    assert (made.released, made.schemas_released) == ({}, {})


def test_a_capsule_is_consumed_once():
    made = Made(numbers(1))
    capsules = made.capsules()
    held = lend.column(capsules)
    with pytest.raises(MalformedDescriptor, match="already consumed"):
        lend.column(capsules)
    del capsules
    assert (held.tolist(), made.released) == ([1], {})


# STREAM-2
def test_a_stream_capsule_is_consumed_once():
    stream = Streamed(Node("l"), [numbers(1)]).__arrow_c_stream__()
    assert lend.column(stream).tolist() == [1]
    with pytest.raises(MalformedDescriptor, match="already consumed"):
        lend.column(stream)


def test_the_type_goes_with_the_last_that_shows_it():
    made = Made(row())
    child = lend.column(made).children[0]
    assert (str(child.dtype), made.schemas_released) == ("int64", {})
    del child
    assert made.schemas_released == EVERYTHING


def test_a_stream_is_released_when_it_was_read_and_its_chunks_live_on():
    stream = Streamed(Node("l"), [numbers(1), numbers(2, 3)])
    first, second = lend.column(stream).chunks
    assert stream.released == 1
    assert [part.released for part in stream.made] == [{}, {}]
    del first
    assert [part.released for part in stream.made] == [{"": 1}, {}]
    assert second.tolist() == [2, 3]


def test_a_stream_that_fails_gives_no_part_of_the_column_and_keeps_nothing():
    stream = Streamed(Node("l"), [numbers(1), (5, "the disk is gone, für immer")])
    with pytest.raises(LendError, match="the disk is gone, für immer"):
        lend.column(stream)
    assert (stream.released, stream.made[0].released) == (1, {"": 1})


def test_a_stream_that_says_nothing_of_its_failure_is_told_by_its_errno():
    with pytest.raises(LendError, match="errno 12"):
        lend.column(Streamed(Node("l"), [(12, None)]))


def test_a_stream_without_a_type_is_released():
    stream = Streamed(Node("l"), [], schema_error=(22, "no schema"))
    with pytest.raises(LendError, match="no schema"):
        lend.column(stream)
    assert stream.released == 1


def test_a_stream_whose_second_chunk_contradicts_its_type_keeps_nothing():
    stream = Streamed(Node("l"), [numbers(1), Node("u", 1, buffers=[None, bytes(8), b""])])
    with pytest.raises(MalformedDescriptor, match="3 buffers"):
        lend.column(stream)
    assert stream.released == 1
    assert [part.released for part in stream.made] == [{"": 1}, {"": 1}]


def test_a_type_without_an_array_is_refused_and_stays_whole():
    made = Made(numbers(1))
    schema = capsule(made.schema, b"arrow_schema")
    with pytest.raises(MalformedDescriptor, match="a capsule named 'arrow_array'"):
        lend.column((schema, schema))
    assert made.schemas_released == {}


def test_a_producer_may_go_before_its_column():
    made = Made(numbers(4))
    held, gone = lend.column(made.capsules()), weakref.ref(made)
    del made
    assert (held.tolist(), gone() is None) == ([4], False)  # the structs are kept by what was not released
    del held
    assert gone() is None


def test_an_error_of_a_producer_is_told_and_nothing_is_left():
    class Broken:
        def __arrow_c_array__(self, requested_schema=None):
            raise RuntimeError("no memory today")

    with pytest.raises(LendError, match="no memory today"):
        lend.column(Broken())


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError])
@pytest.mark.parametrize("method", ["__arrow_c_array__", "__arrow_c_stream__"])
def test_an_interrupt_of_a_producer_passes(error, method):
    def interrupted(self, requested_schema=None):
        raise error

    with pytest.raises(error):
        lend.column(type("Interrupted", (), {method: interrupted})())


def test_a_released_column_gives_the_memory_back_and_is_used_no_more():
    made = Made(numbers(1))
    column = lend.column(made)
    column.release()
    assert (made.released, column.released) == ({"": 1}, True)
    with pytest.raises(LeaseLost, match="this Column was released"):
        column.tolist()


USES = {
    "len": len, "tolist": lambda c: c.tolist(), "item": lambda c: c[0], "slice": lambda c: c[:1],
    "dtype": lambda c: c.dtype,
    "null_count": lambda c: c.null_count, "nulls": lambda c: c.nulls, "buffers": lambda c: c.buffers,
    "view": lambda c: c.view(),
    "children": lambda c: c.children, "dictionary": lambda c: c.dictionary, "chunks": lambda c: c.chunks,
    "owner": lambda c: c.owner,
    "array": lambda c: c.__arrow_c_array__(), "stream": lambda c: c.__arrow_c_stream__(),
    "schema": lambda c: c.__arrow_c_schema__(),
    "buffer": memoryview, "dlpack": lambda c: c.__dlpack__(max_version=(1, 0)),
    "verify": lambda c: c.verify(full=True), "name": lambda c: c.name,
    "copy": lambda c: c.__copy__(), "interface": lambda c: c.__array_interface__, "metadata": lambda c: c.metadata,
    "iter": list, "offset": lambda c: c.offset, "device": lambda c: c.device, "enter": lambda c: c.__enter__(),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_every_use_of_a_released_column_is_refused(use):
    column = lend.column(Made(numbers(1)))
    column.release()
    with pytest.raises(LeaseLost, match="this Column was released"):
        USES[use](column)


def test_a_released_column_shows_that_it_is():
    column = lend.column(Made(numbers(1)))
    column.release()
    assert repr(column) == "<Column, released>"


def test_a_released_child_does_not_pull_memory_from_under_its_parent():
    column = lend.column(Made(row()))
    column.children[0].release()
    assert column.tolist()[0] == {"a": 1, "": ""}


def test_a_released_dictionary_does_not_pull_memory_from_under_its_column():
    column = lend.column(Made(row())).children[1]
    column.dictionary.release()
    assert column.tolist() == ["", "", ""]


def test_a_released_chunk_does_not_pull_memory_from_under_its_column():
    column = lend.column(Streamed(Node("l"), [numbers(1), numbers(2)]))
    column.chunks[0].release()
    assert column.tolist() == [1, 2]


def test_a_stream_that_was_given_outlives_the_release_of_its_column():
    with lend.column(Made(numbers(1, 2))) as column:
        stream = column.__arrow_c_stream__()
    assert lend.column(stream).tolist() == [1, 2]


def test_capsules_that_nobody_takes_give_the_memory_back():
    made = Made(numbers(1))
    column = lend.column(made)
    for _ in range(25):
        column.__arrow_c_array__(), column.__arrow_c_stream__(), column.__arrow_c_schema__()
    assert column.owner.exports == 0
    del column
    assert made.released == {"": 1}


def test_open_exports_are_counted():
    column = lend.column(Made(row()))
    given = column.__arrow_c_array__()
    assert column.owner.exports == 4  # one for each level
    del given
    assert column.owner.exports == 0


def test_nothing_of_all_this_is_left():
    gc.collect()
    before = arrow_structs.living()
    for _ in range(20):
        lend.column(Made(row())).children[1].tolist()
        lend.column(Streamed(row(), [row(), row()])).tolist()
    assert arrow_structs.living() == before


# STREAM-8
def test_no_memory_of_pyarrow_is_left():
    pa = pytest.importorskip("pyarrow")
    gc.collect()
    before = pa.total_allocated_bytes()
    for _ in range(25):
        source = pa.array([{"a": [1, 2], "b": "x" * 100}] * 1000)
        column = lend.column(source)
        pa.array(column).validate(full=True)
        pa.chunked_array(column)
        column.children[0].__arrow_c_array__()
        column.__arrow_c_stream__()
    del source, column
    gc.collect()
    assert pa.total_allocated_bytes() == before


def test_a_loan_of_a_loan_of_a_loan_ends_without_filling_the_stack():
    made = Made(numbers(1))
    column = lend.column(made)
    for _ in range(30_000):
        column = lend.column(column.__arrow_c_array__())
    del column
    assert made.released == {"": 1}


def test_a_chain_of_producers_ends_without_filling_the_stack():
    class Wrapped:
        def __init__(self, column):
            self.__arrow_c = column

        def __arrow_c_array__(self, requested_schema=None):
            return self.__arrow_c.__arrow_c_array__()

    made = Made(numbers(1))
    column = lend.column(made)
    for _ in range(30_000):
        column = lend.column(Wrapped(column))
    del column
    gc.collect()
    assert made.released == {"": 1}


def test_a_cycle_through_a_column_is_collected():
    class Producer:
        def __arrow_c_array__(self, requested_schema=None):
            return made.capsules()

    made, producer = Made(numbers(1)), Producer()
    producer.column = lend.column(producer)
    del producer
    gc.collect()
    assert made.released == {"": 1}


def test_one_struct_in_two_places_is_refused_when_it_would_be_moved_twice():
    import ctypes

    made = Made(Node("+s", 1, buffers=[None], children=[numbers(1), numbers(2)]))
    places = (ctypes.c_void_p * 2).from_address(made.array.children)
    places[1] = places[0]
    column = lend.column(made)
    with pytest.raises(MalformedDescriptor, match="its child 1 is another one as well"):
        column.children
    del column
    gc.collect()
    assert made.released == {"": 1, "0": 1}


def test_a_finalizer_that_asks_for_the_children_meanwhile_does_not_move_them_twice():
    class Cycle:
        def __init__(self, column):
            self.itself, self.column = self, column

        def __del__(self):
            self.column.children

    old = gc.get_threshold()
    for _ in range(20):
        made = Made(row())
        column = lend.column(made)
        Cycle(column)
        gc.set_threshold(1)
        try:
            children = column.children
        finally:
            gc.set_threshold(*old)
        gc.collect()
        del column, children
        gc.collect()
        assert made.released == EVERYTHING


def test_a_release_in_another_thread_never_pulls_memory_from_under_a_reader():
    stop, wrong = threading.Event(), []

    def read(columns):
        while not stop.is_set():
            for column in list(columns):
                try:
                    found = [part["a"] for part in column.tolist()]
                except LeaseLost:
                    continue
                if found != [1, 2, 3]:
                    wrong.append(found)

    columns = []
    threads = [threading.Thread(target=read, args=(columns,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        columns.append(lend.column(Made(row())))
        columns[-1].children
        if len(columns) > 3:
            columns.pop(0).release()
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_one_capsule_taken_by_many_threads_is_taken_once():
    for _ in range(50):
        made = Made(numbers(1))
        capsules, found = made.capsules(), []

        def take(capsules=capsules, found=found):
            try:
                found.append(lend.column(capsules))
            except MalformedDescriptor as error:
                found.append(str(error))

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(isinstance(each, lend.Column) for each in found) == 1


# SLICE-14
def test_the_bytes_that_a_lease_pins_are_told():
    column = lend.column(Made(Node("c", 16_000, buffers=[None, bytes(16_000)])))
    assert column[5:6].owner.nbytes == 16_000


@pytest.mark.parametrize("method", ["__arrow_c_array__", "__arrow_c_stream__"])
def test_capsules_that_are_refused_go_before_the_refusal_is_on_its_way(method):
    # their destructor runs here in Python, which would lose it
    class Producer:
        pass

    def give(self, requested_schema=None):
        made = Made(Node("l", -1, buffers=[None, None]))
        return made.capsules() if method == "__arrow_c_array__" else capsule(made.schema, b"arrow_schema")

    setattr(Producer, method, give)
    with pytest.raises(MalformedDescriptor):
        lend.column(Producer())
