"""Arrow's device methods: taken and given with the device and its event, what cannot be is refused, released once."""

import gc
import struct

import pytest

import lend
from lend import Column
from lend.errors import LendError, MalformedDescriptor, NotHostAccessible, UnsupportedLayout, UnsupportedType
from support import arrow_structs
from support.arrow_device_structs import OnDevice, StreamedOnDevice
from support.arrow_structs import Made, Node
from support.device_producers import ADDRESS, CudaInterface

CUDA, CUDA_HOST, OPENCL, MANAGED = 2, 3, 4, 13


class Numbered(CudaInterface):
    """It says on which device it is."""

    def __dlpack_device__(self):
        return CUDA, 1


def numbers(*values, **said):
    return Node("l", len(values), buffers=[None, struct.pack(f"{len(values)}q", *values)], **said)


def far(format="l", count=3, **said):
    """An array of which the host may read nothing."""
    buffers = {"l": [None, ADDRESS], "u": [None, ADDRESS, ADDRESS], "vu": [None, ADDRESS, ADDRESS, ADDRESS]}[format]
    return Node(format, count, buffers=buffers, **said)


def row(*children, count=3):
    return Node("+s", count, buffers=[None], children=list(children))


# -- taken -------------------------------------------------------------------------------------------------------------


def test_an_array_of_the_host_is_a_column_like_any():
    made = OnDevice(numbers(1, 2, 3))
    column = lend.column(made)
    assert (column.tolist(), str(column.device)) == ([1, 2, 3], "cpu")
    del column
    assert made.released == {"": 1}


def test_the_two_capsules_are_taken_without_their_producer():
    assert lend.column(OnDevice(numbers(4)).capsules()).tolist() == [4]


WORDS = {
    "numbers": lambda: (numbers(4, 5, 6), [4, 5, 6]),
    "text": lambda: (Node("u", 2, buffers=[None, struct.pack("3i", 0, 2, 3), b"abc"]), ["ab", "c"]),
    "nulls": lambda: (Node("l", 2, -1, buffers=[b"\2", struct.pack("2q", 4, 5)]), [None, 5]),
    "structs": lambda: (
        row(numbers(1, 2, name="a"), numbers(3, 4, name="b"), count=2),
        [{"a": 1, "b": 3}, {"a": 2, "b": 4}],
    ),
    "a dictionary": lambda: (Node("c", 2, buffers=[None, b"\1\0"], dictionary=numbers(7, 8)), [8, 7]),
    "nothing": lambda: (numbers(), []),
}


@pytest.mark.parametrize("kind", WORDS)
def test_pinned_memory_is_read_by_the_host(kind):
    node, values = WORDS[kind]()
    column = lend.column(OnDevice(node, CUDA_HOST, 0))
    assert (column.tolist(), column.null_count) == (values, values.count(None))
    assert [column.item(i) for i in range(len(values))] == values
    column.verify(full=True)
    assert str(column.device) == "cuda_host:0"


def test_of_managed_memory_the_driver_must_be_asked_which_is_not_here():
    with pytest.raises(NotHostAccessible, match="no driver in this process"):
        lend.column(OnDevice(numbers(4, 5), MANAGED, 0)).tolist()


def test_an_array_on_a_device_stays_there_and_tells_its_device():
    column = lend.column(OnDevice(far(), CUDA, 1))
    assert (str(column.device), column.view().ptr, len(column)) == ("cuda:1", ADDRESS, 3)
    assert column.__dlpack_device__() == (CUDA, 1)


READING = {
    "tolist": lambda column: column.tolist(),
    "null_count": lambda column: column.null_count,
    "compact": lambda column: column.compact(),
    "verify": lambda column: column.verify(full=True),
    "the host's array": lambda column: column.__arrow_c_array__(),
    "the host's stream": lambda column: column.__arrow_c_stream__(),
    "an interface of the host": lambda column: column.array_interface(mask=True),
}


@pytest.mark.parametrize("reading", READING)
def test_what_the_host_cannot_read_is_not_read(reading):
    node = Node("l", 3, -1, buffers=[ADDRESS, ADDRESS])
    with pytest.raises(NotHostAccessible):
        READING[reading](lend.column(OnDevice(node, CUDA, 0)))


@pytest.mark.parametrize("format", ["u", "vu"])
def test_the_extent_of_text_on_a_device_is_not_read_either(format):
    column = lend.column(OnDevice(far(format), CUDA, 0))
    with pytest.raises(NotHostAccessible):
        column.buffers
    assert len(column[1:]) == 2


