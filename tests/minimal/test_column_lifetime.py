"""Arrow data is given back once, when the last thing that shows it has gone; what is refused is given back at once."""

import gc
import struct
import weakref

import pytest

from lend import minimal
from support import arrow_structs
from support.arrow_structs import Made, Node, Streamed, capsule


def numbers(*values, **said):
    return Node("l", len(values), buffers=[b"\xff", struct.pack(f"{len(values)}q", *values)], **said)


def table():
    words = Node("c", 3, buffers=[None, bytes([0, 1, 0])], dictionary=Node("u", 2, buffers=[None, bytes(12), b""]))
    return Node("+s", 3, buffers=[None], children=[numbers(1, 2, 3, name="a"), words])


EVERYTHING = {"": 1, "0": 1, "1": 1, "1.dictionary": 1}

HOLDERS = {
    "the column": lambda column: column,
    "a slice": lambda column: column[1:],
    "a child": lambda column: column.children[0],
    "a child by its name": lambda column: column["a"],
    "a dictionary": lambda column: column.children[1].dictionary,
    "a buffer": lambda column: column.children[0].buffers["data"],
    "a part of a buffer": lambda column: column.children[0].buffers["data"][8:16],
    "a memoryview": lambda column: column.children[0].buffers["data"].memoryview(),
    "a part of a memoryview": lambda column: column.children[0].buffers["data"].memoryview()[3:5],
    "the owner": lambda column: column.children[0].buffers["data"].owner,
    "a frame": lambda column: column.__dataframe__(),
    "a column of a frame": lambda column: column.__dataframe__().get_column(0),
    "a buffer of a frame": lambda column: column.__dataframe__().get_column(0).get_buffers()["data"],
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_the_last_holder_gives_all_of_it_back_once(holder):
    made = Made(table())
    held = HOLDERS[holder](minimal.column(made))
    gc.collect()
    assert made.released == {}
    del held
    assert made.released == EVERYTHING


def test_an_ndarray_outlives_its_column_and_shows_the_same_memory():
    np = pytest.importorskip("numpy")
    made = Made(numbers(1, 2, 3))
    array = minimal.column_to_ndarray(minimal.column(made)[1:])
    part = array[1:]
    del array
    assert (part.tolist(), part.ctypes.data, made.released) == ([3], made.addresses[""][1] + 16, {})
    assert isinstance(part, np.ndarray)
    del part
    assert made.released == {"": 1}


def test_the_schema_goes_with_its_capsule():
    made = Made(table())
    held = minimal.column(made)
    assert (made.schemas_released, len(held)) == (EVERYTHING, 3)


def test_an_array_that_is_refused_is_released():
    made = Made(table())
    made.arrays["1"].length = 1
    with pytest.raises(minimal.Refused, match="3 elements of each child are needed"):
        minimal.column(made)
    assert made.released == EVERYTHING


def test_an_array_whose_schema_is_refused_is_released_by_its_capsule():
    made = Made(Node("+r", 0))
    with pytest.raises(minimal.Refused, match=r"'\+r' is not read"):
        minimal.column(made)
    assert (made.released, made.schemas_released) == ({"": 1}, {"": 1})


def test_a_capsule_is_consumed_once():
    made = Made(numbers(1))
    capsules = made.capsules()
    held = minimal.column(capsules)
    with pytest.raises(minimal.Refused, match="consumed before"):
        minimal.column(capsules)
    del capsules
    assert (held.tolist(), made.released) == ([1], {})
    del held
    assert made.released == {"": 1}


def test_a_stream_capsule_is_consumed_once():
    stream = Streamed(Node("l"), [numbers(1)]).__arrow_c_stream__()
    assert minimal.column(stream).tolist() == [1]
    with pytest.raises(minimal.Refused, match="consumed before"):
        minimal.column(stream)


def test_a_stream_is_released_when_it_was_read_and_its_chunks_live_on():
    stream = Streamed(Node("l"), [numbers(1), numbers(2, 3)])
    first, second = minimal.chunks(stream)
    assert stream.released == 1
    assert [part.released for part in stream.made] == [{}, {}]
    assert stream.describing.schemas_released == {"": 1}
    del first
    assert [part.released for part in stream.made] == [{"": 1}, {}]
    assert second.tolist() == [2, 3]


def test_a_stream_that_fails_gives_no_part_of_the_table_and_keeps_nothing():
    stream = Streamed(Node("l"), [numbers(1), (5, "the disk is gone, für immer")])
    with pytest.raises(minimal.Refused, match="errno 5: the disk is gone, für immer"):
        minimal.chunks(stream)
    assert (stream.released, stream.made[0].released) == (1, {"": 1})


def test_a_stream_that_says_nothing_of_its_failure_is_told_by_its_errno():
    with pytest.raises(minimal.Refused, match="errno 12: no reason given"):
        minimal.chunks(Streamed(Node("l"), [(12, None)]))


def test_a_stream_without_a_schema_is_released():
    stream = Streamed(Node("l"), [], schema_error=(22, "no schema"))
    with pytest.raises(minimal.Refused, match="errno 22: no schema"):
        minimal.chunks(stream)
    assert stream.released == 1


def test_a_stream_whose_second_chunk_contradicts_its_schema_keeps_nothing():
    stream = Streamed(Node("l"), [numbers(1), Node("u", 1, buffers=[None, bytes(8), b""])])
    with pytest.raises(minimal.Refused, match="3 buffers, where its layout has 2"):
        minimal.chunks(stream)
    assert stream.released == 1
    assert [part.released for part in stream.made] == [{"": 1}, {"": 1}]


def test_a_capsule_that_nobody_takes_is_released_by_itself():
    made = Made(numbers(1))
    capsules = made.capsules()
    del capsules
    assert made.released == {"": 1}


def test_a_schema_without_an_array_is_refused_and_both_capsules_stay_whole():
    made = Made(numbers(1))
    schema = capsule(made.schema, b"arrow_schema")
    with pytest.raises(minimal.Refused, match="no capsule named arrow_array"):
        minimal.column((schema, schema))
    assert made.schemas_released == {}


def test_a_producer_may_go_before_its_column():
    made = Made(numbers(4))
    held, gone = minimal.column(made.capsules()), weakref.ref(made)
    del made
    assert (held.tolist(), gone() is None) == ([4], False)  # the structs are kept by what was not released
    del held
    assert gone() is None


def test_an_error_of_a_producer_is_told_and_nothing_is_left():
    class Broken:
        def __arrow_c_array__(self, requested_schema=None):
            raise RuntimeError("no memory today")

    with pytest.raises(minimal.Refused, match="by_arrow_array: RuntimeError: no memory today"):
        minimal.column(Broken())


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError])
def test_an_interrupt_of_a_producer_passes(error):
    class Interrupted:
        def __arrow_c_stream__(self, requested_schema=None):
            raise error

    with pytest.raises(error):
        minimal.column(Interrupted())


def test_nothing_of_all_this_is_left():
    gc.collect()
    before = arrow_structs.living()
    for _ in range(20):
        minimal.column(Made(table())).tolist()
        minimal.chunks(Streamed(table(), [table(), table()]))
    assert arrow_structs.living() == before


def test_buffers_of_a_frame_are_held_one_by_one():
    class Buffer:
        def __init__(self, data):
            self.memory = minimal.buffer(bytearray(data))
            self.ptr, self.bufsize = self.memory.ptr, len(data)

        def __dlpack_device__(self):
            return 1, None

    class Told:
        offset, dtype, describe_null, null_count = 0, (21, 8, "u", "="), (4, 1), 0
        size, num_chunks = staticmethod(lambda: 1), staticmethod(lambda: 1)

        def get_buffers(self):
            made = {"data": b"x", "offsets": struct.pack("2i", 0, 1), "validity": b"\0"}
            made = {role: Buffer(data) for role, data in made.items()}
            living.update({role: weakref.ref(part) for role, part in made.items()})
            types = {"data": (1, 8, "C", "="), "offsets": (0, 32, "i", "="), "validity": (20, 8, "b", "=")}
            return {role: (made[role], types[role]) for role in made}

    class Frame:
        column_names, num_columns = staticmethod(lambda: ["s"]), staticmethod(lambda: 1)
        num_rows, num_chunks = staticmethod(lambda: 1), staticmethod(lambda: 1)
        get_column = staticmethod(lambda i: Told())

        def __dataframe__(self, nan_as_null=False, allow_copy=True):
            return self

    living = {}
    column = minimal.column(Frame()).children[0]
    offsets = column.buffers["offsets"]
    assert (column.tolist(), all(part() for part in living.values())) == (["x"], True)
    del column
    gc.collect()
    assert {role for role, part in living.items() if part()} == {"offsets"}
    assert offsets.memoryview().tolist() == [0, 0, 0, 0, 1, 0, 0, 0]