def test_a_field_of_structs_on_a_device_is_there_too():
    made = OnDevice(row(far(name="a"), far("u", name="b")), CUDA, 1)
    table = lend.table(made)
    column = table["a"]
    assert (str(column.device), column.view().ptr) == ("cuda:1", ADDRESS)
    del table, column
    assert made.released == {"": 1, "0": 1, "1": 1}


def test_a_dictionary_on_a_device_is_there_too():
    column = lend.column(OnDevice(Node("c", 3, buffers=[None, ADDRESS], dictionary=far()), CUDA, 0))
    assert str(column.dictionary.device) == "cuda:0"


def test_nulls_that_are_known_in_a_row_are_refused_on_a_device_as_well():
    node = row(far(name="a"))
    node.null_count, node.buffers = 1, [ADDRESS]
    with pytest.raises(UnsupportedType, match="a row of a table is not null"):
        lend.table(OnDevice(node, CUDA, 0))


def test_the_methods_of_devices_are_asked_first_where_those_of_the_host_may_copy():
    class Both(OnDevice):
        def __arrow_c_array__(self, requested_schema=None):
            raise AssertionError("this copies what is on a device")

    assert str(lend.column(Both(far(), CUDA, 0)).device) == "cuda:0"


HOSTILE = {
    "a device that nobody knows": ({"device_type": 99}, "its device type is 99, which is none of Arrow's"),
    "a device of no number": ({"device_type": 0}, "its device type is 0, which is none of Arrow's"),
    "a negative device": ({"device_type": -2}, "its device type is -2, which is none of Arrow's"),
    "a device without its id": ({"device_type": CUDA, "device_id": -1}, "the number of its device is -1"),
    "an id that is none": ({"device_type": CUDA, "device_id": -7}, "the number of its device is -7"),
    "an id that is too large": ({"device_type": CUDA, "device_id": 2**40}, f"the number of its device is {2**40}"),
    "an id of the host that is none": ({"device_id": -2}, "the number of its device is -2"),
    "an event of the host": ({"sync_event": ADDRESS}, "it has an event to wait for, and the host's memory none"),
    "reserved bytes": ({"reserved": (0, 0, 1)}, "bytes of it are set that are reserved"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_device_array_that_cannot_be_is_refused_and_left_to_its_producer(case):
    said, fact = HOSTILE[case]
    made = OnDevice(far(), **said)
    with pytest.raises(MalformedDescriptor) as caught:
        lend.column(made)
    assert fact in str(caught.value)
    gc.collect()
    assert made.released == {"": 1}, "the capsules gave it back"


def test_memory_that_has_handles_for_addresses_is_refused():
    with pytest.raises(UnsupportedType, match="memory on opencl:0 has handles in place of addresses"):
        lend.column(OnDevice(far(), OPENCL, 0))


def test_an_event_cannot_be_waited_for_where_no_driver_is():
    column = lend.column(OnDevice(numbers(1), CUDA_HOST, 0, sync_event=ADDRESS))
    with pytest.raises(LendError, match="the event after which it may be read failed: no driver in this process"):
        column.tolist()


def test_an_array_that_was_released_is_refused():
    made = OnDevice(numbers(1))
    pair = made.capsules()
    lend.column(pair).release()
    with pytest.raises(MalformedDescriptor, match="the type of this Arrow capsule was already consumed"):
        lend.column(pair)
    assert made.released == {"": 1}


def test_an_array_of_the_host_in_the_place_of_one_with_a_device_is_refused():
    class Wrong(OnDevice):
        def __arrow_c_device_array__(self, requested_schema=None, **options):
            return Made(numbers(1)).capsules()

    with pytest.raises(MalformedDescriptor, match="the array is not in a capsule named 'arrow_device_array'"):
        lend.column(Wrong(numbers(1)))


@pytest.mark.parametrize("answer", [None, (1,), (1, 2, 3), [1, 2]])
def test_an_answer_that_is_no_pair_is_refused(answer):
    class Wrong(OnDevice):
        def __arrow_c_device_array__(self, requested_schema=None, **options):
            return answer

    with pytest.raises(MalformedDescriptor, match="not a pair of capsules"):
        lend.column(Wrong(numbers(1)))


# -- streams -----------------------------------------------------------------------------------------------------------


def test_a_stream_of_the_host_is_a_column_of_its_chunks():
    made = StreamedOnDevice(numbers(), [OnDevice(numbers(1)), OnDevice(numbers(2, 3))])
    assert lend.column(made).tolist() == [1, 2, 3]
    assert made.released == 1


def test_a_bare_capsule_of_a_stream_is_taken():
    made = StreamedOnDevice(numbers(), [OnDevice(numbers(1))])
    assert lend.column(made.__arrow_c_device_stream__()).tolist() == [1]


def test_a_stream_on_a_device_makes_a_table_there():
    parts = [OnDevice(row(far(name="a")), CUDA, 0) for _ in range(2)]
    made = StreamedOnDevice(row(far(name="a")), parts, CUDA)
    table = lend.table(made)
    assert (table.num_rows, str(table["a"].chunks[1].device)) == (6, "cuda:0")
    del table
    assert [part.released for part in parts] == [{"": 1, "0": 1}] * 2


def test_an_array_on_another_device_than_its_stream_is_refused():
    made = StreamedOnDevice(numbers(), [OnDevice(far(), CUDA, 0)], 1)
    with pytest.raises(MalformedDescriptor, match="none of Arrow's, or not that of its stream"):
        lend.column(made)
    gc.collect()
    assert made.released == 1


def test_a_stream_that_fails_in_the_middle_tells_its_text_and_gives_all_back():
    first = OnDevice(numbers(1))
    made = StreamedOnDevice(numbers(), [first, (5, "the disk is gone")])
    with pytest.raises(LendError, match="the disk is gone"):
        lend.column(made)
    gc.collect()
    assert (made.released, first.released) == (1, {"": 1})


def test_a_row_that_has_the_mark_of_a_masked_column_is_a_table_where_one_is_asked_for():
    mask = Node("c", 2, buffers=[None, b"\0\1"], name="mask")
    mark = {b"ARROW:extension:name": b"lend.masked", b"ARROW:extension:metadata": b"1"}
    node = Node("+s", 2, buffers=[None], children=[numbers(1, 2, name="values"), mask], metadata=mark)
    table = lend.table(OnDevice(node))
    assert {column.name: column.tolist() for column in table} == {"values": [1, 2], "mask": [0, 1]}


# -- given -------------------------------------------------------------------------------------------------------------


def told(pair):
    """Device type, device id and event of a capsule of ours."""
    from support.arrow_device_structs import DeviceArray

    held = DeviceArray.from_address(arrow_structs._capsule_pointer(id(pair[1]), b"arrow_device_array"))
    return held.device_type, held.device_id, held.sync_event


def test_memory_of_the_host_is_told_as_the_interface_recommends():
    assert told(lend.column(b"abc").__arrow_c_device_array__()) == (1, -1, None)


def test_an_event_goes_on_with_what_it_came_with():
    column = lend.column(OnDevice(far(), CUDA, 1, sync_event=ADDRESS))
    assert told(column.__arrow_c_device_array__()) == (CUDA, 1, ADDRESS)


def test_the_fields_of_a_row_with_an_event_stay_together_with_it():
    made = OnDevice(row(far(name="a"), far(name="b")), CUDA, 1, sync_event=ADDRESS)
    table = lend.table(made)
    column = table["a"]
    del table
    assert told(column.__arrow_c_device_array__()) == (CUDA, 1, ADDRESS)
    assert made.released == {}
    del column
    assert made.released == {"": 1, "0": 1, "1": 1}


def test_a_table_tells_the_device_of_its_columns():
    table = lend.table(OnDevice(row(far(name="a")), CUDA, 1))
    assert told(table.__arrow_c_device_array__()) == (CUDA, 1, None)
    assert told(lend.table({"a": table["a"]}).__arrow_c_device_array__()) == (CUDA, 1, None)


def test_what_came_by_a_stream_of_a_device_is_not_given_as_if_it_were_done():
    column = lend.column(Numbered(shape=(3,), typestr="<i8", stream=7))
    with pytest.raises(UnsupportedType, match="of its memory nobody told when it may be read"):
        column.__arrow_c_device_array__()


def test_what_is_done_on_its_device_is_given():
    column = lend.column(Numbered(shape=(3,), typestr="<i8", stream=None))
    assert told(column.__arrow_c_device_array__()) == (CUDA, 1, None)


def test_a_device_without_a_number_is_not_told():
    column = lend.column(CudaInterface(shape=(3,), typestr="<i8", stream=None))
    with pytest.raises(UnsupportedType, match="needs the number of the device, and only its kind is known"):
        column.__arrow_c_device_array__()


def test_a_table_on_two_devices_is_no_stream():
    columns = {"a": lend.column(OnDevice(far(), CUDA, 0)), "b": lend.column(OnDevice(far(), CUDA, 1))}
    with pytest.raises(UnsupportedLayout, match="on several devices, and an Arrow stream is on one"):
        lend.table(columns).__arrow_c_device_stream__()


def test_a_table_on_a_device_is_none_of_the_host():
    table = lend.table(OnDevice(row(far(name="a")), CUDA, 1))
    with pytest.raises(NotHostAccessible, match="this table is on cuda:1"):
        table.__arrow_c_stream__()


@pytest.mark.parametrize("make", [
    lambda column: column, lambda column: lend.column(column.__arrow_c_device_stream__()),
    lambda column: lend.column(column.__arrow_c_device_array__()),
], ids=["itself", "its device stream", "its device array"])  # fmt: skip
def test_what_is_given_by_the_device_methods_is_what_it_was(make):
    made = Made(Node("l", 3, 1, 1, buffers=[b"\x0d", struct.pack("4q", 1, 2, 3, 4)], name="n"))
    column = make(lend.column(made))
    assert (column.tolist(), column.name) == ([None, 3, 4], "n")
    del column
    gc.collect()
    assert made.released == {"": 1}


def test_chunks_are_given_as_a_stream_and_as_no_array():
    made = StreamedOnDevice(numbers(), [OnDevice(numbers(1)), OnDevice(numbers(2))])
    column = lend.column(made)
    assert not hasattr(column, "__arrow_c_device_array__")
    assert lend.column(column.__arrow_c_device_stream__()).tolist() == [1, 2]


def test_a_table_goes_round_by_its_device_stream():
    table = lend.table(OnDevice(row(numbers(1, 2, 3, name="a"), numbers(4, 5, 6, name="b"))))
    again = lend.table(table.__arrow_c_device_stream__())
    assert again["b"].tolist() == [4, 5, 6]


def test_options_that_say_nothing_are_taken_and_others_are_not_implemented():
    column = lend.column(b"abc")
    column.__arrow_c_device_array__(stream=None)
    with pytest.raises(NotImplementedError, match=r"__arrow_c_device_array__\(\) of lend has no option stream"):
        column.__arrow_c_device_array__(stream=1)


def test_pyarrow_takes_it_by_its_device_array():
    pyarrow = pytest.importorskip("pyarrow", reason="the consumer")
    column = Column.from_buffers("int64", 2, {"data": struct.pack("2q", 1, 2)})
    made = pyarrow.Array._import_from_c_device_capsule(*column.__arrow_c_device_array__())
    assert made.to_pylist() == [1, 2]


# -- handed on -----------------------------------------------------------------------------------------------------


class Array:
    """It has the device method alone."""

    def __init__(self, made):
        self.made = made

    def __arrow_c_device_array__(self, requested_schema=None, **options):
        return self.made.capsules()


class Chunks:
    """It has the device method of streams alone."""

    def __init__(self, *parts):
        self.streamed = StreamedOnDevice(Node("l", 0, buffers=[None, None]), parts)

    def __arrow_c_device_stream__(self, requested_schema=None, **options):
        return self.streamed.__arrow_c_device_stream__()


@pytest.mark.parametrize("target", ["numpy", "numpy.ma", "torch", "memoryview", "pyarrow", "polars", "arro3", "pandas"])
def test_what_has_device_methods_alone_goes_to_every_library(target):
    if target != "memoryview":
        pytest.importorskip(target.partition(".")[0])
    lend.explain(Array(OnDevice(numbers(4, 5))), target)
    for made in (Array(OnDevice(numbers(4, 5))), Chunks(OnDevice(numbers(4)), OnDevice(numbers(5)))):
        assert lend.column(lend.to(made, target, alias_readonly=True)).tolist() == [4, 5]


def test_nulls_of_what_has_device_methods_alone_are_shown_as_asked():
    pytest.importorskip("numpy")
    made = Array(OnDevice(Node("l", 2, 1, buffers=[b"\1", struct.pack("2q", 4, 5)])))
    assert lend.to(made, "numpy", nulls=("fill", 7)).tolist() == [4, 7]


def test_it_is_told_where_a_device_array_can_go():
    plan = lend.explain(Array(OnDevice(numbers(4, 5))))
    assert "int64[2]" in plan.source


def test_a_column_is_on_one_device():
    parts = [OnDevice(far(), CUDA, 0), OnDevice(far(), CUDA, 1)]
    with pytest.raises(UnsupportedLayout, match=r"its chunks are on several devices \(cuda:0, cuda:1\)"):
        lend.column(StreamedOnDevice(Node("l", 0, buffers=[None, None]), parts, CUDA))
    gc.collect()
    assert [part.released for part in parts] == [{"": 1}] * 2
